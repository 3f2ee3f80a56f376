"""Selecting dialogues for annotators: readable, confidently labelled, and as many of each label (EDOS, Section 3.2).

The paper asks for a confidence of 0.9. A calibrated labeler reaches that for few of the 41 labels, so labels that fall
short are filled up with less confident turns, in bands of 0.1, and then with turns for which the label is the second or
third guess. The authors' own file has such bands: 1,375 of its 8,437 dialogues are numbered 0.8, 0.7 or 0.6.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints, unnest
from edos_dataset.crowd.turn_tasks import speakers_of
from edos_dataset.label_sets import DEFAULT, LabelSet, label_set_of
from edos_dataset.runs.folder import FolderError, config_files
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.runs.shards import read_pieces
from edos_dataset.schema import TURN_LABEL_CONFIGS
from edos_dataset.text import normalise, tokenize


@dataclass(frozen=True)
class Readability:
    """A dialogue's readability, `f + weight * d` (Appendix A).

    f = (sum of the frequencies of all tokens) / (alpha + number of tokens), lower for short dialogues and rare words.
    d = fraction of distinct words, 0 to 1. The paper does not define frequency; here it is a token's fraction of all
    tokens of the corpus, which makes f about as large as 0.04 d. Tokens are those of `text.tokenize`, in lower case;
    words exclude punctuation, which repeats in any text.

    Attributes:
        frequencies: token → fraction of the corpus, 0 to 1.
        alpha: lowers f for short dialogues.
        weight: weight of d.
    """

    frequencies: Mapping[str, float]
    alpha: float = 87.0
    weight: float = 0.04

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.alpha < 0:
            raise ValueError(f"alpha must be at least 0, got {self.alpha}")

    def score(self, turns: Sequence[str]) -> tuple[float, float, float]:
        """Return f, d and the score of a dialogue; all are 0 if it has no words."""
        tokens = [token for turn in turns for token in tokenize(turn.lower())]
        words = [word for turn in turns for word in normalise(turn).split()]
        if not words:
            return 0.0, 0.0, 0.0
        f = sum(self.frequencies.get(token, 0.0) for token in tokens) / (self.alpha + len(tokens))
        d = len(set(words)) / len(words)
        return f, d, f + self.weight * d


def token_frequencies(run: Path, config: str = "os") -> dict[str, float]:
    """Return each token of a run's dialogues → its fraction of all tokens, 0 to 1. Memory: the distinct tokens.

    Args:
        run: a folder that `edos curate` wrote.
        config: the config to count in; "os" is all cleaned dialogues.

    Raises:
        FolderError: the folder has no such run, or the run no dialogues.
    """
    counts: Counter[str] = Counter()
    for table in read_dialogues(run, config):
        turns, _ = unnest(table, "turns")
        counts.update(tokenize("\n".join(turns.field("text").to_pylist()).lower()))
    total = counts.total()
    if not total:
        raise FolderError(f"the config {config!r} of {run} has no dialogues to count words in")
    return {token: count / total for token, count in counts.items()}


def read_dialogues(run: Path, config: str) -> Iterator[pa.Table]:
    """Yield the ids and turns of the dialogues of a run's config."""
    manifest = read_manifest(run)
    if config not in manifest["configs"]:
        raise FolderError(f"{run} has no config {config!r}; it has {', '.join(manifest['configs']) or 'none'}")
    for path in chain.from_iterable(config_files(run, config).values()):
        yield from read_pieces(path, ["dialogue_id", "turns"])


CONFIDENT, BELOW, GUESSED = "confident", "below confidence", "second or third guess"
"""Why a dialogue is chosen: its label reaches the confidence, is the first guess below it, or is a later guess."""

