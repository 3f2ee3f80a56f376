"""The flow of labels over the first turns, drawn as an alluvial diagram (EDOS paper, Figure 3)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edos_dataset.analysis.label_bars import plain_text
from edos_dataset.analysis.label_system import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NODES = 13
"""Labels of a turn that are drawn alone; rarer ones are put together by kind."""
_GAP, _WIDTH, _LINE = 0.012, 0.03, 0.026
"""Least distance of two nodes, their width, and the height of a name, which each has for its own."""

Node = tuple[int, str, str]
"""Turn, from 0; name; kind."""


def gathered(
    links: Sequence[Sequence[int]], names: Sequence[str], kinds: Sequence[str]
) -> dict[tuple[Node, Node], int]:
    """Return the links between nodes, labels or what is rare of a kind, with their dialogues.

    Args:
        links: [step, before, after, dialogues], as `figures` gives them.
        names: of the labels.
        kinds: theirs.
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
        other = kinds[label] if kinds[label] == names[label] else f"other {kinds[label]}s"
        return step, names[label] if (step, label) in kept else other, kinds[label]

    found: dict[tuple[Node, Node], int] = {}
    for step, before, after, number in links:
        ends = node(step, before), node(step + 1, after)
        found[ends] = found.get(ends, 0) + number
    return found


def draw_flow(figure: "Figure", data: Mapping[str, Any], colours: Mapping[str, str]) -> None:
    """Draw the flow of a data set, all dialogues, a column a turn; the width is the number of dialogues."""
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
    """Return bottom and height of each node; a column has all dialogues that come so far, as a share of the first."""
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
