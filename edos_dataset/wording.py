"""Numbers with their nouns, for messages."""

import re

_SINGULAR = {"people": "person", "bonuses": "bonus"}
_VERBS = {"are": "is", "were": "was", "have": "has", "do": "does"} | {
    verb: f"{verb}s" for verb in ("belong", "differ", "exist", "fall", "look", "need", "occur", "stay")
}
_AFTER = re.compile(r"(?= (?:of|without|that) )")


def counted(number: int, unit: str) -> str:
    """Return a number with its noun: "1 dialogue", "2,000 dialogues", "1 file is".

    Args:
        number: from 0.
        unit: the noun in the plural; words may stand before it, and a verb, or what begins with "of", "without" or
            "that", after it.
    """
    return f"{number:,} {unit_of(number, unit)}"


def unit_of(number: int, unit: str) -> str:
    """Return a noun, a verb, or both in the form that a number asks for; the arguments are those of `counted`."""
    if number != 1:
        return unit
    unit, *after = _AFTER.split(unit, maxsplit=1)
    before, space, last = unit.rpartition(" ")
    if last in _VERBS:
        before, last = before and unit_of(1, before), _VERBS[last]
    else:
        last = _SINGULAR.get(last) or _without_ending(last)
    return "".join((before, space, last, *after))


def _without_ending(noun: str) -> str:
    if noun.endswith("ies"):
        return noun.removesuffix("ies") + "y"
    return noun.removesuffix("es" if noun.endswith(("ches", "shes", "xes", "sses")) else "s")