STEPS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Confidences for which `Selection.available` counts dialogues."""

_GUESSES = 3  # labels suggested to a worker (EDOS, Section 3.2)
_BAND = 0.1  # width in confidence; within a band the more readable dialogue comes first
_WORST = 10**6  # a band that no turn has
_SPARE = 4  # candidates kept per label, as a multiple of those wanted; pruned at twice as many

_LABELLED = tuple(reversed(TURN_LABEL_CONFIGS))
"""Configs with labels to select by, the weak labels first."""

Task = dict[str, Any]
Rank = tuple[int, float, str]


@dataclass(frozen=True)
class SelectionRules:
    """Rules of the selection.

    Attributes:
        per_label: maximum number of tasks per label.
        confidence: minimum confidence of the label, 0 to 1.
        floor: minimum confidence of turns that fill up labels that fall short; set it to `confidence` to disable
            filling up, as in the paper.
        history: maximum number of turns shown before the one to label; None for all, as in the paper. Of the authors'
            dialogues 91 % have three or fewer.
        alpha: see `Readability`.
        weight: see `Readability`.
    """

    per_label: int = 250
    confidence: float = 0.9
    floor: float = 0.2
    history: int | None = 3
    alpha: float = 87.0
    weight: float = 0.04

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.per_label < 1 or not 0 <= self.floor <= self.confidence <= 1:
            raise ValueError(
                f"per_label is {self.per_label}, confidence {self.confidence} and floor {self.floor}: give at least 1, "
                "and confidences from 0 to 1, the floor not above the confidence"
            )
        if self.history is not None and self.history < 0:
            raise ValueError(f"history is {self.history}: give a number of turns from 0, or none for all")

    @classmethod
    def papers(cls, per_label: int = 250, confidence: float = 0.9) -> "SelectionRules":
        """Return the rules of EDOS, Section 3.2: nothing below the confidence, and the whole history."""
        return cls(per_label, confidence, floor=confidence, history=None)


@dataclass(frozen=True)
class Selection:
    """The selected tasks.

    Attributes:
        tasks: by label; within a label, the confident ones first, then by band; within these, the most readable first.
        available: [labels, steps] dialogues in which the label is the first guess for a turn with at least this
            confidence of `STEPS`; repeated texts count each time.
        labels: names of the labels, in the order of `available`.
    """

    tasks: list[Task]
    available: Ints
    labels: tuple[str, ...]


def select_tasks(run: Path, rules: SelectionRules | None = None, config: str | None = None) -> Selection:
    """Choose the dialogues to give to people.

    Each dialogue contributes its best turn for each label; of equal texts the one with the smaller id is used. No
    task or text is used for two labels. Ties are broken by id. The result does not depend on the order of the
    dialogues. Memory: the distinct tokens, and 16 times the tasks.

    Args:
        run: a folder that `edos curate` or `edos label` wrote; words are counted in its config "os" if it has one.
        rules: the rules.
        config: the config with the labels; by default "edos_initial", the weak labels, as in the paper, or else
            "edos".

    Returns:
        The tasks: `task` (dialogue id, "@" and the number of its turn), `dialogue_id`, `turns`, `label` (name),
        `confidence` (its probability), `top` (names of the most probable labels), `f`, `d`, `score`, `chosen` (why),
        `guess` (1 to 3, which guess the label is); and the counts for other confidences.

    Raises:
        FolderError: the folder has no run with labels.
    """
    rules = rules or SelectionRules()
    there = read_manifest(run)["configs"]
    config = config or next((name for name in _LABELLED if name in there), _LABELLED[0])
    tables = _labelled_dialogues(run, config)
    readability = Readability(token_frequencies(run, "os" if "os" in there else config), rules.alpha, rules.weight)
    first = next(tables)
    labels = label_set_of(first.schema)
    pools = [[_Pool(rules.per_label) for _ in labels.labels] for _ in range(2)]  # first guesses, later ones
    available = np.zeros((len(labels), len(STEPS)), dtype=np.int64)
    for row in (row for table in chain([first], tables) for row in table.to_pylist()):
        best = _candidates(row, rules, readability, pools, labels)
        for (label, later), (rank, task) in best.items():
            pools[later][label].add(rank, task)
        for label, confidence in _surest(row["turns"]).items():
            available[label] += np.float32(confidence) >= np.array(STEPS, dtype=np.float32)
    return Selection(_balanced(pools, rules), available, labels.labels)


def _labelled_dialogues(run: Path, config: str) -> Iterator[pa.Table]:
    tables = read_dialogues(run, config)
    first = next(tables, None)
    if first is None or "label" not in first.schema.field("turns").type.value_type.names:
        raise FolderError(
            f"the config {config!r} of {run} has no labels: give a run that `edos curate` made with labels"
        )
    return chain([first], tables)


class _Pool:
    """The best candidates for a label, without repeated texts."""

    def __init__(self, wanted: int) -> None:
        self.most = _SPARE * wanted
        self.worst = _WORST  # candidates from this band on are refused
        self._found: list[tuple[Rank, Task]] = []

    def add(self, rank: Rank, task: Task) -> None:
        self._found.append((rank, task))
        if len(self._found) > 2 * self.most:
            self._found = self.best()
            self.worst = self._found[-1][0][0] if len(self._found) == self.most else self.worst

    def best(self) -> list[tuple[Rank, Task]]:
        kept: dict[str, tuple[Rank, Task]] = {}
        for rank, task in sorted(self._found, key=lambda entry: entry[0]):
            kept.setdefault(_text(task), (rank, task))
        return list(kept.values())[: self.most]


def _candidates(
    row: Mapping[str, Any],
    rules: SelectionRules,
    readability: Readability,
    pools: Sequence[Sequence[_Pool]],
    labels: LabelSet,
) -> dict[tuple[int, bool], tuple[Rank, Task]]:
    """Return a dialogue's best turn, the earliest of equals, for each label that is a first or later guess."""
    best: dict[tuple[int, bool], tuple[Rank, Task]] = {}
    texts = [turn["text"] for turn in row["turns"]]
    for number, turn in enumerate(row["turns"], 1):
        first = 0 if rules.history is None else max(0, number - 1 - rules.history)
        shown = texts[first:number]
        figures = None
        for guess, (label, confidence) in enumerate(_guesses(turn), 1):
            later = guess > 1
            band, place = _band(confidence, rules), (label, later)
            worst = min(pools[later][label].worst, best[place][0][0] if place in best else _WORST)
            if band > worst or not _is_wanted(confidence, later, rules):
                continue
            figures = figures or readability.score(shown)
            task = {
                "task": f"{row['dialogue_id']}@{number}",
                "dialogue_id": row["dialogue_id"],
                "turns": shown,
                **speakers_of(row["turns"][first:number]),
                "label": labels.labels[label],
                "confidence": round(float(confidence), 6),
                "top": [labels.labels[entry["label"]] for entry in turn["top"]],
                **dict(zip(("f", "d", "score"), figures, strict=True)),
                "chosen": _reason(band, later),
                "guess": guess,
                **({} if labels.name == DEFAULT else {"label_set": labels.name}),
            }
            rank = (band, -figures[2], task["task"])
            if place not in best or rank[:2] < best[place][0][:2]:
                best[place] = rank, task
    return best


