"""The page of a report: one file with its style, its scripts, its data and what draws the pictures, plotly's script."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

_SCRIPTS = (
    "base.js",
    "tables.js",
    "pictures.js",
    "flow.js",
    "browser.js",
    "sections.js",
    "more_sections.js",
    "start.js",
)


def plotly_script() -> str:
    """Return plotly's own script, which draws in the browser (MIT licence, named in its first line).

    Raises:
        ModuleNotFoundError: plotly is not installed.
    """
    try:
        script = files("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'the report\'s pictures need plotly: pip install "edos-dataset[report]"', name="plotly"
        ) from error
    return script


def render(
    figures: Mapping[str, Any], dialogues: Mapping[str, Any], rejects: Sequence[Mapping[str, Any]], script: str
) -> str:
    """Return the page.

    Args:
        figures: as `commands.report` gives them.
        dialogues: as `shown_dialogues` gives them.
        rejects: examples of what a run dropped, as `rejected_units` gives them.
        script: what draws the pictures.
    """
    assets = files("edos_dataset.analysis") / "page_assets"
    ours = "\n".join(assets.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    parts = {
        "@style@": assets.joinpath("page.css").read_text(encoding="utf-8"),
        "@data@": in_script(to_json({"figures": figures, "shown": dialogues, "rejects": rejects}, None)),
        "@plotly@": script.replace("</script", "<\\/script"),
        "@script@": ours,
    }
    page = assets.joinpath("page.html").read_text(encoding="utf-8")
    pieces = page.split("@@")
    return "".join(parts.get(f"@{piece}@", piece) for piece in pieces)


def to_json(content: object, indent: int | None = 1) -> str:
    """Return JSON in UTF-8; what is no number is an error, not NaN."""
    separators = (",", ":") if indent is None else None
    return json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False, separators=separators)


def in_script(text: str) -> str:
    """Return JSON that can stand in a script element: nothing in it can end that, or begin a comment."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
