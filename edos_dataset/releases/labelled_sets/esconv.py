"""ESConv: conversations that support somebody, the helper's turns with strategies (Liu et al., 2021)."""

import re
from collections.abc import Iterator
from pathlib import Path

from edos_dataset.releases.labelled_sets.record import LabelledDialogue, Turn, dialogue_of, lines_of
from edos_dataset.releases.labelled_sets.texts import plain_text
from edos_dataset.releases.raw import Reject

_TURN = re.compile(r"[\d.]+ ([01]) (\d+) (?:\[([^\]]*)\] ?)?(.*)")
_SPEAKERS = ("seeker", "helper")


def read_esconv(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the conversations of `train.tsv`, `dev.tsv` or `test.tsv`, each once.

    A line is a turn of the helper with up to four before it, `loss speaker number [strategy] text`, parted by " EOS ".
    A line goes on with a conversation if it ends later, begins no later than behind it, and repeats what the two share;
    where turns between were left out, what follows is a dialogue of its own: no history has a hole. A dialogue is named
    by the line that opens it.
    """
    first, turns = 1, dict[int, Turn]()
    for number, line in lines_of(path):
        matches = [_TURN.fullmatch(part.strip()) for part in " ".join(line.split()).split(" EOS ")]
        found = {int(match[2]): _turn(number, match) for match in matches if match}
        if len(found) != len(matches):
            yield Reject(path.name, number, "wrong_columns", line[:60])
            continue
        if turns and not _goes_on(turns, found):
            yield from dialogue_of("esconv", path.name, str(first), turns.values())
            first, turns = number, {}
        turns.update({place: turn for place, turn in sorted(found.items()) if place not in turns})
    yield from dialogue_of("esconv", path.name, str(first), turns.values())


def _goes_on(turns: dict[int, Turn], found: dict[int, Turn]) -> bool:
    reaches = min(found) <= max(turns) + 1 <= max(found)
    return reaches and all(turns[place][1:] == found[place][1:] for place in turns.keys() & found.keys())


def _turn(line: int, match: re.Match[str]) -> Turn:
    labels = (match[3].strip().lower(),) if match[3] else ()
    return Turn(line, plain_text(match[4]), _SPEAKERS[int(match[1])], labels)
