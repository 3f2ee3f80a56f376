"""The picture of `generation.py`: the perplexity of a word, of every model on every test set."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.classifier_pictures import GREY, as_png, new_figure, plain_axes
from evaluation.gaps_pictures import COLOURS

_SETTINGS = {
    "held-out": (COLOURS[0], "o", "trained on the same source"),
    "fine-tuned": (COLOURS[2], "D", "fine-tuned on the same source"),
    "pre-trained": (COLOURS[4], "s", "trained on it before another one"),
    "zero-shot": (COLOURS[1], "^", "zero-shot"),
}
"""How a model stands to a set → colour, mark, what it means."""


def draw(sets: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> bytes:
    """Draw a panel for each test set: models below each other, perplexity with its interval on a logarithmic scale, and
    that of single tokens as a line.

    Args:
        sets: names of the test sets.
        cells: as measured; those without a perplexity are passed over.

    Returns:
        A PNG.
    """
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    there = [cell for cell in cells if cell.get("perplexity")]
    rows = list(dict.fromkeys(cell["row"] for cell in there))
    figure = new_figure(2.2 + 3.2 * max(1, len(sets)), 1.7 + 0.32 * max(2, len(rows)))
    panels = figure.subplots(1, max(1, len(sets)), squeeze=False, sharey=True)[0]
    used: dict[str, Any] = {}
    for axes, name in zip(panels, sets, strict=False):
        for cell in (cell for cell in there if cell["set"] == name):
            colour, mark, meaning = _SETTINGS[cell["setting"]]
            word, place = cell["perplexity"]["word"], rows.index(cell["row"])
            if None not in word["interval"]:
                axes.plot(word["interval"], [place, place], color=colour, linewidth=2)
            used[meaning] = axes.plot([word["value"]], [place], mark, color=colour, markersize=7)[0]
        alone = [cell["perplexity"]["unigram"] for cell in there if cell["set"] == name]
        if known := [each["word"] for each in alone if each]:
            used["single tokens"] = axes.axvline(min(known), color=GREY, linestyle="--", linewidth=1)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("perplexity of a word")
        plain_axes(axes)
    if rows:
        panels[0].set_yticks(range(len(rows)), rows)
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
    if used:
        figure.legend(used.values(), used.keys(), loc="outside lower center", ncols=min(5, len(used)), frameon=False)
    return as_png(figure)
