"""fastText's supervised model (Joulin et al., 2017), the baseline of OSED, Table 5, as a learner and a labeler.

It needs the package fasttext-community. It trains in one thread with a fixed seed, so every run gives the same model.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.augmentation.labelled import Labelled
from edos_dataset.labeling.models.base import Labeler, dialogues_given
from edos_dataset.labeling.models.linear import probabilities_of
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import cross_entropy, fit_temperature
from edos_dataset.runs.shards import digest

SEED = 0
GRID: tuple[dict[str, Any], ...] = tuple(
    {"lr": lr, "epoch": epoch, "wordNgrams": words, "dim": 50, "bucket": 200_000}
    for lr in (0.2, 0.5)
    for epoch in (10, 25)
    for words in (1, 2)
)
"""Settings of `fasttext.train_supervised` to choose from. Its default of five epochs is far too few for a few thousand
texts.
"""

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
_LABEL = "__label__"


def tokens_of(turns: Sequence[str]) -> str:
    """Return turns as fastText reads them: lower-cased words and punctuation marks, separated by blanks."""
    return " ".join(_TOKEN.findall(" ".join(turns).lower()))


class FastText:
    """A trained model that maps texts from `tokens_of` to uncalibrated probabilities of the labels.

    Args:
        model: the model from `fasttext.train_supervised`, with labels of the form `__label__ID`.
        labels: the number of labels.
    """

    def __init__(self, model: Any, labels: int = len(LABELS)) -> None:  # noqa: ANN401 - the library has no types
        self._model, self._size = model, labels

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return probabilities, float32 [texts, labels]; 0 for a label that the training data did not have."""
        probabilities = np.zeros((len(texts), self._size), np.float32)
        if texts:
            for row, (names, values) in enumerate(zip(*self._model.predict(list(texts), k=-1), strict=True)):
                probabilities[row, [int(name.removeprefix(_LABEL)) for name in names]] = values
        probabilities /= np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-9)
        return probabilities

    @cached_property
    def identity(self) -> str:
        """Digest (16 hex digits) of the model's file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.bin"
            self._model.save_model(str(path))
            return digest(path)[:16]


def fit_fasttext(texts: Sequence[str], labels: Ints, setting: Mapping[str, Any], size: int = len(LABELS)) -> FastText:
    """Fit the model.

    Args:
        texts: [n], from `tokens_of`.
        labels: [n] ids.
        setting: arguments of `fasttext.train_supervised`; the others keep their defaults.
        size: the number of labels.

    Raises:
        ModuleNotFoundError: fastText is not installed.
    """
    try:
        import fasttext
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('fastText is not installed: pip install "edos-dataset[baselines]"') from error
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        path.write_text(
            "".join(f"{_LABEL}{label} {text}\n" for text, label in zip(texts, labels.tolist(), strict=True)),
            encoding="utf-8",
        )
        return FastText(fasttext.train_supervised(input=str(path), thread=1, seed=SEED, verbose=0, **setting), size)


class FastTextLabeler(Labeler):
    """A model and its temperature as a `Labeler`.

    Args:
        model: the model.
        turns: number of turns that it sees, the labelled one included; None for all.
        temperature: above 0.
        record: how it was made.
    """

    def __init__(self, model: FastText, turns: int | None, temperature: float, record: dict[str, Any]) -> None:
        self.model, self.turns, self.temperature, self.record = model, turns, temperature, record
        self.context = None if turns is None else turns - 1

    @cached_property
    def identity(self) -> str:
        """Digest of the model and of everything else that affects a probability."""
        return f"fasttext@{self.model.identity} on {self.turns or 'all'} turns at {self.temperature}"

    @property
    def source(self) -> str:
        """Name and short digest."""
        return f"fasttext@{self.model.identity[:8]}"

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`."""
        dialogues = dialogues_given(dialogues)
        texts = [tokens_of(_seen(turns[: last + 1], self.turns)) for turns in dialogues for last in range(len(turns))]
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        return probabilities_of(_logits(self.model(list(rows))) / np.float32(self.temperature))[
            [rows[text] for text in texts]
        ]


@dataclass(frozen=True)
class FastTextLearner:
    """Fits fastText with every setting, and keeps the model with the lowest calibrated validation cross-entropy.

    It learns from labels alone: targets and weights are ignored, except that dialogues of weight 0 are left out.

    Attributes:
        turns: number of turns that it sees, the labelled one included; None for all.
        grid: settings to choose from, as for `fit_fasttext`.
    """

    turns: int | None = None
    grid: Sequence[Mapping[str, Any]] = GRID

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not self.grid or (self.turns is not None and self.turns < 1):
            raise ValueError(
                f"fastText needs a setting and at least 1 turn (null for all), got {len(self.grid)} settings and turns "
                f"{self.turns}"
            )

    @property
    def identity(self) -> str:
        """Digest of the settings and the version of the library."""
        facts = json.dumps(
            [self.turns, [dict(setting) for setting in self.grid], SEED, _TOKEN.pattern, _version()], sort_keys=True
        )
        return f"fasttext@{hashlib.sha256(facts.encode()).hexdigest()[:16]}"

    def fit(self, train: Labelled, validation: Labelled) -> FastTextLabeler:
        """Return the labeler, calibrated on the validation part; see `Learner`."""
        counts = train.weights > 0
        texts, held = ([tokens_of(_seen(turns, self.turns)) for turns in part.turns] for part in (train, validation))
        texts = [text for text, kept in zip(texts, counts.tolist(), strict=True) if kept]
        if not texts or not held:
            raise ValueError(
                f"fastText has {len(texts)} dialogues to learn from and {len(held)} to be calibrated on: give some of "
                "both"
            )
        tried = []
        for setting in self.grid:
            model = fit_fasttext(texts, train.labels[counts], setting, len(train.label_set))
            logits = _logits(model(held))
            temperature = round(fit_temperature(logits, validation.labels), 4)
            tried.append(
                (
                    cross_entropy(probabilities_of(logits / np.float32(temperature)), validation.labels),
                    temperature,
                    setting,
                    model,
                )
            )
        loss, temperature, setting, model = min(tried, key=lambda each: each[0])
        record = {
            "name": "fasttext",
            "chosen": dict(setting),
            "temperature": temperature,
            "split": {"train": len(texts), "validation": len(held)},
            "validation_cross_entropy": loss,
        }
        labeler = FastTextLabeler(model, self.turns, temperature, record)
        labeler.label_set = train.label_set
        return labeler


def _seen(turns: Sequence[str], most: int | None) -> Sequence[str]:
    return turns if most is None else turns[-most:]


def _logits(probabilities: Floats) -> Floats:
    logits: Floats = np.log(np.maximum(probabilities, np.float32(1e-12)))
    return logits


def _version() -> str:
    try:
        return version("fasttext-community")
    except ModuleNotFoundError:
        return "none"
