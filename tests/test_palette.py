"""The colours of the groups of labels: readable, and the same everywhere."""

import re
from pathlib import Path

import pytest

from edos_dataset import palette
from edos_dataset.analysis.pictures import COLOURS
from edos_dataset.publishing.cards import pictures

ROOT = Path(palette.__file__).parent
GRADIO = {
    "block-background-fill",
    "body-background-fill",
    "body-text-color",
    "border-color-primary",
    "link-text-color",
}
"""Colours of gradio's theme, in which the Spaces stand."""


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("colours", "grounds", "pages"),
    [
        (palette.ON_LIGHT, palette.GROUNDS_LIGHT, ("#ffffff", "#fafaf8")),
        (palette.ON_DARK, palette.GROUNDS_DARK, ("#161615", "#20201f")),
    ],
)
def test_every_group_is_read_on_its_ground_and_on_the_page(colours, grounds, pages):
    for group, colour in colours.items():
        assert all(contrast(colour, ground) >= 4.5 for ground in (grounds[group], *pages)), group


@pytest.mark.parametrize("page", [palette.PAGE_LIGHT, palette.PAGE_DARK])
def test_what_pages_say_is_read_on_their_grounds(page):
    for colour in ("ink", "soft", "blue", "right", "wrong", "unsure"):
        assert all(contrast(page[colour], page[ground]) >= 4.5 for ground in ("ground", "card", "pale")), colour
    for colour in ("wrong", "unsure"):
        assert contrast(page[colour], page[f"{colour}-ground"]) >= 4.5, colour
    assert contrast(page["blue"], page["on-blue"]) >= 4.5
    assert palette.PAGE_LIGHT.keys() == palette.PAGE_DARK.keys()


def test_report_card_and_pages_take_the_colours_from_here():
    assert list(COLOURS.values()) == list(pictures._COLOURS.values()) == list(palette.ON_LIGHT.values())
    sheet = palette.style_sheet(".light", ".dark")
    assert ".light { --emotion: #005f96;" in sheet and "@media screen { .dark { --emotion: #7cc4f0;" in sheet
    assert "prefers-color-scheme: dark) { :root { --emotion: #7cc4f0;" in palette.style_sheet()


PAGES = sorted(
    path
    for folder in (ROOT, ROOT.parent / "spaces")
    for form in ("css", "html", "js")
    for path in folder.rglob(f"*.{form}")
)


def test_no_page_has_a_colour_of_its_own_or_one_that_is_nowhere():
    known = {name for name in re.findall(r"--([\w-]+):", palette.style_sheet())}
    assert len(PAGES) > 20
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"[:, ](#(?:[0-9a-f]{3}|[0-9a-f]{6}))\b(?![^{};]*{)", text, re.IGNORECASE), path
        own = set(re.findall(r"--([\w-]+):", text))
        used = set(re.findall(r"var\(--([\w-]+)", text))
        assert not own & known - {"ground"}, path
        assert used <= known | own | GRADIO | {"least", "colour"}, (path, used - known - own)
