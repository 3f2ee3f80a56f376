"""What `edos report` finds in data sets: one pass that counts and sketches, a look at what is alike and at what is
doubted, and the dialogues to show of both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edos_dataset.analysis.alike import LEAST, SHARE, Alike, comparison_of, find_alike
from edos_dataset.analysis.batch import split_order
from edos_dataset.analysis.copies import copies
from edos_dataset.analysis.counting import Part, count_parts, parts_of
from edos_dataset.analysis.counts import Counts
from edos_dataset.analysis.doubts import Doubts, doubt_figures, find_doubts
from edos_dataset.analysis.places import dialogues_at
from edos_dataset.analysis.shown import shown_dialogues, wanted_places
from edos_dataset.releases.reported import Reported
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.local import LocalEngine

_FEW = 30_000


@dataclass(frozen=True)
class Look:
    """What was found.

    Attributes:
        counts: of each data set.
        splits: (data set, split) in the order of their numbers.
        alike: what is nearly the same.
        most: hashes of a dialogue's sketch.
        doubts: figures of doubtful labels of the first data set, None where nothing has probabilities.
        to_see: for the page: what `shown_dialogues` gives, `alike`, pairs of dialogues by row of the table of copies,
            and `doubted` turns by label.
    """

    counts: list[Counts]
    splits: list[tuple[int, str]]
    alike: Alike
    most: int
    doubts: dict[str, Any] | None
    to_see: Mapping[str, Any]

    def copies(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the figures of copies; `names`: of the other data sets."""

        def near(one: str | None, other: str | None, name: str | None) -> int:
            number = 0 if name is None else 1 + names.index(name)
            return self.alike.between(*_sides(self.splits, one, other, number))[0]

        keys = {name: counts.keys for name, counts in zip(names, self.counts[1:], strict=True)}
        return {"share": SHARE, "least": LEAST, "hashes": self.most, **copies(self.counts[0].keys, keys, near)}


def look_at(opened: Sequence[Reported], scratch: Path, workers: int, say: Callable[[str], object]) -> Look:
    """Look at data sets.

    Args:
        opened: the one that is reported, and others.
        scratch: a folder for files of passage.
        workers: processes; few dialogues are counted in this one.
        say: called with what is being done.
    """
    parts: list[Part] = []
    of_set: list[list[Part]] = []
    for one in opened:
        of_set.append(parts_of(one.files, len(one.labels.names), len(parts)))
        parts += of_set[-1]
    total = sum(part.rows for part in parts)
    sketches = comparison_of(total, scratch)
    splits = [
        (number, split)
        for number, its in enumerate(of_set)
        for split in sorted({part.split for part in its}, key=split_order)
    ]
    of_part = [splits.index((number, part.split)) for number, its in enumerate(of_set) for part in its]
    with LocalEngine(workers if total > _FEW else 1) as engine:
        counts = []
        for one, its in zip(opened, of_set, strict=True):
            done = _teller(one.asked.source, say)
            counts.append(count_parts(its, len(one.labels.names), engine, sketches, done))
        say("comparing")
        alike = find_alike(sketches[0], of_part, engine)
        doubts = find_doubts(of_set[0], counts[0].given, engine)
        say("fetching what is shown")
        to_see = _to_see(parts, splits, alike, doubts, opened, counts[0], engine)
    figures = doubt_figures(doubts, counts[0].given, opened[0].labels) if doubts else None
    return Look(counts, splits, alike, sketches[1], figures, to_see)


def _teller(source: str, say: Callable[[str], object]) -> Callable[[int, int], None]:
    def done(dialogues: int, total: int) -> None:
        say(f"{source}: {dialogues:,} of {total:,} dialogues")

    return done


def _sides(
    splits: Sequence[tuple[int, str]], one: str | None, other: str | None, number: int
) -> tuple[list[int], list[int]]:
    """Return the numbers of a split, or of all, of the first data set, and likewise of another one."""

    def numbers(data: int, split: str | None) -> list[int]:
        return [place for place, (its, name) in enumerate(splits) if its == data and split in (None, name)]

    return numbers(0, one), numbers(number, other)


def _to_see(
    parts: Sequence[Part],
    splits: Sequence[tuple[int, str]],
    alike: Alike,
    doubts: Doubts | None,
    opened: Sequence[Reported],
    counts: Counts,
    engine: Engine,
) -> dict[str, Any]:
    """Return dialogues drawn, texts of pairs that are alike, and of turns whose label is doubted."""
    own = [name for number, name in splits if number == 0]
    rows = [(one, other, 0) for one in own for other in own] + [(None, None, n) for n in range(1, len(opened))]
    pairs = [(row, alike.between(*_sides(splits, *row))[1]) for row in rows]
    worst = doubts.worst.groups if doubts else {}
    places = [place for _, found in pairs for pair in found for place in pair]
    doubted = [entry.value[0] for entries in worst.values() for entry in entries]
    labels = opened[0].labels
    dialogues = dialogues_at(parts, [*places, *doubted, *wanted_places(counts, labels)], engine)

    def said(place: int) -> dict[str, Any]:
        return {"id": dialogues[place]["id"], "texts": [turn[0] for turn in dialogues[place]["turns"][:6]]}

    names = labels.names
    return {
        **shown_dialogues(counts, labels, dialogues, doubted),
        "alike": [
            {"of": one, "in": other, "data": number, "pairs": [[said(place) for place in pair] for pair in found]}
            for (one, other, number), found in pairs
            if found
        ],
        "doubted": {
            names[group]: [
                {"id": dialogues[place]["id"], "turn": dialogues[place]["turns"][turn], "likely": names[likely]}
                for place, turn, likely in (entry.value for entry in entries)
                if turn < len(dialogues[place]["turns"])
            ]
            for group, entries in sorted(worst.items())
        },
    }
