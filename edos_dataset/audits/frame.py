"""What the pages to judge on share: each is one HTML file, without network, with styles and script inside."""

from html import escape
from importlib.resources import files
from string import Template

LONGEST_TURN = 600
"""Characters shown of a turn: one monstrous dialogue must not make a monstrous page."""


def fill_frame(package: str, name: str, **values: str) -> str:
    """Return a page: its frame with the shared styles and script, and with these values.

    Args:
        package: that the frame lies in.
        name: of the frame's file, a `string.Template` that also names `shared_style` and `shared_script`.
        values: HTML, escaped already.
    """
    shared = files("edos_dataset.audits")
    return Template((files(package) / name).read_text(encoding="utf-8")).substitute(
        shared_style=(shared / "shared.css").read_text(encoding="utf-8"),
        shared_script=(shared / "shared.js").read_text(encoding="utf-8"),
        **values,
    )


def turn_text(text: str, longest: int = LONGEST_TURN) -> str:
    """Return a text as HTML, cut where it is longer than `longest` characters."""
    return escape(text if len(text) <= longest else text[:longest] + " …")
