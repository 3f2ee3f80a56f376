"""The card of a response model: flaws first, and what was recorded and measured."""

import pytest
import yaml
from huggingface_hub import ModelCardData

from model_cards.responders import FLAWS, render_response_card

ED = {"source": "empathetic_dialogues", "dialogues": 24_850, "sha256": "ab" * 32, "labels": "given"}
ED |= {"licence": "EmpatheticDialogues: CC BY-NC 4.0"}
DAILY = {"source": "dailydialog", "dialogues": 13_118, "licence": "DailyDialog: CC BY-NC-SA 4.0"}
FILMS = {"source": "edos", "dialogues": 10, "licence": "subtitles, whose text is under their studios' copyright"}
RECORD = {
    "name": "empathetic-empathetic-dialogues",
    "task": "empathetic",
    "start": None,
    "data": [ED],
    "split": {"train": 40_000, "validation": 5_000, "test": 4_000},
    "parameters": 9_677_120,
    "limitations": list(FLAWS),
    "seed": 3,
    "recipe": {"kind": "empathetic", "base_model": "", "epochs": 6},
    "command": "accelerate launch training/train_generator.py --recipe small/empathetic.yaml",
    "date": "2026-11-24",
    "training_seconds": 7200,
}
PART = {"perplexity": 51.25, "perplexity_per_word": 170.3, "cross_entropy": 3.9367, "accuracy": 0.276}
FIGURES = {"validation": PART | {"perplexity": 50.5}, "test": PART | {"pairs": 4_000}, "unigram": {"perplexity": 405.5}}


def card(figures=FIGURES, **changes):
    _, header, body = render_response_card({**RECORD, **changes}, figures).split("---\n", 2)
    return yaml.safe_load(header), body


def test_flaws_come_first_and_once():
    _, body = card(limitations=[*FLAWS, "**It was trained for an hour.**"])
    parts = [part.splitlines()[0] for part in body.split("## ")[1:]]
    assert parts[0] == "Know its flaws first" and parts.index("Results") > 3
    places = [body.index(words) for words in ("are generic", "makes up facts", "makes it safe", "people in distress")]
    assert places == sorted(places) and places[-1] < body.index("## Intended use")
    assert body.count("people in distress") == 1 and "trained for an hour" in body


def test_head_names_task_licence_and_figures():
    head, _ = card()
    assert (head["pipeline_tag"], head["library_name"], head["license"]) == (
        "text-generation",
        "transformers",
        "cc-by-nc-4.0",
    )
    assert head["co2_eq_emissions"]["training_type"] == "pre-training" and "base_model" not in head
    [result] = ModelCardData(**head).eval_results
    assert (result.metric_type, result.metric_value, result.dataset_type) == ("perplexity", 51.25, ED["source"])
    assert "model-index" not in card({})[0]


@pytest.mark.parametrize(
    ("changes", "licence"),
    [
        ({"data": [ED, DAILY]}, "cc-by-nc-sa-4.0"),
        ({"data": [ED, FILMS]}, "other"),
        ({"data": []}, "other"),
        ({"task": "causal_lora", "recipe": {"base_model": "owner/lm", "lora_rank": 8}}, "other"),
        ({"licence": "mit"}, "mit"),
    ],
)
def test_the_licence_is_the_strictest_of_the_data(changes, licence):
    head, _ = card(**changes)
    assert head["license"] == licence and head.get("license_name") == ("see-data" if licence == "other" else None)


def test_a_tuned_model_names_its_base():
    head, body = card(task="causal_lora", recipe={"base_model": "owner/lm", "lora_rank": 8})
    assert (head["library_name"], head["base_model"]) == ("peft", "owner/lm")
    assert "`owner/lm`, whose licence applies" in body and "response-generation" not in body
    head, body = card(task="gpt2_two_heads", recipe={"base_model": "gpt-2-here", "lora_rank": 0})
    assert head["library_name"] == "transformers" and "base_model" not in head and "`gpt-2-here`" in body


def test_results_stand_beside_those_of_frequencies():
    _, body = card()
    assert "| perplexity, a token | 50.50 | 51.25 | 405.50 |" in body and "On 4,000 held-out pairs" in body
    assert "| most probable token is right | 27.6 % | 27.6 % | not stated |" in body
    assert "72.4 % of the tokens" in body and "24,850" in body and "CC BY-NC 4.0" in body
    assert "Nothing was measured" in card({})[1]


def test_the_use_of_every_kind():
    assert 'label="consoling"' in card()[1] and '"label": "consoling"' in card()[1]
    plain = card(task="plain")[1]
    assert 'edos respond "I lost my job."' in plain and "consoling" not in plain
    head, predictor = card(task="predictor")
    assert head["pipeline_tag"] == "text-classification" and "under the name `predictor`" in predictor
    assert "wrong on 72.4 %" in predictor and "edos respond --chat" not in predictor


def test_a_record_without_name_or_task_is_refused():
    for changes in ({"name": ""}, {"task": "weak"}):
        with pytest.raises(ValueError, match="needs a name and a task, one of plain, empathetic"):
            card(**changes)
