"""The pictures of a report for papers, as PNG and SVG: the same figures as in the page, on white."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edos_dataset.analysis.alluvial import draw_flow
from edos_dataset.analysis.label_bars import (
    COLOURS,
    Data,
    draw_labels,
    draw_labels_of_others,
    in_order,
    is_labelled,
    plain_axes,
    plainly,
)
from edos_dataset.analysis.label_system import EMOTION, KINDS
from edos_dataset.labels import NEUTRAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[["Figure", Data], object]


def draw_pictures(figures: Data, folder: Path) -> list[Path]:
    """Write each picture of a report as `NAME.png` and `NAME.svg`.

    Args:
        figures: as `commands.report` gives them.
        folder: where they go; it is made.

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
                figure.savefig(path, format=form, metadata={"Date": None} if form == "svg" else None)
                if form == "png":
                    _with_palette(path)
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
    if is_labelled(first):
        wanted.append(("labels", _tall(first["label_turns"]), draw_labels, figures))
    if first["flow"]["all"]:
        wanted.append(("transitions", (9, 8.5), _transitions, first))
    for number, data in enumerate(figures["data"], 1):
        name = "" if number == 1 else f"_{number}"
        if is_labelled(data):
            wanted.append((f"places{name}", (6, 3.2), _places, data))
        if data["flow"]["all"]:
            wanted.append((f"flow{name}", (10, 7), lambda figure, data: draw_flow(figure, data, COLOURS), data))
    wanted += [
        (f"labels_{number}", _tall(one["names"]), draw_labels_of_others, one)
        for number, one in enumerate(figures["comparisons"], 2)
        if one.get("labels_of", first["labels"]["of"]) != first["labels"]["of"]
    ]
    if first["confidence"]:
        wanted.append(("confidence", (6, 3), _confidence, first))
    if first["certainty"]:
        wanted.append(("certainty", (6, 3), _certainty, first))
    if any(one["year"] is not None for one in first["years"]):
        wanted.append(("years", (9, 3), _years, first))
    if first["reliability"]:
        wanted.append(("reliability", (4, 4), _reliability, first))
    return wanted


def _tall(labels: Sequence[object]) -> tuple[float, float]:
    return 7, 1.5 + 0.19 * len(labels)


def _places(figure: "Figure", data: Data) -> None:
    turns = np.array(data["places"]["turns"], float)[:, :-1]
    turns = turns[turns.sum(axis=1) > 0]
    names = [str(place + 1) for place in range(len(turns))]
    if len(turns) == len(data["places"]["turns"]):
        names[-1] += "+"
    axes, below = plain_axes(figure, "y"), np.zeros(len(turns))
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
    drawn = axes.imshow(shown, cmap="PuOr", vmin=-3, vmax=3)
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
        axes.set_ylabel("turns" if title == "tokens of a turn" else "dialogues", fontsize=7)
        plainly(axes, "y")


def _confidence(figure: "Figure", data: Data) -> None:
    turns, mean = data["confidence"]["turns"], data["confidence"]["mean"]
    _bins(figure, turns, f"confidence of the label; mean {mean:.2f}", "turns")


def _certainty(figure: "Figure", data: Data) -> None:
    _bins(figure, data["certainty"], "certainty that nothing is wrong with the dialogue", "dialogues")


def _bins(figure: "Figure", counts: list[int], below: str, beside: str) -> None:
    """Draw a histogram from 0 to 1."""
    axes, width = plain_axes(figure, "y"), 1 / len(counts)
    axes.bar([width * (place + 0.5) for place in range(len(counts))], counts, width * 0.95, color=COLOURS[EMOTION])
    axes.set_xlabel(below)
    axes.set_ylabel(beside)


def _years(figure: "Figure", data: Data) -> None:
    from matplotlib.ticker import MaxNLocator

    known = {one["year"]: one["dialogues"] for one in data["years"] if one["year"] is not None}
    axes = plain_axes(figure, "y")
    axes.bar(list(known), list(known.values()), 0.9, color=COLOURS[EMOTION])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("year of the film")
    axes.set_ylabel("dialogues")


def _reliability(figure: "Figure", data: Data) -> None:
    reliability, axes = data["reliability"], plain_axes(figure, "both")
    used = [one for one in reliability["bins"] if one["turns"]]
    axes.plot([0, 1], [0, 1], ":", color=COLOURS[NEUTRAL])
    axes.plot(
        [one["confidence"] for one in used], [one["accuracy"] for one in used], "o-", ms=4, color=COLOURS[EMOTION]
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", ylabel="share that is right")
    axes.set_xlabel("confidence of the label")
    error = reliability["expected_calibration_error"]
    axes.set_title(f"expected calibration error {error:.3f}", loc="left", fontsize=10)
