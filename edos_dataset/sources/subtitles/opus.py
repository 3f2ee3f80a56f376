"""OPUS OpenSubtitles XML: whole sentences with the times of their blocks.

Files in the usual layout are scanned with regular expressions. All others are parsed with lxml, which is the reference:
the scanner returns the same sentences in less time than lxml needs to build the tree.
"""

import html
import re
from dataclasses import dataclass, field

import numpy as np
from lxml import etree

from edos_dataset.sources.detokenize import detokenize
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import MOST_LINES, Facts, Parsed, ReadError, refuse_longer, refuse_more
from edos_dataset.sources.subtitles.times import check_times, parse_times
from edos_dataset.sources.xml_trees import declared_in_xml, parse_xml, without_declaration
from edos_dataset.text import normal_form

WHOLE_FILM = 0.75
"""Fraction of the film's duration from which on a subtitle is assumed to cover all of it, regardless of `<cds>`."""

_MOST_TAGS = 5 * MOST_LINES  # a word has two tags, and a long film 30,000 words
_MOST_QUOTES = 4 * _MOST_TAGS  # two quotes per attribute
_LONGEST_FACT = 1000  # characters; a list of genres has about fifty
_DISCS = re.compile(r"\d{1,3}\s*/\s*(\d{1,3})", re.ASCII)
_SPACES = re.compile(r"[ \t\r\n]+")
_UNTIDY = ("  ", "\t", "\r", " \n", "\n ")

_EMPHASIS = ' emphasis="true"'
_BLANKS = r"[ \t\r\n]*"
_VALUE = r'[^"<&\x00-\x1f\ufffe\uffff]'  # the usual characters of an attribute
_ALTERNATIVE = re.compile(rf'<w alternative="({_VALUE}*)" id="{_VALUE}*">([^<&]*)</w>')
_INITIAL = re.compile(rf' initial="({_VALUE}*)">([^<>&]*)</w>')
_BETWEEN_WORDS = re.compile(rf'</w>{_BLANKS}<w id="{_VALUE}*">')
# Frequent neighbours are matched together, since the cost of the scan is the number of matches.
_ITEM = re.compile(
    rf'<w id="{_VALUE}*">{_BLANKS}([^ \t\r\n<][^<]*)</w>{_BLANKS}'
    rf'(?:<time id="{_VALUE}*E" value="({_VALUE}+)" ?/>{_BLANKS})?'
    rf'|</s>{_BLANKS}<s id="({_VALUE}+)">{_BLANKS}(?:<time id="{_VALUE}*S" value="({_VALUE}+)" ?/>{_BLANKS})?'
    rf'|<time id="{_VALUE}*([SE])" value="({_VALUE}*)" ?/>{_BLANKS}'
    r"|([^ \t\r\n<][^<]*)"
    r"|(<)"
)
_OTHER_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)")
_NOT_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_GLUE = "\0"  # after a word that is joined to the next; XML cannot contain this character


@dataclass(slots=True)
class Sentences:
    """The sentences of a file, and the times before, within and between them.

    Attributes:
        ids: `<s id>` of each sentence that has words.
        texts: its tokens joined by single spaces, or its text.
        first: number of `<time>` elements before its first word.
        last: number of `<time>` elements before its last word.
        opens: whether each `<time>` is the start of a block.
        values: the value of each `<time>`.
        tokenized: whether the texts are tokens, so that their spaces have no meaning.
    """

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    opens: list[bool] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    tokenized: bool = False


def parse_opus(data: bytes, language: str = "en") -> Parsed:
    """Read an OPUS OpenSubtitles file, tokenized (`<w>`) or raw (text in `<s>`).

    A sentence starts with the block of its first word and ends with the block of its last word; sentences in one block
    share its times. Words that OPUS changed are spelt as `choose_word` returns them. Sentence ids are those of the file
    if they increase, otherwise consecutive numbers.

    Args:
        data: content of the file.
        language: code of the language, for spacing and encoding detection.

    Raises:
        ReadError: with the reason malformed_xml, forbidden_xml (entities), truncated, not_subtitles or
            unknown_encoding.
    """
    text, encoding, confidence = decode(data, declared_in_xml(data), language)
    refuse_more("tags", text.count("<"), _MOST_TAGS)
    refuse_more("quotation marks", text.count('"') + text.count("'"), _MOST_QUOTES)
    text = without_declaration(text)
    scanned = scan(text)
    if scanned:
        sentences, root = scanned
    else:
        root = parse_xml(text)
        sentences = walk(root)
    if not sentences.texts:
        raise ReadError("not_subtitles", "XML without a sentence (<s>) that has words")
    refuse_more("sentences", len(sentences.texts), MOST_LINES)
    refuse_longer(sentences.texts)
    return _assemble(sentences, language, encoding, confidence, read_facts(root))


