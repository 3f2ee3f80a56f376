"""The cards of the models that ship are what the command makes of records and measurements."""

import json
import re
from copy import deepcopy
from pathlib import Path

import pytest

from edos_dataset.generation.shipped import SHIPPED as RESPONDERS
from edos_dataset.labeling.models.shipped import MULTILINGUAL, SHIPPED
from edos_dataset.labels import LABELS
from edos_dataset.publishing.front_matter import split_card
from model_cards import render

FOLDER = Path(render.__file__).parent
COMPARISON, DOMAIN = (json.loads(path.read_text(encoding="utf-8")) for path in (render.COMPARISON, render.DOMAIN))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_is_as_rendered(name):
    assert SHIPPED[name].card == FOLDER / f"{name}.md"
    card = SHIPPED[name].card.read_text(encoding="utf-8")
    assert card == render.render(SHIPPED[name], COMPARISON, DOMAIN), "give `python -m model_cards.render`"


def test_every_shipped_model_has_a_card_and_no_other_has_one():
    cards = {path.stem for path in FOLDER.glob("*.md")}
    assert cards - set(RESPONDERS) == set(SHIPPED), "the response model's is in tests/generation/test_shipped_chat.py"


@pytest.mark.parametrize("name", [name for name in SHIPPED if name != MULTILINGUAL])
def test_a_card_says_the_flaws_first_and_figures_of_its_records(name):
    header, body = split_card(SHIPPED[name].card.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^## (.+)$", body)
    assert headings[:2] == ["Know its flaws first", "Intended use"]
    assert header["license"] == "cc-by-nc-4.0", "EmpatheticDialogues is in all of them"
    record = json.loads((SHIPPED[name].weights / "record.json").read_text(encoding="utf-8"))
    if SHIPPED[name].kind == "context":
        metrics = json.loads((SHIPPED[name].weights / "metrics.json").read_text(encoding="utf-8"))[SHIPPED[name].asked]
    else:
        metrics = next(part for key, part in record["metrics"].items() if key.startswith("test"))
    assert f"| accuracy | {100 * metrics['accuracy']:.1f} % | [" in body
    assert f"On {metrics['examples']:,} held-out" in body
    assert f"as `{name}`" in body and f"--model {name} " in body
    assert ("On film dialogues it is right on" in body) == (SHIPPED[name].sees == "turn")
    assert record["command"] in body
    right = DOMAIN["sets"]["meld"]["results"][name]["label_accuracy"]
    flaws = body[: body.index("## Intended use")]
    assert f"{100 * right:.1f} % [" in flaws[flaws.index("meld (") :]


@pytest.mark.parametrize("name", [name for name, model in SHIPPED.items() if model.of_transformers])
def test_a_card_has_answers_for_the_widget_and_names_for_the_hub(name):
    header, _ = split_card(SHIPPED[name].card.read_text(encoding="utf-8"))
    assert len(header["widget"]) == 3
    for example in header["widget"]:
        scores = [each["score"] for each in example["output"]]
        assert scores == sorted(scores, reverse=True) and {each["label"] for each in example["output"]} <= set(LABELS)
    assert "facebook/empathetic_dialogues" in header["datasets"]
    assert header["license_link"] == "https://creativecommons.org/licenses/by-nc/4.0/"


def test_answers_of_other_weights_are_refused(monkeypatch, tmp_path):
    examples = json.loads(render.EXAMPLES.read_text(encoding="utf-8"))
    examples["weak"]["source"] = "weak-minilm@00000000"
    (tmp_path / "examples.json").write_text(json.dumps(examples))
    monkeypatch.setattr(render, "EXAMPLES", tmp_path / "examples.json")
    with pytest.raises(ValueError, match=r"figures of weak-minilm@00000000, .* run model_cards/examples.py again"):
        render.render(SHIPPED["weak"], COMPARISON, DOMAIN)


def test_the_card_of_the_multilingual_model_has_its_figures_by_language_among_the_flaws():
    header, body = split_card(SHIPPED[MULTILINGUAL].card.read_text(encoding="utf-8"))
    found = json.loads(render.TRANSLATED.read_text(encoding="utf-8"))
    assert header["license"] == "cc-by-nc-4.0", "its heads learned from EmpatheticDialogues"
    assert header["language"] == list(SHIPPED[MULTILINGUAL].languages)
    flaws = body[body.index("## Know its flaws first") : body.index("## Intended use")]
    for language, name in (("de", "German"), ("hu", "Hungarian")):
        hits = f"{100 * found['multilingual'][language]['hits']:.1f} %"
        assert f"{name} {hits}" in flaws and re.search(rf"\| {name} \| [\d,]+ \| {hits} \|", body)
    assert "rounded to 4 bits" in flaws
    read = json.loads(render.READ.read_text(encoding="utf-8"))
    assert all(f"{100 * row['acceptable']['share']:.1f} % [" in flaws for row in read.values())


def test_readings_of_other_weights_are_refused(monkeypatch, tmp_path):
    read = json.loads(render.READ.read_text(encoding="utf-8"))
    read["de"]["source"] = "multilingual-e5@00000000"
    (tmp_path / "read.json").write_text(json.dumps(read))
    monkeypatch.setattr(render, "READ", tmp_path / "read.json")
    with pytest.raises(ValueError, match=r"figures of multilingual-e5@00000000, .* run evaluation/judged_languages.py"):
        render.render(SHIPPED[MULTILINGUAL], COMPARISON, DOMAIN)


def test_figures_of_other_weights_are_refused():
    comparison = deepcopy(COMPARISON)
    for row in comparison["weak"]["results"]:
        if row["method"] == "linear-weak":
            row["source"] = "linear-weak@00000000"
    with pytest.raises(ValueError, match=r"figures of linear-weak@00000000, but linear-weak@\w{8} ships"):
        render.render(SHIPPED["weak"], comparison, DOMAIN)
    domain = deepcopy(DOMAIN)
    domain["models"]["fast"]["source"] = "fast@00000000"
    with pytest.raises(ValueError, match=r"figures of fast@00000000, but fast@\w{8} ships: run evaluation/domain.py"):
        render.render(SHIPPED["fast"], COMPARISON, domain)


def test_a_copy_of_an_earlier_model_says_so(monkeypatch):
    record = json.loads((SHIPPED["fast"].weights / "record.json").read_text(encoding="utf-8"))
    monkeypatch.setattr(render, "identify", lambda name: record["teacher"]["identity"])
    assert "another version of `weak`" not in "\n".join(render._static_facts(record)["limitations"])
    monkeypatch.setattr(render, "identify", lambda name: "weak-minilm@0123456789abcdef")
    output = "\n".join(render._static_facts(record)["limitations"])
    assert "another version of `weak` than the shipped weak-minilm@0123456789abcdef" in output


def test_the_command_writes_every_card(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(render, "__file__", str(tmp_path / "render.py"))
    render.main()
    for name, model in SHIPPED.items():
        assert (tmp_path / f"{name}.md").read_bytes() == model.card.read_bytes()
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / f"{name}.md") for name in [*SHIPPED, *RESPONDERS]]
