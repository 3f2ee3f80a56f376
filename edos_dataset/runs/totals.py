"""What a phase of a run did, added up over its shards."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edos_dataset.runs.shards import ShardRecord, StageCount


@dataclass
class Totals:
    """A phase so far: its shards' digests, and their records added up."""

    digests: dict[Path, str] = field(default_factory=dict)
    counts: list[StageCount] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    rows: int = 0

    def add(self, target: Path, record: ShardRecord) -> None:
        """Add a shard. Shards come in any order; the totals, once `finish` has sorted them, don't depend on it."""
        self.digests[target] = record.digest
        self.notes += record.notes
        self.rows += record.rows
        for index, count in enumerate(record.counts):
            if index == len(self.counts):
                self.counts.append(StageCount(count.stage, count.unit))
            self.counts[index].add(count)

    def finish(self) -> None:
        """Sort what was added; notes are then as a record gives them back, whether they come from one or not."""
        self.notes = [json.loads(text) for text in sorted(json.dumps(note, sort_keys=True) for note in self.notes)]
        for count in self.counts:
            count.rejected = dict(sorted(count.rejected.items()))
            count.tally = dict(sorted(count.tally.items()))
