"""Whether the figures that the pages of a checkout state are those of the records that they come from.

`docs/figures.yaml` names for every figure its record, a JSON file, and the place in it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

FIGURES = Path("docs") / "figures.yaml"

_FIGURE = re.compile(r"(?<![\w.,])(?:\d+\.\d{2,}(?:e-?\d+)?|\d+\.\d(?:e-?\d+)?(?: %)?|\d{1,3}(?:,\d{3})+|\d+ %)(?: %)?")
_NO_FIGURE = re.compile(
    r"`[^`]*`|\]\([^()]*\)|CC BY[-A-Z ]{0,12} \d\.\d|Apache-2\.0|Python \d\.\d+|Section \d\.\d(?:\.\d)?|\b0\.\d\b"
)
"""Code, links, licences, versions, sections of papers, and thresholds of one digit."""


@dataclass(frozen=True)
class Claim:
    """A figure of the pages.

    Attributes:
        record: the JSON file it comes from, relative to the checkout.
        figure: as the pages print it, such as "65.3 %".
        place: where the record has it: keys and list indices joined by dots.
    """

    record: str
    figure: str
    place: str


@dataclass(frozen=True)
class Stated:
    """The figures that a checkout states.

    Attributes:
        root: the checkout.
    """

    root: Path

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """The content of `docs/figures.yaml`: figure → place or places by record, and the figures of `others`."""
        content: Mapping[str, Any] = yaml.load((self.root / FIGURES).read_text("utf-8"), yaml.BaseLoader)
        return content

    @cached_property
    def claims(self) -> list[Claim]:
        """The figures that come from records."""
        return [
            Claim(record, figure, place)
            for record, figures in self.content["records"].items()
            for figure, places in figures.items()
            for place in (places if isinstance(places, list) else [places])
        ]

    @cached_property
    def pages(self) -> list[Path]:
        """The pages whose every figure must have a record."""
        named = [self.root / name for name in ("README.md", "BENCHMARKS.md", "docs/reference/models.md")]
        return [*named, *sorted((self.root / "docs" / "explanation").glob("*.md"))]

    def fault_of(self, claim: Claim) -> str | None:
        """Return what is wrong with a claim: its record is missing, or says something else."""
        try:
            content = json.loads((self.root / claim.record).read_text("utf-8"))
            value = as_printed(value_at(content, claim.place), claim.figure)
        except FileNotFoundError:
            return f"{claim.figure}: there is no record {claim.record}"
        except KeyError:
            return f"{claim.figure}: {claim.record} has nothing at {claim.place}"
        return None if value == claim.figure else f"{claim.figure}: {claim.record} says {value} at {claim.place}"

    def untraced(self, page: Path) -> list[str]:
        """Return the figures of a page that neither a record nor `others` explains."""
        known = {claim.figure for claim in self.claims} | self.content["others"].keys()
        return sorted(figures_of(page) - known - {figure.removesuffix(" %") for figure in known})

    def unsaid(self) -> list[str]:
        """Return the figures of records that no page states."""
        said = set().union(*map(figures_of, self.pages))
        said |= {figure.removesuffix(" %") for figure in said}
        return [claim.figure for claim in self.claims if claim.figure.removesuffix(" %") not in said]

    def faults(self) -> Iterator[str]:
        """Yield everything that is wrong, in one line each."""
        yield from filter(None, map(self.fault_of, self.claims))
        for page in self.pages:
            for figure in self.untraced(page):
                yield f"{figure}: {page.relative_to(self.root)} states it, and {FIGURES} names no record of it"
        for figure in self.unsaid():
            yield f"{figure}: {FIGURES} names it, and no page states it"


def checkout_of(*folders: Path) -> Path:
    """Return the first of some folders that is a checkout of this package.

    Raises:
        FileNotFoundError: none of them is one.
    """
    for folder in folders:
        if (folder / FIGURES).is_file():
            return folder
    raise FileNotFoundError(
        f"{folders[0]} is no checkout of edos-dataset: it has no {FIGURES}; records and pages are not installed, so "
        "clone the repository and run the command there"
    )


def figures_of(page: Path) -> set[str]:
    """Return the figures of a page, without its code, links, licences and sections."""
    return {found[0] for found in _FIGURE.finditer(_NO_FIGURE.sub(" ", page.read_text("utf-8")))}


def value_at(content: Any, place: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the value at a place of a record: keys and list indices joined by dots; a key may hold dots.

    Raises:
        KeyError: there is none.
    """
    for end in range(len(place), 0, -1):
        if end != len(place) and place[end] != ".":
            continue
        key, rest = place[:end], place[end + 1 :]
        if isinstance(content, list) and key.isdecimal() and int(key) < len(content):
            found = content[int(key)]
        elif isinstance(content, dict) and key in content:
            found = content[key]
        else:
            continue
        return found if not rest else value_at(found, rest)
    raise KeyError(place)


def as_printed(value: float, figure: str) -> str:
    """Return a value in the form of a figure: so many decimals, a fraction as a percentage."""
    number = figure.removesuffix(" %").replace(",", "")
    decimals = len(number.partition(".")[2])
    if figure.endswith("%") or (0 <= value <= 1 < float(number)):
        value *= 100
    return f"{value:,.{decimals}f}" + (" %" if figure.endswith("%") else "")
