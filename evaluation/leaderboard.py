"""Labelers beside each other: ours, plain baselines and published figures, as a page, and any labelled file of yours.

    python evaluation/leaderboard.py page
    python evaluation/leaderboard.py file mine.jsonl --models general fast ./my-model
    python evaluation/leaderboard.py nearest --data-dir "$EDOS_DATA_DIR" --cache build/cache

`page` writes `docs/benchmarks/leaderboard.md` from the records of `domain.py`, `baselines.py`, `hard_turns.py` and of
this script, and from `published.json`; nothing is measured. `file` prints the same tables for the labels in your file,
in a form of `domain.py --labelled`. `nearest` measures the nearest labelled neighbour (`nearest.py`) on the sets of the
page.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.labels import INTENTS
from edos_dataset.publishing.cards.markdown import code, interval, percent, plain, prose, table
from edos_dataset.runs.shards import write_text
from evaluation.domain import evaluate
from evaluation.domain_sets import read_labelled_file, read_set
from evaluation.nearest import Nearest

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks" / "leaderboard.md"
RECORD = Path(__file__).with_suffix(".json")
NEAREST = "nearest labelled neighbour"
HERE_ALREADY = ("general", "fast", "dialogue", "weak")
OURS = (*HERE_ALREADY, "large")
SETS = {
    "films": "Turns of films",
    "crowd": "The crowd's labels of EDOS",
    "weak": "The weak labeler's set of EDOS",
    "meld": "MELD",
    "emorynlp": "EmoryNLP",
}
"""Set of the page → its heading."""
_BY_F1 = ("meld", "emorynlp")
_TASKS = {"crowd": ("dialogue", "last turn"), "weak": ("weak", "single turn")}
"""Set → the task and the view in `baselines.json` whose test part it is."""
_KEPT = ("accuracy", "weighted_f1", "macro_f1", "sure", "intervals")
_PLAIN = ("fastText, chosen", "TF-IDF + logistic regression")

_HEAD = """# Labeler leaderboard

Ours, plain baselines and published figures on the same sets, the best first. [Quality of labels](labels.md) says how
each was measured; this page is made of the records by `python evaluation/leaderboard.py page`.

- **ours**: the shipped models, on parts held out from training. **plain**: always the most frequent label; the label of
  the nearest labelled turn (frozen MiniLM, the training turns of the crowd and the weak labeler); fastText and TF-IDF
  with logistic regression, trained on the same set. **published**: by others, as
  they state them, on the parts named under the table.
- **intents found**: of the turns with one of the eight intents, the share that gets it. **answers from 0.8**: of the
  answers with at least that confidence, how many hold: the label stands for a right class.

