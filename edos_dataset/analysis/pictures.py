"""The pictures of a report for papers, as PNG and SVG: the same figures as in the page, on white."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset.analysis.alluvial import draw_flow
from edos_dataset.analysis.label_system import EMOTION, INTENT, KINDS
from edos_dataset.labels import NEUTRAL
from edos_dataset.runs.shards import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {EMOTION: "#0072b2", INTENT: "#d55e00", NEUTRAL: "#666666"}
"""Told apart with every colour vision (Okabe & Ito)."""
_MARKS = ("D", "o", "s", "^", "x")

Data = Mapping[str, Any]
Draw = Callable[["Figure", Data], object]


def draw_pictures(figures: Data, folder: Path) -> list[Path]:
    """Write each picture of a report as `NAME.png` and `NAME.svg`.

    Args:
        figures: as `commands.report` gives them.
        folder: where they go; it is made. Pictures of an earlier report are replaced.

    Returns:
        The files.
    """
    from matplotlib import rc_context, style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    folder.mkdir(exist_ok=True)
    written = []
    with style.context("default"), rc_context({"svg.hashsalt": "edos", "svg.fonttype": "none"}):
        for name, size, draw, data in _wanted(figures):
            figure = Figure(figsize=size, dpi=150, facecolor="white", layout="constrained")
            FigureCanvasAgg(figure)
            draw(figure, data)
            for form in ("png", "svg"):
                path = folder / f"{name}.{form}"
                with replacing(path) as temporary:
                    figure.savefig(temporary, format=form, metadata={"Date": None} if form == "svg" else None)
                    if form == "png":
                        _with_palette(temporary)
                written.append(path)
    return written


def _with_palette(path: Path) -> None:
    """Write a PNG anew in at most 256 colours: the thousand bands of a flow need not a megabyte in a card."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, format="PNG", optimize=True, dpi=(150, 150))


def _wanted(figures: Data) -> list[tuple[str, tuple[float, float], Draw, Data]]:
    """Return the pictures that there is something for: name, size in inches, what draws it, and of what."""
    first = figures["data"][0]
    wanted: list[tuple[str, tuple[float, float], Draw, Data]] = [("lengths", (9, 3), _lengths, first)]
    if sum(one["turns"] for one in first["label_turns"]):
        size = (7, 1.5 + 0.19 * len(first["label_turns"]))
        wanted += [("labels", size, _labels, figures), ("places", (6, 3.2), _places, first)]
    if first["flow"]["all"]:
        wanted.append(("flow", (10, 7), lambda figure, data: draw_flow(figure, data, COLOURS), first))
        wanted.append(("transitions", (9, 8.5), _transitions, first))
    wanted += [
        (f"flow_{number}", (10, 7), lambda figure, data: draw_flow(figure, data, COLOURS), other)
        for number, other in enumerate(figures["data"][1:], 2)
        if other["flow"]["all"]
    ]
    if first["confidence"]:
        wanted.append(("confidence", (6, 3), _confidence, first))
    if first["reliability"]:
        wanted.append(("reliability", (4, 4), _reliability, first))
    return wanted


def in_order(kinds: list[str], turns: list[float]) -> list[int]:
    """Return the places of labels: emotions, intents, then neutral, each the most frequent first."""
    return sorted(range(len(kinds)), key=lambda place: (KINDS.index(kinds[place]), -turns[place], place))


def _labels(figure: "Figure", figures: Data) -> None:
    first, *others = figures["data"]
    rows = first["label_turns"]
    order = in_order([row["kind"] for row in rows], [row["turns"] for row in rows])
    axes, places = _axes(figure), range(len(order))
    shares = [100 * rows[label]["share"] for label in order]
    axes.barh(places, shares, color=[COLOURS[rows[label]["kind"]] for label in order], height=0.75)
    others = [
        one for one in others if one["labels"] == first["labels"] and any(row["share"] for row in one["label_turns"])
    ]
    for mark, other in zip(_MARKS, others, strict=False):
        theirs = [100 * other["label_turns"][label]["share"] for label in order]
        face = "black" if mark == "x" else "white"
        axes.plot(theirs, places, mark, ms=4, mfc=face, mec="black", label=_plain(other["name"]), zorder=3)
    axes.set_yticks(places, [rows[label]["label"] for label in order], fontsize=8)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel("share of turns, %")
    axes.set_title(_plain(f"Labels of {first['name']}"), loc="left", fontsize=10)
    _legend(axes)


