"""The quality of labelers on unseen turns of every kind: all models, all held-out sets, one report.

    python evaluation/domain.py --data-dir "$EDOS_DATA_DIR" --models fast linear-dialogue dialogue

The sets are human labels on dialogues of subtitles (crowd), the weak labeler's test split (weak), and what
`training/held_out.py` holds out from training: third-party sets, each of whose labels stands for some of ours, and
turns that language models labelled by reading (films). `--sets weak_test` is the file on which the papers test their
weak labeler. Turns are labelled in their dialogue, with their history.

`--labelled` adds a file of yours: JSON lines, `{"dialogue_id", "turns": [{"text", "label"}, ...]}`, or CSV with the
columns text, label and, if turns belong together, dialogue_id. A label is one of ours, or several that are all right:
"annoyed|angry". Turns without a label are history. `--sets` without names measures only these files.

The script writes `domain.json`, `report.md` and its charts; equal inputs give equal bytes. With `--cache`, predictions
survive an interruption.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.base import EmbeddedLabeler, Labeler
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.labels import GROUPS, LABEL_IDS, LABELS, NEUTRAL
from edos_dataset.metrics.classification import Array, confidence_error, reliability
from edos_dataset.runs.shards import replacing, write_text
from evaluation.domain_report import draw, render
from evaluation.domain_sets import BY_NAME, INTENT_IDS, SETS, HeldOut, read_labelled_file, read_set
from evaluation.label_sets import (
    fitting_classes,
    group_probabilities,
    macro_f1,
    nested,
    risk_coverage,
    set_hits,
    set_intervals,
    set_scores,
    shared_confusion,
    weighted_f1,
    without,
)
from training.caches import kept, key_of
from training.examples import report as say

TOP = 3
SURE = 0.8
"""Confidence from which an answer counts as sure."""


def describe(held: HeldOut) -> dict[str, Any]:
    """Return a description of a set, and the scores of always predicting its largest class."""
    largest = int(held.right.sum(axis=0).argmax())
    table = _single_scores(np.full(len(held.right), largest), held.right)
    return {
        "told": held.description,
        "examples": len(held.right),
        "with_several_right": int((held.right.sum(axis=1) > 1).sum()),
        "dialogues": 1 if len(held.dialogues) == 1 else len(np.unique(held.clusters)),
        "unreadable": dict(held.unreadable),
        "intents_count": held.intents,
        "labels_of_several_classes": _counted(held.sets),
        "largest_class": held.classes[largest],
        "largest_class_accuracy": _rounded(held.right[:, largest].mean()),
        "largest_class_weighted_f1": _rounded(weighted_f1(table["f1"], table["support"])),
        "classes": {
            name: {"examples": int(number), "ours": [LABELS[label] for label in np.flatnonzero(ours)]}
            for name, number, ours in zip(held.classes, held.right.sum(axis=0), held.sets, strict=True)
        },
    }


def _counted(sets: Bools) -> str | None:
    if not (sets.sum(axis=0) > 1).any():
        return None
    return "is taken for the right one" if nested(sets) else "counts in full for each"


def measure(held: HeldOut, probabilities: Floats) -> dict[str, Any]:
    """Return the metrics of a labeler.

    Args:
        held: the set.
        probabilities: [n, 41], of its labelled turns.

    Returns:
        `accuracy`: the predicted class is right; `accuracy_but_neutral`: the same for turns that cannot be neutral;
        `label_accuracy`: the most probable label stands for a right class, whatever else it stands for;
        `top_3_accuracy`: one of the three most probable does; `weighted_f1`, `macro_f1`: over classes, for the examples
        with one right class; `ece`, `reliability`, `risk_coverage`, `sure`: of the confidence (the probability of the
        most probable label) with respect to `label_accuracy`; `intents_first`: the fraction of turns whose most
        probable label was an intent, if intents were excluded; `intervals`; `by_class`, `by_label`, `confusion`.
        Undefined values are None.
    """
    answers = probabilities.astype(np.float64) if held.intents else without(probabilities, INTENT_IDS)
    predicted = _predicted(answers, held)
    ranked = np.argsort(-answers, axis=1, kind="stable")
    allowed = held.right @ held.sets
    confidence, fits = answers.max(axis=1), set_hits(ranked, allowed)
    hits = {
        "accuracy": set_hits(predicted, held.right),
        "label_accuracy": fits,
        f"top_{TOP}_accuracy": set_hits(ranked, allowed, TOP),
    }
    some = ~held.right[:, held.sets[:, LABEL_IDS[NEUTRAL]]].any(axis=1)
    table = _single_scores(predicted, held.right)
    first = np.isin(probabilities.argmax(axis=1), INTENT_IDS)
    figures: dict[str, float | None] = {name: _rounded(each.mean()) for name, each in hits.items()}
    figures |= {
        "accuracy_but_neutral": _share(hits["accuracy"][some]),
        "weighted_f1": _rounded(weighted_f1(table["f1"], table["support"])),
        "macro_f1": _rounded(macro_f1(table["f1"])),
        "ece": _rounded(confidence_error(confidence, fits)),
        "intents_first": None if held.intents else _rounded(first.mean()),
    }
    return {
        **figures,
        "sure": {"from": SURE, "answers": int((confidence >= SURE).sum()), "right": _share(fits[confidence >= SURE])},
        "intervals": set_intervals(predicted, held.right, hits, (confidence, fits), held.clusters),
        "risk_coverage": [_rounded(share) for share in risk_coverage(confidence, fits)],
        "reliability": [[_rounded(value) for value in line] for line in zip(*_bins(confidence, fits), strict=True)],
        "by_class": _by_class(held, predicted),
        "by_label": _by_label(ranked[:, 0], fits),
        "confusion": _confusion(held, predicted),
    }


def _predicted(answers: Array, held: HeldOut) -> Ints:
    if nested(held.sets):
        return fitting_classes(answers, held.sets, held.right)
    return np.asarray(group_probabilities(answers, held.sets).argmax(axis=1))


def _single_scores(predicted: Ints, right: Bools) -> dict[str, Array]:
    single = right.sum(axis=1) == 1
    return set_scores(predicted[single], right[single])


def _bins(confidence: Array, fits: Bools) -> tuple[Array, Array, Array]:
    """Return the number of examples in each non-empty bin, their mean confidence, and the fraction that is right."""
    sizes, sums, hits = reliability(confidence, fits)
    there = sizes > 0
    return sizes[there], sums[there] / sizes[there], hits[there] / sizes[there]


def _by_class(held: HeldOut, predicted: Ints) -> dict[str, dict[str, Any]]:
    table = set_scores(predicted, held.right)
    return {
        name: {key: _rounded(table[key][number]) for key in ("f1", "precision", "recall")}
        | {"support": int(table["support"][number])}
        for number, name in enumerate(held.classes)
    }


def _by_label(said: Ints, fits: Bools) -> dict[str, dict[str, Any]]:
    """Return how often each of our labels was predicted, the most frequent first, and how often it was right."""
    count = np.bincount(said, minlength=len(LABELS))
    return {
        LABELS[label]: {"said": int(count[label]), "right": _share(fits[said == label])}
        for label in np.argsort(-count, kind="stable")
        if count[label]
    }


def _confusion(held: HeldOut, predicted: Ints) -> dict[str, Any]:
    """Return the names and the confusion matrix of the classes; for our labels, of their groups."""
    counts = shared_confusion(predicted, held.right)
    names = held.classes
    if names == LABELS:
        fold = np.array([[label in group for label in LABELS] for group in GROUPS.values()], np.float64)
        counts, names = fold @ counts @ fold.T, tuple(GROUPS)
    return {"classes": list(names), "counts": [[_rounded(value) for value in row] for row in counts]}


def _share(marks: Bools) -> float | None:
    return _rounded(marks.mean()) if len(marks) else None


def _rounded(value: Any) -> float | None:  # noqa: ANN401 - a number of any type
    return None if np.isnan(value) else round(float(value), 4)


def predict(labeler: Labeler, held: HeldOut, cache: Path | None = None) -> Floats:
    """Return the probabilities of the labelled turns of a set, float32 [n, 41], each predicted with its history. They
    are read from the cache if present.
    """
    dialogues, rows = held.dialogues, held.judged
    if isinstance(labeler, EmbeddedLabeler):
        return labeler.on_embeddings(*embed(labeler, dialogues, cache))[rows]
    if labeler.context == 0:  # without context, only the labelled turns are needed
        turns = [turn for dialogue in dialogues for turn in dialogue]
        dialogues, rows = [[turns[row]] for row in rows], np.arange(len(rows))
    key = key_of([labeler.identity, json.dumps(dialogues), json.dumps(rows.tolist())])
    return kept(cache and cache / f"{key}.npy", len(rows), lambda: labeler.predict_proba(dialogues)[rows])


def embed(labeler: EmbeddedLabeler, dialogues: Sequence[Sequence[str]], cache: Path | None) -> tuple[Floats, Ints]:
    """Return the embeddings of all turns, float32 [turns, dim], as `predict_proba` computes them, and the offsets of
    the dialogues. Embeddings are cached, since several models share an encoder.
    """
    turns = [turn for dialogue in dialogues for turn in dialogue]
    key = key_of([labeler.encoder.identity, *turns])
    path = cache and cache / f"{key}.npy"
    found = kept(path, len(turns), lambda: labeler.encoder.encode(turns).astype(np.float16))
    return found.astype(np.float32), np.cumsum([0, *map(len, dialogues)])


def evaluate(labelers: Mapping[str, Labeler], sets: Sequence[HeldOut], cache: Path | None = None) -> dict[str, Any]:
    """Return the content of `domain.json`: `models` and `sets` with their descriptions, and the `results` of every
    model.
    """
    content: dict[str, Any] = {
        "models": {name: {"source": each.source, "identity": each.identity} for name, each in labelers.items()},
        "sets": {held.name: {**describe(held), "results": {}} for held in sets},
    }
    for name, labeler in labelers.items():
        for held in sets:
            figures = measure(held, predict(labeler, held, cache))
            content["sets"][held.name]["results"][name] = figures
            say(f"{name} on {held.name}: {100 * figures['accuracy']:.1f} % of {len(held.right)} right")
    return content


def added(content: Mapping[str, Any], record: Path) -> dict[str, Any]:
    """Return the content with the figures of other models, and of other sets, in a record of earlier measurements.

    Raises:
        ValueError: the record has other turns in one of the sets.
    """
    known = json.loads(record.read_text(encoding="utf-8"))
    sets: dict[str, Any] = dict(known["sets"])
    for name, mine in content["sets"].items():
        theirs = sets.get(name, mine)
        if {**mine, "results": {}} != {**theirs, "results": {}}:
            raise ValueError(f"{record} has other turns of the set {name!r}: measure all its models, without --add")
        sets[name] = {**mine, "results": {**theirs["results"], **mine["results"]}}
    return {"models": {**known["models"], **content["models"]}, "sets": sets}


def write_report(content: Mapping[str, Any], folder: Path, command: str) -> None:
    """Write `domain.json`, `report.md` and the charts into a folder, which is created if needed; each is written
    atomically.
    """
    shown = {"command": command, "models": content["models"], "sets": {}}
    for name, held in content["sets"].items():
        pictures = draw(file_name(name), held["results"])
        for file, (_, picture) in pictures.items():
            with replacing(folder / file) as temporary:
                temporary.write_bytes(picture)
        shown["sets"][name] = {**held, "pictures": {file: caption for file, (caption, _) in pictures.items()}}
    write_text(folder / "report.md", render(shown))
    write_text(folder / "domain.json", json.dumps({"command": command, **content}, indent=1, ensure_ascii=False) + "\n")


def file_name(name: str) -> str:
    """Return the name of a set in a form that file names can have."""
    return re.sub(r"[^\w.-]+", "-", name)


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--models", nargs="+", required=True, help="shipped models, model folders, Hub ids")
    parser.add_argument(
        "--sets",
        nargs="*",
        choices=SETS,
        default=[name for name in SETS if name not in BY_NAME],
        metavar="SET",
        help=f"of {', '.join(SETS)} (default: all but {', '.join(BY_NAME)})",
    )
    parser.add_argument(
        "--labelled", type=Path, action="append", default=[], metavar="FILE", help="a file with your own labels"
    )
    parser.add_argument("--cache", type=Path, help="folder in which embeddings and predictions are cached")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(""), metavar="DIR")
    parser.add_argument("--add", action="store_true", help="keep the figures of other models in --out")
    arguments = parser.parse_args(given)
    if arguments.data_dir is None and arguments.sets:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    if not arguments.sets and not arguments.labelled:
        parser.error("--sets names none and there is no --labelled: nothing is to be measured")
    names = [*arguments.sets, *(path.stem for path in arguments.labelled)]
    files = [file_name(name) for name in names]
    if twice := [name for name in names if files.count(file_name(name)) > 1]:
        parser.error(f"two sets are called {twice[0]!r}: rename the file")
    return arguments


def main(given: Sequence[str] | None = None) -> None:
    """Measure and report."""
    arguments = parse_arguments(given)
    files = [word for path in arguments.labelled for word in ("--labelled", path.name)]
    command = ["python", "evaluation/domain.py", "--models", *arguments.models, "--sets", *arguments.sets, *files]
    with limit_threads(1):
        try:
            labelers = {name: load_labeler(name) for name in arguments.models}
            for labeler in labelers.values():
                check_labeler(labeler)
            sets = [read_set(name, arguments.data_dir, arguments.cache) for name in arguments.sets]
            sets += [read_labelled_file(path) for path in arguments.labelled]
            content = evaluate(labelers, sets, arguments.cache)
            if arguments.add:
                content = added(content, arguments.out / "domain.json")
            command[3:3] = [name for name in content["models"] if name not in arguments.models]
            write_report(content, arguments.out, " ".join(command))
        except (OSError, ValueError, ModuleNotFoundError) as error:
            sys.exit(f"error: {error}")
    say(str(arguments.out / "report.md"))


if __name__ == "__main__":
    main()
