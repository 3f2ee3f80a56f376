"""How a book marks speech: which quotes it stands in, or which dash it begins with."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from edos_dataset.segmentation.books.rules import Quotes, Rules

#: What a quote may follow, and what may follow it, where it opens.
_NOT_BEFORE = r"[\w.,;:!?…)”’»«]"
_AFTER = r"(?=[\w'’‘“„‚›‹¡¿…_—–-]|\.\.)"
_USUAL = 10  # paragraphs that begin so make a habit
_OPENING = 0.3  # share of the paragraphs in quotes behind which a dash answers; elsewhere they are letters and thoughts
_LESS_USUAL = 0.05  # share of the leading style's paragraphs


class Styles(NamedTuple):
    """The styles of a book.

    Attributes:
        quotes: the pair that most speech stands in; None where none is found.
        others: pairs that paragraphs begin with now and then.
        dashes: dashes that its paragraphs begin with by habit.
        dash_first: more paragraphs begin with those than with quotes.
        opening: the quotes that the first speech of a conversation stands in by habit, where dashes begin the others:
            Spanish "«Ven.", "-Voy.", "-Pronto».". None where there are none.
    """

    quotes: Quotes | None
    others: tuple[Quotes, ...]
    dashes: tuple[str, ...]
    dash_first: bool
    opening: Quotes | None = None


def styles_of(texts: Sequence[str], rules: Rules) -> Styles:
    """Return the styles of a book.

    Args:
        texts: its paragraphs.
        rules: of its language.
    """
    whole = "\n".join(texts)
    weights = {pair: _openings(whole, pair) for pair in rules.quotes}
    best = max(weights.values(), default=0)
    quotes = next((pair for pair, weight in weights.items() if weight == best), None) if best else None
    starts = Counter(text[:2] for text in texts)
    firsts: Counter[str] = Counter()
    for start, number in starts.items():
        firsts[start if start == "--" else start[:1]] += number
    quoted = firsts[quotes.opening] if quotes else 0
    least = max(_USUAL, _LESS_USUAL * quoted, 0.01 * len(texts))
    dashes = tuple(dash for dash in rules.dashes if firsts[dash] >= least)
    dashed = sum(firsts[dash] for dash in dashes)
    others = tuple(
        pair
        for pair, weight in weights.items()
        if pair != quotes and weight and firsts[pair.opening] >= max(_USUAL, _LESS_USUAL * max(quoted, dashed))
    )
    opening = quotes if dashed > quoted and quotes and _opens(texts, quotes, dashes) else None
    return Styles(quotes, others, dashes, dashed > quoted, opening)


def _opens(texts: Sequence[str], quotes: Quotes, dashes: tuple[str, ...]) -> bool:
    """Say whether paragraphs that begin with a quote are mostly followed by one that begins with a dash."""
    begun = [place for place, text in enumerate(texts[:-1]) if text.startswith(quotes.opening)]
    answered = sum(texts[place + 1].startswith(dashes) for place in begun)
    return answered >= max(_USUAL, _OPENING * len(begun))


def told(pairs: Sequence[Quotes], dashes: Sequence[str], plays: bool) -> str:
    """Return how styles are named in `Extraction.style`, those of most speech first."""
    marks = [pair.opening if pair.opening == pair.closing else f"{pair.opening} {pair.closing}" for pair in pairs]
    return ", ".join([*marks, *(f"{dash} {dash}" for dash in dashes), *(["NAME."] if plays else [])])


def _openings(whole: str, pair: Quotes) -> int:
    """Count the quotes of a pair that open, as many as close."""
    if pair.opening not in whole or pair.closing not in whole:
        return 0
    opening, closing = _patterns(pair)
    opened = len(opening.findall(whole))
    return min(opened, len(closing.findall(whole))) if opened else 0


@cache
def _patterns(pair: Quotes) -> tuple[re.Pattern[str], re.Pattern[str]]:
    opening, closing = map(re.escape, pair)
    before_close = r".,!?;:…—–-" if pair.closing in "'’" else r"\w.,!?;:…—–)_-"  # which are apostrophes, too
    return (
        re.compile(rf"{opening}(?<!{_NOT_BEFORE}{opening}){_AFTER}"),
        re.compile(rf"{closing}(?<=[{before_close}]{closing})(?!\w)"),
    )
