"""The README of a response model, or of the predictor of its label: rendered from the record of its training and its
figures; the sentences that all share are in `model_cards/templates/response.md`.
"""

import re
from string import Template
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from edos_dataset.labeling.models.shipped import cards_folder
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.markdown import (
    MISSING,
    MOST_LICENCES,
    code,
    fenced,
    percent,
    plain,
    prose,
    table,
)
from edos_dataset.publishing.cards.model import PLACEHOLDER, training_section
from edos_dataset.publishing.cards.model_header import Row, emitted_grams, energy
from edos_dataset.publishing.cards.packing import packing_section
from edos_dataset.publishing.cards.texts import EDOS_BIBTEX

FLAWS = (
    "**Its answers are generic.** It says what people often said in its data, the same to many things, and it can "
    "miss what was said altogether.",
    "**It makes up facts.** It knows nothing but its data's words: names, places, numbers, promises and memories of "
    "its own are invented.",
    "**Nothing makes it safe.** It repeats the prejudices and the coarseness of its data, may agree with what harms, "
    "and nothing filters its answers.",
    "**It is not for people in distress.** It sounds as if it felt; it neither feels, nor understands, nor sees "
    "danger. It must not be offered as help or company.",
    "**Its labels were given by machines,** which are wrong in about every third turn; an answer may miss the label "
    "that it was written under.",
)
"""What every response model does wrong, worst first."""
PREDICTOR_FLAWS = (
    "**It predicts what people did in its data,** not what is right or kind to answer.",
    "**The labels that it learned from were given by machines,** which are wrong in about every third turn.",
    "**It always answers** with one of the labels, on nonsense and in other languages too.",
)
"""What every predictor of the answer's label does wrong."""

_WHAT = {
    "plain": "It answers English dialogues: an encoder-decoder Transformer, trained from nothing on the data below.",
    "empathetic": "It answers English dialogues under a label that says what the answer should express: an "
    f"encoder-decoder Transformer that reads a speaker and one of {len(LABELS)} labels with every token, trained from "
    "nothing on the data below.",
    "predictor": f"It predicts with which of {len(LABELS)} labels, 32 emotions, 8 response intents and neutral, an "
    "English dialogue is answered: an encoder of its own, attention pooling, a hidden layer.",
    "causal_lora": "It answers English dialogues: a language model of others, tuned to do so.",
    "seq2seq_lora": "It answers English dialogues: an encoder-decoder of others, tuned to do so.",
    "gpt2_two_heads": "It answers English dialogues: GPT-2, trained to tell the next utterance from another, too.",
}
_FIGURES = (
    ("perplexity", "perplexity, a token", "{:,.2f}"),
    ("perplexity_per_word", "perplexity, a word", "{:,.1f}"),
    ("cross_entropy", "cross-entropy, nats", "{:.4f}"),
)
_NOT_COMMERCIAL = (
    "**It is for non-commercial use.** Data that it learned from may be used for nothing else (CC BY-NC), and whether "
    "a model may learn from the texts of films at all is disputed: see the licences below."
)

_LEAST_GAIN = 0.02
"""Nats a target that a history has to be worth to a model that reads it."""


