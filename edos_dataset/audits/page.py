"""The page for judging dialogues, one HTML file that works offline; `page.html` is its template. Styles, script and
`fill_frame` are shared with the page for labels.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import groupby
from string import Template
from typing import Any

from edos_dataset.audits.documents import Excerpt, Item, Line
from edos_dataset.audits.judgements import BOOKS, DIALOGUES, ErrorType, error_types
from edos_dataset.palette import style_sheet
from edos_dataset.wording import counted

LONGEST_TURN = 600
"""Maximum number of characters shown of a turn, which bounds the page."""


def fill_frame(package: str, name: str, **values: str) -> str:
    """Return a page: its template filled with the shared styles and script and with these values.

    Args:
        package: the package that contains the template.
        name: file name of the template, a `string.Template` with the variables `shared_style` and `shared_script`.
        values: escaped HTML.
    """
    shared = files("edos_dataset.audits")
    return Template((files(package) / name).read_text(encoding="utf-8")).substitute(
        shared_style=style_sheet() + (shared / "shared.css").read_text(encoding="utf-8"),
        shared_script=(shared / "shared.js").read_text(encoding="utf-8"),
        **values,
    )


def turn_text(text: str, longest: int = LONGEST_TURN) -> str:
    """Return a text as HTML, truncated to `longest` characters."""
    return escape(text if len(text) <= longest else text[:longest] + " …")


_LONGEST_PARAGRAPH = 1_500
_MOST_TURNS = 80  # shown of a dialogue to judge; the rest is only counted


@dataclass(frozen=True)
class Page:
    """The contents of the page.

    Attributes:
        config: config of the items.
        kind: SUBTITLES or BOOKS.
        unit: DIALOGUES or PAIRS.
        items: items to judge, in order.
        excerpts: item → the paragraphs of its book, if known; otherwise the turns around it are shown.
        blind: whether the source of an item is hidden until it is judged.
    """

    config: str
    kind: str
    unit: str
    items: Sequence[Item]
    excerpts: Mapping[str, Excerpt]
    blind: bool

    def key(self) -> str:
        """Return a digest of the items, the key of their judgements in the browser's storage."""
        content = [[item.item, *(line.text for line in item.judged)] for item in self.items]
        about = [self.config, self.kind, self.unit, content]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]


def render(page: Page) -> str:
    """Return the page as HTML, with all data escaped."""
    types = error_types(page.kind, page.unit)
    what = "dialogues" if page.unit == DIALOGUES else "pairs of turns"
    place = "book" if page.kind == BOOKS else "film"
    about = {"kind": page.kind, "unit": page.unit, "config": page.config}
    return fill_frame(
        "edos_dataset.audits",
        "page.html",
        key=page.key(),
        about=escape(json.dumps(about)),
        title=f"{counted(len(page.items), what)} of {escape(page.config)}",
        intro=f"Each was drawn at random. Judge the marked turns; what is grey stands around them in the {place}. "
        "Name every kind of error that you find. Judgements stay in this browser until you download them.",
        meanings="".join(_meaning(number, one) for number, one in enumerate(types, 1)),
        number=str(len(page.items)),
        items="\n".join(_item(page, number, item) for number, item in enumerate(page.items, 1)),
        buttons="\n".join(_button(number, one) for number, one in enumerate(types, 1)),
    )


def _meaning(number: int, one: ErrorType) -> str:
    keys = f"<kbd>{number}</kbd> <kbd>{one.key}</kbd>"
    return f"<dt>{keys} {escape(one.name)}</dt><dd>{escape(one.meaning)}</dd>"


def _button(number: int, one: ErrorType) -> str:
    name = escape(one.name)
    return (
        f'<button type="button" aria-pressed="false" aria-keyshortcuts="{number} {one.key}" '
        f'title="{escape(one.meaning)}" data-error="{one.code}" data-name="{name}" '
        f'data-keys="{number} {one.key}"><kbd>{number}</kbd> '
        f"<kbd>{one.key}</kbd> {name}</button>"
    )


def _item(page: Page, number: int, item: Item) -> str:
    facts = _facts(item)
    excerpt = page.excerpts.get(item.item)
    blind = "yes" if page.blind else "no"
    note = ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in facts.items()
        if name not in ("item", "dialogue_id", "document_id", "digest") and value is not None
    )
    name = "Dialogue" if page.unit == DIALOGUES else "Pair"
    parts = [f'<h2 id="h{number}" tabindex="-1">{name} {number} of {len(page.items)}</h2>']
    if excerpt is None:
        parts.append(_turns(item.lines))
    else:
        parts += [_turns(item.judged), "<h3>In the book</h3>", _paragraphs(excerpt)]
    parts.append(f'<p class="source" data-blind="{blind}">{escape(item.item)}: {escape(note)}</p>')
    return f'<article aria-labelledby="h{number}" data-judge="{escape(json.dumps(facts))}">{"".join(parts)}</article>'


def _facts(item: Item) -> dict[str, Any]:
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
    parts: list[str] = []
    before: Line | None = None
    for _, own in groupby(lines, key=lambda line: line.dialogue_id):
        for number, line in enumerate(own):
            if before is not None and number == 0:
                parts.append(f'<li class="cut">next dialogue{_between(before, line)}</li>')
            parts.append(turn_html(line, before if number else None))
            before = line
    judged = [place for place, part in enumerate(parts) if part.startswith('<li class="judged')]
    if len(judged) > _MOST_TURNS:
        parts[judged[_MOST_TURNS] : judged[-1] + 1] = [
            f'<li class="cut">{counted(len(judged) - _MOST_TURNS, "more turns")} of this dialogue</li>'
        ]
    return f'<ol class="turns">{"".join(parts)}</ol>'


def _between(before: Line, line: Line) -> str:
    note = ""
    if before.sentences and line.sentences and (missing := min(line.sentences) - max(before.sentences) - 1) > 0:
        what = "paragraphs" if line.start is None else "sentences"
        note += f", {counted(missing, what)} left out before it"
    if before.end is not None and line.start is not None:
        note += f", {max(line.start - before.end, 0):.1f} s later"
    return note


def turn_html(line: Line, before: Line | None) -> str:
    """Return a turn as HTML; with the turn before it, its silence too."""
    silence = ""
    if line.judged and before is not None and before.end is not None and line.start is not None:
        silence = f" [{max(line.start - before.end, 0):.1f} s]"
    speaker = f"<b>{escape(line.speaker)}:</b> " if line.speaker else ""
    narration = f'<span class="narration">{turn_text(line.narration)}</span>' if line.narration else ""
    kind = "judged" if line.judged else "around"
    number = f'<span class="n">{line.number}{silence}</span>'
    return f'<li class="{kind}">{number}{speaker}{turn_text(line.text)}{narration}</li>'


def _paragraphs(excerpt: Excerpt) -> str:
    parts = []
    for one in excerpt.paragraphs:
        turns = ", ".join(map(str, one.turns))
        note = f"turn{'s' if len(one.turns) > 1 else ''} {turns}" if turns else "another dialogue" if one.other else ""
        number = f'<span class="n">¶ {one.number}{", " if note else ""}{note}</span>'
        kind = "judged" if one.turns else "around"
        parts.append(f'<li class="{kind}">{number}{turn_text(one.text, _LONGEST_PARAGRAPH)}</li>')
    return f'<ol class="paragraphs">{"".join(parts)}</ol>'
