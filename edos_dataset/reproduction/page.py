"""The table of all rows as a page that works offline, and as Markdown."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from edos_dataset.palette import style_sheet
from edos_dataset.reproduction.results import VERDICTS, Estimate, Measured, Result
from edos_dataset.reproduction.rows import Number

HEADINGS = ("row", "where", "claim", "figure", "paper", "authors' data", "ours on it", "ours on yours", "n", "verdict")


def cells(result: Result) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a row as texts below `HEADINGS`: one for each figure, measured or only the paper's, or one
    without figures.
    """
    row = result.row
    facts = (row.name, row.at, row.claim)
    figures = result.figures or {name: Measured() for name, value in row.figures.items() if value is not None}
    if not figures:
        yield (*facts, "", "", "", "", "", "", verdict_of(result))
    for place, (name, it) in enumerate(figures.items()):
        first = facts if place == 0 else ("", "", "")
        shown = (figure(row.figures.get(name)), estimate(it.authors), estimate(it.ours), estimate(it.yours))
        yield (*first, name, *shown, _number(it), verdict_of(result) if place == 0 else "")


def verdict_of(result: Result) -> str:
    """Return the verdict with its reason."""
    return f"{result.verdict}: {result.reason}" if result.reason else result.verdict


def figure(value: Number | None) -> str:
    """Return a figure of a paper as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:,}"


def estimate(it: Estimate | None) -> str:
    """Return a measured figure with its interval as text."""
    if it is None:
        return ""
    around = "" if it.low is None or it.high is None else f" [{it.low:g}, {it.high:g}]"
    return figure(it.value) + around


def _number(it: Measured) -> str:
    numbers = [way.number for way in (it.authors, it.ours, it.yours) if way is not None and way.number is not None]
    return f"{numbers[0]:,}" if numbers else ""


def summary(results: Sequence[Result]) -> dict[str, int]:
    """Return how many rows have each verdict, in the order of `VERDICTS`."""
    counts = Counter(result.verdict for result in results)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def markdown(results: Sequence[Result]) -> str:
    """Return the table as Markdown."""
    lines = ["# The papers, row by row", "", _counts(results), ""]
    lines += [" | ".join(["", *HEADINGS, ""]).strip(), "|".join(["", *["---"] * len(HEADINGS), ""])]
    for result in results:
        for line in cells(result):
            lines.append("| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in line) + " |")
    return "\n".join(lines) + "\n"


def _counts(results: Sequence[Result]) -> str:
    counted = ", ".join(f"{verdict} {number}" for verdict, number in summary(results).items())
    return f"{len(results)} rows: {counted}."


def page(results: Sequence[Result], date: str, version: str) -> str:
    """Return the table as one HTML file.

    Args:
        results: the rows.
        date: ISO date of the measurement.
        version: version of this package.
    """
    template = (files("edos_dataset.reproduction") / "page.html").read_text(encoding="utf-8")
    meanings = "".join(f"<dt>{escape(name)}</dt><dd>{escape(what)}</dd>" for name, what in VERDICTS.items())
    parts = {
        "style": style_sheet(":root", ":root[data-theme=dark]"),
        "about": escape(f"{_counts(results)} Measured on {date} by edos-dataset {version}."),
        "meanings": meanings,
        "head": "".join(f"<th scope=col>{escape(name)}</th>" for name in HEADINGS),
        "body": "\n".join(_body(results)),
    }
    for name, content in parts.items():
        template = template.replace(f"@@{name}@@", content)
    return template


def _body(results: Sequence[Result]) -> Iterator[str]:
    paper = None
    for result in results:
        if result.row.paper != paper:
            paper = result.row.paper
            yield f"<tr class=paper><th colspan={len(HEADINGS)} scope=rowgroup>{escape(paper)}</th></tr>"
        more = " ".join(filter(None, (result.row.here, result.row.command and f"Command: {result.row.command}")))
        for place, line in enumerate(cells(result)):
            shown = [f"<td>{escape(text)}</td>" for text in line]
            if place == 0 and more:
                shown[2] = f"<td>{escape(line[2])}<small>{escape(more)}</small></td>"
            yield f'<tr data-verdict="{escape(result.verdict)}">{"".join(shown)}</tr>'
