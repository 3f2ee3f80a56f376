"""Write the card of every shipped model, from the record beside its weights and the measurements of this repository.

    python -m model_cards.render

Cards are not edited by hand: an error in one is an error in a record, a measurement, a template, or this package.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edos_dataset.generation.shipped import SHIPPED as RESPONDERS
from edos_dataset.generation.shipped import WEIGHTS
from edos_dataset.labeling.models.linear import LinearHead
from edos_dataset.labeling.models.packed import identify
from edos_dataset.labeling.models.shipped import MULTILINGUAL, SHIPPED, ShippedModel
from edos_dataset.labeling.models.static import StaticLabeler
from edos_dataset.languages import name_of_language
from edos_dataset.publishing.cards.markdown import interval, percent, table
from edos_dataset.runs.shards import write_text
from model_cards.classifiers import render_model_card
from model_cards.examples import EXAMPLES
from model_cards.responders import render_response_card

COMPARISON = Path(__file__).parents[1] / "evaluation" / "baselines.json"
"""Figures of these models and of simple methods on the same test splits, from `evaluation/baselines.py`."""
DOMAIN = COMPARISON.with_name("domain") / "domain.json"
"""Figures of these models on turns of other labelled datasets, from `evaluation/domain.py`."""
RESPONSES = COMPARISON.with_name("judged_responses.json")
"""Judgements of the answers of response models, from `evaluation/judged_responses.py`."""
TRANSLATED = COMPARISON.with_name("multilingual.json")
"""Figures of the multilingual model, from `evaluation/multilingual.py`."""
READ = COMPARISON.with_name("judged_languages.json")
"""Judgements of its labels, from `evaluation/judged_languages.py`."""
ASKED = COMPARISON.with_name("judged_chat.json")
"""Judgements of the shipped ones' answers under the label of the true answer, by the same script."""
_ROWS = {
    "chat": (RESPONSES, "empathetic_os_ed, predicted label"),
    "chat-large": (ASKED, "chat-large"),
}
"""Shipped response model → the judgements of its answers, and its row there."""
_ELSEWHERE = ("meld", "emorynlp", "xed", "goemotions", "dailydialog")

_TASKS = {"turn": "weak", "history": "dialogue"}
_PARTS = {
    "weak": "the weak labeler's test split: situations and utterances of EmpatheticDialogues, one by one",
    "dialogue": "the crowd's test split: last turns of film dialogues on whose label people agreed",
    "general": "the crowd's test split, whose convention is that of `dialogue`: last turns of film dialogues on whose "
    "label people agreed",
}
_LINEAR = (
    "**It is a linear map on a frozen encoder**, which was trained for the similarity of sentences, not for these "
    "labels."
)
_STATIC = (
    "**It counts words and pairs of {pairs}** and ignores any further order. A turn without a word of its table "
    "gets {unknown}."
)


def render(model: ShippedModel, comparison: dict[str, Any], domain: dict[str, Any]) -> str:
    """Return the card of a model.

    Args:
        model: One of SHIPPED.
        comparison: Content of COMPARISON.
        domain: Content of DOMAIN.

    Raises:
        ValueError: One of them was measured with other weights than the shipped ones.
    """
    if model.name == MULTILINGUAL:
        return _multilingual(model, *(json.loads(path.read_text(encoding="utf-8")) for path in (TRANSLATED, READ)))
    record, task = _read(model, "record.json"), task_of(model)
    facts = {"linear": _linear_facts, "static": _static_facts}.get(model.kind, dict)(record)
    facts |= {"name": model.source, "task": task, "shipped_as": model.name}
    part = comparison["weak" if task == "weak" else "dialogue"]
    if task == "weak":
        facts["limitations"] = [_on_films(model, comparison["dialogue"]), *facts.get("limitations", [])]
    facts["limitations"] = [_elsewhere(model, domain), *facts.get("limitations", [])]
    metrics = _read(model, "metrics.json") if model.of_transformers else facts["metrics"]
    if model.kind == "context":  # one folder has the figures of all its answers
        metrics = metrics[model.asked]
    compared = _row(model, part)
    # The record of a linear head lacks figures that were measured later, on the same split with the same weights.
    metrics = {key: compared[key] for key in ("macro_precision", "macro_recall", "intervals")} | metrics
    return render_model_card(facts | _widget(model), metrics, _beside(model, task, part))


