"""A batch: a folder of HITs that are published together, with their source, pay and cost.

The folder holds `hits.jsonl` and `batch.json`; `edos crowd serve` keeps the answers next to them, in `answers.sqlite`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from edos_dataset.crowd.hits import Hit, read_hits, write_hits
from edos_dataset.crowd.texts import Texts, texts_of
from edos_dataset.label_sets import DEFAULT, LabelSet, load_label_set
from edos_dataset.label_sets.translations import LANGUAGES, language_of_texts
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import json_of, shown

Task = Literal["labelling", "judging"]

HITS, RECORD, ANSWERS = "hits.jsonl", "batch.json", "answers.sqlite"
REWARD, BONUS = 0.4, 0.1
"""Reward per HIT and bonus for good work, in US dollars (EDOS, ethical considerations)."""
WORKERS: Mapping[Task, int] = {"labelling": 3, "judging": 4}
"""Number of different workers per HIT (EDOS, Section 3.2; Xie & Pu, Appendix C)."""

_MOST_WORKERS, _MOST_PAID = 10_000, 10_000


@dataclass(frozen=True)
class Batch:
    """HITs and their common settings.

    Attributes:
        kind: the task.
        hits: the HITs, all different.
        workers: number of different workers per HIT.
        reward: US dollars per HIT.
        bonus: bonus in US dollars for a HIT done well.
        seed: random seed of the HITs.
        input: digest of the input of the HITs.
        rules: overrides of the quality rules.
        label_set: the labels to choose from as plain data; None for those of EDOS.
        guideline: what annotators read before the tutorial, as Markdown; None for nothing.
        language: language of the pages, one of `LANGUAGES`; None for that of the dialogues.
    """

    kind: Task
    hits: Sequence[Hit]
    workers: int = 3
    reward: float = REWARD
    bonus: float = BONUS
    seed: int = 0
    input: str = ""
    rules: Mapping[str, Any] = field(default_factory=dict)
    label_set: Mapping[str, Any] | None = None
    guideline: str | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        """Check the settings, which a file may state."""
        if type(self.workers) is not int or not 0 < self.workers <= _MOST_WORKERS:
            raise ValueError(f"workers is {shown(self.workers)}, expected a number from 1 to {_MOST_WORKERS:,}")
        for name, amount in (("reward", self.reward), ("bonus", self.bonus)):
            if type(amount) not in (int, float) or not 0 <= amount <= _MOST_PAID:
                raise ValueError(f"{name} is {shown(amount)}, expected US dollars from 0 to {_MOST_PAID:,}")
        for name, given, kind in (
            ("rules", self.rules, Mapping),
            ("label_set", self.label_set, Mapping | None),
            ("guideline", self.guideline, str | None),
        ):
            if not isinstance(given, kind):
                raise ValueError(f"{name} is {shown(given)}")
        if self.language not in (None, *LANGUAGES):
            raise ValueError(f"language is {shown(self.language)}, none of {', '.join(LANGUAGES)}")

    @property
    def labels(self) -> LabelSet:
        """The labels to choose from."""
        return load_label_set(self.label_set or DEFAULT)

    @property
    def settings(self) -> dict[str, Any]:
        """All attributes that are set but the HITs."""
        names = [each.name for each in fields(self) if each.name != "hits"]
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @cached_property
    def texts(self) -> Texts:
        """What people read on the pages, in the batch's language."""
        asked = (turn for hit in self.hits for item in hit.items if item.kind != "quiz" for turn in item.turns)
        return texts_of(self.language or language_of_texts(asked))

    @property
    def cost(self) -> tuple[float, float]:
        """Cost in US dollars without and with all bonuses, excluding platform fees."""
        assignments = len(self.hits) * self.workers
        return round(assignments * self.reward, 2), round(assignments * (self.reward + self.bonus), 2)


def write_batch(folder: Path, batch: Batch, force: bool = False) -> None:
    """Write a batch into a new folder; `batch.json` is written last, to mark it complete.

    Raises:
        ValueError: the folder holds answers, which are never replaced, or, without `force`, anything else.
    """
    if (folder / ANSWERS).exists():
        raise ValueError(f"{folder} holds answers, which a new batch would make worthless: give another --out")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        ours = folder.is_dir() and {path.name for path in folder.iterdir()} <= {HITS, RECORD}
        if not (force and ours):
            raise ValueError(
                f"{folder} already exists and is not empty: give another --out"
                + (", or --force to replace the batch" if ours else "")
            )
    (folder / RECORD).unlink(missing_ok=True)
    write_hits(folder / HITS, batch.hits)
    write_text(
        folder / RECORD, json.dumps({**batch.settings, "hits": hash_json([hit.id for hit in batch.hits])}, indent=1)
    )


def read_batch(folder: Path) -> Batch:
    """Return the batch of a folder.

    Raises:
        ValueError: there is none, or its files are damaged or do not belong together.
    """
    path = folder / RECORD
    if not path.is_file():
        raise ValueError(f"{folder} holds no batch: give a folder written by `edos crowd hits`")
    try:
        record = json_of(path.read_bytes())
        digest, hits = record.pop("hits"), read_hits(folder / HITS)
        if record["kind"] not in WORKERS or digest != hash_json([hit.id for hit in hits]):
            raise ValueError(f"{HITS} has changed since it was written")
        batch = Batch(hits=hits, **record)
        _ = batch.labels  # an own label set is checked
        return batch
    except (OSError, TypeError, KeyError, AttributeError, ValueError) as error:
        raise ValueError(f"{folder} is a damaged batch ({error}): write it again with `edos crowd hits`") from error


_CENT = Decimal("0.01")
_FEE, _MORE_FEE, _MANY = Decimal("0.2"), Decimal("0.2"), 10


def dollars(amount: float | Decimal) -> Decimal:
    """Return an amount in US dollars, to the cent."""
    return Decimal(str(amount)).quantize(_CENT, ROUND_HALF_UP)


def with_fee(amount: float | Decimal, workers: int) -> Decimal:
    """Return rewards with the fee of Mechanical Turk: 20 %, or 40 % for ten or more workers per HIT. Pass 1 worker for
    bonuses, whose fee is always 20 %.
    """
    fee = _FEE + (_MORE_FEE if workers >= _MANY else 0)
    return dollars(Decimal(str(amount)) * (1 + fee))


def cost_range(hits: int, workers: int, reward: float, bonus: float) -> tuple[Decimal, Decimal]:
    """Return the cost of HITs on Mechanical Turk in US dollars, without and with all bonuses."""
    assignments = Decimal(hits * workers)
    least = with_fee(assignments * dollars(reward), workers)
    return least, least + with_fee(assignments * dollars(bonus), 1)