def read_facts(root: etree._Element) -> Facts:
    """Read `<meta>`; facts that are missing, not numeric or impossible are None."""
    values = {
        f"{group.tag}/{node.tag}": (node.text or "").strip()
        for group in root.iterfind("meta/*")
        for node in group
        if len(node.text or "") <= _LONGEST_FACT
    }
    tokens = _number(values.get("conversion/tokens"), least=1)
    doubtful = sum(_number(values.get(f"conversion/{name}")) or 0.0 for name in ("unknown_words", "corrected_words"))
    year = _number(values.get("source/year"), least=1870, most=2100)
    return Facts(
        year=int(year) if year else None,
        genres=[genre.strip() for genre in values.get("source/genre", "").split(",") if genre.strip()],
        original_language=values.get("source/original") or None,
        language=values.get("subtitle/language") or None,
        is_part=_is_part(values),
        confidence=_number(values.get("subtitle/confidence"), most=1),
        doubtful=min(doubtful / tokens, 1.0) if tokens else None,
    )


def _number(value: str | None, least: float = 0, most: float = 1e9) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if least <= number <= most else None


def _is_part(values: dict[str, str]) -> bool:
    """Return whether the file is one of several discs ("1/2") and shorter than the film.

    The duration matters since OPUS joins some discs without stating so.
    """
    discs = _DISCS.match(values.get("subtitle/cds", ""))
    if not discs or int(discs[1]) < 2:
        return False
    shown, film = parse_times([values.get("subtitle/duration", "")])[0], _number(values.get("source/duration"))
    return not (film and shown >= WHOLE_FILM * film * 60)


def scan(text: str) -> tuple[Sentences, etree._Element] | None:
    """Collect the sentences of a file of the usual layout.

    Args:
        text: the document without its XML declaration.

    Returns:
        Its sentences and the root of the rest of the document; None if anything differs from the layout that OPUS
        writes, as then only an XML parser can decide whether the file is well-formed.
    """
    begin, end = text.find("<s "), text.rfind("</s>")
    if begin < 0 or end < begin:
        return None
    try:
        root = parse_xml(text[:begin] + text[end + len("</s>") :])
    except ReadError:
        return None
    if next(root.iter("s", "time", "w"), None) is not None:
        return None
    # Every "<s" must follow a "</s>", so one is inserted before the first; the last "</s>" is dropped.
    body = "</s>" + text[begin:end].replace(_EMPHASIS, "")
    if _OTHER_ENTITY.search(body):
        return None
    if "alternative=" in body:
        body = _ALTERNATIVE.sub(lambda match: f'<w id="">{choose_word(match[2], match[1], None)}</w>', body)
    if "initial=" in body:
        body = _INITIAL.sub(lambda match: f">{choose_word(match[2], None, match[1])}</w>", body)
    sentences = _collect(_BETWEEN_WORDS.sub(" ", body))
    if sentences is None or _holds_no_xml("\n".join(sentences.texts)):
        return None
    if "&" in body:
        sentences.texts = [html.unescape(line) if "&" in line else line for line in sentences.texts]
    return sentences, root


def _holds_no_xml(text: str) -> bool:
    # A printable text is valid, and this check takes a tenth of the time of the search.
    return "]]>" in text or (not text.replace("\n", "").isprintable() and _NOT_XML.search(text) is not None)


def _collect(body: str) -> Sentences | None:
    sentences = Sentences(tokenized="<w " in body)
    ids, texts, first, last = sentences.ids, sentences.texts, sentences.first, sentences.last
    opens, values = sentences.opens, sentences.values
    waiting = None
    pieces: list[str] = []  # the current sentence, added to the texts when the next one begins
    for words, end, number, start, kind, value, raw, other in _ITEM.findall(body):
        if words or raw:
            position = len(values)
            if waiting is None:
                pieces.append(words or raw)
                last[-1] = position
            else:
                texts.append(" ".join(pieces))
                pieces = [words or raw]
                ids.append(waiting)
                first.append(position)
                last.append(position)
                waiting = None
            if end:
                opens.append(False)
                values.append(end)
        elif number:
            waiting = number
            if start:
                opens.append(True)
                values.append(start)
        elif kind:
            opens.append(kind == "S")
            values.append(value)
        elif other:
            return None
    sentences.texts = [*texts[1:], " ".join(pieces)] if ids else []
    return sentences


def choose_word(word: str, alternative: str | None, initial: str | None) -> str:
    """Return the spelling of a word that OPUS changed.

    It is the true-cased form if the subtitle is in capitals, the film's spelling if OPUS only wrote out a clipped
    "-in'", and otherwise OPUS's word.

    Args:
        word: the word in OPUS.
        alternative: OPUS's second choice: the true-cased form of a word in capitals, or a guess that OPUS itself
            rejected.
        initial: the subtitle's spelling, if OPUS corrected it.
    """
    if alternative and alternative.lower() == word.lower():
        return alternative
    if initial and (initial == f"{word}'" or f"{initial}g" == word):
        return initial  # "fuckin'" and "hangin" are said in the film and are no mistakes
    return word


