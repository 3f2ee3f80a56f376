"""The card of a response model, or of its label predictor, filled from the record of its training and its figures."""

from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from edos_dataset.generation.shipped import DEFAULT_MODEL
from edos_dataset.hub.model_contents import PLACEHOLDER
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.markdown import MISSING, MOST_LICENCES, code, percent, plain, prose, table
from edos_dataset.publishing.cards.paper_figures import citation
from model_cards.classifiers import (
    LICENCE_LINKS,
    Row,
    command,
    datasets_on_hub,
    emissions,
    energy,
    examples,
    name_on_hub,
    render_card,
    training_section,
)

FLAWS = (
    "**Its answers are generic.** It repeats what is frequent in its data, gives the same answer to different inputs, "
    "and may ignore what was said.",
    "**It makes up facts.** It has no knowledge beyond the text of its data: names, places, numbers, promises and "
    "memories of its own are invented.",
    "**Nothing makes it safe.** It repeats the prejudices and offensive language of its data, may agree with harmful "
    "statements, and its answers are not filtered.",
    "**It is not for people in distress.** It may sound empathetic, but it neither feels nor understands anything, and "
    "does not recognise danger. It must not be offered as help or company.",
    "**Its labels were given by machines,** which are wrong on about one turn in three; an answer may not express the "
    "label that it was generated for.",
)
"""The flaws of every response model, worst first."""
PREDICTOR_FLAWS = (
    "**It predicts what people did in its data,** not what would be a right or kind answer.",
    "**The labels that it learned from were given by machines,** which are wrong on about one turn in three.",
    "**It always answers** with one of the labels, even for nonsense and other languages.",
)
"""The flaws of every predictor of the answer's label."""

_TASKS = {
    "plain": "It answers English dialogues: an encoder-decoder Transformer, trained from scratch on the data below.",
    "empathetic": "It answers English dialogues under a label that says what the answer should express: an "
    f"encoder-decoder Transformer that reads a speaker and one of {len(LABELS)} labels with every token, trained from "
    "scratch on the data below.",
    "predictor": f"It predicts with which of {len(LABELS)} labels, 32 emotions, 8 response intents and neutral, an "
    "English dialogue is answered: an encoder of its own, attention pooling, a hidden layer.",
    "causal_lora": "It answers English dialogues: a pretrained language model, fine-tuned to do so by LoRA adapters.",
    "seq2seq_lora": "It answers English dialogues: a pretrained encoder-decoder, fine-tuned to do so.",
    "gpt2_two_heads": "It answers English dialogues: GPT-2, also trained to recognise the next utterance.",
}
_FIGURES = (
    ("perplexity", "perplexity, a token", "{:,.2f}"),
    ("perplexity_per_word", "perplexity, a word", "{:,.1f}"),
    ("cross_entropy", "cross-entropy, nats", "{:.4f}"),
)
_NOT_COMMERCIAL = (
    "**It is for non-commercial use.** Some of its training data are licensed for nothing else (CC BY-NC), and whether "
    "models may be trained on the text of films at all is disputed; see the licences below."
)

_LEAST_GAIN = 0.02
"""Smallest gain, in nats for each target, of a model that uses the history."""


