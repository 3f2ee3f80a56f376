"""OPUS OpenSubtitles XML, parsed (one `<w>` a token) and raw (text in `<s>`), as the 2018 release writes it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from sample_source.layout import Block, Part
from sample_source.screenplay import Screenplay

_TOKEN = re.compile(r"(?:Mrs?|Ms|Dr|St|Prof)\.|\.{2,}|-{2,}|['’]\w+|\w+(?:[-.:,]\d+|-\w+)*|\S")


@dataclass(frozen=True)
class Time:
    """A `<time>` element: `mark` is "S" or "E", `block` counts from 1."""

    block: int
    mark: str
    value: str


@dataclass(frozen=True)
class Text:
    """Words of one sentence within one block."""

    text: str
    emphasis: bool


@dataclass(frozen=True)
class Facts:
    """What `<meta>` says beyond the screenplay; `unknown` is the share of words that the corrector did not know."""

    document: str
    encoding: str = "utf-8"
    confidence: str = "1.0"
    unknown: float = 0.005


def tokenize(text: str) -> list[str]:
    """Cut text into tokens as OPUS does: punctuation apart, "don't" as don + 't, Mr. and ... whole."""
    return _TOKEN.findall(text)


def stamp(milliseconds: int) -> str:
    """Write a time as hours:minutes:seconds,milliseconds."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},{rest:03d}"


def stamps(block: Block, fault: str | None) -> tuple[str, str] | None:
    """Write the times of a block, spoilt by a fault: "missing", "backward", "absurd", "malformed" or none."""
    if fault == "missing":
        return None
    if fault == "backward":
        return stamp(block.end - 30_000 if block.end > 30_000 else 0), stamp(max(0, block.start - 31_000))
    if fault == "absurd":
        return "99:59:58,000", "99:59:59,999"
    if fault == "malformed":
        return stamp(block.start).replace("0", "O", 1), "--:--:--,---"
    return stamp(block.start), stamp(block.end)


def _events(blocks: list[Block], faults: dict[tuple[int, int], str], emphasis: bool) -> Iterator[Time | Text | None]:
    """Yield times and texts in the order of the file; None ends a sentence."""
    for number, block in enumerate(blocks, 1):
        times = stamps(block, faults.get(block.place))
        if times:
            yield Time(number, "S", times[0])
        for part, dash in zip(block.parts, block.content.dashes, strict=True):
            for text, ends in _sentences(part, dash):
                yield from _texts(text, emphasis and part.staged)
                if ends:
                    yield None
        if times:
            yield Time(number, "E", times[1])


def _texts(text: str, emphasis: bool) -> Iterator[Text]:
    """Put a sentence in italics but for the (hint) before it, as subtitlers do."""
    hint = re.match(r"\([^)]*\) ", text) if emphasis else None
    if hint:
        yield Text(hint[0].strip(), False)
        text = text[hint.end() :]
    yield Text(text, emphasis)


def _sentences(part: Part, dash: bool) -> Iterator[tuple[str, bool]]:
    words = ["-"] if dash else []
    for word in part.words:
        words.append(word.text)
        if word.ends:
            yield " ".join(words), True
            words = []
    if words:
        yield " ".join(words), False


def group_sentences(events: Iterator[Time | Text | None]) -> list[list[Time | Text]]:
    """Gather the events of each `<s>`; an end time belongs to the sentence just closed, a start time to the next."""
    sentences: list[list[Time | Text]] = []
    closed = True
    for event in events:
        if event is None:
            closed = True
            continue
        if closed and not (isinstance(event, Time) and event.mark == "E" and sentences):
            sentences.append([])
            closed = False
        sentences[-1].append(event)
    return sentences


def _open_tag(number: int, emphasis: bool) -> str:
    return f'  <s emphasis="true" id="{number}">' if emphasis else f'  <s id="{number}">'


def _word(token: str, identifier: str, caps: bool, emphasis: bool) -> str:
    shown = token.upper() if caps else token
    alternative = f"alternative={quoteattr(token)} " if shown != token else ""
    italics = 'emphasis="true" ' if emphasis else ""
    return f'    <w {alternative}{italics}id="{identifier}">{escape(shown)}</w>'


def _sentence(number: int, events: list[Time | Text], raw: bool, caps: bool) -> Iterator[str]:
    texts = [event for event in events if isinstance(event, Text)]
    whole = bool(texts) and all(text.emphasis for text in texts)
    yield _open_tag(number, whole)
    token = 0
    for event in events:
        if isinstance(event, Time):
            yield f'    <time id="T{event.block}{event.mark}" value="{event.value}" />'
        elif raw:
            yield escape(event.text.upper() if caps else event.text)
        else:
            for text in tokenize(event.text):
                token += 1
                yield _word(text, f"{number}.{token}", caps, event.emphasis and not whole)
    yield "  </s>"


def _meta(film: Screenplay, blocks: list[Block], sentences: int, facts: Facts) -> list[str]:
    tokens = sum(len(tokenize(part.text)) for block in blocks for part in block.parts)
    duration = stamp(blocks[-1].end)
    groups = {
        "source": {"year": film.year, "genre": ",".join(film.genres), "original": film.language, "country": "Nowhere"},
        "conversion": {
            "corrected_words": 0,
            "tokens": tokens,
            "encoding": facts.encoding,
            "sentences": sentences,
            "ignored_blocks": 0,
            "unknown_words": round(tokens * facts.unknown),
        },
        "subtitle": {
            "duration": duration,
            "blocks": len(blocks),
            "cds": "1/1",
            "confidence": facts.confidence,
            "date": f"{film.year + 1}-05-17",
            "language": film.language,
        },
    }
    lines = ["  <meta>"]
    for group, values in groups.items():
        lines.append(f"    <{group}>")
        lines.extend(f"      <{name}>{escape(str(value))}</{name}>" for name, value in values.items())
        lines.append(f"    </{group}>")
    return [*lines, "  </meta>"]


def write_opus(
    film: Screenplay,
    blocks: list[Block],
    facts: Facts,
    *,
    raw: bool = False,
    caps: bool = False,
    emphasis: bool = False,
    faults: dict[tuple[int, int], str] | None = None,
) -> str:
    """Return the XML of one film.

    Args:
        film: the screenplay, for `<meta>`.
        blocks: the timed blocks.
        facts: document id and what else `<meta>` says.
        raw: text in `<s>` instead of `<w>` tokens.
        caps: all in capitals, with the true case in `alternative` (parsed form).
        emphasis: mark turns with a stage word as italics.
        faults: place of a block to the fault of its times.
    """
    sentences = group_sentences(_events(blocks, faults or {}, emphasis))
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<document id="{facts.document}">']
    for number, events in enumerate(sentences, 1):
        lines.extend(_sentence(number, events, raw, caps))
    lines.extend(_meta(film, blocks, len(sentences), facts))
    return "\n".join([*lines, "</document>", ""])
