"""Judging the responses of models: what `edos evaluate` does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Doubles
from edos_dataset.commands.judges import Judges
from edos_dataset.labels import LABELS
from edos_dataset.metrics.responses.dialog_eval import NEEDS, OLD_BLEU, measure
from edos_dataset.metrics.responses.files import read_lines, read_vectors
from edos_dataset.metrics.responses.generic import frequent, generic
from edos_dataset.metrics.responses.semantic import label_accuracy
from edos_dataset.metrics.responses.summary import Figure, summarise
from edos_dataset.metrics.responses.words import Words
from edos_dataset.text import shown

TRUTH, RANDOM = "GT", "RT"
"""Reference rows: the true responses, and random ones of the training set."""

Say = Callable[[str], object]


@dataclass(frozen=True)
class Files:
    """Files of a text a line; what is None is not given, and what needs it is left out.

    Attributes:
        contexts: what is answered; line n belongs to line n of the responses, as in `references` and `labels`.
        references: the true responses.
        labels: names of the labels that the responses were conditioned on; an empty line for none.
        train: contexts of the training set, whose words give probabilities.
        train_targets: responses of the training set.
        vectors: word vectors.
        vocabulary: words that are known beside those with vectors; those of `train` where there is none.
    """

    contexts: Path | None = None
    references: Path | None = None
    labels: Path | None = None
    train: Path | None = None
    train_targets: Path | None = None
    vectors: Path | None = None
    vocabulary: Path | None = None


@dataclass
class _Read:
    """The content of the files, and what came of measuring."""

    files: Files
    judges: Judges
    words: Words
    contexts: list[str] | None
    references: list[str] | None
    labels: list[int] | None
    targets: list[str] | None
    left_out: dict[str, str] = field(default_factory=dict)
    made_by: dict[str, str] = field(default_factory=dict)


def evaluate_responses(
    responses: Sequence[Path],
    files: Files,
    judges: Judges | None = None,
    reference_rows: bool = False,
    seed: int = 0,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Measure files of responses.

    Args:
        responses: a response a line.
        files: what they are measured with.
        judges: which models judge them, too.
        reference_rows: measure the truth (`GT`, if there are references) and random responses of the training set
            (`RT`, if there are train targets), too.
        seed: of the random ones.
        say: called with what is being done.

    Returns:
        `metrics`: name → mean, std, confidence and n (see `Figure`); of several files instead `files`: path →
        `metrics`. `reference_rows`: `RT` and `GT` → `metrics`. `left_out`: metric → why it could not be measured.
        `made_by`: metric → by which model or signature.

    Raises:
        ValueError: a file cannot be read or doesn't fit the others.
        ModuleNotFoundError: a judge needs a library that is not installed.
    """
    say("reading")
    texts = {str(path): read_lines(path) for path in responses}
    given = _read(texts, files, judges or Judges())
    found: dict[str, dict[str, Any]] = {}
    for path, lines in texts.items():
        say(f"measuring {path}")
        found[path] = {"metrics": _figures(lines, given)}
    result: dict[str, Any] = next(iter(found.values())) if len(found) == 1 else {"files": found}
    if reference_rows:
        rows = _reference_rows(len(next(iter(texts.values()))), given, seed)
        result["reference_rows"] = {name: {"metrics": _figures(lines, given)} for name, lines in rows.items()}
    return {**result, "left_out": given.left_out, "made_by": given.made_by}


def _read(texts: Mapping[str, list[str]], files: Files, judges: Judges) -> _Read:
    """Read the files and check that their lines fit."""
    lines = {
        name: None if path is None else read_lines(path) for name, path in vars(files).items() if name != "vectors"
    }
    for path, responses in texts.items():
        if not responses:
            raise ValueError(f"{path} is empty: give a file with a response a line")
        for name in ("contexts", "references", "labels"):
            if (others := lines[name]) is not None and len(others) != len(responses):
                raise ValueError(
                    f"{path} has {len(responses):,} lines, but {getattr(files, name)} of --{name} has "
                    f"{len(others):,}: give files in which line n of one belongs to line n of the other"
                )
    if files.train_targets is not None and not lines["train_targets"]:
        raise ValueError(f"{files.train_targets} of --train-targets is empty: give a response a line")
    labels = None if lines["labels"] is None else _label_ids(lines["labels"], files.labels)
    vocabulary = None if lines["vocabulary"] is None else [line.strip() for line in lines["vocabulary"]]
    vectors = None
    if files.vectors is not None:
        every = [*texts.values(), *(lines[name] or [] for name in ("contexts", "references", "train", "train_targets"))]
        vectors = read_vectors(files.vectors, {word for part in every for line in part for word in line.split()})
    words = Words.of(vectors, vocabulary, lines["train"])
    return _Read(files, judges, words, lines["contexts"], lines["references"], labels, lines["train_targets"])


def _label_ids(names: Sequence[str], path: Path | None) -> list[int]:
    ids = {name: number for number, name in enumerate(LABELS)} | {"": -1}
    for line, name in enumerate(names, 1):
        if name.strip() not in ids:
            raise ValueError(f"{path}, line {line}: {shown(name)} is no label: give one of {', '.join(LABELS)}")
    return [ids[name.strip()] for name in names]


def _figures(responses: list[str], given: _Read) -> dict[str, Figure]:
    """Return all figures of a set of responses; what is left out is noted in `given`."""
    values = dict(measure(responses, given.references, given.contexts, given.words))
    for name, needs in NEEDS.items():
        missing = [f"--{need}" for need in needs if getattr(given.files, need) is None]
        if missing:
            given.left_out[name] = f"not given: {', '.join(missing)}"
    if given.references is None:
        given.left_out |= dict.fromkeys(OLD_BLEU, "not given: --references")
    values["generic"] = generic(responses, given.contexts)
    if given.targets is None:
        given.left_out["generic-train"] = "not given: --train-targets"
    else:
        values["generic-train"] = frequent(responses, given.targets)
    return {name: summarise(found) for name, found in {**values, **_judged(responses, given)}.items()}


def _judged(responses: list[str], given: _Read) -> dict[str, Doubles]:
    """Return what libraries and models say."""
    values: dict[str, Doubles] = {}
    judges, references = given.judges, given.references
    for name, metric in judges.metrics.items():
        if references is None:
            given.left_out[name] = "not given: --references"
            continue
        measured = metric(responses, references)
        values[name], given.made_by[name] = measured.values, measured.made_by
    if given.labels is not None:
        labels, given.made_by["label-accuracy"] = judges.labels(responses, given.contexts)
        values["label-accuracy"] = label_accuracy(labels, given.labels)
    return values


def _reference_rows(number: int, given: _Read, seed: int) -> dict[str, list[str]]:
    """Return the reference rows that can be made."""
    rows: dict[str, list[str]] = {}
    if given.targets is None:
        given.left_out[RANDOM] = "not given: --train-targets"
    else:
        drawn = np.random.default_rng(seed).integers(len(given.targets), size=number)
        rows[RANDOM] = [given.targets[place] for place in drawn]
    if given.references is None:
        given.left_out[TRUTH] = "not given: --references"
    else:
        rows[TRUTH] = given.references
    return rows
