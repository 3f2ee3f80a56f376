"""Answers that say nearly the same: of several candidates, a person wants to choose between different ones."""

from collections.abc import Sequence

from edos_dataset.text import normalise

_WORDS = """
a an the this that these those it its there here
am is are was were be been being do does did done have has had having will would shall should
m s re ve ll d
and but or so then than as if of in on at to for with about from by
oh ah um uh well just really very quite too also now anyway
"""
_SAY_LITTLE = frozenset(_WORDS.split())
"""English words that change little of what an answer says. Persons, questions and negations are none of them: who is
spoken of, what is asked and what is denied make an answer another one."""


def gist(text: str) -> str:
    """Return the words by which answers are compared: without case and marks and the words that say little; of an
    answer of such words alone, all of them; of one without a word, the text itself.

    The words are English; answers in other languages differ by all of theirs, but for the few that are spelled alike.
    """
    words = normalise(text).split()
    telling = [word for word in words if word not in _SAY_LITTLE]
    return " ".join(telling or words) or text


def most_different(texts: Sequence[str], wanted: int) -> list[int]:
    """Return which texts to offer, in their order: the first `wanted` of which no two are alike by their `gist`, and
    where there are not so many, the first of the others too.

    Args:
        texts: best first.
        wanted: how many, at least 1.
    """
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(gist(text), row)
    own = list(first.values())
    others = [row for row in range(len(texts)) if row not in set(own)]
    return sorted([*own, *others][:wanted])