def _language(code: str) -> str:
    """Return the name of a language by XED's code, in which `br` is not Breton."""
    return "Portuguese of Brazil" if code == "br" else name_of_language(code)


def _multilingual(model: ShippedModel, found: dict[str, Any], read: dict[str, Any]) -> str:
    """Return the card of the multilingual model, whose figures are by language."""
    _check_weights(model, found["source"], TRANSLATED, "evaluation/multilingual.py")
    for row in read.values():
        _check_weights(model, row["source"], READ, "evaluation/judged_languages.py")
    record = _read(model, "record.json")
    own, teacher = found["multilingual"], found["general on the originals"]
    languages = [language for language in own if language in teacher]
    named = "; ".join(f"{_language(each)} {percent(own[each]['hits'])}" for each in languages)
    flaws = [
        _as_read_blind(read),
        f"**On held-out translated sentences of subtitles that show an emotion, it names one of the annotators' in:** "
        f"{named}. `general` does so for their English originals in "
        f"{percent(_mean(teacher, languages))}, and on the English sentences themselves in "
        f"{percent(found['general']['en']['hits'])}, this model in {percent(own['en']['hits'])}.",
        *(
            f"**In a language that it did not see it is worse:** trained without {_language(each)}, "
            f"{percent(row['hits'])} there."
            for each, row in found["left_out"].items()
        ),
        *record.get("limitations", []),
    ]
    rows = [
        [_language(each), f"{own[each]['sentences']:,}", percent(own[each]["hits"]), percent(own[each]["named"])]
        + [
            percent(own[each]["hits_of_emotions"]),
            percent(teacher[each]["hits"] if each in teacher else english["hits"]),
        ]
        for english in [found["general"]["en"]]
        for each in ["en", *languages]
    ]
    head = [
        "language",
        "sentences",
        "hits",
        "an emotion named",
        "hits if only emotions count",
        "`general` on the English",
    ]
    beside = (
        "Hits on sentences of XED that show an emotion, held out with all their translations; intents are left out. "
        f"Alone among emotions, neutral is left out too.\n\n{table(head, rows)}"
    )
    facts = {"name": model.source, "task": model.name, "shipped_as": model.name, "limitations": flaws}
    facts |= {"languages": list(model.languages)} | _widget(model)
    return render_model_card(record | facts, {}, beside)


def _widget(model: ShippedModel) -> dict[str, Any]:
    """Return the model's answers for the Hub's widget, if transformers can load it."""
    if not model.of_transformers:
        return {}
    own = json.loads(EXAMPLES.read_text(encoding="utf-8"))[model.name]
    _check_weights(model, own["source"], EXAMPLES, "model_cards/examples.py")
    return {"widget": own["widget"]}


def _as_read_blind(read: dict[str, Any]) -> str:
    """Return how many of its labels a reader accepts, by language, and which one is wrong most."""
    shares = "; ".join(
        f"{name_of_language(code)} {percent(row['acceptable']['share'])} {interval(row['acceptable']['interval'])} "
        f"of {row['turns']}"
        for code, row in read.items()
    )
    always = ", ".join(percent(row["always"]["neutral"]["acceptable"]["share"]) for row in read.values())
    annoyed = sum(row["answers"]["annoyed"] for row in read.values())
    own = sum(row["own"]["annoyed"] for row in read.values())
    weighed = ", ".join(percent(row["books"]["films"]["acceptable"]["share"]) for row in read.values())
    plain = ", ".join(percent(row["books"]["as it is"]["acceptable"]["share"]) for row in read.values())
    return (
        "**On turns of books and sentences of subtitles, labelled blind by one reader, a language model, it is "
        f"acceptable in:** {shares}. `neutral` for every turn would be in {always}. It answers `annoyed` {annoyed} "
        f"times, the reader {own} times. Weighed by the shares of labels in films (`--priors films`), as `edos books` "
        f"does, its labels of turns of books are acceptable in {weighed}, as they are in {plain}."
    )