Your own labelled turns are measured in the same form, with any labelers, by
`python evaluation/leaderboard.py file mine.jsonl --models general fast ./my-model`."""


class Row(NamedTuple):
    """A line of a table.

    Attributes:
        method: the labeler.
        kind: "ours", "plain" or "published".
        figures: as of `domain.measure`, those that are known; or a list of one or two values of a published one.
    """

    method: str
    kind: str
    figures: Mapping[str, Any]

    def value(self, name: str) -> float:
        """Return the highest value of a figure, 0 if unknown."""
        found = self.figures.get(name)
        return max(found) if isinstance(found, list) else float(found or 0)


def page() -> str:
    """Return the page, made of the records."""
    domain = _read(HERE / "domain" / "domain.json")["sets"]
    sections = [_HEAD]
    for name, title in SETS.items():
        sections.append(f"## {title}\n\n{_described(domain[name])}\n\n{_board(name, domain[name])}")
        if parts := _parts(name):
            sections.append(parts)
    sections.append(_by_intent(domain["crowd"], "the crowd's labels of EDOS"))
    sections += [_reliability(domain), _hard(_read(HERE / "hard_turns.json"))]
    return "\n\n".join(sections) + "\n"


def report_on(path: Path, models: Sequence[str]) -> str:
    """Return the tables of a labelled file.

    Raises:
        ValueError: a model or a line of the file cannot be used.
        OSError: the file cannot be read.
    """
    labelers = {name: load_labeler(name) for name in models}
    for labeler in labelers.values():
        check_labeler(labeler)
    held = read_labelled_file(path)
    [found] = evaluate(labelers, [held])["sets"].values()
    rows = [Row(code(name), "", figures) for name, figures in found["results"].items()]
    parts = [_described(found), _table([*rows, _constant(found)], "accuracy", found["intents_count"])]
    return "\n\n".join([*parts, _by_intent(found, path.name, models)]) + "\n"


def _board(name: str, held: Mapping[str, Any]) -> str:
    rows = [Row(code(model), "ours", held["results"][model]) for model in OURS if model in held["results"]]
    rows.append(_constant(held))
    if nearest := _read(RECORD)["sets"].get(name):
        rows.append(Row(NEAREST, "plain", nearest))
    if name in _TASKS:
        task, view = _TASKS[name]
        results = _read(HERE / "baselines.json")[task]["results"]
        rows += [
            Row(each["method"].removesuffix(", chosen"), "plain", {key: each[key] for key in ("accuracy", "macro_f1")})
            for each in results
            if each["method"] in _PLAIN and each["view"] == view
        ]
    rows += [Row(plain(each["method"]), "published", each) for each in _published(name)]
    return _table(rows, "weighted_f1" if name in _BY_F1 else "accuracy", held["intents_count"])


def _constant(held: Mapping[str, Any]) -> Row:
    figures = {"accuracy": held["largest_class_accuracy"], "weighted_f1": held["largest_class_weighted_f1"]}
    return Row(f"always {code(held['largest_class'])}", "plain", figures)


def _table(rows: Sequence[Row], first: str, intents: bool) -> str:
    """Return the rows, the best first, without columns that none of them fills."""
    second = "macro_f1" if first == "accuracy" else "accuracy"
    names = {"accuracy": "right", "weighted_f1": "weighted F1", "macro_f1": "macro-F1"}
    lines = [
        [
            row.method,
            row.kind,
            _cell(row, first),
            _cell(row, second),
            *([_intents_found(row.figures)] if intents else []),
            _sure(row.figures),
        ]
        for row in sorted(rows, key=lambda row: -row.value(first))
    ]
    head = ["method", "", names[first], names[second], *(["intents found"] if intents else []), "answers from 0.8"]
    filled = [at for at in range(len(head)) if any(line[at] not in ("", "–") for line in lines)]
    return table([head[at] for at in filled], [[line[at] for at in filled] for line in lines])


def _cell(row: Row, name: str) -> str:
    value = row.figures.get(name)
    if value is None:
        return "–"
    if isinstance(value, list):
        return "–".join(f"{100 * each:.1f}" for each in value) + " %"
    bounds = row.figures.get("intervals", {}).get(name, [None])
    return percent(value) + ("" if None in bounds else f" {interval(bounds)}")


def _sure(figures: Mapping[str, Any]) -> str:
    sure = figures.get("sure")
    return "–" if not sure or not sure["answers"] else f"{percent(sure['right'])} of {sure['answers']:,} hold"


def _intents_found(figures: Mapping[str, Any]) -> str:
    rows = [row for name, row in figures.get("by_class", {}).items() if name in INTENTS and row["support"]]
    turns = sum(row["support"] for row in rows)
    return percent(sum(row["recall"] * row["support"] for row in rows) / turns) if turns else "–"


def _described(held: Mapping[str, Any]) -> str:
    text = prose(held["told"])
    return f"{text[:1].upper()}{text[1:]}. {held['examples']:,} turns."


def _parts(name: str) -> str:
    own = list(dict.fromkeys(each["part"] for each in _published(name)))
    return f"Published figures are on another part than ours, {' and '.join(own)}." if own else ""


def _by_intent(held: Mapping[str, Any], where: str, models: Sequence[str] = OURS) -> str:
    """Return the recall of every intent; empty if no turn has one."""
    results = {name: held["results"][name]["by_class"] for name in models if name in held["results"]}
    first = next(iter(results.values()))
    there = [name for name in INTENTS if name in first and first[name]["support"]]
    rows = [
        [name, f"{first[name]['support']:,}", *(percent(each[name]["recall"]) for each in results.values())]
        for name in there
    ]
    head = ["intent", "turns", *map(code, results)]
    return f"## Recall per intent\n\nOn {plain(where)}: of the turns with the intent, the share that gets it.\n\n" + (
        table(head, rows) if rows else "No turn has an intent."
    )


def _reliability(domain: Mapping[str, Any]) -> str:
    names = {name: SETS[name] for name in SETS}
    rows = [[code(model), *(_sure(domain[name]["results"].get(model, {})) for name in names)] for model in OURS]
    return (
        "## Reliability by confidence\n\nOf the answers with a confidence of at least 0.8, how many hold.\n\n"
        + table(["model", *names.values()], rows)
    )


def _hard(hard: Mapping[str, Any]) -> str:
    models = hard["models"]
    rows = [
        [
            code(name) if name in OURS else name,
            *(percent(own[key]["share"]) for key in ("acceptable", "first")),
            _sure({"sure": {"answers": own["sure"]["turns"], "right": own["sure"]["share"]}}) if name in OURS else "–",
            *(percent(share["share"]) for share in own["patterns"].values()),
        ]
        for name, own in sorted(models.items(), key=lambda each: -each[1]["acceptable"]["share"])
    ]
    patterns = [name.replace("_", " ") for name in next(iter(models.values()))["patterns"]]
    head = ["model", "acceptable", "the expected label", "answers from 0.8", *patterns]
    return (
        f"## {hard['turns']} hard turns\n\nInvented dialogues whose words speak for another label "
        "(`evaluation/hard_turns.py`): acceptable labels, of all turns and by pattern.\n\n" + table(head, rows)
    )


def _published(name: str) -> Iterator[Mapping[str, Any]]:
    yield from (each for each in _read(HERE / "published.json")["figures"] if each["set"] == name)


def _read(path: Path) -> Any:  # noqa: ANN401 - any JSON
    return json.loads(path.read_text(encoding="utf-8"))


def measure_nearest(names: Sequence[str], data_dir: Path, cache: Path | None) -> dict[str, Any]:
    """Return the figures of the nearest labelled neighbour on sets of the page."""
    nearest = Nearest(data_dir, cache)
    sets = [read_set(name, data_dir, cache) for name in names]
    found = evaluate({NEAREST: nearest}, sets, cache)["sets"]
    figures = {name: held["results"][NEAREST] for name, held in found.items()}
    return {
        "identity": nearest.identity,
        "sets": {
            name: {key: own[key] for key in _KEPT}
            | {"by_class": {label: row for label, row in own["by_class"].items() if label in INTENTS}}
            for name, own in figures.items()
        },
    }


def main(given: Sequence[str] | None = None) -> None:
    """Write the page, measure a file, or the nearest neighbour."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("page", help="write the page")
    step.add_argument("--out", type=Path, default=PAGE)
    step = steps.add_parser("file", help="measure labelers on a labelled file of yours")
    step.add_argument("file", type=Path)
    step.add_argument("--models", nargs="+", default=HERE_ALREADY, help=f"labelers (default: {' '.join(HERE_ALREADY)})")
    step = steps.add_parser("nearest", help="measure the nearest labelled neighbour")
    data_dir = os.environ.get("EDOS_DATA_DIR")
    step.add_argument("--data-dir", type=Path, default=data_dir, required=data_dir is None)
    step.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="sets of the page (default: all)")
    step.add_argument("--cache", type=Path, help="folder in which embeddings are cached")
    chosen = parser.parse_args(given)
    with limit_threads(1):
        try:
            if chosen.step == "page":
                write_text(chosen.out, page())
            elif chosen.step == "file":
                sys.stdout.write(report_on(chosen.file, chosen.models))
            else:
                record = {"command": f"python evaluation/leaderboard.py nearest --sets {' '.join(chosen.sets)}"}
                record |= measure_nearest(chosen.sets, chosen.data_dir, chosen.cache)
                write_text(RECORD, json.dumps(record, indent=1) + "\n")
        except (OSError, ValueError) as error:
            sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
