"""The seed (config `amt_seed`): dialogues with the label people agreed on, all answers, and a split without leaks."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints
from edos_dataset.crowd.aggregation import REPEATS, Labels, Method, Repeats, Ties, aggregate, check_choice, pool_texts
from edos_dataset.crowd.agreement import MEASURES, measure
from edos_dataset.crowd.answers import Answers, outside_the_set
from edos_dataset.crowd.names import MISSING
from edos_dataset.crowd.splits import link, plain_text, share_out
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder
from edos_dataset.label_sets import DEFAULT
from edos_dataset.label_sets.configs import schema_like, schema_of_set
from edos_dataset.runs.folder import read_rows
from edos_dataset.schema import AMT_SEED, SPLITS
from edos_dataset.wording import counted


@dataclass(frozen=True)
class SeedRules:
    """How to make the seed from answers.

    Attributes:
        method: see `aggregate`.
        ties: see `aggregate`; dialogues without a label are left out, except with "soft", which puts them into the
            training split with the label null.
        least_votes: see `aggregate`.
        repeats: "pool" merges tasks of equal text and their answers; "own" keeps them apart.
        model: the encoder of the last turns.
        near: minimum cosine of the embeddings of near last turns.
        shares: fractions of train, validation and test; they sum to 1.
        seed: seed of all random choices.

    Raises:
        ValueError: `repeats` is unknown, or there are not three fractions that sum to 1.
    """

    method: Method = "majority"
    ties: Ties = "abstain"
    least_votes: int = 2
    repeats: Repeats = "pool"
    model: str = DEFAULT_MODEL
    near: float = 0.95
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_choice("repeats", self.repeats, REPEATS)
        if len(self.shares) != 3 or min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError(f"shares are {self.shares}: give three from 0 that sum to 1, such as 0.6, 0.2 and 0.2")


def make_seed(
    answers: Answers, rules: SeedRules, say: Callable[[str], object] = lambda _: None
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Make the seed from people's answers.

    Args:
        answers: the table; every task needs its text.
        rules: the rules.
        say: called with a progress message.

    Returns:
        The rows of the config of each split, and the counts: `tasks`, `answers`, `texts` (tasks after pooling),
            `labelled`, `unlabelled`, `splits`, `by_label` (label → dialogues in each split), `groups` and
            `largest_group` (dialogues that must stay together), `agreement` as `measure` returns it (null if no task
            has two answers), `rules`, and `label_set` if it is not that of EDOS.

    Raises:
        ValueError: a task has no text, or too few have a label for a split.
    """
    bare = next((task for task, turns in zip(answers.tasks, answers.dialogues, strict=True) if not turns), None)
    if bare is not None:
        raise ValueError(
            f"task {bare!r} has no text, without which no split is free of leaks: give the turns of every task"
        )
    say(f"agreeing on {counted(len(answers.tasks), 'tasks')}")
    pooled = pool_texts(answers) if rules.repeats == "pool" else answers
    agreed = aggregate(pooled, rules.method, rules.ties, rules.least_votes, rules.seed)
    kept = np.flatnonzero(agreed.soft.any(axis=1) if rules.ties == "soft" else agreed.labels != MISSING)
    say(f"looking for near texts among {len(kept):,}")
    groups, parts = _split(pooled, agreed.labels, kept, rules)
    say(f"measuring agreement over {counted(len(answers.task), 'answers')}")
    counts = _counts(pooled, agreed, kept, groups, parts) | {
        "tasks": len(answers.tasks),
        "agreement": _agreement(answers),
        "rules": asdict(rules),
    }
    if answers.label_set.name != DEFAULT:
        counts["label_set"] = answers.label_set.described().as_dict()
    if not all(counts["splits"].values()):
        raise ValueError(
            f"the splits of {counted(len(kept), 'dialogues')} with a label are {counts['splits']}, and none may be "
            f"empty: more answers, or other shares{_hint(answers)}"
        )
    return {split: _table(pooled, agreed, kept[parts == part]) for part, split in enumerate(SPLITS)}, counts


def _hint(answers: Answers) -> str:
    about = outside_the_set(answers)
    return f"; {about}" if about else ""


def _split(pooled: Answers, labels: Ints, kept: Ints, rules: SeedRules) -> tuple[Ints, Ints]:
    """Return the group and the split (0, 1, 2) of each dialogue kept.

    Dialogues stay together if they have the same name, or equal or near last turns.
    """
    last = [pooled.dialogues[row][-1] for row in kept]
    keys = [[f"name {pooled.names[row]}", f"text {plain_text(turn)}"] for row, turn in zip(kept, last, strict=True)]
    groups = link(keys, Encoder(rules.model).encode(last), rules.near)
    return groups, share_out(groups, labels[kept], rules.shares, rules.seed, labels[kept] == MISSING)


def _table(pooled: Answers, agreed: Labels, rows: Ints) -> pa.Table:
    """Return the dialogues of these tasks in the columns of the config."""
    of_task: dict[int, list[dict[str, Any]]] = {}
    for task, worker, given in zip(pooled.task, pooled.worker, pooled.given, strict=True):
        label = pooled.read(given).label
        of_task.setdefault(task, []).append(
            {"worker": worker, "answer": given, "label": None if label == MISSING else label}
        )
    records = [
        {
            "dialogue_id": pooled.tasks[row],
            "turns": [{"text": turn, "start": None, "end": None, "sentence_ids": []} for turn in pooled.dialogues[row]],
            "label": None if agreed.labels[row] == MISSING else int(agreed.labels[row]),
            "soft_label": agreed.soft[row].tolist(),
            "answers": of_task.get(int(row), []),
        }
        for row in rows
    ]
    return pa.Table.from_pylist(records, schema=schema_of_set(AMT_SEED, pooled.label_set))


def _agreement(answers: Answers) -> dict[str, Any] | None:
    if max(Counter(answers.task).values()) < 2:
        return None
    measured = measure(answers)
    return {key: measured[key] for name in MEASURES for key in (name, f"{name}_interval")}


def _counts(pooled: Answers, agreed: Labels, kept: Ints, groups: Ints, parts: Ints) -> dict[str, Any]:
    labels = agreed.labels[kept]
    by_label = {
        name: {split: int(((labels == label) & (parts == part)).sum()) for part, split in enumerate(SPLITS)}
        for label, name in enumerate(pooled.label_set.labels)
    }
    return {
        "answers": len(pooled.task),
        "texts": len(pooled.tasks),
        "labelled": int((agreed.labels != MISSING).sum()),
        "unlabelled": int((agreed.labels == MISSING).sum()),
        "splits": {split: int((parts == part).sum()) for part, split in enumerate(SPLITS)},
        "by_label": by_label,
        "groups": len(np.unique(groups)),
        "largest_group": max(Counter(groups.tolist()).values(), default=0),
    }


def read_seed(folder: Path, splits: Sequence[str] = SPLITS) -> pa.Table:
    """Return the dialogues of these splits of a seed, in order, with the column `split`.

    Raises:
        FolderError: the folder has no seed, or a damaged one.
    """
    return read_rows(folder, AMT_SEED, splits, partial(schema_like, AMT_SEED))
