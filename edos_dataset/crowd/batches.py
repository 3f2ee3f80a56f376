"""A batch: a folder of HITs that people are asked together, with what it was made of, and what is paid for it.

The folder holds `hits.jsonl` and `batch.json`; `edos crowd serve` keeps the answers beside them, in `answers.sqlite`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from edos_dataset.crowd.hits import Hit, read_hits, write_hits
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.shards import write_text

Task = Literal["labelling", "judging"]

HITS, RECORD, ANSWERS = "hits.jsonl", "batch.json", "answers.sqlite"
REWARD, BONUS = 0.4, 0.1
"""US dollars a HIT, and for good work on one: EDOS, ethical considerations."""
WORKERS: Mapping[Task, int] = {"labelling": 3, "judging": 4}
"""Different workers that a HIT is given to: EDOS, Section 3.2; Xie & Pu, Appendix C."""


@dataclass(frozen=True)
class Batch:
    """HITs, and what goes for all of them.

    Attributes:
        kind: the task.
        hits: all different.
        workers: that each HIT is given to.
        reward: US dollars a HIT.
        bonus: US dollars for a HIT well done.
        seed: by which the HITs were drawn.
        input: digest of what they were drawn from.
        rules: changes to the rules of quality, as of a recipe; none by default.
    """

    kind: Task
    hits: Sequence[Hit]
    workers: int = 3
    reward: float = REWARD
    bonus: float = BONUS
    seed: int = 0
    input: str = ""
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cost(self) -> tuple[float, float]:
        """US dollars that the batch costs without any bonus and with all of them, a platform's fee not counted."""
        assignments = len(self.hits) * self.workers
        return round(assignments * self.reward, 2), round(assignments * (self.reward + self.bonus), 2)


def write_batch(folder: Path, batch: Batch, force: bool = False) -> None:
    """Write a batch into a folder, which is made; without its record, which comes last, there is no batch.

    Raises:
        ValueError: there is something in the folder that is not replaced: anything without `force`, answers always.
    """
    if (folder / ANSWERS).exists():
        raise ValueError(
            f"{folder} holds answers of people, which a new batch would make worthless: give another --out"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        ours = folder.is_dir() and {path.name for path in folder.iterdir()} <= {HITS, RECORD}
        if not (force and ours):
            raise ValueError(
                f"{folder} is there already and not empty: give another --out"
                + (", or --force to replace the batch" if ours else "")
            )
    (folder / RECORD).unlink(missing_ok=True)
    write_hits(folder / HITS, batch.hits)
    record = {key: value for key, value in vars(batch).items() if key != "hits"}
    write_text(folder / RECORD, json.dumps({**record, "hits": hash_json([hit.id for hit in batch.hits])}, indent=1))


def read_batch(folder: Path) -> Batch:
    """Return the batch of a folder.

    Raises:
        ValueError: there is none, or its files are damaged or do not belong together.
    """
    path = folder / RECORD
    if not path.is_file():
        raise ValueError(f"{folder} holds no batch: give a folder that `edos crowd hits` wrote")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        digest, hits = record.pop("hits"), read_hits(folder / HITS)
        if record["kind"] not in WORKERS or digest != hash_json([hit.id for hit in hits]):
            raise ValueError(f"{HITS} is not what it was written with")
        return Batch(hits=hits, **record)
    except (OSError, TypeError, KeyError, AttributeError, ValueError) as error:
        raise ValueError(f"{folder} is a damaged batch ({error}): write it anew by `edos crowd hits`") from error
