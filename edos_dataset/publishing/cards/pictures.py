"""The picture of a card: how often each label comes, beside the paper's own shares."""

from collections.abc import Mapping
from pathlib import Path

from edos_dataset.labels import EMOTIONS, INTENTS, LABELS
from edos_dataset.publishing.cards.paper_figures import BY_LABEL, EDOS_PAPER
from edos_dataset.runs.shards import replacing

LABEL_PICTURE = "label_distribution.png"

_PAPER, _INK, _GRID, _PAPERS_MARK = "#ffffff", "#1f2328", "#d5d9de", "#1f2328"
_COLOURS = {"emotion": "#0072b2", "response intent": "#d55e00", "neutral": "#666666"}
"""Told apart with every colour vision (Okabe & Ito), and dark enough on white; the background is opaque, so that dark
pages show the same.
"""


def label_order(labels: Mapping[int, int]) -> list[int]:
    """Return the ids of all labels, the most frequent first, equal ones by id."""
    return sorted(range(len(LABELS)), key=lambda label: (-labels.get(label, 0), label))


def kind_of(label: int) -> str:
    """Return what a label is: an emotion, a response intent, or neutral."""
    return "emotion" if LABELS[label] in EMOTIONS else "response intent" if LABELS[label] in INTENTS else "neutral"


def draw_labels(labels: Mapping[int, int], config: str, path: Path) -> None:
    """Draw the share of each label among the turns of a config as a PNG.

    Equal counts give equal bytes with the same matplotlib, whatever the user's own settings are; nothing of the time or
    the machine goes into the file.

    Args:
        labels: label id → turns, at least one in all.
        config: its name, for the title.
        path: where the PNG goes; whole or not at all.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    total, papers_total = sum(labels.values()), sum(turns for _, turns in BY_LABEL)
    order = label_order(labels)
    places = range(len(order))
    ours = [100 * labels.get(label, 0) / total for label in order]
    with style.context("default"):
        figure = Figure(figsize=(8, 10), dpi=110, facecolor=_PAPER, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(facecolor=_PAPER)
        axes.barh(places, ours, color=[_COLOURS[kind_of(label)] for label in order], height=0.75)
        papers = [100 * BY_LABEL[label][1] / papers_total for label in order]
        marks = axes.scatter(
            papers, places, s=18, facecolor=_PAPER, edgecolor=_PAPERS_MARK, linewidth=1, zorder=3, label=EDOS_PAPER
        )
        axes.set_yticks(places, [LABELS[label] for label in order], fontsize=9)
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set_xlim(0)
        axes.set_xlabel("share of turns, %")
        axes.set_title(f"Labels of the {total:,} turns of “{config}”", loc="left", fontsize=11)
        axes.grid(axis="x", color=_GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(colors=_INK, length=0)
        axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
        axes.legend(
            handles=[*(Patch(color=colour, label=kind) for kind, colour in _COLOURS.items()), marks],
            loc="lower right",
            frameon=False,
        )
        with replacing(path) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": "edos-dataset"})
