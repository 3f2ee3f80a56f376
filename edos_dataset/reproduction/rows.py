"""The claims, tables and figures of the papers, as data (`papers/*.yaml`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

COSTS = ("none", "seconds", "minutes", "hours", "gpu", "corpus", "people", "network", "data")
"""What a row takes: "none" is held by code and tests alone; from "hours" on nothing is measured here: the rows print
the command, or say what is missing ("data": the authors never published it)."""

MEASURED = ("seconds", "minutes")
"""The costs of the rows that `edos reproduce` measures itself."""

HELD = ("same", "better", "partly", "worse", "argued", "missing")
"""What can be said of a claim without a figure: the code does the same, and so on. "argued" is another way, or nothing,
on purpose."""

EXPLAINED = ("worse", "partly", "argued", "missing")
"""What a row must explain in `here`."""

PAPERS = {"edos": "EDOS and OSED", "responses": "Xie and Pu", "gutenberg": "Gutenberg Dialogue Dataset"}
"""File below `papers/` → what it is called."""

Number = int | float | bool


@dataclass(frozen=True)
class Row:
    """A claim, table or figure of a paper.

    Attributes:
        name: its short name, such as "E44"; E is EDOS or OSED, X Xie and Pu, G the Gutenberg Dialogue Dataset.
        paper: a value of `PAPERS`.
        at: where the paper says it; E, O, X and G are the papers.
        claim: what it says.
        cost: one of `COSTS`.
        held: one of `HELD`, if the row has no figure to measure, or for another figure than the paper's.
        here: where it is in this package, or what to know about the figure.
        command: the command that makes it, if this package cannot measure it at once.
        measure: the experiment, "module:function" below `experiments`.
        needs: data sets of the data folder that the experiment reads; "run" is a folder written by `edos curate`.
        figures: name → the paper's figure; None if it states none.
        complete: units in the authors' complete publication, by which a part of it is recognised.
        within: relative difference up to which a figure is the paper's, for figures without an interval.
        results: JSON file of a long run below the folder of results → name of a figure → its place there, keys and list
            indices joined by dots. `evaluation/` of a checkout is such a folder, too.
    """

    name: str
    paper: str
    at: str
    claim: str
    cost: str = "none"
    held: str | None = None
    here: str | None = None
    command: str | None = None
    measure: str | None = None
    needs: tuple[str, ...] = ()
    figures: Mapping[str, Number | None] = field(default_factory=dict)
    complete: int | None = None
    within: float | None = None
    results: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what a row says."""
        if self.cost not in COSTS or (self.held is not None and self.held not in HELD):
            raise ValueError(f"{self.name}: cost {self.cost!r} or held {self.held!r} is unknown")
        if self.held in EXPLAINED and not self.here:
            raise ValueError(f"{self.name}: held {self.held!r}, and no word why: say it in `here`")
        if (self.measure is not None) != (self.cost in MEASURED):
            raise ValueError(f"{self.name}: a row has a measure if it takes {' or '.join(MEASURED)}, and only then")


@cache
def load_rows() -> tuple[Row, ...]:
    """Return all rows, in the papers' order."""
    rows = []
    for name, paper in PAPERS.items():
        text = (files("edos_dataset.reproduction") / "papers" / f"{name}.yaml").read_text(encoding="utf-8")
        content: dict[str, dict[str, Any]] = yaml.safe_load(text)
        rows += [Row(row, paper, **facts | {"needs": tuple(facts.get("needs", ()))}) for row, facts in content.items()]
    return tuple(rows)