def walk(root: etree._Element) -> Sentences:
    """Collect the sentences of a parsed file in any layout.

    Raises:
        ReadError: with the reason forbidden_xml if there is a reference to an entity.
    """
    sentences = Sentences(tokenized=root.find(".//w") is not None)
    pieces: list[str] = []
    gaps: list[int] = []
    depth = 0
    for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            if node.tag is etree.Entity:
                raise ReadError("forbidden_xml", f"line {node.sourceline}: reference to an entity")
            if node.tag == "s":
                depth += 1
            elif node.tag == "time":
                sentences.opens.append((node.get("id") or "").endswith("S"))
                sentences.values.append(node.get("value") or "")
            _add(pieces, gaps, _text_of(node) if depth else None, len(sentences.values))
            continue
        if node.tag == "s" and event == "end":
            depth -= 1
            if not depth:
                _close(sentences, node.get("id") or "", pieces, gaps)
                pieces, gaps = [], []
        if depth:
            _add(pieces, gaps, node.tail, len(sentences.values))
    return sentences


def _text_of(node: etree._Element) -> str | None:
    if node.tag != "w" or not node.text:
        return node.text
    word = choose_word(node.text, node.get("alternative"), node.get("initial"))
    return word + _GLUE if "SpaceAfter=No" in (node.get("misc") or "") else word


def _add(pieces: list[str], gaps: list[int], text: str | None, position: int) -> None:
    if text and text.strip(" \t\r\n"):
        pieces.append(text)
        gaps.append(position)


def _close(sentences: Sentences, number: str, pieces: list[str], gaps: list[int]) -> None:
    if pieces:
        text = " ".join(pieces)
        if _GLUE in text:
            text = text.replace(f"{_GLUE} ", "").replace(_GLUE, "")
            sentences.tokenized = False
        sentences.ids.append(number)
        sentences.texts.append(text)
        sentences.first.append(gaps[0])
        sentences.last.append(gaps[-1])


def _assemble(sentences: Sentences, language: str, encoding: str, confidence: float, facts: Facts) -> Parsed:
    starts, ends, blocks = _block_times(sentences)
    first, last = np.array(sentences.first), np.array(sentences.last)
    shown = blocks >= 0
    return Parsed(
        ids=_sentence_ids(sentences.ids),
        texts=_spell_out(sentences, language),
        starts=starts[first],
        ends=ends[last],
        first_blocks=blocks[first],
        last_blocks=blocks[last],
        bad_times=int(np.isnan(starts[shown]).sum() + np.isnan(ends[shown]).sum()),
        encoding=encoding,
        encoding_confidence=confidence,
        facts=facts,
    )


def _block_times(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return start, end and number of the block at each position before, between and after the `<time>` elements.

    A start opens a block and an end closes it, regardless of the numbers in their ids. Words between an end and a
    start, or between two ends, belong to a block whose start or times are missing. Positions without a block have the
    number -1.
    """
    times = parse_times(sentences.values)
    opens = np.array(sentences.opens, dtype=bool)
    begun, ended = np.concatenate([[False], opens]), np.concatenate([~opens, [False]])
    starts = np.where(begun, np.concatenate([[np.nan], times]), np.nan)
    ends = np.where(ended, np.concatenate([times, [np.nan]]), np.nan)
    is_block = begun.copy()
    is_block[sentences.first] = True
    is_block[sentences.last] = True
    blocks = np.where(is_block, np.cumsum(is_block) - 1, -1).astype(np.int32)
    starts[is_block], ends[is_block] = check_times(starts[is_block], ends[is_block])
    return starts, ends, blocks


def _sentence_ids(ids: list[str]) -> np.ndarray:
    if all(number.isdecimal() and len(number) < 10 for number in ids):
        numbers = np.array(ids, dtype=np.int64)
        if numbers[0] >= 0 and (numbers[1:] > numbers[:-1]).all():
            return numbers.astype(np.int32)
    return np.arange(1, len(ids) + 1, dtype=np.int32)


def _spell_out(sentences: Sentences, language: str) -> list[str]:
    texts = sentences.texts if sentences.tokenized else [text.strip(" \t\r\n") for text in sentences.texts]
    joined = "\n".join(texts)
    if joined.strip(" ") != joined or joined.count("\n") >= len(texts) or any(mark in joined for mark in _UNTIDY):
        texts = [_SPACES.sub(" ", text).strip(" ") for text in texts]
    if sentences.tokenized:
        texts = detokenize(texts, language)
    return texts if joined.isascii() else normal_form("\n".join(texts)).split("\n")
