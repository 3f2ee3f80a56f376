"""A report on what a data set looks like: what `edos report` does."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from edos_dataset.analysis.comparison import compare
from edos_dataset.analysis.figures import data_figures
from edos_dataset.analysis.page import plotly_script, render, to_json
from edos_dataset.analysis.pictures import draw_pictures
from edos_dataset.commands.report_files import replacing_report, report_files
from edos_dataset.commands.report_look import Look, look_at
from edos_dataset.publishing.cards.paper_figures import BY_LABEL, COMPARED, EDOS_PAPER, KL_OF_LABELS, PUBLISHED
from edos_dataset.publishing.rejected import kept_rejects, reasons_of, rejected_units
from edos_dataset.releases.reported import Asked, Reported, open_reported
from edos_dataset.runs.engines.base import available_cores
from edos_dataset.text import clipped
from edos_dataset.version import __version__

REPORT = "report.html"
_EXAMPLES = 3

Say = Callable[[str], object]


def report(
    asked: Asked,
    against: Sequence[Asked] = (),
    out: Path = Path(REPORT),
    data: Path | None = None,
    workers: int | None = None,
    pictures: bool = True,
    force: bool = False,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Write the report on a data set: a page that needs no network, its figures as JSON, and its pictures.

    Args:
        asked: the data set.
        against: others to compare it with.
        out: the page; `NAME.json` and the folder `NAME_pictures` come beside `NAME.html`.
        data: folder of the raw releases that are named, by default EDOS_DATA_DIR.
        workers: processes, by default one a core.
        pictures: draw them as PNG and SVG, too.
        force: replace an earlier report.
        say: called with what is being done.

    Returns:
        The figures, as the JSON has them.

    Raises:
        ValueError: a source is none, or damaged; there is something in the place of `out`.
        ModuleNotFoundError: plotly is not installed.
    """
    script = plotly_script()  # before hours of counting
    files = report_files(out, force)
    with tempfile.TemporaryDirectory(prefix="edos-report-") as scratch:
        opened = []
        for number, one in enumerate((asked, *against)):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            say(f"opening {one.source}")
            opened.append(open_reported(one, folder, data))
        look = look_at(opened, Path(scratch), workers or available_cores(), say)
    say("drawing")
    figures = _figures(opened, look)
    rejects = _rejected_examples(opened[0])
    page = render(figures, look.to_see, rejects, script)
    with replacing_report(files) as made:
        if pictures:
            draw_pictures(figures, made.pictures)
        made.figures.write_text(to_json(figures, None), encoding="utf-8")
        made.page.write_text(page, encoding="utf-8")
    return figures


def _figures(opened: Sequence[Reported], look: Look) -> dict[str, Any]:
    """Return all figures; the first data set is the one that the report is of."""
    counted = look.counts
    first, others = opened[0], list(zip(_names(opened), opened, counted, strict=True))[1:]
    return {
        "made_by": f"edos-dataset {__version__}",
        "data": [
            {"name": name, **_facts(one), **data_figures(counts, one.labels)}
            for name, one, counts in zip(_names(opened), opened, counted, strict=True)
        ],
        "comparisons": [
            {"of": _names(opened)[0], "with": name, **compare(counted[0], first.labels, counts, one.labels)}
            for name, one, counts in others
        ],
        "doubts": look.doubts,
        "copies": look.copies([name for name, _, _ in others]),
        "papers": _papers(),
        "manifest": _manifest(first),
    }


def _names(opened: Sequence[Reported]) -> list[str]:
    """Return a short name of each data set, no two alike."""
    names: list[str] = []
    for one in opened:
        base = Path(one.asked.source.rstrip("/")).name or one.asked.source
        parts = [base, one.asked.revision and f"@{one.asked.revision}", one.config and f" ({one.config})"]
        name = "".join(part for part in parts if part)
        names.append(name if name not in names else f"{name} [{len(names) + 1}]")
    return names


def _facts(one: Reported) -> dict[str, Any]:
    return {"source": one.asked.source, "config": one.config, "revision": one.asked.revision}


def _papers() -> dict[str, Any]:
    """Return what the papers say of the same: sizes, Table 9 and the divergence."""
    return {
        "sizes": [vars(row) for row in PUBLISHED],
        "others": [dict(zip(("name", "labels", "dialogues", "turns"), row, strict=True)) for row in COMPARED],
        "by_label": {"source": f"{EDOS_PAPER}, Table 9", "dialogues_turns": [list(row) for row in BY_LABEL]},
        "kl_of_labels": KL_OF_LABELS,
    }


def _manifest(one: Reported) -> dict[str, Any] | None:
    """Return what the run dropped, and whether its own counts are those of the report."""
    if one.manifest is None or not one.manifest.get("stages"):
        return None
    return {
        "rejected": reasons_of(one.manifest),
        "stages": [
            {name: stage[name] for name in ("stage", "unit", "read", "kept")} for stage in one.manifest["stages"]
        ],
        "counts": one.manifest["configs"].get(one.config),
    }


def _rejected_examples(one: Reported) -> list[Mapping[str, Any]]:
    """Return the first few texts that the run dropped for each reason, where it kept them."""
    if one.manifest is None or one.folder is None or not one.manifest.get("stages"):
        return []
    paths = kept_rejects(one.folder, one.manifest)
    found: list[Mapping[str, Any]] = []
    for each in reasons_of(one.manifest) if paths else ():
        units = rejected_units(paths, one.manifest, each["reason"], each["stage"])
        for unit in islice(units, _EXAMPLES):
            found.append({**unit, "texts": [clipped(text, 300) for text in unit["texts"][:6]]})
    return found
