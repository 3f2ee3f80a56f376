"""Charts: the colours, figures and axes shared by all reports."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from edos_dataset.runs.shards import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours of Okabe and Ito (2008), safe for colour-blind readers.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches, without opening a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def as_png(figure: "Figure", dots: int = 130) -> bytes:
    """Return a figure as PNG with `dots` per inch; equal figures give equal bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dots, metadata={"Software": None})
    return buffer.getvalue()


def plain_axes(axes: "Axes") -> None:
    """Give axes a grid and remove their frame."""
    axes.grid(color="#DDDDDD", linewidth=0.6, axis="both" if axes.get_ylabel() else "x")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def save_picture(path: Path, *panels: Callable[["Axes"], None]) -> None:
    """Draw panels side by side into a PNG file."""
    figure = new_figure(2.2 + 5.0 * len(panels), 4.8)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.grid(color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)
        panel(axes)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150, metadata={"Software": None})  # the same bytes each time
