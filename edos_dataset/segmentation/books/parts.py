"""A paragraph as the narrator's words and the speech between, in turns: by its quotes, or by its dashes."""

import re
from functools import cache
from typing import NamedTuple

from edos_dataset.segmentation.books.rules import Quotes, Rules
from edos_dataset.segmentation.books.styles import Styles
from edos_dataset.segmentation.books.words import small_words

OPEN, CLOSE = "\ue000", "\ue001"  # what straight and single quotes are written as inside here, of private use

_STRAIGHT = re.compile(r'"(?<![^\s(\[—–_-]")(?=\S)')
_SINGLE_CLOSE = re.compile(r"[’'](?<=[.,!?;:…—–)-][’'])(?!\w)")
_SENTENCE = re.compile(r"[.!?…;:](?:\s|$)")
_CLAUSE = re.compile(r"[,.!?…;:](?:\s|$)")
_BRACKETS = re.compile(r"\(([^()]{4,90})\)")
_SHORT_TAG = 6  # words of "said the old man"
_FAR_TAG = 15  # words before a colon in which a verb of saying tells that it leads in speech
_WORD = re.compile(r"[^\W\d_]+")
_AFTER_SPEECH = re.compile(r"(?<![,.!?…])[,.!?…]+ (?=[^\W\d_])")
_TWO_WORDS = re.compile(r"([^\W\d_]+)(?:[ '’-]+([^\W\d_]+))?")  # no mark between: "Yes, sir, said he"


class Parts(NamedTuple):
    """A paragraph cut up.

    Attributes:
        texts: odd in number: narration, speech, narration, …, narration; narration may be empty.
        begins_open: the first speech begins with a mark that says that the speech before goes on, or without any.
        ends_open: the last speech has no closing quote.
        pair: the quotes; None where it is cut by dashes.
        dash: it begins with; None where it is cut by quotes.
    """

    texts: list[str]
    begins_open: bool = False
    ends_open: bool = False
    pair: Quotes | None = None
    dash: str | None = None


def parts_of(text: str, styles: Styles, rules: Rules) -> Parts | None:
    """Cut a paragraph into narration and speech; return None where it holds no speech.

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
    """Cut a paragraph of a book of dashes that begins with none: at one behind a colon, or for a speech goes on."""
    for dash in styles.dashes:
        if found := _lead(dash).search(text):
            parts = _by_dashes(text[found.end() - len(dash) :], dash, rules)
            return parts._replace(texts=[text[: found.end(1)], *parts.texts[1:]])
    pair = styles.quotes
    if pair is not None and text.startswith(pair.closing) and pair.opening != pair.closing:
        return _by_quotes(text, pair, rules)
    return None


def _by_quotes(text: str, pair: Quotes, rules: Rules) -> Parts | None:
    """Cut a paragraph at its quotes."""
    opening, closing = pair
    if opening in "'‘":
        text = _SINGLE_CLOSE.sub(CLOSE, _single_open(opening, rules.elisions).sub(OPEN, text))
        opening, closing = OPEN, CLOSE
    elif opening == closing:
        text = _STRAIGHT.sub(OPEN, text).replace('"', CLOSE)
        opening, closing = OPEN, CLOSE
    repeated = text.startswith(closing)  # Spanish and Portuguese begin the next paragraph of a speech so
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
    """Cut a paragraph of a book of dashes whose quotes open a conversation, at its beginning or behind "she said:"."""
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
    """Cut narration out of speech that old books put in brackets inside its quotes: "Sir (said she) come in."."""
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
    """Cut a paragraph that begins with a dash at those that follow: the narrator's words stand between two."""
    pieces = _inner(dash).split(text[len(dash) :].strip())
    texts, speaking = ["", pieces[0]], True
    for separator, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if not speaking:
            texts.append(piece)
            speaking = True
        elif rules.unmarked and (told := _told_at_end(texts[-1], rules)) is not None:
            texts[-1:] = [texts[-1][:told].rstrip(), texts[-1][told:], piece]
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
    """Say whether a dash within speech begins the narrator's words.

    They begin with a small letter, and the speech before has come to a mark; where it has none, a verb of saying tells.
    A space before the dash and none behind it opens them in Spanish.
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
    """Say whether a sentence between dashes is the narrator's, who leads in what follows: "--Yes.--He added:--And?"."""
    return piece.endswith(":") and speech[-1:] in ".!?…" and rules.says.meet(small_words(piece)[-_SHORT_TAG:])