def render_response_card(record: Row, figures: Row, beside: str = "") -> str:
    """Return the README of the folder of a response model or of a predictor.

    Args:
        record: how it was made (`record.json` of `training/train_generator.py`). Needed: `name` and `task`, the
            recipe's kind. Used where there: `data` (rows of `source`, `dialogues`, `licence`, `labels`, `sha256`),
            `split`, `left_out`, `parameters`, `limitations`, `recipe`, `seed`, `command`, and what
            `render_model_card` takes of the training; `packing` (of `training/pack_generator.py`) and `shipped_as`, the
            name by which the package has it.
        figures: content of `metrics.json`: `validation`, `test` and `unigram`; empty if nothing was measured.
        beside: Markdown for the end of the results, such as a comparison with other models.

    Raises:
        ValueError: the record names no model or no known task.
    """
    if not record.get("name") or record.get("task") not in _WHAT:
        raise ValueError(
            f"a response model's card needs a name and a task, one of {', '.join(_WHAT)}; the record says "
            f"{record.get('name')!r} and {record.get('task')!r}"
        )
    base = (record.get("recipe") or {}).get("base_model") or None
    shipped = record.get("shipped_as")
    facts = {**record, "base_model": base or record.get("start") or "none", "architecture": record["task"]}
    facts.pop("packing", None)
    template = Template((cards_folder() / "templates" / "response.md").read_text(encoding="utf-8"))
    return template.substitute(
        metadata=_metadata(record, figures, base),
        name=plain(record["name"]),
        what=_WHAT[record["task"]]
        + (f" It stands on {code(base)}, whose licence holds, too." if base else "")
        + (f" It comes with the package edos-dataset, as {code(shipped)}, its default." if shipped else ""),
        flaws=_flaws(record, figures),
        use=_use(record["task"], shipped),
        data=_data(record),
        results=_results(figures) + packing_section(record) + (f"\n\n{beside}" if beside else ""),
        training=_parameters(record) + training_section(facts),
        energy=energy(record),
        command=fenced(record["command"]) if record.get("command") else f"The command is {MISSING}.",
        cite=EDOS_BIBTEX,
    )


def _metadata(record: Row, figures: Row, base: str | None) -> str:
    """Return the YAML of the card; a base model that has no name on the Hub stands in the text alone."""
    predicts, licence = record["task"] == "predictor", _licence(record, base)
    tag, key = ("text-classification", "accuracy") if predicts else ("text-generation", "perplexity")
    part = figures.get("test") or {}
    sources = ", ".join(str(row.get("source", MISSING)) for row in record.get("data", [])) or MISSING
    results = [EvalResult(tag, sources, f"{sources}, held out", key, part.get(key), dataset_split="test")]
    emitted: dict[str, Any] | None = None
    if record.get("training_seconds") is not None:
        kind = "fine-tuning" if base or record.get("start") else "pre-training"
        told = "estimated from time and power"
        emitted = {"emissions": round(emitted_grams(record), 1), "source": told, "training_type": kind}
    card = ModelCardData(
        language="en",
        license=licence,
        license_name="see-data" if licence == "other" else None,
        library_name="peft" if base and (record.get("recipe") or {}).get("lora_rank") else "transformers",
        pipeline_tag=tag,
        tags=["emotion", "empathy", "dialogue", f"edos-{record['task'].replace('_', '-')}"],
        base_model=base if base and re.fullmatch(r"[\w.-]+/[\w.-]+", base) else None,
        metrics=[key] if key in part else None,
        model_name=str(record["name"]) if key in part else None,
        eval_results=results if key in part else None,
        co2_eq_emissions=emitted,
    )
    return card.to_yaml()


def _licence(record: Row, base: str | None) -> str:
    """Return the licence as the Hub names it: the recorded one, or the strictest that the data ask for; "other" where
    some of them, or the base model, have none that the Hub names.
    """
    told = [str(row.get("licence", "")) for row in record.get("data", [])]
    if record.get("licence"):
        return str(record["licence"])
    if base or not told or not all("CC BY" in licence for licence in told):
        return "other"
    strict = "-nc" if any("NC" in licence for licence in told) else ""
    return f"cc-by{strict}{'-sa' if any('SA' in licence for licence in told) else ''}-4.0"


def _flaws(record: Row, figures: Row) -> str:
    predicts, test = record["task"] == "predictor", figures.get("test") or {}
    lines = list(PREDICTOR_FLAWS if predicts else FLAWS)
    if test.get("accuracy") is not None:
        wrong = percent(1 - test["accuracy"])
        if predicts:
            lines.insert(0, f"**It is wrong on {wrong} of its test answers** when it may name one label only.")
        else:
            lines.append(f"**It knows little of what comes:** {wrong} of the next tokens of true answers surprise it.")
    if any("NC" in str(row.get("licence")) for row in record.get("data", [])):
        lines.append(_NOT_COMMERCIAL)
    gain = test.get("history_gain")
    if gain is not None and gain < _LEAST_GAIN:
        read = f"with its own history a target costs it {gain:.3f} nats less than with another pair's"
        lines.insert(0, f"**It hardly reads the history:** {read}, so the label alone makes its answers.")
    lines += [sentence for sentence in record.get("limitations", []) if sentence not in lines]
    return "\n".join(f"- {prose(line)}" for line in lines)


