"""Colours of labels that are readable on video."""

import colorsys
from zlib import crc32

from edos_dataset.label_sets.label_set import LabelSet

_LIGHTNESS, _SATURATION = 0.75, 0.85
_WHITE = (255, 255, 255)


def colour_of(label: str, labels: LabelSet | None = None) -> tuple[int, int, int]:
    """Return the colour of a label as red, green and blue, 0 to 255: that of its label set, if it states one; white for
    neutral; otherwise a light colour whose hue is the label's place in the set, or derived from its name.
    """
    if labels is not None and (given := labels.colours.get(label)):
        return int(given[1:3], 16), int(given[3:5], 16), int(given[5:7], 16)
    if label == (labels.neutral if labels is not None else "neutral"):
        return _WHITE
    known = labels is not None and label in labels.ids
    hue = labels.ids[label] / len(labels) if labels is not None and known else crc32(label.encode()) / 2**32
    red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(hue, _LIGHTNESS, _SATURATION))
    return red, green, blue
