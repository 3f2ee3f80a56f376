"""Writes the report on a trained classifier from its predictions on the test split.

    python evaluation/classifier_report.py --metrics MODEL_FOLDER --out evaluation/classifiers/NAME

The folder contains the files that `training/train_classifier.py` writes: `predictions.npz` (`logits` float32 [n, 41]
before the temperature, `labels` int64 [n] ids and, if examples belong together, `groups` [n]) and `record.json`; a
`metrics.json` beside them keeps figures that cannot be computed from predictions. The script writes `metrics.json`,
`report.md` and its charts. Groups of related labels are `GROUPS` in edos_dataset/labels.py.
"""

import argparse
import json
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labels import GROUPS, LABEL_IDS, LABELS
from edos_dataset.metrics.classification import BINS, confusion, per_label, reliability, softmax
from edos_dataset.runs.shards import replacing
from evaluation.charts import BLUE, GREY, ORANGE, as_png, new_figure, plain_axes
from model_cards.classifiers import calibration, label_table, results_table
from training.predictions import evaluate_predictions

if TYPE_CHECKING:
    pass


ORDER = np.array([LABEL_IDS[label] for group in GROUPS.values() for label in group])
"""Label ids, group after group."""
GROUP_STARTS = np.cumsum([0, *map(len, GROUPS.values())])
"""Where the groups begin in ORDER, and the end of the last one."""


def draw(logits: Floats, labels: Ints, temperature: float) -> dict[str, tuple[str, bytes]]:
    """Draw the charts.

    Args:
        logits: [n, 41] before the temperature.
        labels: [n] ids.
        temperature: divisor of the logits.

    Returns:
        File name → caption, PNG.
    """
    counts = confusion(labels, logits.argmax(axis=1))
    return {
        "confusion.png": ("True labels (rows) and predicted ones (columns), by group", _confusion(counts)),
        "reliability.png": (
            "Confidence and accuracy, before and after the temperature",
            _calibration(logits, labels, temperature),
        ),
        "f1_by_label.png": ("F1 by label, by group", _bars(counts)),
    }


def _confusion(counts: Ints) -> bytes:
    """Draw the confusion matrix in percent of each true label's examples; a label without examples has an empty row."""
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
    for start in GROUP_STARTS[1:-1] - 0.5:
        axes.axhline(start, color=GREY, linewidth=0.7)
        axes.axvline(start, color=GREY, linewidth=0.7)
    for name, begin, end in zip(
        GROUPS, GROUP_STARTS[:-1], GROUP_STARTS[1:], strict=True
    ):  # the diagonal blocks are errors within a group
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
            for group, (begin, end) in enumerate(zip(GROUP_STARTS[:-1], GROUP_STARTS[1:], strict=True))
        ]
    )
    f1 = 100 * np.nan_to_num(table["f1"][ORDER])
    names = [f"{LABELS[label]} ({int(table['support'][label])})" for label in ORDER]
    axes.barh(place, f1, color=BLUE, height=0.75)
    mean = 100 * round(float(np.nanmean(table["f1"])), 4)  # rounded as in metrics.json
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
    for name, begin, end in zip(GROUPS, GROUP_STARTS[:-1], GROUP_STARTS[1:], strict=True):
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
        title="F1 by label (test examples), by group",
    )
    axes.legend(loc="lower right", edgecolor="none", framealpha=1)
    plain_axes(axes)
    return as_png(figure)


MOST = 12
"""Number of confusions in the report."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of a classifier on its test split, and how it was made.

    Attributes:
        logits: float32 [n, 41] before the temperature.
        labels: int64 [n] ids.
        groups: [n], examples that belong together, or None.
        record: content of `record.json`.
        known: content of an existing `metrics.json`, or empty.
    """

    logits: Floats
    labels: Ints
    groups: npt.NDArray[Any] | None
    record: dict[str, Any]
    known: dict[str, Any]

    @property
    def temperature(self) -> float:
        """The divisor of the logits; 1 if it is not given."""
        return float(self.record.get("temperature") or self.known.get("temperature") or 1)


