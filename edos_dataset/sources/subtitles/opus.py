"""OPUS OpenSubtitles XML: whole sentences with the times of their blocks."""

import re

import numpy as np
from lxml import etree

from edos_dataset.sources.detokenize import detokenize
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import MOST_LINES, Facts, Parsed, ReadError, refuse_longer, refuse_more
from edos_dataset.sources.subtitles.opus_scanner import scan
from edos_dataset.sources.subtitles.opus_tree import Sentences, parse_xml, walk
from edos_dataset.sources.subtitles.times import check_times, parse_times
from edos_dataset.text import normal_form

WHOLE_FILM = 0.75
"""Share of the film's duration from which on a subtitle is taken to cover all of it, whatever `<cds>` says."""

_MOST_TAGS = 5 * MOST_LINES  # a word has two, and a long film 30,000 words
_MOST_QUOTES = 4 * _MOST_TAGS  # two an attribute
_LONGEST_FACT = 1000  # characters; a list of genres has fifty
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_DISCS = re.compile(r"\d{1,3}\s*/\s*(\d{1,3})", re.ASCII)
_SPACES = re.compile(r"[ \t\r\n]+")
_UNTIDY = ("  ", "\t", "\r", " \n", "\n ")


def parse_opus(data: bytes, language: str = "en") -> Parsed:
    """Read an OPUS OpenSubtitles file, tokenized (`<w>`) or raw (text in `<s>`).

    A sentence has the start of the block in which its first word is shown and the end of that of its last word;
    sentences of one block share its times. Of a word that OPUS changed the true case is taken where the subtitle is in
    capitals (an `alternative` of the same letters), the spelling of the film where only a clipped "-in'" was written
    out (`initial`), and otherwise the word as OPUS gives it: an `alternative` of other letters is a guess that it
    rejected. Sentence ids are those of the file if they rise, otherwise running numbers.

    Args:
        data: content of the file.
        language: code of the language, for spacing and for guessing an encoding.

    Raises:
        ReadError: with the reason malformed_xml, forbidden_xml (entities), truncated, not_subtitles or
            unknown_encoding.
    """
    declared = _DECLARED.match(data[:1000])
    text, encoding, confidence = decode(data, declared[1].decode() if declared else None, language)
    refuse_more("tags", text.count("<"), _MOST_TAGS)
    refuse_more("quotation marks", text.count('"') + text.count("'"), _MOST_QUOTES)
    declaration = _DECLARATION.match(text)
    text = text[declaration.end() :] if declaration else text
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
    """Read `<meta>`; what is missing, no number, or none that can be is null."""
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
    """Whether the file is one of several discs ("1/2") and does not last as long as the film nevertheless, as OPUS
    joins discs without saying so.
    """
    discs = _DISCS.match(values.get("subtitle/cds", ""))
    if not discs or int(discs[1]) < 2:
        return False
    shown, film = parse_times([values.get("subtitle/duration", "")])[0], _number(values.get("source/duration"))
    return not (film and shown >= WHOLE_FILM * film * 60)


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
    """Return start, end and number of the block that is shown between two times, for each place before, between and
    after the `<time>` elements.

    A start opens a block and an end closes it, whatever number their ids have. Words between an end and a start, or
    between two ends, are of a block whose start or times are missing. A place that is no block has the number -1.
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