def _mean(rows: dict[str, Any], languages: Sequence[str]) -> float:
    """Return the hits over the sentences of several languages."""
    count = sum(rows[each]["sentences"] for each in languages)
    return float(sum(rows[each]["hits"] * rows[each]["sentences"] for each in languages) / count)


def render_responder(name: str, folder: Path) -> str:
    """Return the card of a shipped response model.

    Args:
        name: Its name in the package.
        folder: The folder that `training/pack_generator.py` wrote.
    """
    record, figures = (json.loads((folder / f"{part}.json").read_text("utf-8")) for part in ("record", "metrics"))
    judgements, row = _ROWS[name]
    read = json.loads(judgements.read_text("utf-8"))["rows"][row]
    limitations = [_as_read(read), *record.get("limitations", [])]
    return render_response_card(record | {"name": name, "shipped_as": name, "limitations": limitations}, figures)


def _as_read(rows: dict[str, Any]) -> str:
    """Return how a reader, who did not know the model, judged its answers."""
    parts = [f"{percent(rows['all']['wrong']['share'])} of {rows['all']['answers']} answers to unseen conversations"]
    parts += [
        f"{name}: {percent(row['wrong']['share'])} wrong, {percent(row['generic']['share'])} generic, "
        f"{percent(row['fits']['share'])} fitting, of {row['answers']}"
        for name, row in rows.items()
        if name != "all"
    ]
    return f"**Judged by a reader, it is wrong in {parts[0]}** ({'; '.join(parts[1:])})."


def task_of(model: ShippedModel) -> str:
    """Return the task of a model, as in its card."""
    return model.asked if model.kind == "context" else _TASKS[model.sees]


