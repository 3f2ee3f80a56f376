"""The certainty of a dialogue: every guess in it makes it less certain.

At each place the best guess is taken, and what was guessed is kept beside it (`turns.Turn.doubts`). How many dialogues
with a guess of a kind are right was counted on those that readers had judged (`evaluation/judged_books.py`, of all
languages). The certainty is the product over the guesses: an estimate of the probability that a reader finds
no error.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.speakers import parts_of_name, same_name
from edos_dataset.segmentation.books.speech import Doubt

if TYPE_CHECKING:
    from edos_dataset.segmentation.books.turns import Turn


RIGHT = {
    Doubt.TWO: 0.5,
    Doubt.JOINED: 0.95,
    Doubt.LED: 0.35,
    Doubt.WITHIN: 0.85,
    Doubt.UNHEARD: 0.7,
    Doubt.OTHER: 0.8,
    Doubt.PROBABLY_OTHER: 0.35,
    Doubt.TAIL: 0.95,
    Doubt.CONFIRMED: 0.9,
    Doubt.QUOTED: 0.4,
    Doubt.BACK: 0.3,
    Doubt.CUT_NEAR: 0.35,
    Doubt.CUT: 0.8,
    Doubt.EDGE: 0.7,
    Doubt.ASKED: 0.5,
    Doubt.LATER: 0.9,
    Doubt.THIRD: 0.5,
    Doubt.FOURTH: 0.2,
    Doubt.SEVERAL: 0.2,
    Doubt.CROSSED: 0.6,
}
"""Guess → fraction of right dialogues among those with it, in round numbers, relative to those without it."""

_WITHOUT = 0.85  # fraction of right dialogues without any guess, whose errors nothing shows
_MOST = 3  # times that a guess counts: where it is wrong, it mostly is so each time
_LONG_TAIL = 200  # characters of narration behind the last quote, more than "said X, and went"
_BETWEEN = frozenset((Doubt.OTHER, Doubt.PROBABLY_OTHER, Doubt.TAIL))
_BEFORE = _BETWEEN | {Doubt.QUOTED}  # of the narration before a turn, not of its own
_ONE_PERSON = frozenset(("m", "f", "i"))


def certainty_of(turns: Sequence["Turn"], rules: Rules, cut: tuple[bool, bool] = (False, False)) -> float:
    """Return the certainty of a dialogue, 0 to 1.

    Args:
        turns: of the dialogue, with their doubts, before speakers are named by turns.
        rules: of its language.
        cut: whether it begins behind an utterance that is too long to stay, and whether it ends before one.
    """
    certainty, doubts = _WITHOUT, _doubts_of(turns, rules, cut)
    for doubt in dict.fromkeys(doubts):
        certainty *= RIGHT[doubt] ** min(doubts.count(doubt), _MOST)
    return certainty


def _doubts_of(turns: Sequence["Turn"], rules: Rules, cut: tuple[bool, bool]) -> list[Doubt]:
    persons = _persons_of(turns, rules)
    doubts = _of_speakers(turns, persons, rules)
    sure = not doubts and _confirmed(turns, persons)
    for place, turn in enumerate(turns):
        if not turn.doubts:
            continue
        doubts += [
            Doubt.CONFIRMED
            if sure and doubt in _BETWEEN and sure[0] < place <= sure[1]
            else doubt
            for doubt in turn.doubts
            if not (cut[0] and place == 0 and doubt in _BEFORE)
        ]
    return doubts + _of_ends(turns, cut)


def _of_ends(turns: Sequence["Turn"], cut: tuple[bool, bool]) -> list[Doubt]:
    """Return the doubts about the ends: the narration there may report more of the conversation."""
    first, last = turns[0], turns[-1]
    doubts = [Doubt.EDGE] if first.lead and not cut[0] else []
    doubts += [Doubt.EDGE] if len(last.tail) > _LONG_TAIL and not cut[1] else []
    return doubts + ([Doubt.ASKED] if last.texts[-1].endswith("?") and not cut[1] else [])


def _of_speakers(turns: Sequence["Turn"], persons: Sequence[int | None], rules: Rules) -> list[Doubt]:
    """Return the doubts about who speaks: more than two people, or two who do not alternate."""
    narrator = any(turn.person == "i" for turn in turns)
    names = len(set(persons) - {None}) + narrator
    named = zip(persons, turns, strict=True)
    proper = narrator + len({person for person, turn in named if turn.name and _is_proper(turn.name, rules)})
    doubts = [Doubt.FOURTH] if proper > 2 or names > 3 else [Doubt.THIRD] if names == 3 else []
    if any(turn.person == "p" for turn in turns):
        doubts.append(Doubt.SEVERAL)
    if _cross(turns, persons):
        doubts.append(Doubt.CROSSED)
    return doubts


def _cross(turns: Sequence["Turn"], persons: Sequence[int | None]) -> bool:
    """Return whether one person is named on both sides, or two on one."""
    one, other = (set(persons[side::2]) - {None} for side in (0, 1))
    return len(one) > 1 or len(other) > 1 or not one.isdisjoint(other) or max(map(len, _sexes_of(turns))) > 1


def _sexes_of(turns: Sequence["Turn"]) -> list[set[str | None]]:
    return [{turn.person for turn in turns[side::2]} & _ONE_PERSON for side in (0, 1)]


def _confirmed(turns: Sequence["Turn"], persons: Sequence[int | None]) -> tuple[int, int] | None:
    """Return the first and the last turn that are known to be one person's, None if there are not two; between them two
    people have taken turns as the guesses say.
    """
    one, other = _sexes_of(turns)
    distinct = one and other and not one & other
    keys = [
        person if person is not None else turn.person if distinct and turn.person in _ONE_PERSON else None
        for turn, person in zip(turns, persons, strict=True)
    ]
    first: dict[int | str, int] = {}
    last: dict[int | str, int] = {}
    for place, key in enumerate(keys):
        if key is not None:
            first.setdefault(key, place)
            last[key] = place
    spans = [(first[key], end) for key, end in last.items() if end > first[key]]
    return max(spans, key=lambda span: (span[1] - span[0], span), default=None)


def _persons_of(turns: Sequence["Turn"], rules: Rules) -> list[int | None]:
    """Return a number for each turn's speaker, one for each name; None where there is no name."""
    known: list[str] = []
    by_part: dict[object, list[int]] = {}  # what names share that may be one person's → who is known by it
    found: list[int | None] = []
    for turn in turns:
        if turn.name is None:
            found.append(None)
            continue
        name, parts = turn.name, parts_of_name(turn.name, rules)
        alike = sorted({at for part in parts for at in by_part.get(part, ())})
        place = next((at for at in alike if same_name(known[at], name, rules)), len(known))
        if place == len(known):
            known.append(name)
            for part in parts:
                by_part.setdefault(part, []).append(place)
        found.append(place)
    return found


def _is_proper(name: str, rules: Rules) -> bool:
    return name.split()[0].lower() not in rules.articles
