"""The dialogues audit as one HTML file: no network, no other file. `page.html` is its frame, with the styles and the
script.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from edos_dataset.audits.documents import Item, Line
from edos_dataset.audits.errors import BOOKS, DIALOGUES, ErrorType, error_types
from edos_dataset.audits.frame import fill_frame, turn_text
from edos_dataset.audits.passages import Passage

_LONGEST_PARAGRAPH = 1_500
_MOST_TURNS = 80  # of a dialogue to judge: the rest is counted


@dataclass(frozen=True)
class Page:
    """What the page shows.

    Attributes:
        config: that the items are of.
        kind: SUBTITLES or BOOKS.
        unit: DIALOGUES or PAIRS.
        items: to judge, in their order.
        passages: item → the paragraphs of its book, where they are known; its neighbours are shown where they aren't.
        blind: whether the source of an item shows only once it is judged.
    """

    config: str
    kind: str
    unit: str
    items: Sequence[Item]
    passages: Mapping[str, Passage]
    blind: bool

    def key(self) -> str:
        """Return a digest of what is judged, under which the browser keeps the judgements."""
        content = [[item.item, *(line.text for line in item.judged)] for item in self.items]
        about = [self.config, self.kind, self.unit, content]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]


def render(page: Page) -> str:
    """Return the page as HTML. Whatever comes from the data is escaped."""
    types = error_types(page.kind, page.unit)
    what = "dialogues" if page.unit == DIALOGUES else "pairs of turns"
    place = "book" if page.kind == BOOKS else "film"
    about = {"kind": page.kind, "unit": page.unit, "config": page.config}
    return fill_frame(
        "edos_dataset.audits",
        "page.html",
        key=page.key(),
        about=escape(json.dumps(about)),
        title=f"{len(page.items):,} {what} of {escape(page.config)}",
        intro=f"Each was drawn at random. Judge the marked turns; what is grey stands around them in the {place}. "
        "Name every kind of error that you find. Judgements stay in this browser until you download them.",
        meanings="".join(_meaning(number, one) for number, one in enumerate(types, 1)),
        number=str(len(page.items)),
        items="\n".join(_item(page, number, item) for number, item in enumerate(page.items, 1)),
        buttons="\n".join(_button(number, one) for number, one in enumerate(types, 1)),
    )


def _meaning(number: int, one: ErrorType) -> str:
    keys = f"<kbd>{number}</kbd> <kbd>{one.key}</kbd>"
    return f"<dt>{keys} {escape(one.name)}</dt><dd>{escape(one.told)}</dd>"


def _button(number: int, one: ErrorType) -> str:
    name = escape(one.name)
    return (
        f'<button type="button" aria-pressed="false" aria-keyshortcuts="{number} {one.key}" title="{escape(one.told)}" '
        f'data-error="{one.code}" data-name="{name}" data-keys="{number} {one.key}"><kbd>{number}</kbd> '
        f"<kbd>{one.key}</kbd> {name}</button>"
    )


def _item(page: Page, number: int, item: Item) -> str:
    facts = _facts(item)
    passage = page.passages.get(item.item)
    blind = "yes" if page.blind else "no"
    told = ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in facts.items()
        if name not in ("item", "dialogue_id", "document_id", "digest") and value is not None
    )
    name = "Dialogue" if page.unit == DIALOGUES else "Pair"
    parts = [f'<h2 id="h{number}" tabindex="-1">{name} {number} of {len(page.items)}</h2>']
    if passage is None:
        parts.append(_turns(item.lines))
    else:
        parts += [_turns(item.judged), "<h3>In the book</h3>", _paragraphs(passage)]
    parts.append(f'<p class="source" data-blind="{blind}">{escape(item.item)}: {escape(told)}</p>')
    return f'<article aria-labelledby="h{number}" data-judge="{escape(json.dumps(facts))}">{"".join(parts)}</article>'


def _facts(item: Item) -> dict[str, Any]:
    """Return what a judgement says of its item: no text, but a digest of it, by which equal items are known."""
    source = item.facts.get("source") or {}
    path = source.get("path") or item.facts["document_id"]
    texts = "\n".join(line.text for line in item.judged)
    certainty = item.facts.get("certainty")
    return {
        "item": item.item,
        "dialogue_id": item.facts["dialogue_id"],
        "document_id": item.facts["document_id"],
        "source": path.rpartition("/")[0] or path,
        "language": item.facts.get("language"),
        "split": item.split,
        "certainty": None if certainty is None else round(certainty, 4),
        "digest": hashlib.sha256(texts.encode()).hexdigest()[:16],
    }


def _turns(lines: Sequence[Line]) -> str:
    """Return turns as a list, told from the dialogues before and after."""
    parts: list[str] = []
    before: Line | None = None
    for _, own in groupby(lines, key=lambda line: line.dialogue_id):
        for number, line in enumerate(own):
            if before is not None and number == 0:
                parts.append(f'<li class="cut">next dialogue{_between(before, line)}</li>')
            parts.append(_turn(line, before if number else None))
            before = line
    judged = [place for place, part in enumerate(parts) if part.startswith('<li class="judged')]
    if len(judged) > _MOST_TURNS:
        parts[judged[_MOST_TURNS] : judged[-1] + 1] = [
            f'<li class="cut">{len(judged) - _MOST_TURNS} more turns of this dialogue</li>'
        ]
    return f'<ol class="turns">{"".join(parts)}</ol>'


def _between(before: Line, line: Line) -> str:
    """Return what lies between two dialogues: how much is in none, and how long it is silent."""
    told = ""
    if before.sentences and line.sentences and (missing := min(line.sentences) - max(before.sentences) - 1) > 0:
        what = "paragraph" if line.start is None else "sentence"
        told += f", {missing:,} {what}{'s' if missing > 1 else ''} left out before it"
    if before.end is not None and line.start is not None:
        told += f", {max(line.start - before.end, 0):.1f} s later"
    return told


def _turn(line: Line, before: Line | None) -> str:
    silence = ""
    if line.judged and before is not None and before.end is not None and line.start is not None:
        silence = f" [{max(line.start - before.end, 0):.1f} s]"
    speaker = f"<b>{escape(line.speaker)}:</b> " if line.speaker else ""
    narration = f'<span class="narration">{turn_text(line.narration)}</span>' if line.narration else ""
    kind = "judged" if line.judged else "around"
    number = f'<span class="n">{line.number}{silence}</span>'
    return f'<li class="{kind}">{number}{speaker}{turn_text(line.text)}{narration}</li>'


def _paragraphs(passage: Passage) -> str:
    parts = []
    for one in passage.paragraphs:
        turns = ", ".join(map(str, one.turns))
        told = f"turn{'s' if len(one.turns) > 1 else ''} {turns}" if turns else "another dialogue" if one.other else ""
        number = f'<span class="n">¶ {one.number}{", " if told else ""}{told}</span>'
        kind = "judged" if one.turns else "around"
        parts.append(f'<li class="{kind}">{number}{turn_text(one.text, _LONGEST_PARAGRAPH)}</li>')
    return f'<ol class="passage">{"".join(parts)}</ol>'
