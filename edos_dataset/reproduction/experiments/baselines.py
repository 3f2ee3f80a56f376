"""fastText on the crowd's labels and the authors' extensions (OSED, Table 5)."""

from collections.abc import Mapping

import numpy as np

from edos_dataset.augmentation.fasttext_learner import fit_fasttext, tokens_of
from edos_dataset.labels import LABELS
from edos_dataset.releases.raw import read_crowd, read_extension
from edos_dataset.reproduction.results import Data, Estimate, Measured, MissingInputError

_STEPS = {
    "+ similar": ("similar_dialogs.csv", "spread"),
    "+ self-labelled": ("self_labeled_dialogs.csv", "self_labelled"),
    "+ second round": ("similar_self_labeled_dialogs.csv", "spread"),
}
SPLITS, TEST = 5, 0.2
"""Random splits of the crowd's dialogues, and the fraction that is tested."""

Examples = list[tuple[str, int]]


def fasttext(data: Data) -> Mapping[str, Measured]:
    """Fit fastText with the defaults of its library on whole dialogues, and add the extensions step by step.

    Test dialogues leave the extensions by their text. The accuracy is the mean over the splits, with an interval of two
    standard errors.
    """
    crowd = _examples(read_crowd(data.path("edos_amt", "mturk_groundtruth_labels.csv")))
    steps = {
        name: _examples(read_extension(data.path("edos_amt", file), method)) for name, (file, method) in _STEPS.items()
    }
    found: dict[str, list[float]] = {}
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(crowd))
        test = [crowd[row] for row in order[: round(TEST * len(crowd))]]
        train = [crowd[row] for row in order[round(TEST * len(crowd)) :]]
        tested = {text for text, _ in test}
        found.setdefault("crowd alone", []).append(_accuracy(train, test))
        for name, more in steps.items():
            train = train + [example for example in more if example[0] not in tested]
            found.setdefault(name, []).append(_accuracy(train, test))
    return {f"{name}, accuracy %": Measured(_mean(values, len(crowd))) for name, values in found.items()}


def _examples(rows: object) -> Examples:
    assert hasattr(rows, "__iter__")
    return [
        (tokens_of([turn["text"] for turn in row["turns"]]), row["label"])
        for row in rows
        if isinstance(row, dict) and row["label"] is not None
    ]


def _accuracy(train: Examples, test: Examples) -> float:
    try:
        model = fit_fasttext([text for text, _ in train], np.array([label for _, label in train]), {}, len(LABELS))
    except ModuleNotFoundError as error:
        raise MissingInputError(str(error)) from error
    predicted = model([text for text, _ in test]).argmax(axis=1)
    return float(100 * (predicted == np.array([label for _, label in test])).mean())


def _mean(values: list[float], number: int) -> Estimate:
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return Estimate(round(mean, 2), round(mean - 2 * error, 2), round(mean + 2 * error, 2), number, 0)