def _is_wanted(confidence: float, later: bool, rules: SelectionRules) -> bool:
    fills_up = rules.floor < rules.confidence
    return bool(np.float32(confidence) >= np.float32(rules.floor)) and (fills_up or not later)


def _reason(band: int, later: bool) -> str:
    if later:
        return GUESSED
    return BELOW if band else CONFIDENT


def _guesses(turn: Mapping[str, Any]) -> Iterator[tuple[int, float]]:
    yield turn["label"], turn["confidence"]
    for entry in turn["top"][:_GUESSES]:
        if entry["label"] != turn["label"]:
            yield entry["label"], entry["probability"]


def _surest(turns: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    surest: dict[int, float] = {}
    for turn in turns:
        surest[turn["label"]] = max(turn["confidence"], surest.get(turn["label"], 0.0))
    return surest


def _band(confidence: float, rules: SelectionRules) -> int:
    short = float(np.float32(rules.confidence) - np.float32(confidence))
    return 0 if short <= 0 else 1 + int((short - 1e-6) // _BAND)


def _balanced(pools: Sequence[Sequence[_Pool]], rules: SelectionRules) -> list[Task]:
    """Return the tasks of each label: first guesses, then later ones if needed. No task or text occurs twice.

    Labels with the fewest candidates choose first.
    """
    chosen: list[list[Task]] = [[] for _ in pools[0]]
    taken: set[str] = set()
    for guesses in pools:
        found = [[task for _, task in pool.best()] for pool in guesses]
        for label in sorted(range(len(chosen)), key=lambda label: (len(chosen[label]), len(found[label]), label)):
            for task in found[label]:
                if len(chosen[label]) < rules.per_label and not {task["task"], _text(task)} & taken:
                    chosen[label].append(task)
                    taken |= {task["task"], _text(task)}
    return [task for tasks in chosen for task in tasks]


def _text(task: Task) -> str:
    return normalise(" ".join(task["turns"]))