def render_response_card(record: Row, figures: Row, beside: str = "") -> str:
    """Return the README of the folder of a response model or of a predictor.

    Args:
        record: Record of the training (`record.json` of `training/train_generator.py`). Needed: `name` and `task`, the
            recipe's kind. Used if present: `data` (rows of `source`, `dialogues`, `licence`, `labels`, `sha256`),
            `split`, `left_out`, `parameters`, `limitations`, `recipe`, `seed`, `command`, and what
            `render_model_card` uses of the training; `packing` (of `training/pack_generator.py`) and `shipped_as`, its
            name in the package.
        figures: Content of `metrics.json`: `validation`, `test` and `unigram`; empty if nothing was measured.
        beside: Markdown for the end of the results, such as a comparison with other models.

    Raises:
        ValueError: The record names no model or no known task.
    """
    task, shipped, start = record.get("task"), record.get("shipped_as"), record.get("start")
    if not record.get("name") or task not in _TASKS:
        raise ValueError(
            f"a response model's card needs a name and a task, one of {', '.join(_TASKS)}; the record has "
            f"{record.get('name')!r} and {task!r}"
        )
    base = (record.get("recipe") or {}).get("base_model") or None
    facts = {**record, "base_model": base or start or "none", "architecture": task}
    facts.pop("packing", None)
    return render_card(
        "response",
        _header(record, figures, base),
        name=plain(record["name"]),
        task=_TASKS[task],
        base=code(base) if base else "",
        shipped=code(shipped) if shipped else "",
        default=shipped == DEFAULT_MODEL,
        flaws=[prose(flaw) for flaw in _flaws(record, figures)],
        predictor=task == "predictor",
        **_use(task, shipped, (record.get("recipe") or {}).get("label_form")),
        data_table=_data_table(record),
        split=examples(record),
        start=code(start) if start else "",
        results=_results(figures),
        packing=_packing(record.get("packing")),
        beside=beside,
        parameters=f"{record['parameters']:,}" if record.get("parameters") else "",
        training=training_section(facts),
        energy=energy(record),
        command=command(record),
        citation=citation("edos"),
    )


def _header(record: Row, figures: Row, base: str | None) -> ModelCardData:
    """Return the YAML of the card. The Hub refuses base models that it does not know: those are in the text only."""
    licence = _licence(record, base)
    tag, key = (
        ("text-classification", "accuracy") if record["task"] == "predictor" else ("text-generation", "perplexity")
    )
    value = (figures.get("test") or {}).get(key)
    sources = ", ".join(str(row.get("source", MISSING)) for row in record.get("data", [])) or MISSING
    results = [EvalResult(tag, sources, f"{sources}, held out", key, value, dataset_split="test")]
    measured = value is not None
    return ModelCardData(
        language="en",
        license=licence,
        license_name="see-data" if licence == "other" else None,
        license_link=LICENCE_LINKS.get(licence),
        library_name="peft" if base and (record.get("recipe") or {}).get("lora_rank") else "transformers",
        pipeline_tag=tag,
        tags=["emotion", "empathy", "dialogue", f"edos-{record['task'].replace('_', '-')}"],
        datasets=datasets_on_hub(record.get("data", [])),
        base_model=name_on_hub(base),
        co2_eq_emissions=emissions(record, "fine-tuning" if base or record.get("start") else "pre-training"),
        metrics=[key] if measured else None,
        model_name=str(record["name"]) if measured else None,
        eval_results=results if measured else None,
    )


def _licence(record: Row, base: str | None) -> str:
    """Return the licence by its name on the Hub: the recorded one, or the strictest that the data require; "other"
    where some of them, or the base model, have none that the Hub names.
    """
    licences = [str(row.get("licence", "")) for row in record.get("data", [])]
    if record.get("licence"):
        return str(record["licence"])
    if base or not licences or not all("CC BY" in licence for licence in licences):
        return "other"
    commercial = "-nc" if any("NC" in licence for licence in licences) else ""
    return f"cc-by{commercial}{'-sa' if any('SA' in licence for licence in licences) else ''}-4.0"


def _flaws(record: Row, figures: Row) -> list[str]:
    predicts, test = record["task"] == "predictor", figures.get("test") or {}
    flaws = list(PREDICTOR_FLAWS if predicts else FLAWS)
    if test.get("accuracy") is not None:
        wrong = percent(1 - test["accuracy"])
        if predicts:
            flaws.insert(0, f"**It is wrong on {wrong} of its test answers** if only its first label counts.")
        else:
            flaws.append(f"**It predicts badly:** {wrong} of the tokens of real answers are not its first choice.")
    if any("NC" in str(row.get("licence")) for row in record.get("data", [])):
        flaws.append(_NOT_COMMERCIAL)
    gain = test.get("history_gain")
    if gain is not None and gain < _LEAST_GAIN:
        flaws.insert(
            0,
            f"**It hardly uses the history:** the loss of a target is only {gain:.3f} nats lower with its own history "
            "than with that of another pair, so the label alone decides the answers.",
        )
    # records name these flaws too, in the words of the version that trained the model
    known = {_heading(flaw) for flaw in flaws}
    return flaws + [sentence for sentence in record.get("limitations", []) if _heading(sentence) not in known]


