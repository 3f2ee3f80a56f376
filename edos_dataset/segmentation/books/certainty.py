"""The certainty of a turn: every guess in it makes it less certain.

At each place the best guess is taken, and what was guessed is kept beside it (`turns.Turn.doubts`). How many turns with
a guess of a kind are right was counted in the 23 novels of the Project Dialogism Novel Corpus, of which people have
marked all quotations and their speakers (`evaluation/novels.py`).
"""

from typing import TYPE_CHECKING

from edos_dataset.segmentation.books.speech import Doubt

if TYPE_CHECKING:
    from edos_dataset.segmentation.books.turns import Turn

_WITHOUT = 0.97  # fraction of right turns without any guess, whose errors nothing shows

RIGHT = {
    Doubt.TWO: 0.67,
    Doubt.JOINED: 0.95,
    Doubt.LED: 0.63,
    Doubt.WITHIN: 0.87,
    Doubt.UNHEARD: 0.93,
    Doubt.OTHER: 0.94,
    Doubt.PROBABLY_OTHER: 0.74,
    Doubt.TAIL: 0.92,
    Doubt.QUOTED: 0.69,
}
"""Guess → fraction of right turns among those with it alone, relative to those without any."""


def certainty_of_turn(turn: "Turn") -> float:
    """Return the probability that a turn is right, 0 to 1: speech of one person, who is not that of the turn before.
    Where the book itself states who speaks, nothing is guessed.
    """
    certainty = _WITHOUT
    for doubt in () if turn.given else dict.fromkeys(turn.doubts):
        certainty *= RIGHT[doubt]
    return certainty
