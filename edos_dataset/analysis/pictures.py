"""The plots of a report as PNG and SVG, for papers: the same figures as on the page, on white."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset import palette
from edos_dataset.analysis.label_system import EMOTION, KINDS
from edos_dataset.labels import NEUTRAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = dict(zip(KINDS, palette.ON_LIGHT.values(), strict=True))
"""Colours of the groups of labels."""
_MARKS = ("D", "o", "s", "^", "x")

Data = Mapping[str, Any]


def is_labelled(data: Data) -> bool:
    """Return whether any turn of a dataset has a label."""
    return any(one["turns"] for one in data["label_turns"])


def in_order(kinds: list[str], turns: list[float]) -> list[int]:
    """Return the order of labels: emotions, intents, then neutral, each by descending frequency."""
    return sorted(range(len(kinds)), key=lambda place: (KINDS.index(kinds[place]), -turns[place], place))


def draw_labels(figure: "Figure", figures: Data) -> None:
    """Draw the fractions of the labels next to those of other datasets with the same labels (EDOS paper, Figure 2)."""
    first, *others = figures["data"]
    rows = first["label_turns"]
    marks = {
        one["name"]: [row["share"] for row in one["label_turns"]]
        for one in others
        if one["labels"] == first["labels"] and is_labelled(one)
    }
    intervals = [[row["share"] if end is None else end for end in row["interval"]] for row in rows]
    kinds, shares = [row["kind"] for row in rows], [row["share"] for row in rows]
    axes = _bars_of_labels(figure, [row["label"] for row in rows], kinds, shares, marks, intervals)
    axes.set_title(plain_text(f"Labels of {first['name']}"), loc="left", fontsize=10)


def draw_labels_of_others(figure: "Figure", one: Data) -> None:
    """Draw a comparison in the labels of the other dataset."""
    mine, theirs = one["shares"]
    axes = _bars_of_labels(figure, one["names"], one["kinds"], mine, {one["with"]: theirs})
    axes.set_title(plain_text(f"{one['of']} in the labels of {one['labels_of']}"), loc="left", fontsize=10)


def _bars_of_labels(
    figure: "Figure",
    names: list[str],
    kinds: list[str],
    shares: list[float],
    marks: Mapping[str, list[float]],
    intervals: list[list[float]] | None = None,
) -> "Axes":
    order, axes = in_order(kinds, shares), plain_axes(figure)
    bars = 100 * np.array(shares)[order]
    axes.barh(range(len(order)), bars, color=[COLOURS[kinds[label]] for label in order], height=0.75)
    if intervals is not None:
        ends = 100 * np.array(intervals)[order].T
        lengths = np.abs(ends - bars).clip(min=0)
        axes.errorbar(bars, range(len(order)), xerr=lengths, fmt="none", ecolor="black", elinewidth=0.8, capsize=1.5)
    for mark, (name, theirs) in zip(_MARKS, marks.items(), strict=False):
        values, face, shown = 100 * np.array(theirs)[order], "black" if mark == "x" else "white", plain_text(name)
        axes.plot(values, range(len(order)), mark, ms=4, mfc=face, mec="black", label=shown, zorder=3, clip_on=False)
    axes.set_yticks(range(len(order)), [names[label] for label in order], fontsize=8)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.tick_params(axis="y", pad=6)  # leaves space for a mark at 0
    axes.set_xlim(left=0)
    axes.set_xlabel("share of turns, %")
    _legend(axes, {kind: COLOURS[kind] for kind in KINDS if kind in kinds})
    return axes


def plain_axes(figure: "Figure", grid: str = "x") -> "Axes":
    """Add axes without a frame to a figure, with grid lines across one of them."""
    axes = figure.add_subplot()
    plainly(axes, grid)
    return axes


def plainly(axes: "Axes", grid: str) -> None:
    """Remove the frame of axes, and draw grid lines across one of them."""
    axes.grid(axis=grid, color=palette.PRINT["grid"], linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _legend(axes: "Axes", colours: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    found, _ = axes.get_legend_handles_labels()
    kinds = [Patch(color=colour, label=kind) for kind, colour in colours.items()]
    axes.legend(handles=[*kinds, *found], loc="center right", frameon=False, fontsize=8)


def plain_text(text: str) -> str:
    """Escape a text so that matplotlib finds no formula in it."""
    return text.replace("$", r"\$")


MOST_NODES = 13
"""Labels of a turn that are drawn as nodes of their own; rarer ones are grouped by kind."""
_GAP, _WIDTH, _LINE = 0.012, 0.03, 0.026
"""Smallest distance of two nodes, their width, and the height reserved for a name."""

Node = tuple[int, str, str]
"""Turn, from 0; name; kind."""


def gathered(
    links: Sequence[Sequence[int]], names: Sequence[str], kinds: Sequence[str]
) -> dict[tuple[Node, Node], int]:
    """Return the number of dialogues by pair of nodes; a node is a label or the rare labels of a kind.

    Args:
        links: [step, before, after, dialogues], as in `figures`.
        names: Names of the labels.
        kinds: Kinds of the labels.
    """
    sizes: dict[tuple[int, int], int] = {}
    for step, before, after, number in links:
        for place in ((0, before), (1, after)) if step == 0 else ((step + 1, after),):
            sizes[place] = sizes.get(place, 0) + number
    kept = set()
    for step in {place[0] for place in sizes}:
        here = sorted((place for place in sizes if place[0] == step), key=lambda place: (-sizes[place], place))
        kept |= set(here[:MOST_NODES])

    def node(step: int, label: int) -> Node:
        other = NEUTRAL if kinds[label] == NEUTRAL else f"other {kinds[label]}s"
        return step, names[label] if (step, label) in kept else other, kinds[label]

    found: dict[tuple[Node, Node], int] = {}
    for step, before, after, number in links:
        ends = node(step, before), node(step + 1, after)
        found[ends] = found.get(ends, 0) + number
    return found


def draw_flow(figure: "Figure", data: Mapping[str, Any], colours: Mapping[str, str]) -> None:
    """Draw the label flow of all dialogues, one column per turn; widths are proportional to numbers of dialogues."""
    links = gathered(data["flow"]["all"], data["labels"]["names"], data["labels"]["kinds"])
    axes = figure.add_subplot()
    axes.set_axis_off()
    boxes = _boxes(links)
    for (step, name, kind), (bottom, height) in boxes.items():
        axes.bar(step, height, _WIDTH, bottom, color=colours[kind])
        side = -1 if step == 3 else 1
        at, align = step + side * 0.025, "right" if side < 0 else "left"
        axes.text(at, bottom + height / 2, name, ha=align, va="center", fontsize=7, zorder=4)
    _bands(axes, links, boxes, colours)
    title = plain_text(f"Labels of the first four turns of {data['name']}")
    axes.set_title(title, loc="left", fontsize=10)


def _boxes(links: Mapping[tuple[Node, Node], int]) -> dict[Node, tuple[float, float]]:
    sizes: dict[Node, int] = {}
    for (before, after), number in links.items():
        for node in (before, after) if before[0] == 0 else (after,):
            sizes[node] = sizes.get(node, 0) + number
    total = sum(number for node, number in sizes.items() if node[0] == 0)
    boxes = {}
    for step in sorted({node[0] for node in sizes}):
        here = sorted(
            (node for node in sizes if node[0] == step),
            key=lambda node: (KINDS.index(node[2]), node[1].startswith("other "), -sizes[node], node),
        )
        top = 1.0
        for node in here:
            height = sizes[node] / total
            boxes[node] = (top - height, height)
            top -= max(height + _GAP, _LINE)
    return boxes


def _bands(
    axes: "Axes",
    links: Mapping[tuple[Node, Node], int],
    boxes: Mapping[Node, tuple[float, float]],
    colours: Mapping[str, str],
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    total = sum(number for (before, _), number in links.items() if before[0] == 0)
    left = {node: bottom + height for node, (bottom, height) in boxes.items()}
    right = dict(left)
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    for (before, after), number in sorted(
        links.items(), key=lambda link: (-boxes[link[0][0]][0], -boxes[link[0][1]][0])
    ):
        height = number / total
        from_, to = left[before], right[after]
        left[before], right[after] = from_ - height, to - height
        start, stop = before[0] + _WIDTH / 2, after[0] - _WIDTH / 2
        third = (stop - start) / 3
        upper = [(start, from_), (start + third, from_), (stop - third, to), (stop, to)]
        lower = [(x, y - height) for x, y in reversed(upper)]
        band = Path([*upper, *lower, upper[0]], codes)
        axes.add_patch(PathPatch(band, color=colours[before[2]], alpha=0.25, linewidth=0))


Draw = Callable[["Figure", Data], object]


def draw_pictures(figures: Data, folder: Path) -> list[Path]:
    """Write each plot of a report to a folder as `NAME.png` and `NAME.svg`, and return the files; `figures` are those
    of `commands.report`.
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
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, format="PNG", optimize=True, dpi=(150, 150))


def _wanted(figures: Data) -> list[tuple[str, tuple[float, float], Draw, Data]]:
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
    sure: list[tuple[str, Draw]] = [("confidence", _confidence), ("certainty", _certainty), ("boundaries", _boundaries)]
    wanted += [(name, (6, 3), draw, first) for name, draw in sure if first[name]]
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


def _boundaries(figure: "Figure", data: Data) -> None:
    _bins(figure, data["boundaries"], "certainty that the boundary before the turn is right", "turns")


def _bins(figure: "Figure", counts: list[int], below: str, beside: str) -> None:
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
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", ylabel="fraction that is right")
    axes.set_xlabel("confidence of the label")
    error = reliability["expected_calibration_error"]
    axes.set_title(f"expected calibration error {error:.3f}", loc="left", fontsize=10)
