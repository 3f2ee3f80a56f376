"""How a book marks speech, by which quotes or which dash; and its paragraphs, split into narration and speech."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from edos_dataset.segmentation.books.rules import Quotes, Rules, small_words

OPEN, CLOSE = "\ue000", "\ue001"  # stand for straight and single quotes in here; of private use

# What an opening quote cannot follow, and what may follow it.
_NOT_BEFORE = r"[\w.,;:!?…)”’»«]"
_AFTER = r"(?=[\w'’‘“„‚›‹¡¿…_—–-]|\.\.)"
_USUAL = 10  # paragraphs that begin so make a habit
_OPENING = 0.3  # fraction of the paragraphs in quotes that a dash answers; below it they are letters and thoughts
_LESS_USUAL = 0.05  # fraction of the paragraphs of the leading style

_STRAIGHT = re.compile(r'"(?<![^\s(\[—–_-]")(?=\S)')
_SINGLE_CLOSE = re.compile(r"[’'](?<=[.,!?;:…—–)”\"-][’'])(?!\w)")
_LOGICAL_CLOSE = re.compile(r"[’'](?:(?<=[.,!?;:…—–)”\"-][’'])(?!\w)|(?<=\w[’'])(?=[.,](?:\s|$)))")
_SENTENCE = re.compile(r"[.!?…;:](?:\s|$)")
_CLAUSE = re.compile(r"[,.!?…;:](?:\s|$)")
_BRACKETS = re.compile(r"\(([^()]{4,90})\)")
_SHORT_TAG = 6  # words of "said the old man"
_FAR_TAG = 15  # words before a colon among which a verb of saying shows that speech follows
_WORD = re.compile(r"[^\W\d_]+")
_AFTER_SPEECH = re.compile(r"(?<![,.!?…])[,.!?…]+ (?=[^\W\d_])")
_TWO_WORDS = re.compile(r"([^\W\d_]+)(?:[ '’-]+([^\W\d_]+))?")  # no mark between: "Yes, sir, said he"


class Styles(NamedTuple):
    """The styles of a book.

    Attributes:
        quotes: the pair that encloses most speech; None where there is none.
        others: pairs with which paragraphs begin now and then.
        dashes: dashes with which its paragraphs begin by habit.
        dash_first: more paragraphs begin with those than with quotes.
        opening: the quotes that by habit enclose the first speech of a conversation, where dashes begin the others:
            Spanish "«Ven.", "-Voy.", "-Pronto.».". None where there are none.
    """

    quotes: Quotes | None
    others: tuple[Quotes, ...]
    dashes: tuple[str, ...]
    dash_first: bool
    opening: Quotes | None = None


class Parts(NamedTuple):
    """A paragraph, split.

    Attributes:
        texts: odd in number: narration, speech, narration, …, narration; narration may be empty.
        begins_open: the first speech begins with a mark that continues the speech before, or without any.
        ends_open: the last speech has no closing quote.
        pair: the quotes; None where the paragraph is split at dashes.
        dash: with which it begins; None where it is split at quotes.
    """

    texts: list[str]
    begins_open: bool = False
    ends_open: bool = False
    pair: Quotes | None = None
    dash: str | None = None


def styles_of(texts: Sequence[str], rules: Rules) -> Styles:
    """Return the styles of a book.

    Args:
        texts: its paragraphs.
        rules: of its language.
    """
    whole = "\n".join(texts)
    weights = {pair: _openings(whole, pair) for pair in rules.quotes}
    quotes = max(weights, key=weights.__getitem__, default=None)
    if quotes is not None and not weights[quotes]:
        quotes = None
    firsts = _first_marks(texts)
    quoted = firsts[quotes.opening] if quotes else 0
    least = max(_USUAL, _LESS_USUAL * quoted, 0.01 * len(texts))
    dashes = tuple(dash for dash in rules.dashes if firsts[dash] >= least)
    dashed = sum(firsts[dash] for dash in dashes)
    others = _other_pairs(weights, quotes, firsts, max(_USUAL, _LESS_USUAL * max(quoted, dashed)))
    opens = quotes is not None and dashed > quoted and _opens(texts, quotes, dashes)
    return Styles(quotes, others, dashes, dashed > quoted, quotes if opens else None)


def _first_marks(texts: Sequence[str]) -> Counter[str]:
    firsts: Counter[str] = Counter()
    for start, number in Counter(text[:2] for text in texts).items():
        firsts[start if start == "--" else start[:1]] += number
    return firsts


def _other_pairs(
    weights: Mapping[Quotes, int], quotes: Quotes | None, firsts: Counter[str], least: float
) -> tuple[Quotes, ...]:
    return tuple(
        pair for pair, weight in weights.items() if pair != quotes and weight and firsts[pair.opening] >= least
    )


def _opens(texts: Sequence[str], quotes: Quotes, dashes: tuple[str, ...]) -> bool:
    """Return whether paragraphs that begin with a quote are mostly followed by one that begins with a dash."""
    begun = [place for place, text in enumerate(texts[:-1]) if text.startswith(quotes.opening)]
    answered = sum(texts[place + 1].startswith(dashes) for place in begun)
    return answered >= max(_USUAL, _OPENING * len(begun))


def style_names(styles: Styles, plays: bool) -> str:
    """Return the styles as `Extraction.style` names them, that of most speech first.

    Args:
        styles: of a book.
        plays: it has speeches with a name before them.
    """
    pairs = [pair for pair in (styles.quotes, *styles.others) if pair]
    marks = [pair.opening if pair.opening == pair.closing else f"{pair.opening} {pair.closing}" for pair in pairs]
    return ", ".join([*marks, *(f"{dash} {dash}" for dash in styles.dashes), *(["NAME."] if plays else [])])


def _openings(whole: str, pair: Quotes) -> int:
    """Count the opening quotes of a pair, at most as many as there are closing ones."""
    if pair.opening not in whole or pair.closing not in whole:
        return 0
    opening, closing = _patterns(pair)
    opened = len(opening.findall(whole))
    return min(opened, len(closing.findall(whole))) if opened else 0


@cache
def _patterns(pair: Quotes) -> tuple[re.Pattern[str], re.Pattern[str]]:
    opening, closing = map(re.escape, pair)
    if pair.closing in "'’":  # apostrophes, too
        closed = rf"(?:(?<=[.,!?;:…—–-]{closing})(?!\w)|(?<=\w{closing})(?=,\s))"
    else:
        closed = rf"(?<=[\w.,!?;:…—–)_-]{closing})(?!\w)"
    return re.compile(rf"{opening}(?<!{_NOT_BEFORE}{opening}){_AFTER}"), re.compile(closing + closed)


def parts_of(text: str, styles: Styles, rules: Rules) -> Parts | None:
    """Split a paragraph into narration and speech; return None where it has no speech.

    Args:
        text: of the paragraph.
        styles: of the book.
        rules: of its language.
    """
    pair, others, dashes, dash_first, opening = styles
    if opening is not None and opening.opening in text:
        return _opened(text, opening, dashes[0], rules)
    for dash in dashes:
        if text.startswith(dash):
            return _by_dashes(text if opening is None else text.replace(opening.closing, ""), dash, rules)
    for other in others:
        if text.startswith(other.opening) and not (pair and pair.opening in text):
            return _by_quotes(text, other, rules)
    if dash_first:
        return _led_in(text, styles, rules)
    if pair is not None and (pair.opening in text or pair.closing in text):
        return _by_quotes(text, pair, rules)
    return None


def _led_in(text: str, styles: Styles, rules: Rules) -> Parts | None:
    """Split a paragraph that begins without a dash, in a book of dashes: at a dash behind a colon, or as continued
    speech.
    """
    for dash in styles.dashes:
        if found := _lead(dash).search(text):
            parts = _by_dashes(text[found.end() - len(dash) :], dash, rules)
            return parts._replace(texts=[text[: found.end(1)], *parts.texts[1:]])
    pair = styles.quotes
    if pair is not None and text.startswith(pair.closing) and pair.opening != pair.closing:
        return _by_quotes(text, pair, rules)
    return None


def _by_quotes(text: str, pair: Quotes, rules: Rules) -> Parts | None:
    opening, closing = pair
    if opening in "'‘":
        text = _marked(text, opening, rules.elisions)
        opening, closing = OPEN, CLOSE
    elif opening == closing:
        text = _STRAIGHT.sub(OPEN, text).replace('"', CLOSE)
        opening, closing = OPEN, CLOSE
    repeated = text.startswith(closing)  # so Spanish and Portuguese begin the next paragraph of a speech
    if repeated:
        text = opening + text[len(closing) :].lstrip()
    first, *rest = text.split(opening)
    speech, closed, after = first.partition(closing)
    texts, begins_open = ([first], repeated) if not closed else (["", speech, after], True)
    for piece in rest:
        speech, closed, after = piece.partition(closing)
        texts += [speech, after.replace(closing, "")]
    ends_open = bool(rest) and not closed
    if "(" in text:
        texts = _parenthesised(texts, rules)
    return Parts(texts, begins_open, ends_open, pair) if len(texts) > 1 else None


def _opened(text: str, pair: Quotes, dash: str, rules: Rules) -> Parts | None:
    """Split a paragraph of a book of dashes whose quotes open a conversation, also behind "she said:"."""
    if text.startswith(dash):
        return _by_dashes(text, dash, rules)
    lead, _, speech = text.partition(pair.opening)
    words = small_words(lead)[-_FAR_TAG:]
    if lead and not (lead.rstrip().endswith(":") and rules.says.meet(words)):
        return None
    speech, _, after = speech.partition(pair.closing)
    texts = _by_dashes(dash + speech, dash, rules).texts
    after = after.strip(f" {dash}")
    if any(sign.isalnum() for sign in after):
        texts[-1] = f"{texts[-1]} {after}".strip()
    return Parts([lead, *texts[1:]], pair=pair, dash=dash)


def _parenthesised(texts: list[str], rules: Rules) -> list[str]:
    """Take narration out of speech where old books put it in brackets inside the quotes: "Sir (said she) come in."."""
    cut = [texts[0]]
    for speech, narration in zip(texts[1::2], texts[2::2], strict=True):
        begin = 0
        for found in _BRACKETS.finditer(speech):
            if found.start() and rules.says.meet(small_words(found[1])[:4]):
                cut += [speech[begin : found.start()].rstrip(), found[1]]
                begin = found.end()
        cut += [speech[begin:], narration]
    return cut


def _by_dashes(text: str, dash: str, rules: Rules) -> Parts:
    """Split a paragraph that begins with a dash at those that follow: narration stands between two."""
    pieces = _inner(dash).split(text[len(dash) :].strip())
    texts, speaking = ["", pieces[0]], True
    for separator, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if not speaking:
            texts.append(piece)
            speaking = True
        elif rules.unmarked and (tag := _tag_at_end(texts[-1], rules)) is not None:
            texts[-1:] = [texts[-1][:tag].rstrip(), texts[-1][tag:], piece]
        elif _narrates(texts[-1], separator, piece, rules) or _leads_in(texts[-1], piece, rules):
            texts.append(piece)
            speaking = False
        elif rules.run_in and piece[:1].isupper() and texts[-1][-1:] in ".!?…":
            texts += ["", piece]
        else:
            texts[-1] += f" — {piece}" if texts[-1] else piece
    if speaking:
        texts.append("")
    if rules.unmarked:
        texts = _unmarked(texts, rules)
    return Parts(texts, dash=dash)


def _narrates(speech: str, separator: str, piece: str, rules: Rules) -> bool:
    """Return whether a dash within speech begins narration.

    Narration begins with a small letter, behind a mark that ends the speech; where there is no mark, a verb of saying
    decides. A space before the dash and none behind it opens it in Spanish.
    """
    if not piece:
        return False
    if separator[0] == " " and separator[-1] != " " and piece[0].isalpha():
        return True
    if not piece[0].islower():
        return False
    if speech.rstrip("»”\"' ")[-1:] in "!?.…,":
        return True
    return any(word.strip(".,;:!?").lower() in rules.says for word in piece.split(maxsplit=5)[:5])


def _leads_in(speech: str, piece: str, rules: Rules) -> bool:
    """Return whether a sentence between dashes is narration that leads in what follows: "--Yes.--He added:--And?"."""
    return piece.endswith(":") and speech[-1:] in ".!?…" and rules.says.meet(small_words(piece)[-_SHORT_TAG:])


def _tag_at_end(speech: str, rules: Rules) -> int | None:
    """Return where narration begins that ends speech before a dash: "--Yes, said he, --let us go."."""
    if not speech.endswith(","):
        return None
    begin = speech.rfind(", ", 0, len(speech) - 1) + 2
    words = small_words(speech[begin:])
    is_tag = begin > 2 and speech[begin].islower() and len(words) <= _SHORT_TAG and rules.says.meet(words[:2])
    return begin if is_tag else None


def _unmarked(texts: list[str], rules: Rules) -> list[str]:
    """Take narration out of speech where no dash marks it: "--Yes, said he, let us go."."""
    cut = [texts[0]]
    for speech, narration in zip(texts[1::2], texts[2::2], strict=True):
        pieces = _tags_within(speech, rules)
        if len(pieces) > 1 and not pieces[-1].strip():
            pieces.pop()
            narration = f"{pieces.pop()} {narration}".strip()
        cut += [*pieces, narration]
    return cut


def _tags_within(speech: str, rules: Rules) -> list[str]:
    """Split speech at verbs of saying that follow its marks; return speech, narration, …, speech.

    After a comma narration goes to the next mark, otherwise to the end of the sentence.
    """
    pieces, begin, says = [], 0, rules.says
    for found in _AFTER_SPEECH.finditer(speech):
        place = found.end()
        if found.start() < begin or (words := _TWO_WORDS.match(speech, place, place + 40)) is None:
            continue
        first, second = words.group(1, 2)
        is_verb, comma = first.lower() in says, found[0] == ", "
        if not is_verb and (second is None or second.lower() not in says):
            continue
        if first[0].isupper() and (comma or not is_verb):
            continue
        end = _end_of_tag(speech, place, comma, rules)
        pieces += [speech[begin : place - 1], speech[place:end].strip()]
        begin = end
    return [*pieces, speech[begin:]]


def _end_of_tag(speech: str, place: int, comma: bool, rules: Rules) -> int:
    stop = (_CLAUSE if comma else _SENTENCE).search(speech, place)
    while stop is not None and stop[0][0] == "," and _continues(speech, stop.end(), rules):
        stop = _CLAUSE.search(speech, stop.end())
    return stop.end() if stop else len(speech)


def _continues(speech: str, place: int, rules: Rules) -> bool:
    """Return whether narration continues behind a comma, with a word that begins no subject: "and", "who"."""
    word = _WORD.match(speech, place)
    return word is not None and word[0].islower() and word[0] in rules.stops


def _marked(text: str, mark: str, elisions: tuple[str, ...]) -> str:
    """Replace single quotes by OPEN and CLOSE. An elision ("'tis") opens speech only where none is open and a closing
    quote follows it before the next opening one: "'Is it late?' said he". In a paragraph that begins with speech, a
    mark may also stand behind the closing quote: "'It is late', said he".
    """
    begins = text.startswith(mark)
    found = _single_open(mark, elisions, begins).finditer(text)
    marks = [(each.start(), OPEN if each["elision"] is None else "elision") for each in found]
    marks = sorted(
        [*marks, *((each.start(), CLOSE) for each in (_LOGICAL_CLOSE if begins else _SINGLE_CLOSE).finditer(text))]
    )
    signs, is_open = list(text), False
    for number, (place, sign) in enumerate(marks):
        if sign == "elision":
            following = next((other for _, other in marks[number + 1 :] if other != "elision"), None)
            unclosed = following is None and mark == "‘" and not place
            if is_open or not (following == CLOSE or unclosed):
                continue
            sign = OPEN
        signs[place], is_open = sign, sign == OPEN
    return "".join(signs)


@cache
def _single_open(mark: str, elisions: tuple[str, ...], begins: bool) -> re.Pattern[str]:
    spared = "|".join(map(re.escape, sorted(elisions))) or "(?!)"
    after = r"\w|[.,](?:\s|$)" if begins else r"\w"
    word = rf"(?![^‘’'.,!?;]{{1,40}}(?<=\w)[’'](?!{after}))"  # a quoted word has no mark before its closing quote
    return re.compile(rf"{mark}(?<![^\s(\[—–_-]{mark})(?=\S){word}(?P<elision>(?=(?i:{spared})\b))?")


@cache
def _inner(dash: str) -> re.Pattern[str]:
    """Match a dash inside a paragraph, with the spaces around; a hyphen has one at a side, or a mark behind it."""
    if dash == "-":
        return re.compile(r"((?<! ) +-+ *|(?<!-)-+(?=[.,;:…!? ]) *)")
    return re.compile(rf"( *(?:{re.escape(dash)})+ *)")


@cache
def _lead(dash: str) -> re.Pattern[str]:
    """Match a colon and the dash behind it with which speech begins."""
    return re.compile(r"(:) +-(?=[ ¿¡\w])" if dash == "-" else rf"(:) *{re.escape(dash)}")
