"""The probability that a new scene begins with a turn, learned from films with known scenes.

A silence alone is a poor sign, as people are silent inside a scene too, and music hides the silence between two scenes.
A small network sees how the pause compares with the others of its film, which words and names continue across the
boundary, and how the turns around it begin and end (`scene_features`). `training/train_scenes.py` fits it; here it runs
in numpy.

Each document is scored separately, so its scores do not depend on the rest of a batch.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Bools, Doubles, Floats, Ints
from edos_dataset.encoders.folders import identify, pack, read_folder, usable, write_folder
from edos_dataset.languages import same_language
from edos_dataset.segmentation.scene_features import Features, Words, matrix, read_features, word_codes

WEIGHTS = Path(__file__).with_name("weights") / "scenes"
"""The folder of the shipped scorer."""

_FILE = "scenes.safetensors"
VIEWS = ("words", "any", "untimed")
"""The features of a network: all (only for the language of the learned words), all but words, or neither words nor
times.
"""


@dataclass(frozen=True, eq=False)
class Network:
    """A network with one hidden layer of tanh units.

    Attributes:
        names: names of the features; the summed weights of words are an additional last input if the network uses them.
        first: float64 [inputs + 1, units], the bias last.
        second: float64 [units + 1], the bias last.
        words: float64 [2 ** bits] weights of words, or [0] where the network ignores words.
    """

    names: tuple[str, ...]
    first: Doubles
    second: Doubles
    words: Doubles

    def __post_init__(self) -> None:
        """Raise ValueError if the arrays do not fit together."""
        inputs = len(self.names) + bool(len(self.words))
        if self.first.ndim != 2 or len(self.first) != inputs + 1 or self.second.shape != (self.first.shape[1] + 1,):
            raise ValueError(
                f"for {inputs} inputs the weights must be [{inputs + 1}, units] and [units + 1], got "
                f"{list(self.first.shape)} and {list(self.second.shape)}"
            )
        if len(self.words) & (len(self.words) - 1):
            raise ValueError(
                f"words have codes of whole bits, so there must be a power of 2 weights: {len(self.words)}"
            )

    def log_odds(self, features: Features, words: Words, names: Bools) -> Doubles:
        """Return the log-odds of a new scene at each turn of a document, float64 [turns]."""
        inputs = matrix(features, self.names).astype(np.float64)
        if len(self.words):
            code, boundary = word_codes(words, words.masked(names), len(self.words).bit_length() - 1)
            inputs = np.c_[inputs, np.bincount(boundary, self.words[code], len(inputs))]
        odds: Doubles = np.tanh(inputs @ self.first[:-1] + self.first[-1]) @ self.second[:-1] + self.second[-1]
        return odds


@dataclass(frozen=True, eq=False)
class SceneScorer:
    """Scores boundaries between turns, each with the network for the features that it has.

    Attributes:
        networks: the networks, by VIEWS.
        language: language of the learned words, ISO 639-1.
        record: how it was made: data, metrics, licences.
    """

    networks: Mapping[str, Network]
    language: str
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Digest (16 hex digits) of everything that affects a score, for fingerprints."""
        return identify(self._packed())

    def scores(self, turns: pa.StructArray, offsets: Ints, language: str | None) -> Floats:
        """Score every turn of documents in one language; see `scene_scores`."""
        scores = np.full(len(turns), np.nan, np.float32)
        view = "words" if same_language(language or self.language, self.language) else "any"
        start, end = (turns.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
        timed = ~np.isnan(np.r_[np.nan, start[1:] - end[:-1]][: len(start)].astype(np.float64))
        begin = 0
        for features, words, names in read_features(turns, offsets):
            here = slice(begin, begin + len(words.offsets) - 1)
            begin = here.stop
            odds = self.networks[view].log_odds(features, words, names)
            if not timed[here][1:].all():
                odds = np.where(timed[here], odds, self.networks["untimed"].log_odds(features, words, names))
            odds[:1] = np.nan
            scores[here] = 1 / (1 + np.exp(-odds))
        return scores

    def save(self, folder: str | Path) -> None:
        """Write `scenes.safetensors` and `record.json` into a folder, made if needed."""
        write_folder(folder, _FILE, self._packed(), self.record)

    @classmethod
    def load(cls, folder: str | Path = WEIGHTS) -> "SceneScorer":
        """Load a scorer that `save` wrote.

        Raises:
            FileNotFoundError: the folder contains no scorer.
            ValueError: one of its files is damaged.
        """
        arrays, packed_facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            facts = json.loads(packed_facts["scorer"])
            networks = {
                view: Network(
                    tuple(facts["features"][view]),
                    *(arrays[f"{view}.{part}"].astype(np.float64) for part in ("first", "second", "words")),
                )
                for view in VIEWS
            }
            return cls(networks, facts["language"], record)

    def _packed(self) -> bytes:
        parts = {
            f"{view}.{part}": np.asarray(getattr(network, part), np.float32)
            for view, network in self.networks.items()
            for part in ("first", "second", "words")
        }
        facts = {"language": self.language, "features": {view: list(one.names) for view, one in self.networks.items()}}
        return pack(parts, {"scorer": json.dumps(facts, sort_keys=True)})


@cache
def scene_scorer() -> SceneScorer:
    """Return the shipped scorer, which is read once per process."""
    return SceneScorer.load()


def scene_scores(turns: pa.StructArray, offsets: Ints, language: str | None) -> Floats:
    """Return the probability that a new scene begins with each turn.

    The scores of a document do not depend on the others.

    Args:
        turns: structs with `text`, `start` and `end` (seconds or null), document after document.
        offsets: int [documents + 1] positions at which each document begins, from 0.
        language: language of the documents, ISO 639-1; None means English. Words count in English only.

    Returns:
        float32 [turns], calibrated probabilities, 0 to 1; NaN for the first turn of a document.
    """
    return scene_scorer().scores(turns, offsets, language)
