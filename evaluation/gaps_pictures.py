"""The pictures of `gaps.py`: silences between subtitle blocks, and the cuts at them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset.runs.shards import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, LONGEST = 0.25, 20.0
"""Seconds: width of a bin of the histogram, and where the last one ends."""

CUT = 5.0
"""Seconds: the papers' cut."""

CUTS: tuple[float, ...] = tuple(np.arange(1, 15.01, 0.5).tolist())
"""Seconds: the cuts that are tried."""

PAPERS_TURNS = 4.70
"""Turns per dialogue of the papers' OpenSubtitles dialogues (Xie & Pu, Table 1)."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito (2008)
DASHES = ("-", "--", "-.", ":")


def draw_blocks(axes: "Axes", sources: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw the histograms as steps, counts on a logarithmic scale."""
    edges = np.arange(round(LONGEST / WIDTH) + 1) * WIDTH
    for number, (name, row) in enumerate(sources.items()):
        counts = np.array(row["counts"], float)
        counts[counts == 0] = np.nan
        axes.stairs(
            counts,
            edges,
            color=COLOURS[number % 6],
            linestyle=DASHES[number % 4],
            linewidth=1.4,
            baseline=None,
            label=f"{name} ({row['gaps']:,} gaps)",
        )
    axes.axvline(CUT, color="black", linewidth=1)
    axes.annotate(
        f"{CUT:g} s",
        (CUT, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        va="top",
    )
    axes.set_yscale("log")
    axes.set(
        xlabel="Seconds from the end of a block to the start of the next",
        ylabel=f"Gaps per {WIDTH:g} s (logarithmic)",
        xlim=(0, LONGEST),
    )
    axes.set_title("Silences between adjacent subtitle blocks", fontsize=11)
    axes.legend(frameon=False)


def draw_cuts(axes: "Axes", cuts: Mapping[str, Any]) -> None:
    """Draw precision, recall and F1 by cut."""
    rows = cuts["thresholds"]
    for number, (measure, label) in enumerate(
        {"precision": "cuts that are at a scene break", "recall": "scene breaks that are cut", "f1": "F1"}.items()
    ):
        axes.plot(
            [row["seconds"] for row in rows],
            [100 * row[measure] for row in rows],
            color=COLOURS[number],
            linestyle=DASHES[number],
            label=label,
        )
    axes.plot(cuts["best"]["seconds"], 100 * cuts["best"]["f1"], "o", color=COLOURS[2])
    axes.axvline(CUT, color="black", linewidth=1)
    axes.set(xlabel="Cut: silence in seconds", ylabel="%", ylim=(0, 101), xlim=(CUTS[0], CUTS[-1]))
    axes.set_title(f"Silences as scene breaks ({cuts['scene_breaks']:,} breaks, {cuts['films']} films)", fontsize=11)
    axes.legend(loc="upper right", frameon=False)


def draw_lengths(axes: "Axes", sources: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw the turns per dialogue by cut."""
    for number, (name, source) in enumerate(sources.items()):
        rows = source["dialogues"]
        axes.plot(
            [row["seconds"] for row in rows],
            [row["turns_per_dialogue"] for row in rows],
            color=COLOURS[number % 6],
            linestyle=DASHES[number % 4],
            label=name,
        )
    axes.axhline(PAPERS_TURNS, color="#666666", linewidth=1)
    axes.annotate("the papers: 4.70", (CUTS[-1], PAPERS_TURNS), xytext=(-2, 3), textcoords="offset points", ha="right")
    axes.axvline(CUT, color="black", linewidth=1)
    axes.set(
        xlabel="Cut: silence in seconds", ylabel="Turns per clean dialogue", ylim=(0, None), xlim=(CUTS[0], CUTS[-1])
    )
    axes.set_title("Length of the dialogues", fontsize=11)
    axes.legend(loc="upper left", edgecolor="none", framealpha=1)


def save_picture(path: Path, *panels: Callable[["Axes"], None]) -> None:
    """Draw panels side by side to a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.2 + 5.0 * len(panels), 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.grid(color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)
        panel(axes)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150, metadata={"Software": None})  # the same bytes whoever draws
