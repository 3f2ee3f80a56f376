"""The colours of the groups of labels: readable, and the same everywhere."""

from pathlib import Path

import pytest

from edos_dataset import palette
from edos_dataset.analysis.pictures import COLOURS
from edos_dataset.publishing.cards import pictures

ROOT = Path(palette.__file__).parent


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


def test_report_card_and_pages_take_the_colours_from_here():
    assert list(COLOURS.values()) == list(pictures._COLOURS.values()) == list(palette.ON_LIGHT.values())
    sheet = palette.style_sheet(".light", ".dark")
    assert ".light { --emotion: #005f96;" in sheet and sheet.count("-ground:") == 6
    for path in (ROOT / "web" / "page.css", ROOT / "analysis" / "page_assets" / "page.css"):
        assert "--emotion: #" not in path.read_text(encoding="utf-8"), path
