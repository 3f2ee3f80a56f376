"""Screenplays as plain text, in which a speaker's name stands in a line of its own above the speech.

Nothing is assumed about the columns: which indents names, speeches and action have, whether a blank line ends a speech,
and how wide speeches are, is learnt from the document.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from edos_dataset.sources.scripts.lines import Line
from edos_dataset.sources.scripts.marks import (
    is_direction,
    is_heading,
    is_no_name,
    is_place,
    is_transition,
    may_be_heading,
)
from edos_dataset.sources.scripts.names import Candidate, candidates, two_columns, two_names
from edos_dataset.sources.scripts.speeches import Script
from edos_dataset.sources.subtitles.speakers import key_of

_WIDE = 45  # characters of a line that is hardly part of a speech in columns of its own
_USUAL_INDENT = 0.03  # fraction of the names at an indent that names have
_DENSE = 0.04  # fraction of speeches that action follows without a blank line, where documents do that
_NOTE_LINES = 8
_ENDS = re.compile(r"""[.!?…:][)"'”’]*$|[-–—]{1,2}$|\)$""")
_OPENS = re.compile(r"""["'“‘(\[-]*[^\W_a-zß-öø-ÿ]""")
_AUTHOR = re.compile(
    r"(?:an? |the )?(?:original )?(?:(?:written|screenplay|teleplay|story|script) )?(?:screenplay )?by\b", re.I
)
_DOES = re.compile(r"[a-zß-öø-ÿ]+s")


@dataclass
class Layout:
    """The habits of a document.

    Attributes:
        names: indents that names have.
        speech: usual indent of speeches.
        action: usual indent of action and headings.
        apart: whether the indent tells speech from action.
        width: characters that a line of a speech has at most, as a rule.
        dense: whether action may follow a speech without a blank line.
        loose: whether names usually have a blank line below.
        cast: how often each name occurs as a speaker's.
    """

    names: frozenset[int] = frozenset()
    speech: int = 0
    action: int = 0
    apart: bool = False
    width: int = 60
    dense: bool = False
    loose: bool = False
    cast: Counter[str] = field(default_factory=Counter)

    def is_speech(self, indent: int) -> bool:
        """Return whether a line of this indent is rather speech than action, where indents tell."""
        return 2 * indent > self.speech + self.action


def read_layout(lines: Sequence[Line], title_case: bool = False) -> Script:
    """Read a screenplay with names above speeches.

    Args:
        lines: result of `lines_of`.
        title_case: whether names are written "Steve", not "STEVE".
    """
    found = list(candidates(lines, title_case))
    layout = _layout(lines, found)
    cues = {each.place: each for each in _accepted(lines, found, layout)}
    return _Reader(lines, cues, layout).read()


def _layout(lines: Sequence[Line], found: Sequence[Candidate]) -> Layout:
    """Learn the habits of a document from the candidates whose names come back."""
    spoken = _without_notes(lines, found)
    again = _recurring(found)
    if not again:
        return Layout()
    layout = Layout(action=_action_indent(lines, found, spoken))
    again = _in_columns(lines, again, spoken, layout.action)
    names = _usual(Counter(each.line.indent for each in again))
    layout.loose = sum(each.tight for each in again) < 0.5 * len(again)
    first = [lines[spoken[each.place]] for each in again if each.tight != layout.loose]
    _learn_indents(layout, Counter(line.indent for line in first), _indents_of_action(lines, again, spoken))
    layout.names = _name_indents(names, layout)
    layout.cast = Counter(each.key for each in again if each.line.indent in layout.names)
    layout.width = int(np.percentile([len(line.text) for line in first], 92)) + 2 if first else 60
    layout.dense = not layout.apart and _is_dense(lines, again, spoken, layout)
    return layout


