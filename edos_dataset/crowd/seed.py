"""The seed: dialogues with the label that people agreed on, all their answers, and a split without leaks; the config
`amt_seed`.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints
from edos_dataset.crowd.aggregation import REPEATS, Labels, Method, Repeats, Ties, aggregate, check_choice, pool_texts
from edos_dataset.crowd.agreement import MEASURES, measure
from edos_dataset.crowd.answers import Answers
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.seed_card import seed_card
from edos_dataset.crowd.splits import link, plain_text, share_out
from edos_dataset.labeling.models.encoder import DEFAULT_MODEL, Encoder
from edos_dataset.labels import LABELS
from edos_dataset.publishing.single import read_single, write_single
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import locked
from edos_dataset.schema import SPLITS, features, list_of

if TYPE_CHECKING:
    from datasets import Features

CONFIG = "amt_seed"
_OURS = {".run", "README.md", CONFIG, "seed.json"}


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


def seed_features() -> "Features":
    """Return the `datasets.Features` of the config: `turns` as in the config `os`, `label` (of the last turn),
    `soft_label` and `answers`.
    """
    from datasets import ClassLabel, Features, Value

    label = ClassLabel(names=list(LABELS))
    return Features(
        {
            "dialogue_id": Value("string"),
            "turns": features("os")["turns"],
            "label": label,
            "soft_label": list_of(Value("float32"), length=len(LABELS)),  # probabilities, by label id
            "answers": list_of(
                {"worker": Value("string"), "answer": Value("string"), "label": label}
            ),  # the label is null where the answer is none of the 41
        }
    )


def make_seed(answers: Answers, out: Path, rules: SeedRules) -> dict[str, Any]:
    """Write the seed as a folder that `datasets.load_dataset(out, "amt_seed")` loads, with a card, and its counts in
    `seed.json`.

    Args:
        answers: the table; every task needs its text.
        out: a new or empty folder, or one that this function wrote, which is replaced.
        rules: how.

    Returns:
        The counts: `tasks`, `answers`, `texts` (tasks after pooling), `labelled`, `unlabelled`, `splits`, `by_label`
            (label → dialogues in each split),
        `groups` and `largest_group` (dialogues that must stay together), `agreement` as `measure` gives it (null
        without two answers to a task), `rules`.

    Raises:
        ValueError: a task has no text, or too few have a label for a split.
        FolderError: the folder holds something else, or cannot be written.
    """
    if out.exists() and (not out.is_dir() or {path.name for path in out.iterdir()} - _OURS):
        raise FolderError(f"{out} holds something else than a seed: give a new or empty folder as --out")
    bare = next((task for task, turns in zip(answers.tasks, answers.dialogues, strict=True) if not turns), None)
    if bare is not None:
        raise ValueError(
            f"task {bare!r} has no text, without which no split is free of leaks: give the turns of every task"
        )
    pooled = pool_texts(answers) if rules.repeats == "pool" else answers
    found = aggregate(pooled, rules.method, rules.ties, rules.least_votes, rules.seed)
    kept = np.flatnonzero(found.soft.any(axis=1) if rules.ties == "soft" else found.labels != MISSING)
    groups, parts = _split(pooled, found.labels, kept, rules)
    counts = _counts(pooled, found, kept, groups, parts) | {
        "tasks": len(answers.tasks),
        "agreement": _agreement(answers),
        "rules": asdict(rules),
    }
    if not all(counts["splits"].values()):
        raise ValueError(
            f"the {len(kept)} dialogues with a label give the splits {counts['splits']}, and none may be empty: more "
            "answers, or other shares"
        )
    tables = {split: _table(pooled, found, kept[parts == part]) for part, split in enumerate(SPLITS)}
    texts = {
        "seed.json": json.dumps(counts, indent=1, ensure_ascii=False),
        "README.md": seed_card(CONFIG, seed_features(), counts),
    }
    with locked(out):
        write_single(out, CONFIG, tables, texts)
    return counts


def _split(pooled: Answers, labels: Ints, kept: Ints, rules: SeedRules) -> tuple[Ints, Ints]:
    """Return the group and the part (0, 1, 2) of each dialogue kept.

    Together stay dialogues of one name, of equal last turns (which those of equal words are), and of near last turns.
    """
    last = [pooled.dialogues[row][-1] for row in kept]
    keys = [[f"name {pooled.names[row]}", f"text {plain_text(turn)}"] for row, turn in zip(kept, last, strict=True)]
    groups = link(keys, Encoder(rules.model).encode(last), rules.near)
    return groups, share_out(groups, labels[kept], rules.shares, rules.seed, labels[kept] == MISSING)


def _table(pooled: Answers, found: Labels, rows: Ints) -> pa.Table:
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
            "label": None if found.labels[row] == MISSING else int(found.labels[row]),
            "soft_label": found.soft[row].tolist(),
            "answers": of_task.get(int(row), []),
        }
        for row in rows
    ]
    return pa.Table.from_pylist(records, schema=seed_features().arrow_schema)


def _agreement(answers: Answers) -> dict[str, Any] | None:
    if max(Counter(answers.task).values()) < 2:
        return None
    measured = measure(answers)
    return {key: measured[key] for name in MEASURES for key in (name, f"{name}_interval")}


def _counts(pooled: Answers, found: Labels, kept: Ints, groups: Ints, parts: Ints) -> dict[str, Any]:
    labels = found.labels[kept]
    by_label = {
        name: {split: int(((labels == label) & (parts == part)).sum()) for part, split in enumerate(SPLITS)}
        for label, name in enumerate(LABELS)
    }
    return {
        "answers": len(pooled.task),
        "texts": len(pooled.tasks),
        "labelled": int((found.labels != MISSING).sum()),
        "unlabelled": int((found.labels == MISSING).sum()),
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
    return read_single(folder, CONFIG, splits, seed_features(), "edos crowd seed")
