"""YouTube's timed text: XML (`srv1`, `srv2`, `srv3`) and JSON (`json3`). An event becomes one cue; its words are
joined.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lxml import etree

from edos_dataset.sources.parsed import MOST_LINES, refuse_more
from edos_dataset.sources.subtitles.cue import Cue, lines_of, number_of
from edos_dataset.sources.xml_trees import parse_xml, without_declaration


def read_timed_xml(text: str) -> list[Cue]:
    """Read a document of `<timedtext>` or `<transcript>`.

    Raises:
        ReadError: as for `parse_xml`, and with the reason not_subtitles if there are more cues than in any film.
    """
    root = parse_xml(without_declaration(text), "timedtext")
    nodes = [node for node in root.iter("{*}p", "{*}text")]
    refuse_more("cues", len(nodes), MOST_LINES)
    return _until_next([_cue_of(node) for node in nodes])


def read_timed_json(document: dict[str, Any]) -> list[Cue]:
    """Read the events of a `json3` document."""
    events = [event for event in document["events"] if isinstance(event, dict)]
    refuse_more("events", len(events), MOST_LINES)
    cues = []
    for event in events:
        segments = event.get("segs")
        pieces = segments if isinstance(segments, list) else []
        words = [segment.get("utf8") for segment in pieces if isinstance(segment, dict)]
        start = number_of(event.get("tStartMs"), 1 / 1000)
        end = start + number_of(event.get("dDurationMs"), 1 / 1000)
        cues.append(Cue(start, end, lines_of(_joined([word for word in words if isinstance(word, str)]))))
    return _until_next(cues)


def _cue_of(node: etree._Element) -> Cue:
    scale = 1.0 if node.get("start") is not None else 1 / 1000  # srv1 has seconds
    start = number_of(node.get("start") or node.get("t"), scale)
    end = start + number_of(node.get("dur") or node.get("d"), scale)
    return Cue(start, end, lines_of(_joined(list(_pieces(node)))))


def _pieces(node: etree._Element) -> Iterator[str]:
    for event, inner in etree.iterwalk(node, events=("start", "end", "comment", "pi")):
        if event == "start":
            name = etree.QName(inner).localname if isinstance(inner.tag, str) else ""
            piece = "\n" if name == "br" else inner.text
        else:
            piece = inner.tail if inner is not node else None
        if piece:
            yield piece


def _joined(words: list[str]) -> str:
    """Join words, which have their spaces or, in some exports, have none."""
    spaced = any(word != word.strip() for word in words)
    return ("" if spaced else " ").join(words)


def _until_next(cues: list[Cue]) -> list[Cue]:
    """Return the cues that have words, each ending where the next begins: rolling captions stay while others appear."""
    cues = [cue for cue in cues if cue.lines]
    following = [cue.start for cue in cues[1:]]
    ended = [
        replace(cue, end=start) if cue.start < start < cue.end else cue
        for cue, start in zip(cues, following, strict=False)
    ]
    return [*ended, *cues[-1:]]