def read(folder: Path) -> Predictions:
    """Read the predictions of a model folder.

    Raises:
        ValueError: a file or array is missing or malformed.
    """
    path = folder / "predictions.npz"
    try:
        with path.open("rb") as file:
            arrays = dict(np.load(file))
    except FileNotFoundError:
        raise ValueError(f"{path} is not there: give the folder that training/train_classifier.py wrote") from None
    except (zipfile.BadZipFile, EOFError, OSError, TypeError, ValueError):
        raise ValueError(
            f"{path} holds no named arrays of numbers: write it with training/train_classifier.py"
        ) from None
    missing = [name for name in ("logits", "labels") if name not in arrays]
    if missing:
        raise ValueError(
            f"{path} has no array {missing[0]!r}, only {', '.join(arrays) or 'none'}: write it with "
            "training/train_classifier.py"
        )
    record, known = _json(folder / "record.json"), _json(folder / "metrics.json", optional=True)
    return Predictions(arrays["logits"], arrays["labels"], arrays.get("groups"), record, known)


def _json(path: Path, *, optional: bool = False) -> dict[str, Any]:
    if not path.is_file() and optional:
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path} is not there: give the folder that training/train_classifier.py wrote") from None
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} should hold an object, but it is a {type(content).__name__}")
    return content


def write_report(predictions: Predictions, folder: Path) -> None:
    """Measure, and write `metrics.json`, `report.md` and the charts into a folder, which is created if needed; each
    file is written atomically.

    Raises:
        ValueError: the arrays do not match.
    """
    figures = evaluate_predictions(predictions.logits, predictions.labels, predictions.temperature, predictions.groups)
    metrics = {**predictions.known, **figures}
    pictures = draw(predictions.logits, predictions.labels, predictions.temperature)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (_, picture) in pictures.items():
        _write(folder / name, picture)
    captions = {name: caption for name, (caption, _) in pictures.items()}
    _write(folder / "report.md", render(predictions, metrics, captions).encode())
    _write(folder / "metrics.json", (json.dumps(metrics, indent=2, ensure_ascii=False) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def render(predictions: Predictions, metrics: dict[str, Any], captions: dict[str, str]) -> str:
    """Return the report as Markdown.

    Args:
        predictions: the predictions on the test split.
        metrics: their metrics.
        captions: file name of a chart → its caption.
    """
    counts = confusion(predictions.labels, predictions.logits.argmax(axis=1))
    sections = {
        "Figures": results_table(metrics),
        "Calibration": calibration(metrics),
        "Worst confusions": "\n".join(f"- {sentence}" for sentence in [*confusions(counts), kin(counts)]),
        "By label, the worst first": label_table(metrics),
        "Pictures": "\n\n".join(f"![{caption}]({name})" for name, caption in captions.items()),
    }
    title = predictions.record.get("name", "A classifier")
    return f"# {title}: test part\n" + "".join(f"\n## {heading}\n\n{text}\n" for heading, text in sections.items())


def confusions(counts: Ints, most: int = MOST) -> list[str]:
    """Return the most frequent errors of a confusion matrix as sentences, each with the reverse error."""
    errors = counts - np.diag(counts.diagonal())
    sentences = []
    for place in np.argsort(-errors, axis=None, kind="stable")[:most]:
        true, said = divmod(int(place), len(LABELS))
        if errors[true, said]:
            number, of = int(errors[true, said]), int(counts[true].sum())
            sentence = (
                f"Of {of} examples that are **{LABELS[true]}**, {number} ({number / of:.0%}) are called "
                f"**{LABELS[said]}**"
            )
            sentences.append(f"{sentence}; the other way round {errors[said, true]} of {counts[said].sum()}.")
    return sentences


def kin(counts: Ints) -> str:
    """Return a sentence with the number of errors that stay within the group of the true label."""
    group_of = np.array(
        [next(number for number, group in enumerate(GROUPS.values()) if label in group) for label in LABELS]
    )
    wrong = int(counts.sum() - counts.trace())
    inside = int(counts[group_of[:, None] == group_of].sum() - counts.trace())
    return f"Of {wrong:,} errors, {inside:,} ({inside / max(wrong, 1):.0%}) stay within the true label's group."


def main() -> None:
    """Write a report from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--metrics", type=Path, required=True, metavar="DIR", help="folder with predictions.npz and record.json"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the report")
    arguments = parser.parse_args()
    try:
        write_report(read(arguments.metrics), arguments.out)
    except ValueError as error:
        sys.exit(f"error: {error}")
    sys.stdout.write(f"{arguments.out / 'report.md'}\n")


if __name__ == "__main__":
    main()