def _read(model: ShippedModel, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((model.weights / name).read_text(encoding="utf-8"))
    return content


def _linear_facts(record: dict[str, Any]) -> dict[str, Any]:
    """Return a linear head's record in the form of those of classifiers."""
    measured = record["metrics"]["test (fitted to train and validation)"]
    by_label = {label: {"f1": f1} for label, f1 in measured["f1_by_label"].items()}
    return record | {
        "library": "edos-dataset",
        "architecture": "softmax over a linear map of embeddings",
        "base_model": record["encoder"],
        "recipe": record["chosen"] | {"frequent_turns": record["frequent_turns"]},
        "limitations": [_LINEAR],
        "metrics": measured | {"by_label": by_label, "temperature": record["temperature"]},
    }


def _static_facts(record: dict[str, Any]) -> dict[str, Any]:
    """Return the static labeler's record in the form of those of classifiers."""
    teacher, shipped = record["teacher"], identify("weak")
    copied = (
        f"**It copies another model**, {teacher['identity']}, which is right on {percent(teacher['test']['accuracy'])} "
        f"of its test examples; on {percent(1 - teacher['agreement'])} of them the two disagree."
    )
    if teacher["identity"] != shipped:
        copied += f" That is another version of `weak` than the shipped {shipped}."
    kinds = record["recipe"].get("kinds", ())
    pairs = "words at most one apart" if "skips" in kinds else "neighbours"
    unknown = "an answer by its length alone" if "length" in kinds else "the same answer as any other such turn"
    return record | {
        "library": "edos-dataset",
        "architecture": "softmax over a sum of rows of a table, one for each n-gram of the turn",
        "base_model": f"none; learned from {teacher['identity']}",
        "seed": record["recipe"]["seed"],
        "split": record["examples"],
        "recipe": record["recipe"] | {"chosen": record["chosen"]},
        "limitations": [_STATIC.format(pairs=pairs, unknown=unknown), copied],
        "metrics": record["metrics"]["test"],
    }


def _on_films(model: ShippedModel, part: dict[str, Any]) -> str:
    """Return the accuracy of a model of single turns on the turns of films, as a flaw."""
    row = _row(model, part)
    best = max(part["results"], key=lambda row: row["accuracy"])
    return (
        f"**On film dialogues it is right on {percent(row['accuracy'])}** {interval(row['intervals']['accuracy'])} of "
        f"{part['test']:,} last turns on whose label people agreed; `{best['method']}`, which sees the "
        f"{best['view']}, on {percent(best['accuracy'])}."
    )


def _elsewhere(model: ShippedModel, domain: dict[str, Any]) -> str:
    """Return the accuracy of a model on turns of other labelled datasets, as a flaw."""
    _check_weights(model, domain["models"][model.name]["source"], DOMAIN, "evaluation/domain.py")
    found = []
    for name in _ELSEWHERE:
        part = domain["sets"][name]
        figures = part["results"][model.name]
        right, bounds = percent(figures["label_accuracy"]), interval(figures["intervals"]["label_accuracy"])
        largest = f"`{part['largest_class']}` always: {percent(part['largest_class_accuracy'])}"
        first = figures["intents_first"]
        intents = "" if first is None else f", without our 8 intents, which are its first choice for {percent(first)}"
        found.append(f"{name} ({part['told']}{intents}) {right} {bounds}, {largest}")
    return f"**On the turns of other labelled datasets,** its label is right on: {'; '.join(found)}."


def _beside(model: ShippedModel, task: str, part: dict[str, Any]) -> str:
    """Return a table of this model and others on the same test split, the most accurate first."""
    rows = []
    for row in sorted(part["results"], key=lambda row: -row["accuracy"]):
        if row["method"] in SHIPPED:
            _row(SHIPPED[row["method"]], part)
        mark = "**" if row["method"] == model.name else ""
        figures = [percent(row["accuracy"]), interval(row["intervals"]["accuracy"]), percent(row["macro_f1"])]
        rows.append([f"{mark}{row['method']}{mark}", row["view"], *figures, percent(row["ece"])])
    head = ["method", "sees", "accuracy", "interval", "macro-F1", "calibration error"]
    return f"Compared with other methods on {_PARTS[task]} ({part['test']:,}):\n\n{table(head, rows)}"


def _row(model: ShippedModel, part: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a model on a test split; refuse those of other weights."""
    row: dict[str, Any] = next(row for row in part["results"] if row["method"] == model.name)
    _check_weights(model, row["source"], COMPARISON, "evaluation/baselines.py")
    return row


def _check_weights(model: ShippedModel, measured: str, path: Path, script: str) -> None:
    """Refuse figures that were measured with other weights than the shipped ones."""
    if model.of_transformers:
        source = identify(model.name)[:-8]
    else:
        source = (LinearHead if model.kind == "linear" else StaticLabeler).load(model.weights).source
    if measured != source:
        raise ValueError(f"{path} has figures of {measured}, but {source} ships: run {script} again")


def main() -> None:
    """Write all cards beside this file."""
    comparison, domain = (json.loads(path.read_text(encoding="utf-8")) for path in (COMPARISON, DOMAIN))
    for model in SHIPPED.values():
        path = Path(__file__).with_name(f"{model.name}.md")
        write_text(path, render(model, comparison, domain))
        sys.stdout.write(f"{path}\n")
    for name in RESPONDERS:
        path = Path(__file__).with_name(f"{name}.md")
        write_text(path, render_responder(name, WEIGHTS / name))
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
