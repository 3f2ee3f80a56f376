"""The pictures of a report on scorers of turns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]
# Okabe and Ito (2008), told apart by the colour-blind; lines also differ by dashes and markers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#666666"
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P")


def draw(
    folder: Path, scorers: Mapping[str, Row], learning_curve: Sequence[Row], ablation: Sequence[Row]
) -> dict[Path, str]:
    """Draw what there is data for.

    Args:
        folder: gets the PNG files.
        scorers: name of a scorer → what `measure` gave.
        learning_curve: rows as of `Results`.
        ablation: rows as of `Results`.

    Returns:
        File → caption.
    """
    pictures = {}
    if scorers:
        pictures[_save(folder / "precision_recall.png", _precision_recall, scorers)] = (
            "Precision and recall of new turns over all thresholds"
        )
        pictures[_save(folder / "reliability.png", _reliability, scorers)] = "Share of same turns by score"
    if learning_curve:
        pictures[_save(folder / "learning_curve.png", _learning, learning_curve)] = (
            "Accuracy by the number of seams learned from"
        )
    if ablation:
        pictures[_save(folder / "ablation.png", _ablation, ablation)] = "Accuracy by features"
    return pictures


def _save(path: Path, picture: Any, data: Any) -> Path:  # noqa: ANN401  each picture has data of its own form
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    picture(axes, data)
    figure.savefig(path, dpi=150, metadata={"Software": None})  # the same bytes whoever draws
    return path


def _style(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)]}


def _precision_recall(axes: "Axes", scorers: Mapping[str, Row]) -> None:
    for number, (name, row) in enumerate(scorers.items()):
        points = row["curve"]
        label = f"{name} (average precision {row['average_precision'] or 0:.3f})"
        axes.plot(
            [100 * point["recall"] for point in points],
            [100 * point["precision"] for point in points],
            **_style(number),
            label=label,
        )
        if row["precision"] is not None and row["recall"] is not None:
            axes.plot(
                100 * row["recall"],
                100 * row["precision"],
                MARKERS[number % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
            )
    always = next(iter(scorers.values()))["baselines"]["new_turn_everywhere"]["accuracy"]
    axes.axhline(100 * always, color=GREY, linewidth=1, label="every sentence a turn")
    axes.set(
        xlabel="Recall of new turns (%)",
        ylabel="Precision of new turns (%)",
        xlim=(0, 101),
        ylim=(max(100 * always - 10, 0), 101),
    )
    axes.set_title("New turns found, by threshold (marker: threshold in use)", fontsize=11)
    axes.legend(loc="lower left", edgecolor="none", framealpha=1)


def _reliability(axes: "Axes", scorers: Mapping[str, Row]) -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="calibrated")
    for number, (name, row) in enumerate(scorers.items()):
        bins = row["reliability"]
        sizes = [4 + 200 * entry["seams"] / row["seams"] for entry in bins]
        scores, shares = [entry["score"] for entry in bins], [entry["same"] for entry in bins]
        axes.plot(scores, shares, **_style(number), linewidth=1, label=f"{name} (ECE {row['ece']:.3f})")
        axes.scatter(scores, shares, sizes, color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)])
    axes.set(
        xlabel="Score: probability of the same turn",
        ylabel="Share of seams within a turn",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
    )
    axes.set_title("Calibration (area of a marker: seams in its bin)", fontsize=11)
    axes.legend(loc="upper left", frameon=False)


def _learning(axes: "Axes", rows: Sequence[Row]) -> None:
    for number, name in enumerate(dict.fromkeys(row["scorer"] for row in rows)):
        own = sorted((row for row in rows if row["scorer"] == name), key=lambda row: int(row["seams"]))
        sizes = [row["seams"] for row in own]
        axes.plot(
            sizes,
            [100 * row["accuracy"] for row in own],
            **_style(number),
            marker=MARKERS[number % len(MARKERS)],
            label=name,
        )
        if all(None not in row["accuracy_interval"] for row in own):
            low, high = zip(*(row["accuracy_interval"] for row in own), strict=True)
            axes.fill_between(
                sizes,
                [100 * value for value in low],
                [100 * value for value in high],
                color=COLOURS[number % len(COLOURS)],
                alpha=0.12,
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set(xlabel="Seams learned from (logarithmic)", ylabel="Accuracy (%)")
    axes.set_title("Learning curve (bands: 95 % intervals)", fontsize=11)
    axes.legend(loc="lower right", frameon=False)


def _ablation(axes: "Axes", rows: Sequence[Row]) -> None:
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes are made by a figure"
    figure.set_size_inches(6.4, 1.4 + 0.32 * len(rows))
    places = range(len(rows))
    changes = [100 * row["accuracy_difference"] for row in rows]
    axes.barh(places, changes, color=COLOURS[5], height=0.7)
    for place, row in zip(places, rows, strict=True):
        low, high = row["accuracy_interval"]
        if low is not None:
            axes.plot([100 * low, 100 * high], [place, place], color="black", linewidth=1)
    axes.axvline(0, color=GREY, linewidth=1)
    axes.set_yticks(places, [f"{row['features']} ({100 * row['accuracy']:.1f} %)" for row in rows])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="Change of accuracy (points)")
    axes.set_title("Accuracy by features (lines: 95 % intervals)", fontsize=11)
