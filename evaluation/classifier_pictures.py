"""The pictures of a report on a classifier of the 41 labels."""

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labels import GROUPS, LABEL_IDS, LABELS
from edos_dataset.metrics.calibration import BINS, reliability, softmax
from edos_dataset.metrics.classification import confusion, per_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008), told apart by the colour-blind.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"

ORDER = np.array([LABEL_IDS[label] for group in GROUPS.values() for label in group])
"""Label ids, group after group."""
BORDERS = np.cumsum([0, *map(len, GROUPS.values())])
"""Where the groups begin in ORDER, and its end."""


def draw(logits: Floats, labels: Ints, temperature: float) -> dict[str, tuple[str, bytes]]:
    """Draw the pictures.

    Args:
        logits: [n, 41] before the temperature.
        labels: [n] ids.
        temperature: what the logits are divided by.

    Returns:
        File name → caption, PNG.
    """
    counts = confusion(labels, logits.argmax(axis=1))
    return {
        "confusion.png": ("True labels (rows) and predicted ones (columns), in groups of kin", _confusion(counts)),
        "reliability.png": (
            "Confidence and accuracy, before and after the temperature",
            _calibration(logits, labels, temperature),
        ),
        "f1_by_label.png": ("F1 by label, in groups of kin", _bars(counts)),
    }


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches, which no window shows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def as_png(figure: "Figure", dots: int = 130) -> bytes:
    """Return a figure as PNG of so many dots an inch, the same bytes whoever draws."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dots, metadata={"Software": None})
    return buffer.getvalue()


def _confusion(counts: Ints) -> bytes:
    """Draw the shares of every true label's examples, in percent; a label without examples is an empty row."""
    ordered = counts[np.ix_(ORDER, ORDER)]
    share = 100 * ordered / np.maximum(ordered.sum(axis=1, keepdims=True), 1)
    figure = new_figure(13, 12.6)
    axes = figure.subplots()
    picture = axes.imshow(share, cmap="Blues", vmin=0, vmax=max(share.max(), 1))
    names = [LABELS[label] for label in ORDER]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.tick_params(top=True, labeltop=True, length=0)
    for row, column in zip(*np.nonzero(share >= 2), strict=True):
        colour = "white" if share[row, column] > 0.55 * share.max() else "black"
        axes.text(column, row, f"{share[row, column]:.0f}", ha="center", va="center", fontsize=7, color=colour)
    for border in BORDERS[1:-1] - 0.5:
        axes.axhline(border, color=GREY, linewidth=0.7)
        axes.axvline(border, color=GREY, linewidth=0.7)
    for name, begin, end in zip(
        GROUPS, BORDERS[:-1], BORDERS[1:], strict=True
    ):  # the diagonal blocks: errors among kin
        axes.add_patch(_frame(begin, end))
        axes.text(len(names), (begin + end - 1) / 2, name, va="center", fontsize=10, color=GREY)
    axes.set(xlabel="Predicted label", ylabel="True label")
    figure.suptitle("Where the examples of each true label go (% of the row; below 2 % not written)", fontsize=12)
    figure.colorbar(picture, ax=axes, shrink=0.6, pad=0.02, label="% of the true label's examples")
    return as_png(figure)


def _frame(begin: int, end: int) -> Any:  # noqa: ANN401  matplotlib has no types
    from matplotlib.patches import Rectangle

    return Rectangle((begin - 0.5, begin - 0.5), end - begin, end - begin, fill=False, edgecolor=ORANGE, linewidth=1.6)


def _calibration(logits: Floats, labels: Ints, temperature: float) -> bytes:
    """Draw accuracy by confidence, and below it how many examples have that confidence."""
    figure = new_figure(6.4, 6.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    upper.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="calibrated")
    before = ("before the temperature", 1.0, ORANGE, "s--")
    for name, divisor, colour, line in (before, (f"after it ({temperature:g})", temperature, BLUE, "o-")):
        probabilities = softmax(logits, divisor)
        sizes, sums, hits = reliability(probabilities.max(axis=1), probabilities.argmax(axis=1) == labels)
        filled = sizes > 0
        error = np.abs(sums - hits).sum() / len(labels)
        upper.plot(
            sums[filled] / sizes[filled],
            hits[filled] / sizes[filled],
            line,
            color=colour,
            clip_on=False,
            label=f"{name}: ECE {100 * error:.1f} %",
        )
        lower.stairs(
            sizes, np.linspace(0, 1, BINS + 1), color=colour, linestyle="--" if divisor == 1 else "-", linewidth=1.5
        )
    upper.set(ylabel="Accuracy", xlim=(0, 1), ylim=(0, 1), title="Confidence and accuracy")
    upper.legend(loc="upper left", edgecolor="none")
    lower.set(xlabel="Confidence (probability of the predicted label)", ylabel="Examples")
    for axes in (upper, lower):
        plain_axes(axes)
    return as_png(figure)


def _bars(counts: Ints) -> bytes:
    table = per_label(counts)
    figure = new_figure(8, 11)
    axes = figure.subplots()
    place = np.concatenate(
        [
            np.arange(begin, end) + 0.7 * group
            for group, (begin, end) in enumerate(zip(BORDERS[:-1], BORDERS[1:], strict=True))
        ]
    )
    f1 = 100 * np.nan_to_num(table["f1"][ORDER])
    names = [f"{LABELS[label]} ({int(table['support'][label])})" for label in ORDER]
    axes.barh(place, f1, color=BLUE, height=0.75)
    mean = 100 * round(float(np.nanmean(table["f1"])), 4)  # as in metrics.json
    axes.axvline(mean, color=ORANGE, linewidth=1.2, linestyle="--", label=f"macro-F1 {mean:.1f} %")
    for at, value in zip(place, f1, strict=True):
        inside = value > 8
        axes.text(
            0.8 if inside else value + 0.8,
            at,
            f"{value:.0f}",
            va="center",
            fontsize=8,
            color="white" if inside else "black",
        )
    axes.set_yticks(place, names, fontsize=9)
    for name, begin, end in zip(GROUPS, BORDERS[:-1], BORDERS[1:], strict=True):
        axes.text(
            1.01,
            place[begin:end].mean(),
            name,
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=10,
            color=GREY,
        )
    axes.set(
        xlabel="F1 (%)",
        xlim=(0, 100),
        ylim=(place[-1] + 0.8, place[0] - 0.8),
        title="F1 by label (test examples), in groups of kin",
    )
    axes.legend(loc="lower right", edgecolor="none", framealpha=1)
    plain_axes(axes)
    return as_png(figure)


def plain_axes(axes: "Axes") -> None:
    """Give axes a grid and take their frame."""
    axes.grid(color="#DDDDDD", linewidth=0.6, axis="both" if axes.get_ylabel() else "x")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
