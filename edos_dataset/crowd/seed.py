"""The seed: dialogues with the label that people agreed on, all their answers, and a split without leaks; the config
`amt_seed`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints
from edos_dataset.crowd.aggregation import REPEATS, Labels, Method, Repeats, Ties, aggregate, check_choice, pool_texts
from edos_dataset.crowd.agreement import MEASURES, measure
from edos_dataset.crowd.answer_table import Answers
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.splits import link, plain_text, share_out
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder
from edos_dataset.labels import LABELS
from edos_dataset.runs.tables import read_rows
from edos_dataset.schema import AMT_SEED, SPLITS, arrow_schema


@dataclass(frozen=True)
class SeedRules:
    """How answers become the seed.

    Attributes:
        method: as of `aggregate`, and so are the next two.
        ties: likewise; dialogues without a label are left out, except by "soft", where they are in the training part
            with the label null.
        least_votes: likewise.
        repeats: "pool" makes tasks of equal words one, with all their answers; "own" leaves each to itself.
        model: the encoder by whose embeddings last turns are near.
        near: cosine from which they are.
        shares: of train, validation and test; they sum to 1.
        seed: of all that is drawn.

    Raises:
        ValueError: `repeats` is unknown, or the shares are not three that sum to 1.
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
    """Make the seed out of people's answers.

    Args:
        answers: the table; every task needs its text.
        rules: how.
        say: called with what is being done.

    Returns:
        The rows of the config of each split, and the counts: `tasks`, `answers`, `texts` (tasks after pooling),
            `labelled`, `unlabelled`, `splits`, `by_label` (label → dialogues in each split), `groups` and
            `largest_group` (dialogues that must stay together), `agreement` as `measure` gives it (null without two
            answers to a task), `rules`.

    Raises:
        ValueError: a task has no text, or too few have a label for a split.
    """
    bare = next((task for task, turns in zip(answers.tasks, answers.dialogues, strict=True) if not turns), None)
    if bare is not None:
        raise ValueError(
            f"task {bare!r} has no text, without which no split is free of leaks: give the turns of every task"
        )
    say(f"agreeing on {len(answers.tasks):,} tasks")
    pooled = pool_texts(answers) if rules.repeats == "pool" else answers
    agreed = aggregate(pooled, rules.method, rules.ties, rules.least_votes, rules.seed)
    kept = np.flatnonzero(agreed.soft.any(axis=1) if rules.ties == "soft" else agreed.labels != MISSING)
    say(f"looking for near texts among {len(kept):,}")
    groups, parts = _split(pooled, agreed.labels, kept, rules)
    say(f"measuring agreement over {len(answers.task):,} answers")
    counts = _counts(pooled, agreed, kept, groups, parts) | {
        "tasks": len(answers.tasks),
        "agreement": _agreement(answers),
        "rules": asdict(rules),
    }
    if not all(counts["splits"].values()):
        raise ValueError(
            f"the {len(kept)} dialogues with a label give the splits {counts['splits']}, and none may be empty: more "
            "answers, or other shares"
        )
    return {split: _table(pooled, agreed, kept[parts == part]) for part, split in enumerate(SPLITS)}, counts


def _split(pooled: Answers, labels: Ints, kept: Ints, rules: SeedRules) -> tuple[Ints, Ints]:
    """Return the group and the part (0, 1, 2) of each dialogue kept.

    Together stay dialogues of one name, of equal last turns (which those of equal words are), and of near last turns.
    """
    last = [pooled.dialogues[row][-1] for row in kept]
    keys = [[f"name {pooled.names[row]}", f"text {plain_text(turn)}"] for row, turn in zip(kept, last, strict=True)]
    groups = link(keys, Encoder(rules.model).encode(last), rules.near)
    return groups, share_out(groups, labels[kept], rules.shares, rules.seed, labels[kept] == MISSING)


def _table(pooled: Answers, agreed: Labels, rows: Ints) -> pa.Table:
    """Return the dialogues of some tasks in the columns of the config."""
    of_task: dict[int, list[dict[str, Any]]] = {}
    for task, worker, given in zip(pooled.task, pooled.worker, pooled.given, strict=True):
        label = read_answer(given).label
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
    return pa.Table.from_pylist(records, schema=arrow_schema(AMT_SEED))


def _agreement(answers: Answers) -> dict[str, Any] | None:
    if max(Counter(answers.task).values()) < 2:
        return None
    measured = measure(answers)
    return {key: measured[key] for name in MEASURES for key in (name, f"{name}_interval")}


def _counts(pooled: Answers, agreed: Labels, kept: Ints, groups: Ints, parts: Ints) -> dict[str, Any]:
    labels = agreed.labels[kept]
    by_label = {
        name: {split: int(((labels == label) & (parts == part)).sum()) for part, split in enumerate(SPLITS)}
        for label, name in enumerate(LABELS)
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
    """Return the dialogues of some splits of a seed, in their order, with the column `split`.

    Raises:
        FolderError: the folder holds none, or damaged ones.
    """
    return read_rows(folder, AMT_SEED, splits)
