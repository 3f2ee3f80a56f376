"""The picture of a card: the frequency of each label, next to that in the paper."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edos_dataset.label_sets import DEFAULT, LabelSet, load_label_set
from edos_dataset.labels import LABELS
from edos_dataset.palette import ON_LIGHT, PRINT
from edos_dataset.publishing.cards.paper_figures import BY_LABEL, EDOS_PAPER
from edos_dataset.runs.shards import replacing

LABEL_PICTURE = "label_distribution.png"

_COLOURS = dict(zip(("emotion", "response intent", "neutral"), ON_LIGHT.values(), strict=True))


def label_order(labels: Mapping[int, int], number: int = len(LABELS)) -> list[int]:
    """Return the ids of all `number` labels, the most frequent first, and equally frequent ones by id."""
    return sorted(range(number), key=lambda label: (-labels.get(label, 0), label))


def draw_labels(labels: Mapping[int, int], config: str, path: Path, of: LabelSet | None = None) -> None:
    """Draw the fraction of turns with each label in a config as a PNG.

    Equal counts give equal bytes with the same matplotlib, whatever the user's own settings: the file contains
    no time or machine name.

    Args:
        labels: Label id → turns.
        config: Its name, for the title.
        path: The PNG, written atomically.
        of: The label set; by default that of EDOS, whose paper's figures are shown next to ours. Of other
            label sets, the 41 most frequent labels are shown.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    edos = load_label_set(DEFAULT)
    names, as_papers = of or edos, of is None or of == edos
    total, papers_total = max(sum(labels.values()), 1), sum(turns for _, turns in BY_LABEL)
    order = label_order(labels, len(names))[: len(edos)]
    kinds = [names.kind(names.labels[label]) for label in order]
    places = range(len(order))
    ground, ink, grid = PRINT.values()
    ours = [100 * labels.get(label, 0) / total for label in order]
    with style.context("default"):
        # The ground is opaque, so that dark pages show the same.
        figure = Figure(
            figsize=(8, 10 if as_papers else 1.5 + 0.21 * len(order)), dpi=110, facecolor=ground, layout="constrained"
        )
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(facecolor=ground)
        axes.barh(places, ours, color=[_COLOURS[kind] for kind in kinds], height=0.75)
        handles: list[Any] = [
            Patch(color=colour, label=kind) for kind, colour in _COLOURS.items() if as_papers or kind in kinds
        ]
        if as_papers:
            papers = [100 * BY_LABEL[label][1] / papers_total for label in order]
            marks = axes.scatter(
                papers, places, s=18, facecolor=ground, edgecolor=ink, linewidth=1, zorder=3, label=EDOS_PAPER
            )
            handles.append(marks)
        axes.set_yticks(places, [names.labels[label] for label in order], fontsize=9)
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set_xlim(0)
        axes.set_xlabel("fraction of turns, %")
        axes.set_title(f"Labels of the {total:,} turns of “{config}”", loc="left", fontsize=11)
        axes.grid(axis="x", color=grid, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(colors=ink, length=0)
        axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
        axes.legend(handles=handles, loc="lower right", frameon=False)
        with replacing(path) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": "edos-dataset"})