def _places(figure: "Figure", data: Data) -> None:
    turns = np.array(data["places"]["turns"], float)[:, :-1]
    turns = turns[turns.sum(axis=1) > 0]
    names = [str(place + 1) for place in range(len(turns))]
    if len(turns) == len(data["places"]["turns"]):
        names[-1] += "+"
    axes, below = _axes(figure, "y"), np.zeros(len(turns))
    for kind in KINDS:
        share = 100 * turns[:, [one == kind for one in data["labels"]["kinds"]]].sum(axis=1) / turns.sum(axis=1)
        axes.bar(names, share, bottom=below, color=COLOURS[kind], label=kind)
        below += share
    axes.set_xlabel("turn")
    axes.set_ylabel("share of turns, %")
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)


def _transitions(figure: "Figure", data: Data) -> None:
    table = np.array(data["transitions"], float)
    names, turns = data["labels"]["names"], [row["turns"] for row in data["label_turns"]]
    order = in_order(data["labels"]["kinds"], turns)
    table = table[np.ix_(order, order)]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    strength = np.log2((table + 0.5) / (expected + 0.5))
    shown = np.where((expected < 2) & (table < 5), np.nan, strength)
    axes = figure.add_subplot()
    drawn = axes.imshow(shown, cmap="PuOr_r", vmin=-3, vmax=3)
    axes.set_xticks(range(len(order)), [names[label] for label in order], rotation=90, fontsize=7)
    axes.set_yticks(range(len(order)), [names[label] for label in order], fontsize=7)
    axes.set_xlabel("next label")
    axes.set_ylabel("label")
    bar = figure.colorbar(drawn, shrink=0.6, ticks=range(-3, 4))
    bar.ax.set_yticklabels(["1/8", "1/4", "1/2", "1", "2", "4", "8"])
    bar.set_label("lift")


def _lengths(figure: "Figure", data: Data) -> None:
    kinds = (
        ("turns_of_dialogue", "turns of a dialogue"),
        ("tokens_of_turn", "tokens of a turn"),
        ("tokens_of_dialogue", "tokens of a dialogue"),
    )
    for axes, (name, title) in zip(np.ravel(figure.subplots(1, 3)), kinds, strict=True):
        counts = np.array(data["lengths"][name])
        end = int(np.searchsorted(counts.cumsum(), 0.998 * counts.sum())) + 1
        axes.bar(range(end + 1), [*counts[:end], counts[end:].sum()], width=1, color=COLOURS[EMOTION])
        axes.set_xlabel(f"{title}; the last bar: {end} and more", fontsize=7)
        _plainly(axes, "y")


def _confidence(figure: "Figure", data: Data) -> None:
    turns, axes = data["confidence"]["turns"], _axes(figure, "y")
    width = 1 / len(turns)
    axes.bar([width * (place + 0.5) for place in range(len(turns))], turns, width * 0.95, color=COLOURS[EMOTION])
    axes.set_xlabel(f"confidence of the label; mean {data['confidence']['mean']:.2f}")
    axes.set_ylabel("turns")


def _reliability(figure: "Figure", data: Data) -> None:
    reliability, axes = data["reliability"], _axes(figure, "both")
    used = [one for one in reliability["bins"] if one["turns"]]
    axes.plot([0, 1], [0, 1], ":", color=COLOURS[NEUTRAL])
    axes.plot(
        [one["confidence"] for one in used], [one["accuracy"] for one in used], "o-", ms=4, color=COLOURS[EMOTION]
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", ylabel="share that is right")
    axes.set_xlabel("confidence of the label")
    error = reliability["expected_calibration_error"]
    axes.set_title(f"expected calibration error {error:.3f}", loc="left", fontsize=10)


def _axes(figure: "Figure", grid: str = "x") -> "Axes":
    axes = figure.add_subplot()
    _plainly(axes, grid)
    return axes


def _plainly(axes: "Axes", grid: str) -> None:
    axes.grid(axis=grid, color="#d5d9de", linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _legend(axes: "Axes") -> None:
    from matplotlib.patches import Patch

    found, _ = axes.get_legend_handles_labels()
    kinds = [Patch(color=colour, label=kind) for kind, colour in COLOURS.items()]
    axes.legend(handles=[*kinds, *found], loc="center right", frameon=False, fontsize=8)


def _plain(text: str) -> str:
    """Return a text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")