def _use(task: str, shipped: str | None = None) -> str:
    if task == "predictor":
        return (
            "Put its folder, under the name `predictor`, into that of a response model: `edos respond` takes its "
            "probabilities to choose the label of an answer."
        )
    forced = ', label="consoling"' if task == "empathetic" else ""
    package, option, named = "edos-dataset", f' --model "{PLACEHOLDER}"', f', "{PLACEHOLDER}"'
    if shipped:  # the default, with the labeler of the turns that it needs
        package, option, named = '"edos-dataset[offline]"', "", ""
    own = (
        f'```console\n$ pip install {package}\n$ edos respond "I lost my job."{option}\n'
        f"$ edos respond --chat{option}\n```\n\n```python\nimport edos_dataset\n\n"
        f'edos_dataset.respond("I lost my job."{named}{forced})[0][0].text\n```'
    )
    if task not in ("plain", "empathetic"):
        return own
    asked = '{"turns": ["I lost my job."], "labels": ["sad"], "label": "consoling"}' if forced else '"I lost my job."'
    return (
        f"{own}\n\nNone of the code in this folder is run by these. A pipeline of transformers runs it, so it "
        "asks for leave; it predicts no label:\n\n```python\nfrom transformers import pipeline\n\n"
        f'answer = pipeline("response-generation", model="{PLACEHOLDER}", trust_remote_code=True)\n'
        f"answer({asked})\n```"
    )


def _data(record: Row) -> str:
    rows = [
        [
            plain(row.get("source", MISSING)),
            f"{row['dialogues']:,}" if "dialogues" in row else MISSING,
            plain(row.get("licence", MISSING), MOST_LICENCES),
            plain(row.get("labels", MISSING)),
            code(str(row.get("sha256", MISSING))[:16]),
        ]
        for row in record.get("data", [])
    ]
    head = ["source", "dialogues", "licence", "labels of the turns", "SHA-256, first digits"]
    told = table(head, rows) if rows else f"What it learned from is {MISSING}."
    split = ", ".join(f"{plain(part)} {count:,}" for part, count in record.get("split", {}).items()) or MISSING
    start = f" It started from {code(record['start'])}, whose data are among these." if record.get("start") else ""
    return f"{told}\n\nPairs of a history and its answer: {split}.{start}"


def _results(figures: Row) -> str:
    """Return the figures of the held-out parts, beside those of a model that knows how often each token comes."""
    if not figures.get("test"):
        return "Nothing was measured, or the figures are missing."
    columns = [figures.get(part) or {} for part in ("validation", "test", "unigram")]
    rows = [
        [name, *(form.format(column[key]) if column.get(key) is not None else MISSING for column in columns)]
        for key, name, form in _FIGURES
        if figures["test"].get(key) is not None
    ]
    if any(column.get("history_gain") is not None for column in columns):
        told = (f"{c['history_gain']:.3f}" if c.get("history_gain") is not None else MISSING for c in columns)
        rows.append(["nats that its history saves, a target", *told])
    rows.append(["most probable is right", *(percent(column.get("accuracy")) for column in columns)])
    pairs = figures["test"].get("pairs")
    of = f"On {pairs:,} held-out pairs" if pairs is not None else "On the held-out pairs"
    heads = ["figure", "validation", "test", "test, by frequencies alone"]
    return f"{of}, all of them, so without intervals.\n\n{table(heads, rows)}"


def _parameters(record: Row) -> str:
    return f"- parameters: {record['parameters']:,}\n" if record.get("parameters") else ""