def _heading(flaw: str) -> str:
    return flaw.split("**")[1] if flaw.startswith("**") else flaw


def _use(task: str, shipped: str | None, label_form: str | None) -> dict[str, str]:
    """Return the values of the section on use. Shipped models need a labeler of turns, an adapter peft."""
    forced = task == "empathetic" or label_form in ("words", "tokens")
    named = shipped if shipped and shipped != DEFAULT_MODEL else None if shipped else PLACEHOLDER
    argument = f', "{named}"' if named else ""
    extras = "offline" if task == "empathetic" else "offline,training"
    pipeline = f'answer = pipeline("response-generation", model="{PLACEHOLDER}", trust_remote_code=True)'
    asked = '{"turns": ["I lost my job."], "labels": ["sad"], "label": "consoling"}' if forced else '"I lost my job."'
    return {
        "package": f'"edos-dataset[{extras}]"' if shipped else "edos-dataset",
        "option": f' --model "{named}"' if named == PLACEHOLDER else f" --model {named}" if named else "",
        "argument": argument + (', label="consoling"' if forced else ""),
        "pipeline": pipeline if task in ("plain", "empathetic") else "",
        "asked": asked,
    }


def _data_table(record: Row) -> str:
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
    return (
        table(["source", "dialogues", "licence", "labels of the turns", "SHA-256, first digits"], rows) if rows else ""
    )


def _results(figures: Row) -> str:
    """Return the figures of the held-out splits, beside those of a model that knows only how frequent each token is."""
    if not figures.get("test"):
        return "Nothing was measured, or the figures are missing."
    columns = [figures.get(part) or {} for part in ("validation", "test", "unigram")]

    def row(name: str, key: str, form: str) -> list[str]:
        return [name, *(form.format(column[key]) if column.get(key) is not None else MISSING for column in columns)]

    rows = [row(name, key, form) for key, name, form in _FIGURES if figures["test"].get(key) is not None]
    if any(column.get("history_gain") is not None for column in columns):
        rows.append(row("gain from the history, nats per target", "history_gain", "{:.3f}"))
    rows.append(["most probable token is right", *(percent(column.get("accuracy")) for column in columns)])
    pairs = figures["test"].get("pairs")
    whole = figures["test"].get("of_pairs", pairs)
    sample = f"On {pairs:,} held-out pairs" if pairs is not None else "On the held-out pairs"
    heads = ["figure", "validation", "test", "test, by frequencies alone"]
    which = "which are all of them; hence no intervals" if pairs == whole else f"evenly spread over {whole:,}"
    return f"{sample}, {which}.\n\n{table(heads, rows)}"


def _packing(packing: dict[str, Any] | None) -> str:
    """Return the effect of rounding the weights to 8 bits, after the other figures were measured."""
    if not packing:
        return ""
    sentences = [
        f"Its weights were then rounded to 8 bits: perplexity a token {packing['perplexity_before']:,.2f} before and "
        f"{packing['perplexity_after']:,.2f} after, on {packing['test_pairs']:,} test pairs."
    ]
    if "predictor_accuracy_after" in packing:
        before, after = (percent(packing[f"predictor_accuracy_{when}"]) for when in ("before", "after"))
        pairs = f"{packing['predictor_pairs']:,} labels"
        sentences.append(f"Its predictor names {before} of {pairs} correctly before and {after} after.")
    sentences.append(
        f"Of {packing['answers']:,} greedy answers {percent(packing['equal_answers'])} stayed the same word by word, "
        f"and {percent(packing['equal_labels'])} of their labels."
    )
    return " ".join(sentences)
