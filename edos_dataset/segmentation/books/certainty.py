"""The certainty of a turn: every guess in it makes it less certain.

At each place the best guess is taken, and what was guessed is kept beside it (`Turn.doubts`). How many turns with
a guess of a kind are right was counted in the 23 novels of the Project Dialogism Novel Corpus, of which people have
marked all quotations and their speakers (`evaluation/novels.py`).
"""

from edos_dataset.segmentation.books.speech import Doubt, Turn

_WITHOUT = 0.985  # fraction of right turns without any guess, whose errors nothing shows

_UNNAMED, _FIRST_UNNAMED = 0.962, 0.975
"""The fraction where it is not known who speaks, relative to where it is: among the first turns of dialogues, which
cannot be one person's with the turn before, it matters less.
"""

_FEW = 2  # words
_SHORT, _FIRST, _FIRST_SHORT = 0.977, 0.985, 0.75
"""The same of turns of at most _FEW words; of the first of a dialogue, which nobody's answer shows to be speech; and,
beside both, of a first one that is so short: often a word that is quoted in the narration.
"""

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


def certainty_of_turn(turn: Turn, place: int, speakers_known: bool) -> float:
    """Return the probability that a turn is right, 0 to 1: speech of one person, who is not that of the turn before, if
    there is one. Where the book itself states who speaks, nothing is guessed.

    Args:
        turn: the turn.
        place: its number in its dialogue, from 0.
        speakers_known: whether speakers are named wherever it is probable enough who they are (`attribution`), so that
            a turn without a name is a doubtful one.
    """
    certainty = _WITHOUT
    if turn.given:
        return certainty
    for doubt in dict.fromkeys(turn.doubts):
        certainty *= RIGHT[doubt]
    if speakers_known and turn.name is None:
        certainty *= _UNNAMED if place else _FIRST_UNNAMED
    if short := len(turn.text().split()) <= _FEW:
        certainty *= _SHORT
    if not place:
        certainty *= _FIRST * (_FIRST_SHORT if short else 1)
    return certainty