def _told_at_end(speech: str, rules: Rules) -> int | None:
    """Return where the narrator's words begin that end speech before a dash: "--Yes, said he, --let us go."."""
    if not speech.endswith(","):
        return None
    begin = speech.rfind(", ", 0, len(speech) - 1) + 2
    words = small_words(speech[begin:])
    told = begin > 2 and speech[begin].islower() and len(words) <= _SHORT_TAG and rules.says.meet(words[:2])
    return begin if told else None


def _unmarked(texts: list[str], rules: Rules) -> list[str]:
    """Cut narration out of speech that no dash sets it off from: "--Yes, said he, let us go."."""
    cut = [texts[0]]
    for speech, narration in zip(texts[1::2], texts[2::2], strict=True):
        pieces = _told_within(speech, rules)
        if len(pieces) > 1 and not pieces[-1].strip():
            pieces.pop()
            narration = f"{pieces.pop()} {narration}".strip()
        cut += [*pieces, narration]
    return cut


def _told_within(speech: str, rules: Rules) -> list[str]:
    """Cut speech at verbs of saying that follow its marks; return speech, narration, …, speech.

    After a comma the narrator's words go to the next mark, else to the end of the sentence.
    """
    pieces, begin = [], 0
    for found in _AFTER_SPEECH.finditer(speech):
        if found.start() < begin or (words := _TWO_WORDS.match(speech, found.end(), found.end() + 40)) is None:
            continue
        first, second = words.group(1, 2)
        told = first.lower() in rules.says
        if not (told or (second is not None and second.lower() in rules.says)):
            continue
        if first[0].isupper() and (found[0] == ", " or not told):
            continue
        stop = (_CLAUSE if found[0] == ", " else _SENTENCE).search(speech, found.end())
        while stop is not None and stop[0][0] == "," and _goes_on(speech, stop.end(), rules):
            stop = _CLAUSE.search(speech, stop.end())
        end = stop.end() if stop else len(speech)
        pieces += [speech[begin : found.end() - 1], speech[found.end() : end].strip()]
        begin = end
    return [*pieces, speech[begin:]]


def _goes_on(speech: str, place: int, rules: Rules) -> bool:
    """Say whether the narrator's words go on behind a comma, with a word that begins no subject: "and", "who"."""
    word = _WORD.match(speech, place)
    return word is not None and word[0].islower() and word[0] in rules.stops


@cache
def _single_open(mark: str, elisions: tuple[str, ...]) -> re.Pattern[str]:
    spared = "|".join(map(re.escape, sorted(elisions)))
    word = r"(?![^‘’'.,!?;]{1,40}(?<=\w)[’'](?!\w))"  # a quoted word has no mark before its closing quote
    return re.compile(rf"{mark}(?<![^\s(\[—–_-]{mark})(?=\S){word}" + (rf"(?!(?i:{spared})\b)" if spared else ""))


@cache
def _inner(dash: str) -> re.Pattern[str]:
    """Match a dash inside a paragraph, with the spaces around; a hyphen has one at a side, or a mark behind it."""
    if dash == "-":
        return re.compile(r"((?<! ) +-+ *|(?<!-)-+(?=[.,;:…!? ]) *)")
    return re.compile(rf"( *(?:{re.escape(dash)})+ *)")


@cache
def _lead(dash: str) -> re.Pattern[str]:
    """Match a colon and the dash that speech begins with behind it."""
    return re.compile(r"(:) +-(?=[ ¿¡\w])" if dash == "-" else rf"(:) *{re.escape(dash)}")
