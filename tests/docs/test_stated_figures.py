"""Every measured figure of the README, BENCHMARKS.md and the explanations is that of the record it comes from."""

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "BENCHMARKS.md", "docs/reference/models.md")),
    *sorted((ROOT / "docs" / "explanation").glob("*.md")),
]
FIGURES = yaml.load((Path(__file__).with_name("figures.yaml")).read_text("utf-8"), yaml.BaseLoader)
CLAIMS = [
    (record, figure, place)
    for record, figures in FIGURES["records"].items()
    for figure, places in figures.items()
    for place in (places if isinstance(places, list) else [places])
]
_FIGURE = re.compile(r"(?<![\w.,])(?:\d+\.\d{2,}(?:e-?\d+)?|\d+\.\d(?:e-?\d+)?(?: %)?|\d{1,3}(?:,\d{3})+|\d+ %)(?: %)?")
_NO_FIGURE = re.compile(
    r"`[^`]*`|\]\([^)]*\)|CC BY[-A-Z ]* \d\.\d|Apache-2\.0|Python \d\.\d+|Section \d\.\d(?:\.\d)?|\b0\.\d\b"
)
"""Code, links, licences, versions, sections of papers, and thresholds of one digit."""


def value_at(content, place):
    """Return the value at a place of a record: keys and list indices joined by dots; a key may hold dots."""
    for key, rest in (
        (place[:end], place[end + 1 :]) for end in range(len(place), 0, -1) if end == len(place) or place[end] == "."
    ):
        if isinstance(content, list) and key.isdecimal() or isinstance(content, dict) and key in content:
            found = content[int(key) if isinstance(content, list) else key]
            return found if not rest else value_at(found, rest)
    raise KeyError(place)


def as_printed(value, figure):
    """Return a value in the form of a figure: so many decimals, a fraction as a percentage."""
    number = figure.removesuffix(" %").replace(",", "")
    decimals = len(number.partition(".")[2])
    if figure.endswith("%") or (0 <= value <= 1 < float(number)):
        value *= 100
    return f"{value:,.{decimals}f}" + (" %" if figure.endswith("%") else "")


def figures_of(page):
    """Return the figures of a page, without its code, links, licences and sections."""
    return {found[0] for found in _FIGURE.finditer(_NO_FIGURE.sub(" ", page.read_text("utf-8")))}


@pytest.mark.parametrize(("record", "figure", "place"), CLAIMS)
def test_the_record_says_so(record, figure, place):
    assert as_printed(value_at(json.loads((ROOT / record).read_text("utf-8")), place), figure) == figure


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_has_a_record(page):
    known = {figure for _, figure, _ in CLAIMS} | FIGURES["others"].keys()
    known |= {figure.removesuffix(" %") for figure in known}
    assert sorted(figures_of(page) - known) == []


def test_no_figure_is_kept_that_no_page_has():
    said = set().union(*map(figures_of, PAGES))
    said |= {figure.removesuffix(" %") for figure in said}
    assert [figure for _, figure, _ in CLAIMS if figure.removesuffix(" %") not in said] == []
