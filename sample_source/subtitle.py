"""SubRip, WebVTT and ASS files from timed blocks."""

import html
from dataclasses import dataclass, replace

from sample_source.layout import Block, Part, wrap
from sample_source.opus import stamp, stamps
from sample_source.screenplay import Screenplay, chance

_COLORS = ("#ffff00", "#00ffff", "#80ff80", "#ffffff")
_ZERO = ("00:00:00,000", "00:00:00,000")

_ASS_HEADER = """\
[Script Info]
; Made for the packaged sample
Title: {title}
ScriptType: v4.00+
WrapStyle: 0
PlayResX: 640
PlayResY: 360

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, \
StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,20,&H00FFFFFF,&H000000FF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,2,2,10,10,10,1
Style: Sign,Arial,18,&H0000FFFF,&H000000FF,&H00000000,&H00000000,-1,0,0,0,100,100,0,0,1,2,2,8,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,timed for the sample
"""


@dataclass(frozen=True)
class Markup:
    """How a subtitle file looks; see the table in render.py."""

    dash: str = "- "
    caps: bool = False
    italics: bool = False
    colors: bool = False
    top: bool = False
    entities: bool = False
    voices: bool = False
    numbers: str = "good"


def _shown(part: Part, markup: Markup) -> str:
    if part.speaker is None:
        return part.text
    text = part.text.upper() if markup.caps else part.text
    return html.escape(text).replace("&#x27;", "&#39;") if markup.entities else text


def _break(text: str) -> list[str]:
    """Break into lines by the width on the screen, so that a long entity does not make the lines uneven."""
    plain = wrap(html.unescape(text))
    if plain is None or len(plain) == 1:
        return [text]
    words, first = text.split(" "), len(plain[0].split(" "))
    return [" ".join(words[:first]), " ".join(words[first:])]


def block_lines(block: Block, markup: Markup) -> list[str]:
    """Return the lines of a SubRip or WebVTT block with their markup."""
    lines: list[str] = []
    for part, dash in zip(block.parts, block.content.dashes, strict=True):
        text = _shown(part, markup)
        broken = [(markup.dash if dash else "") + text] if len(block.parts) == 2 else _break(text)
        if part.speaker is None and markup.top:
            broken[0] = "{\\an8}" + broken[0]
        opening, closing = "", ""
        if part.speaker is not None and markup.voices:
            opening = f"<v {part.speaker.title()}>"
        if part.staged and markup.italics:
            opening, closing = f"{opening}<i>", "</i>"
        if part.speaker is not None and markup.colors:
            color = _COLORS[int(4 * chance(part.speaker, "color"))]
            opening, closing = f'<font color="{color}">{opening}', f"{closing}</font>"
        broken[0] = opening + broken[0]
        broken[-1] += closing
        lines.extend(broken)
    return lines


def write_srt(blocks: list[Block], markup: Markup, faults: dict[tuple[int, int], str]) -> str:
    """Return a SubRip file; `markup.numbers` is "good", "missing" (every third cue has none) or "shuffled"."""
    cues = []
    for number, block in enumerate(blocks, 1):
        fault = faults.get(block.place)
        start, end = stamps(block, fault) or _ZERO
        shown = {"missing": "" if number % 3 == 0 else f"{number}\n", "shuffled": f"{number * 7 % 90 + 1}\n"}
        head = shown.get(markup.numbers, f"{number}\n")
        cues.append(f"{head}{start} --> {end}\n" + "\n".join(block_lines(block, markup)) + "\n")
    return "\n".join(cues)


def write_vtt(film: Screenplay, blocks: list[Block], markup: Markup) -> str:
    """Return a WebVTT file with a note, cue names on every other cue and settings on the inserts."""
    cues = [f"WEBVTT - {film.title}\n", "NOTE\nThis file belongs to the packaged sample.\n"]
    for number, block in enumerate(blocks, 1):
        start, end = (stamp(time).replace(",", ".") for time in (block.start, block.end))
        name = f"cue-{number}\n" if number % 2 else ""
        setting = " line:0% align:center" if not block.spoken else ""
        cues.append(f"{name}{start} --> {end}{setting}\n" + "\n".join(block_lines(block, markup)) + "\n")
    return "\n".join(cues)


def write_ass(film: Screenplay, blocks: list[Block], markup: Markup) -> str:
    r"""Return an ASS file; the actor's name has its own field, lines are separated by \N, times in centiseconds."""
    events = []
    for block in blocks:
        start, end = (stamp(time)[1:-1].replace(",", ".") for time in (block.start, block.end))
        text = "\\N".join(block_lines(block, replace(markup, voices=False)))
        text = text.replace("<i>", "{\\i1}").replace("</i>", "{\\i0}")
        speaker = block.parts[0].speaker if markup.voices and len(block.parts) == 1 else None
        style = "Default" if block.spoken else "Sign"
        events.append(f"Dialogue: 0,{start},{end},{style},{speaker or ''},0,0,0,,{text}\n")
    return _ASS_HEADER.format(title=film.title) + "".join(events)
