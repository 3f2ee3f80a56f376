"""How easy dialogues are to read, and which of them to give to people (EDOS, Section 3 and Appendix A)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.labels import LABELS
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.runs.shards import read_pieces
from edos_dataset.runs.tables import config_files
from edos_dataset.schema import TURN_LABEL_CONFIGS
from edos_dataset.text import normalise, tokenize

_SPARE = 4  # candidates of a label that are kept before the worst leave, in multiples of those wanted


@dataclass(frozen=True)
class Readability:
    """A dialogue's readability, `f + weight * d` (Appendix A).

    f = (sum of the frequencies of all tokens) / (alpha + number of tokens): dialogues of rare words, and short ones,
    have less of it. d = share of distinct words. The paper does not say what a frequency is; here it is a token's share
    of all tokens of the corpus, so that f is of the size of 0.04 d, and d is a share, from 0 to 1. Tokens are those of
    `text.tokenize`, in lower case; words are without punctuation, which repeats in every good text.

    Attributes:
        frequencies: token → share of the corpus, 0 to 1.
        alpha: holds f down for short dialogues.
        weight: of d.
    """

    frequencies: Mapping[str, float]
    alpha: float = 87.0
    weight: float = 0.04

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.alpha < 0:
            raise ValueError(f"alpha must be at least 0, got {self.alpha}")

    def score(self, turns: Sequence[str]) -> tuple[float, float, float]:
        """Return f, d and the score of a dialogue; all are 0 without words."""
        tokens = [token for turn in turns for token in tokenize(turn.lower())]
        words = [word for turn in turns for word in normalise(turn).split()]
        if not words:
            return 0.0, 0.0, 0.0
        f = sum(self.frequencies.get(token, 0.0) for token in tokens) / (self.alpha + len(tokens))
        d = len(set(words)) / len(words)
        return f, d, f + self.weight * d


_LABELLED = tuple(reversed(TURN_LABEL_CONFIGS))
"""The configs whose labels count, that of the weak labels first."""


def token_frequencies(run: Path, config: str = "os") -> dict[str, float]:
    """Return every token of a run's dialogues with its share of all tokens, 0 to 1. Memory: the distinct tokens.

    Args:
        run: a folder that `edos curate` wrote.
        config: the config to count in; "os" is all cleaned dialogues.

    Raises:
        FolderError: the folder holds no such run, or no dialogues in it.
    """
    counts: Counter[str] = Counter()
    for table in _dialogues(run, config):
        turns, _ = unnest(table, "turns")
        counts.update(tokenize("\n".join(turns.field("text").to_pylist()).lower()))
    total = counts.total()
    if not total:
        raise FolderError(f"the config {config!r} of {run} has no dialogues to count words in")
    return {token: count / total for token, count in counts.items()}


def select_tasks(
    run: Path,
    per_label: int = 250,
    confidence: float = 0.9,
    config: str | None = None,
    alpha: float = 87.0,
    weight: float = 0.04,
) -> list[dict[str, Any]]:
    """Return the dialogues to give to people: for each label the most readable ones whose last turn surely has it.

    A candidate is a turn whose label has at least the confidence, with its history. Of each dialogue and label the most
    readable candidate counts, of equal texts the one with the smaller id. Equal scores come by id. The result does not
    depend on the order of the dialogues. Memory: the distinct tokens, and four times the tasks.

    Args:
        run: a folder that `edos curate` or `edos label` wrote; words are counted in its config "os" where it has that.
        per_label: tasks a label at most.
        confidence: least confidence of the label, 0 to 1.
        config: the config whose labels count; by default "edos_initial", which has the weak labels, as in the paper,
            and "edos" where that is not there.
        alpha: as of `Readability`.
        weight: likewise.

    Returns:
        `task` (dialogue id, "@" and the number of its turns), `dialogue_id`, `turns`, `label` (name), `confidence`,
        `top` (names of the most probable labels), `f`, `d`, `score`; label after label, the most readable first.

    Raises:
        ValueError: a parameter is out of its range.
        FolderError: the folder holds no run with labels.
    """
    if per_label < 1 or not 0 <= confidence <= 1:
        raise ValueError(
            f"per_label is {per_label} and confidence {confidence}: give at least 1, and a confidence from 0 to 1"
        )
    there = read_manifest(run)["configs"]
    config = config or next((name for name in _LABELLED if name in there), _LABELLED[0])
    tables = _dialogues(run, config)
    first = next(tables, None)
    if first is None or "label" not in first.schema.field("turns").type.value_type.names:
        raise FolderError(
            f"the config {config!r} of {run} has no labels: give a run that `edos curate` made with labels"
        )
    readability = Readability(token_frequencies(run, "os" if "os" in there else config), alpha, weight)
    best: list[list[dict[str, Any]]] = [[] for _ in LABELS]
    for table in chain([first], tables):
        for row in table.to_pylist():
            for label, task in _candidates(row, confidence, readability).items():
                best[label].append(task)
                if len(best[label]) > _SPARE * per_label:
                    best[label] = _most_readable(best[label], per_label)
    return [task for tasks in best for task in _most_readable(tasks, per_label)]


def _candidates(row: Mapping[str, Any], confidence: float, readability: Readability) -> dict[int, dict[str, Any]]:
    """Return a dialogue's most readable candidate for each label that it has one for; of equal ones the shortest."""
    best: dict[int, dict[str, Any]] = {}
    texts = [turn["text"] for turn in row["turns"]]
    for number, turn in enumerate(row["turns"], 1):
        if np.float32(turn["confidence"]) < np.float32(confidence):
            continue
        f, d, score = readability.score(texts[:number])
        if turn["label"] not in best or score > best[turn["label"]]["score"]:
            best[turn["label"]] = {
                "task": f"{row['dialogue_id']}@{number}",
                "dialogue_id": row["dialogue_id"],
                "turns": texts[:number],
                "label": LABELS[turn["label"]],
                "confidence": round(float(turn["confidence"]), 6),
                "top": [LABELS[entry["label"]] for entry in turn["top"]],
                "f": f,
                "d": d,
                "score": score,
            }
    return best


def _most_readable(tasks: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Return the best tasks of different texts, best first."""
    kept: dict[str, dict[str, Any]] = {}
    for task in sorted(tasks, key=lambda task: (-task["score"], task["task"])):
        kept.setdefault(normalise(" ".join(task["turns"])), task)
    return list(kept.values())[:number]


def _dialogues(run: Path, config: str) -> Iterator[pa.Table]:
    """Yield the dialogues of a run's config, the columns that are needed here."""
    manifest = read_manifest(run)
    if config not in manifest["configs"]:
        raise FolderError(f"{run} has no config {config!r}; it has {', '.join(manifest['configs']) or 'none'}")
    for path in chain.from_iterable(config_files(run, config).values()):
        yield from read_pieces(path, ["dialogue_id", "turns"])