def _recurring(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates whose names come back and are no directions; all if none does."""
    number = Counter(each.key for each in found)
    return [each for each in found if number[each.key] > 1 and not is_direction(each.cue.name)] or list(found)


def _in_columns(lines: Sequence[Line], again: list[Candidate], spoken: dict[int, int], action: int) -> list[Candidate]:
    """Return the candidates deeper than the action, where most have a column of speech below: a place in a line of its
    own has action below, and no column of its own.
    """
    deeper = [each for each in again if each.line.indent > action + 2]
    columns = sum(lines[spoken[each.place]].indent > action + 3 for each in deeper)
    return deeper if len(deeper) > 0.5 * len(again) and columns > 0.85 * len(deeper) else again


def _learn_indents(layout: Layout, below: Counter[int], rest: Counter[int]) -> None:
    """Set the indents of speech and action, and whether they are distinct.

    Args:
        layout: what is known of the document.
        below: how often the first line of a speech has each indent.
        rest: how often headings and action have each indent.
    """
    layout.speech = below.most_common(1)[0][0] if below else 0
    layout.action = rest.most_common(1)[0][0] if rest else layout.speech
    deep = sum(times for indent, times in below.items() if layout.is_speech(indent))
    shallow = sum(times for indent, times in rest.items() if not layout.is_speech(indent))
    layout.apart = (
        layout.speech > layout.action and deep >= 0.85 * below.total() and shallow >= 0.8 * max(rest.total(), 1)
    )


def _indents_of_action(lines: Sequence[Line], found: Sequence[Candidate], spoken: dict[int, int]) -> Counter[int]:
    """Return how often headings, and wide lines that are not the first of a speech, have each indent."""
    taken = {place for each in found for place in (each.place, spoken[each.place])}
    wide = [line for place, line in enumerate(lines) if place not in taken and len(line.text) >= _WIDE]
    return Counter(line.indent for line in (*wide, *(line for line in lines if is_heading(line.text))))


def _action_indent(lines: Sequence[Line], found: Sequence[Candidate], spoken: dict[int, int]) -> int:
    rest = _indents_of_action(lines, found, spoken)
    return rest.most_common(1)[0][0] if rest else 0


def _usual(indents: Counter[int]) -> Counter[int]:
    return Counter({indent: times for indent, times in indents.items() if times >= _USUAL_INDENT * indents.total()})


def _name_indents(usual: Counter[int], layout: Layout) -> frozenset[int]:
    """Return the indents of names: those that are usual, and where names are centred, all between these."""
    deeper = {indent for indent in usual if indent > layout.action + 2}
    if sum(usual[indent] for indent in deeper) < 0.5 * usual.total():
        return frozenset(usual)
    if not layout.apart:
        return frozenset(usual)
    return frozenset(range(min(deeper) - 1, max(deeper) + 12))


def _without_notes(lines: Sequence[Line], found: Iterable[Candidate]) -> dict[int, int]:
    """Return place of a name → place of the first line below that is no note of the writer."""
    places = {}
    for each in found:
        place = each.speech
        for place in range(each.speech, min(each.speech + _NOTE_LINES, len(lines))):
            text = lines[place].text
            if text and not text.startswith("(") and not _inside_note(lines, each.speech, place):
                break
        places[each.place] = place
    return places


def _inside_note(lines: Sequence[Line], start: int, place: int) -> bool:
    before = "".join(line.text for line in lines[start:place])
    return before.count("(") > before.count(")")


def _is_dense(lines: Sequence[Line], again: Sequence[Candidate], spoken: dict[int, int], layout: Layout) -> bool:
    wider = 0
    for each in again:
        for line in lines[spoken[each.place] + 1 : spoken[each.place] + 12]:
            if not line.text:
                break
            if len(line.text) > layout.width * 1.2 + 2:
                wider += 1
                break
    return wider >= _DENSE * len(again)


def _accepted(lines: Sequence[Line], found: Sequence[Candidate], layout: Layout) -> Iterator[Candidate]:
    """Yield the candidates that are names of speakers."""
    for number, each in enumerate(found):
        after = found[number + 1] if number + 1 < len(found) else None
        # Of two lines of the form of names, the second is the speaker's, if it is known to be one and has speech below.
        second = after is not None and after.place == each.speech and layout.cast[after.key] > 1
        if second and (layout.cast[each.key] < 2 or not each.tight):
            continue
        if _is_speaker(lines, each, layout):
            yield each


def _is_speaker(lines: Sequence[Line], each: Candidate, layout: Layout) -> bool:
    known = _is_known(each, layout)
    sure = known or each.cue.extended
    if not _is_where_names_are(each, layout, sure):
        return False
    if not known and (is_direction(each.cue.name) or is_no_name(each.cue.name)):
        return False
    if not sure and _goes_on(lines, each):
        return False
    indented = each.line.indent > layout.action + 2
    free = indented or _stands_free(lines, each)
    return free and _is_followed_by_speech(lines[each.speech], layout, sure, indented)


def _is_where_names_are(each: Candidate, layout: Layout, sure: bool) -> bool:
    here = each.line.indent in layout.names
    return (here or sure) and (each.tight or layout.loose or (sure and here))


def _is_known(each: Candidate, layout: Layout) -> bool:
    """Return whether a name comes back in the document, or one of two names side by side."""
    both = two_names(each.line)
    names = [each.key, *(key_of(cue.name) for cue in both[0])] if both else [each.key]
    return any(layout.cast[name] > 1 for name in names)


def _stands_free(lines: Sequence[Line], each: Candidate) -> bool:
    """Return whether a name at the indent of action has a blank line or a heading above it, and is no place."""
    before = lines[each.place - 1].text if each.place else ""
    if before and not (is_heading(before) or is_transition(before)):
        return False
    return each.cue.extended or not is_place(each.cue.name)


def _is_followed_by_speech(below: Line, layout: Layout, sure: bool, indented: bool) -> bool:
    if layout.apart and not below.text.startswith("("):
        return layout.is_speech(below.indent)
    if not sure and layout.dense and len(below.text) > layout.width + 3:
        return False
    return sure or indented or not below.text[:1].islower()


def _goes_on(lines: Sequence[Line], each: Candidate) -> bool:
    """Return whether a sentence goes on over a line, or a title page: capitals that a program put in a line of their
    own, and the name of the film.
    """
    below = lines[each.speech].text
    if _AUTHOR.match(below):
        return True
    above = lines[each.place - 2 if each.place > 1 and not lines[each.place - 1].text else each.place - 1].text
    return below[:1].islower() and above[-1:].isalnum() and not above.isupper()


class _Reader:
    """Reads a document from top to bottom, once its layout and its names are known."""

    def __init__(self, lines: Sequence[Line], cues: dict[int, Candidate], layout: Layout) -> None:
        self._lines, self._cues, self._layout = lines, cues, layout
        self._script = Script()
        headings = sum(is_heading(line.text) for line in lines)
        # Without INT. and EXT., transitions and any line in capitals tell where scenes begin.
        self._cuts = 2 * headings < sum(is_transition(line.text) for line in lines)
        self._slugs = 40 * headings < len(cues)
        self._place = 0

    def read(self) -> Script:
        """Return the speeches."""
        while self._place < len(self._lines):
            each = self._cues.get(self._place)
            text = self._lines[self._place].text
            if each is not None:
                self._read_speech(each)
                continue
            if text and self._begins_scene(self._place):
                self._script.new_scene()
            self._place += 1
        return self._script

    def _begins_scene(self, place: int) -> bool:
        text = self._lines[place].text
        if is_heading(text):
            return not (place and is_heading(self._lines[place - 1].text))
        if self._cuts and is_transition(text):
            return True
        alone = not (place and self._lines[place - 1].text) and not self._text_at(place + 1)
        if not alone or self._lines[place].indent > self._layout.action + 2:
            return False
        return may_be_heading(text) or (self._slugs and text.isupper() and text[-1].isalnum() and len(text) < 50)

    def _text_at(self, place: int) -> str:
        return self._lines[place].text if place < len(self._lines) else ""

    def _read_speech(self, each: Candidate) -> None:
        both = two_names(each.line)
        block = list(self._block(each.speech))
        self._place = max(self._place, each.place + 1)
        if both:
            for cue, lines in zip(both[0], two_columns(block, both[1]), strict=True):
                self._script.add(cue, lines)
            return
        self._script.add(each.cue, [line.text for line in block])

    def _block(self, start: int) -> Iterator[Line]:
        """Yield the lines of the speech that begins at a place, and go to its end."""
        open_note = blank = False
        part: list[Line] = []
        place = start
        while place < len(self._lines):
            line = self._lines[place]
            if self._ends_at(place, part, open_note, blank):
                break
            blank = not line.text
            if line.text:
                open_note = (open_note or line.text.startswith("(")) and _leaves_open(line.text, open_note)
                part.append(line)
            place += 1
        kept = self._without_action(part) if self._layout.dense else part
        self._place = place if len(kept) == len(part) else self._place_of(start, len(kept))
        yield from _closed(kept)

    def _ends_at(self, place: int, part: Sequence[Line], open_note: bool, blank: bool) -> bool:
        """Return whether a speech ends before a line.

        Args:
            place: the line.
            part: the lines of the speech so far.
            open_note: whether a note of the writer goes on in the line.
            blank: whether a blank line stands before it.
        """
        line, layout = self._lines[place], self._layout
        if not line.text:
            return not (layout.apart or open_note or self._goes_on(place + 1, part))
        if place in self._cues or is_heading(line.text) or is_transition(line.text):
            return True
        if open_note:
            return False
        if line.text.startswith("("):
            return blank and not self._is_note_here(line, part)
        if layout.apart and not layout.is_speech(line.indent):
            return True
        return blank and bool(part) and self._is_sign(line, place)

    def _goes_on(self, place: int, part: Sequence[Line]) -> bool:
        """Return whether a speech goes on after a blank line where indents do not tell: only notes were read so far, or
        a note or capitals were moved into a line of their own in the column of names.
        """
        if not part or all(line.text.startswith("(") for line in part):
            return True
        line = self._lines[place] if place < len(self._lines) else Line(0, "")
        if line.indent <= self._layout.action + 2 or place in self._cues:
            return False
        return line.text.startswith("(") or (line.text.isupper() and not _ENDS.search(part[-1].text))

    def _is_note_here(self, line: Line, part: Sequence[Line]) -> bool:
        """Return whether a bracket after a blank line is a note in a speech rather than a line of action."""
        if not self._layout.apart:
            return not part or line.indent > self._layout.action + 2
        return not part or self._layout.is_speech(line.indent)

    def _is_sign(self, line: Line, place: int) -> bool:
        """Return whether a line in capitals between blank lines is no speech: "LATER"."""
        if not line.text.isupper() or self._text_at(place + 1):
            return False
        return may_be_heading(line.text) or is_direction(line.text) or line.indent > self._layout.speech + 30

    def _acts(self, text: str) -> bool:
        """Return whether a line says what somebody of the cast does: "Joel hangs up"."""
        words = text.split(" ", 2)
        return len(words) > 1 and key_of(words[0]) in self._layout.cast and _DOES.fullmatch(words[1]) is not None

    def _place_of(self, start: int, number: int) -> int:
        """Return the place after a number of lines that are not blank."""
        place = start
        while number:
            number -= bool(self._lines[place].text)
            place += 1
        return place

    def _without_action(self, part: Sequence[Line]) -> Sequence[Line]:
        """Return the lines of a speech without action that follows in the same block: that is wider, or begins after a
        line in which its first word would have fitted.
        """
        end, start, width = len(part), 0, self._layout.width
        for place, line in enumerate(part):
            if line.text.startswith("(") or (place and _leaves_open_at(part, place)):
                start = place + 1
            elif place > start and self._is_new(part[place - 1].text, line.text):
                end = place
                break
            if len(line.text) > width + 3 and place >= start:
                end = _last_beginning(part, start, place)
                break
        return part[: max(end, 1)]

    def _is_new(self, before: str, text: str) -> bool:
        """Return whether a line begins something new after a sentence's end: its first word would have fitted in the
        line before, or it says what somebody does.
        """
        left = self._layout.width - 4 - len(before)
        word = text.split(" ", 1)[0]
        fitted = len(word) + 1 <= left and (_OPENS.match(text) is not None or len(word) + 9 <= left)
        return _ENDS.search(before) is not None and (fitted or self._acts(text))


def _last_beginning(part: Sequence[Line], start: int, place: int) -> int:
    """Return the last line from `start` to `place` that begins a sentence after the end of one; else `place`."""
    back = place
    while back > start + 1 and not (_ENDS.search(part[back - 1].text) and _OPENS.match(part[back].text)):
        back -= 1
    return back if back > start else place


def _leaves_open(text: str, was_open: bool) -> bool:
    depth = int(was_open) + text.count("(") - text.count(")")
    return depth > 0


def _leaves_open_at(part: Sequence[Line], place: int) -> bool:
    before = "".join(line.text for line in part[max(place - _NOTE_LINES, 0) : place])
    return before.count("(") > before.count(")")


def _closed(part: Sequence[Line]) -> Iterator[Line]:
    """Yield lines in which every note that is never closed is closed at the end of its line."""
    waiting: list[Line] = []
    for line in part:
        if waiting:
            waiting.append(line)
            if ")" in line.text:
                yield waiting[0]._replace(text=" ".join(each.text for each in waiting))
                waiting = []
            elif len(waiting) > _NOTE_LINES:
                yield from _each_closed(waiting)
                waiting = []
        elif line.text.startswith("(") and ")" not in line.text:
            waiting = [line]
        else:
            yield line
    yield from _each_closed(waiting)


def _each_closed(waiting: Sequence[Line]) -> Iterator[Line]:
    for number, line in enumerate(waiting):
        yield line._replace(text=f"{line.text})") if not number else line
