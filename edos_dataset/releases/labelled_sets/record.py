"""A dialogue in which people labelled turns, and what its turns must be to make one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from edos_dataset.releases.labelled_sets.label_sets import known_names
from edos_dataset.releases.raw import Reject


@dataclass(frozen=True)
class LabelledDialogue:
    """A dialogue, its turns labelled by the names of the set that it comes from. A sentence that stands alone is a
    dialogue of one turn.

    Attributes:
        dialogue_id: unique in its file.
        turns: their texts, in order; none is empty.
        speakers: who says each, None where nobody says.
        labels: the names of each turn, several where several were given, none where nobody labelled it.
    """

    dialogue_id: str
    turns: tuple[str, ...]
    speakers: tuple[str | None, ...]
    labels: tuple[tuple[str, ...], ...]


class Turn(NamedTuple):
    """A turn as it was read.

    Attributes:
        line: of the file, from 1; None where a line holds more than a turn.
        text: cleaned; empty where nothing was said.
        speaker: who says it, None where nobody says.
        labels: the set's own names.
    """

    line: int | None
    text: str
    speaker: str | None
    labels: tuple[str, ...]


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers from 1.

    Raises:
        ValueError: the file is not UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from ((number, line.rstrip("\n")) for number, line in enumerate(file, start=1) if line.strip())
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}): save it as UTF-8, or get it again") from error


def dialogue_of(
    source: str, file: str, name: str, turns: Iterable[Turn | Reject]
) -> Iterator[LabelledDialogue | Reject]:
    """Yield the dialogue that turns make, and what is left out of it.

    A turn in which nothing is said (a laugh, a stage direction) is left out alone, as a reject, for the history has no
    hole without it. A turn that was rejected, or has a label that the set doesn't have, takes its dialogue with it.

    Args:
        source: name of the set.
        file: name of the file.
        name: of the dialogue.
        turns: in order, with rejects in place of those that could not be read.
    """
    said: list[Turn] = []
    broken: Reject | None = None
    for turn in turns:
        rejected = turn if isinstance(turn, Reject) else _reject(source, file, name, turn)
        if isinstance(turn, Turn) and rejected is None:
            said.append(turn)
        elif rejected is not None:
            broken = broken if rejected.reason == "no_text" else rejected
            yield rejected
    if broken and said:
        yield Reject(file, None, broken.reason, f"{name}: a turn of it is rejected")
    elif said:
        _, texts, speakers, labels = zip(*said, strict=True)
        yield LabelledDialogue(name, texts, speakers, labels)


def _reject(source: str, file: str, name: str, turn: Turn) -> Reject | None:
    """Return why a turn is left out, None where it isn't."""
    strange = [label for label in turn.labels if label not in known_names(source)]
    if strange:
        return Reject(file, turn.line, "unknown_label", f"{name}: {strange[0]}")
    return None if turn.text else Reject(file, turn.line, "no_text", name)
