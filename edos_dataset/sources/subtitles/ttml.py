"""TTML, DFXP and IMSC, the XML of streaming services: every `<p>`, or timed `<span>` within it, is a cue."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lxml import etree

from edos_dataset.languages import same_language
from edos_dataset.sources.parsed import MOST_LINES, refuse_more
from edos_dataset.sources.subtitles.cue import Cue, lines_of, number_of
from edos_dataset.sources.xml_trees import parse_xml, without_declaration

_XML = "{http://www.w3.org/XML/1998/namespace}"
_CLOCK = re.compile(r"(\d{1,4}):(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9})|:(\d{1,5})(?:\.\d{1,5})?)?", re.ASCII)
_OFFSET = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)(ms|[hmsft]?)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}
_UNSPOKEN = frozenset({"metadata", "set", "agent", "desc", "title", "name", "animate"})
_ANNOTATIONS = frozenset({"text", "textContainer", "delimiter"})  # ruby annotations, which show the pronunciation


@dataclass(frozen=True)
class _Clock:
    """The units of a document's times."""

    frames: float = 30.0
    ticks: float = 1.0

    def seconds(self, value: str | None) -> float:
        """Return a time in seconds, NaN if it is not a time."""
        value = (value or "").strip()
        if clock := _CLOCK.fullmatch(value):
            hours, minutes, seconds = (int(part) for part in clock.group(1, 2, 3))
            fraction = float(f"0.{clock[4]}") if clock[4] else int(clock[5] or 0) / self.frames
            return hours * 3600 + minutes * 60 + seconds + fraction
        if offset := _OFFSET.fullmatch(value):
            rates = {"f": 1 / self.frames, "t": 1 / self.ticks}
            return float(offset[1]) * (rates.get(offset[2]) or _SECONDS[offset[2]])
        return math.nan


@dataclass(frozen=True)
class _Place:
    """What an element inherits from the elements around it."""

    start: float = 0.0
    end: float = math.inf
    timed: bool = False
    agent: str = ""
    language: str = ""
    keeps_breaks: bool = False


@dataclass
class _Run:
    """A run of text with the same inherited attributes."""

    place: _Place
    pieces: list[str] = field(default_factory=list)


def read_ttml(text: str, language: str) -> list[Cue]:
    """Read the cues in the order of their starts; if there are several languages, only those in the wanted one, if
    present.

    Raises:
        ReadError: as for `parse_xml`, and with the reason not_subtitles if there are more cues than in any film.
    """
    root = parse_xml(without_declaration(text), "tt")
    names = _agents(root)
    clock = _clock_of(root)
    runs = [run for run in _walk(root, _place_of(root, _Place(), clock), clock) if "".join(run.pieces).strip()]
    refuse_more("cues", len(runs), MOST_LINES)
    ours = [run for run in runs if run.place.language and same_language(run.place.language.lower(), language)]
    cues = [_cue_of(run, names) for run in ours or runs]
    latest = 0.0
    order = []
    for cue in cues:
        latest = latest if math.isnan(cue.start) else cue.start
        order.append(latest)
    return [cues[number] for number in sorted(range(len(cues)), key=order.__getitem__)]


def _cue_of(run: _Run, names: dict[str, str]) -> Cue:
    place = run.place
    start, end = (place.start, place.end if place.end < math.inf else math.nan) if place.timed else (math.nan, math.nan)
    agents = place.agent.split()
    speaker = names.get(agents[0], agents[0]) if len(agents) == 1 else None
    return Cue(start, end, lines_of("".join(run.pieces)), speaker)


def _local(node: etree._Element) -> str:
    return etree.QName(node).localname if isinstance(node.tag, str) else ""


def _attribute(node: etree._Element, name: str) -> str | None:
    """Return an attribute in any namespace, since TTML's namespaces have changed."""
    return next((str(value) for key, value in node.attrib.items() if str(key).rpartition("}")[2] == name), None)


def _clock_of(root: etree._Element) -> _Clock:
    stated = number_of(_attribute(root, "frameRate"))
    rate = stated if 0 < stated < 1e6 else 30.0
    parts = re.split(r"[\s:]+", (_attribute(root, "frameRateMultiplier") or "").strip())
    above, below = (number_of(part) for part in parts) if len(parts) == 2 else (1.0, 1.0)
    frames = rate * above / below if above > 0 and below > 0 else rate
    ticks = number_of(_attribute(root, "tickRate"))
    sub_frames = number_of(_attribute(root, "subFrameRate"))
    default = frames * (sub_frames if sub_frames > 0 else 1.0) if stated > 0 else 1.0
    return _Clock(frames, ticks if ticks > 0 else default)


def _agents(root: etree._Element) -> dict[str, str]:
    """Return the names of the agents declared in the head, by id."""
    names = {}
    for agent in root.iter("{*}agent"):
        name = next((" ".join((node.text or "").split()) for node in agent.iter("{*}name")), "")
        if name and (key := agent.get(f"{_XML}id")):
            names[key] = name
    return names


def _place_of(node: etree._Element, around: _Place, clock: _Clock) -> _Place:
    """Return the inherited attributes for the content of an element, whose times count from the start of its parent."""
    begin, end, duration = (_attribute(node, name) for name in ("begin", "end", "dur"))
    place = replace(
        around,
        agent=_attribute(node, "agent") or around.agent,
        language=node.get(f"{_XML}lang") or around.language,
        keeps_breaks=node.get(f"{_XML}space", "preserve" if around.keeps_breaks else "") == "preserve",
    )
    if begin is None and end is None and duration is None:
        return place
    start = around.start + (clock.seconds(begin) if begin is not None else 0.0)
    ends = [around.end]
    if end is not None:
        ends.append(around.start + clock.seconds(end))
    if duration is not None:
        ends.append(start + clock.seconds(duration))
    stop = math.nan if any(map(math.isnan, ends)) else min(ends)
    return replace(place, start=start, end=stop, timed=True)


def _walk(node: etree._Element, place: _Place, clock: _Clock) -> Iterator[_Run]:
    """Yield the runs of text below an element; libxml2 limits the depth."""
    for child in node:
        name = _local(child)
        inside = _place_of(child, place, clock) if name else place
        if name == "p":
            runs = [_Run(inside)]
            _collect(child, inside, clock, runs)
            yield from runs
        elif name and name != "head" and name not in _UNSPOKEN:
            yield from _walk(child, inside, clock)


def _collect(node: etree._Element, place: _Place, clock: _Clock, runs: list[_Run]) -> None:
    _add(runs, place, node.text)
    for child in node:
        name = _local(child)
        if name == "br":
            runs[-1].pieces.append("\n")
        elif name and name not in _UNSPOKEN and _attribute(child, "ruby") not in _ANNOTATIONS:
            _collect(child, _place_of(child, place, clock), clock, runs)
        _add(runs, place, child.tail)


def _add(runs: list[_Run], place: _Place, text: str | None) -> None:
    if not text:
        return
    text = text if place.keeps_breaks else re.sub(r"\s+", " ", text)
    last = runs[-1].place
    same = (last.start, last.end, last.agent, last.language) == (place.start, place.end, place.agent, place.language)
    if not same and text.strip():
        runs.append(_Run(place))
    runs[-1].pieces.append(text)
