"""Where a new scene begins: learned from films of which the scenes are known.

A silence alone tells it badly, as people are silent inside a scene too, and music hides the silence between two. A
small network sees the pause among the pauses of its film, which words and names go on across the border, and how the
turns at it begin and end (`scene_features`). `training/train_scenes.py` fits it; here it is carried out in numpy.

A document is carried out by itself, so that its scores are the same whatever else is in a batch.
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
from edos_dataset.languages.codes import same_language
from edos_dataset.segmentation.scene_features import Features, matrix, read_features, word_codes
from edos_dataset.segmentation.scene_words import Words

WEIGHTS = Path(__file__).with_name("weights") / "scenes"
"""The folder of the scorer that ships."""

_FILE = "scenes.safetensors"
VIEWS = ("words", "any", "untimed")
"""What a network sees: all there is, in the language whose words were learned; all but words; and no times either."""


@dataclass(frozen=True, eq=False)
class Network:
    """One hidden layer of tanh over some features.

    Attributes:
        names: of the features; behind them comes the sum of the weights of words, where words are weighed.
        first: float64 [inputs + 1, units], the bias last.
        second: float64 [units + 1], the bias last.
        words: float64 [2 ** bits] weights of words, or [0] where they are not looked at.
    """

    names: tuple[str, ...]
    first: Doubles
    second: Doubles
    words: Doubles

    def __post_init__(self) -> None:
        """Refuse arrays that don't go with one another."""
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
            code, border = word_codes(words, words.masked(names), len(self.words).bit_length() - 1)
            inputs = np.c_[inputs, np.bincount(border, self.words[code], len(inputs))]
        odds: Doubles = np.tanh(inputs @ self.first[:-1] + self.first[-1]) @ self.second[:-1] + self.second[-1]
        return odds


@dataclass(frozen=True, eq=False)
class SceneScorer:
    """Score borders between turns by a network for what is known of them.

    Attributes:
        networks: by VIEWS.
        language: whose words were learned, ISO 639-1.
        record: how it was made: data, metrics, licences.
    """

    networks: Mapping[str, Network]
    language: str
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Digest (16 hex digits) of all that decides a score, for fingerprints."""
        return identify(self._packed())

    def scores(self, turns: pa.StructArray, offsets: Ints, language: str | None) -> Floats:
        """Score every turn of some documents of one language; see `scene_scores`."""
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
        """Load what `save` wrote.

        Raises:
            FileNotFoundError: the folder holds no such scorer.
            ValueError: a file of it is damaged.
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
    """Return the scorer that ships, read once in a process."""
    return SceneScorer.load()


def scene_scores(turns: pa.StructArray, offsets: Ints, language: str | None) -> Floats:
    """Say how likely it is that a new scene begins with a turn.

    The score of a document depends on no other one.

    Args:
        turns: structs with `text`, `start` and `end` (seconds or null), document after document.
        offsets: int [documents + 1] positions at which each document begins, from 0.
        language: of the documents, ISO 639-1; None is taken for English. Words are looked at in English only.

    Returns:
        float32 [turns], calibrated probabilities, 0 to 1; NaN for the first turn of a document.
    """
    return scene_scorer().scores(turns, offsets, language)
