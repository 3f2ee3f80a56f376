"""Report on a trained classifier, from the predictions of its test part.

    python evaluation/classifier_report.py --metrics MODEL_FOLDER --out evaluation/classifiers/NAME

The folder holds what `training/train_classifier.py` leaves: `predictions.npz` (`logits` float32 [n, 41] before the
temperature, `labels` int64 [n] ids, and, if examples belong together, `groups` [n]) and `record.json`; a `metrics.json`
beside them keeps what can't be computed from predictions. Out come `metrics.json`, `report.md` and its pictures. Groups
of kin are `GROUPS` of edos_dataset/labels.py.
"""

import argparse
import json
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labels import GROUPS, LABELS
from edos_dataset.metrics.classification import confusion, evaluate_predictions
from edos_dataset.publishing.cards.model import calibration, label_table, results_table
from edos_dataset.runs.shards import replacing
from evaluation.classifier_pictures import draw

MOST = 12
"""Confusions that are told."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a classifier said of its test part, and how it was made.

    Attributes:
        logits: float32 [n, 41] before the temperature.
        labels: int64 [n] ids.
        groups: [n], what belongs together, or null.
        record: content of `record.json`.
        known: content of a `metrics.json` that was there, or empty.
    """

    logits: Floats
    labels: Ints
    groups: npt.NDArray[Any] | None
    record: dict[str, Any]
    known: dict[str, Any]

    @property
    def temperature(self) -> float:
        """What the logits are to be divided by; 1 if nobody says."""
        return float(self.record.get("temperature") or self.known.get("temperature") or 1)


def read(folder: Path) -> Predictions:
    """Read the predictions of a model folder.

    Raises:
        ValueError: a file or an array is missing or no such file.
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
    """Measure, and write `metrics.json`, `report.md` and the pictures into a folder, made if missing; each file is
    whole or absent.

    Raises:
        ValueError: the arrays don't fit together.
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
        predictions: of the test part.
        metrics: what was measured of them.
        captions: file name of a picture → what it shows.
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
    """Return the most frequent errors of a confusion matrix as sentences, each with the way back."""
    errors = counts - np.diag(counts.diagonal())
    sentences = []
    for place in np.argsort(-errors, axis=None, kind="stable")[:most]:
        true, said = divmod(int(place), len(LABELS))
        if errors[true, said]:
            number, of = int(errors[true, said]), int(counts[true].sum())
            told = (
                f"Of {of} examples that are **{LABELS[true]}**, {number} ({number / of:.0%}) are called "
                f"**{LABELS[said]}**"
            )
            sentences.append(f"{told}; the other way round {errors[said, true]} of {counts[said].sum()}.")
    return sentences


def kin(counts: Ints) -> str:
    """Return how many of the errors stay within the group of the true label, in a sentence."""
    group_of = np.array(
        [next(number for number, group in enumerate(GROUPS.values()) if label in group) for label in LABELS]
    )
    wrong = int(counts.sum() - counts.trace())
    inside = int(counts[group_of[:, None] == group_of].sum() - counts.trace())
    return f"Of {wrong:,} errors, {inside:,} ({inside / max(wrong, 1):.0%}) stay within the true label's group of kin."


def main() -> None:
    """Write a report, from the command line."""
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
