"""DailyDialog: dialogues for learners of English, each turn with an emotion and an act (Li et al., 2017)."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from edos_dataset.releases.labelled_sets.record import LabelledDialogue, Turn, dialogue_of, lines_of
from edos_dataset.releases.labelled_sets.texts import plain_text, untokenised
from edos_dataset.releases.raw import Reject
from edos_dataset.runs.foreign import ForeignError, json_of


def read_dailydialog(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the dialogues of `train.json`, `valid.json` or `test.json`, a dialogue a line, in the form of ParlAI.

    A turn has two labels, its emotion ("happiness") and its act ("act:question"). Two people speak by turns, called A
    and B. A dialogue is named by its line.
    """
    for number, line in lines_of(path):
        try:
            turns = [_turn(number, place, turn) for place, turn in enumerate(json_of(line)["dialogue"])]
        except (ForeignError, KeyError, TypeError, AttributeError) as error:
            yield Reject(path.name, number, "wrong_columns", str(error))
            continue
        yield from dialogue_of("dailydialog", path.name, str(number), turns)


def _turn(line: int, place: int, turn: Mapping[str, str]) -> Turn:
    labels = (turn["emotion"].strip().lower(), f"act:{turn['act'].strip().lower()}")
    return Turn(line, untokenised(plain_text(turn["text"])), "AB"[place % 2], labels)
