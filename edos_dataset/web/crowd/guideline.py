"""A guideline for annotators as HTML: headings, lists, paragraphs and emphasis of Markdown; anything else is text."""

import re
from collections.abc import Iterator
from html import escape

_HEADING = re.compile(r"#{1,6} +([^ \n].*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)]) +([^ \n].*)")
_MARKS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])[*_]([^*_]+)[*_](?![\w*])"), r"<em>\1</em>"),
)


def guideline_html(text: str) -> str:
    """Return a guideline as HTML; markup of HTML in it is shown as text."""
    return "".join(_blocks(text))


def _blocks(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text.strip()):
        paragraph: list[str] = []
        items: list[list[str]] = []
        for line in filter(None, map(str.strip, block.splitlines())):
            heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
            if heading or (item and not items):
                yield from _closed(paragraph, items)
                paragraph, items = [], []
            if heading:
                yield f"<h3>{_inline(heading[1].rstrip('#').rstrip() or heading[1])}</h3>"
            elif item:
                items.append([item[1]])
            else:
                (items[-1] if items else paragraph).append(line)
        yield from _closed(paragraph, items)


def _closed(paragraph: list[str], items: list[list[str]]) -> Iterator[str]:
    if paragraph:
        yield f"<p>{_inline(' '.join(paragraph))}</p>"
    if items:
        yield f"<ul>{''.join(f'<li>{_inline(chr(32).join(lines))}</li>' for lines in items)}</ul>"


def _inline(text: str) -> str:
    text = escape(text)
    for mark, made in _MARKS:
        text = mark.sub(made, text)
    return text
