"""Linear heads: from sentence embeddings to the probabilities of the 41 labels.

The package ships two, made by `training/train_linear_heads.py`, each a folder of `weights/` with the weights and the
record of their making:

* `linear-weak` sees the embedding of one turn, as the sentence-level weak labeler of EDOS does (Section 3.1);
* `linear-dialogue` sees the turn and its history, as the dialogue-level classifier of EDOS does (Section 3.3.1), and
  was fitted to labels by people.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import threadpoolctl
from safetensors.numpy import save

from edos_dataset.arrays import Floats
from edos_dataset.encoders.folders import read_arrays, read_json, usable
from edos_dataset.labeling.models.shipped import SHIPPED, shipped_names
from edos_dataset.labels import LABELS

DECAY = 0.5
"""Weight of a turn in the history relative to the turn behind it: EDOS halves it with every step back."""


@dataclass(frozen=True, eq=False)
class LinearHead:
    """A softmax over a linear map: probabilities = softmax((features @ weight + bias) / temperature).

    Attributes:
        weight: float32 [features, 41].
        bias: float32 [41].
        temperature: Above 0; fitted on held-out data so that a probability of 0.7 is right in about 70 % of the cases.
        decay: Decay of the history, 0 to 1, for a head on `dialogue_features`; null for a head on the turn's embedding
            alone.
        record: How the head was made: data, metrics, licences, encoder.
    """

    weight: Floats
    bias: Floats
    temperature: float = 1.0
    decay: float | None = None
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse weights that do not give the 41 labels."""
        if self.weight.ndim != 2 or self.weight.shape[1] != len(LABELS) or self.bias.shape != (len(LABELS),):
            raise ValueError(
                f"a head needs weight [features, {len(LABELS)}] and bias [{len(LABELS)}], got {self.weight.shape} and "
                f"{self.bias.shape}"
            )
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"temperature must be above 0, got {self.temperature}")
        if self.decay is not None and not 0 <= self.decay <= 1:
            raise ValueError(f"decay must be from 0 to 1, got {self.decay}")

    @property
    def identity(self) -> str:
        """Digest (16 hex digits) of all numbers that decide a probability, for fingerprints."""
        digest = hashlib.sha256()
        for name, values in sorted(self._tensors().items()):
            digest.update(f"{name} {values.shape}".encode() + np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:16]

    @property
    def source(self) -> str:
        """Name and short digest, such as `linear-weak@0a1b2c3d`: what `label_source` says of a label."""
        return f"{self.record.get('name', 'linear')}@{self.identity[:8]}"

    def features(self, embeddings: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return what this head looks at, a row for every turn.

        Args:
            embeddings: float32 [turns, dim], the turns of all dialogues one behind the other.
            offsets: [dialogues + 1]; the turns of dialogue i are `offsets[i]:offsets[i + 1]`.
        """
        return embeddings if self.decay is None else dialogue_features(embeddings, offsets, self.decay)

    def predict_proba(self, features: Floats) -> Floats:
        """Return calibrated probabilities, float32 [n, 41], of rows of features [n, features]. Rows sum to 1; columns
        are label ids.

        Raises:
            ValueError: the features do not have this head's length, as when they come from another encoder.
        """
        if not len(features):
            return np.zeros((0, len(LABELS)), dtype=np.float32)
        if features.ndim != 2 or features.shape[1] != len(self.weight):
            encoder = self.record.get("encoder", "the encoder it was trained on")
            raise ValueError(
                f"this head takes features [n, {len(self.weight)}], got {list(features.shape)}; it goes with {encoder}"
            )
        # One thread: sums that are split over threads could differ in the last bits from machine load to machine load.
        with threadpoolctl.threadpool_limits(1, user_api="blas"):
            logits = (features.astype(np.float32, copy=False) @ self.weight + self.bias) / np.float32(self.temperature)
        return probabilities_of(logits)

    def save(self, folder: str | Path) -> None:
        """Write `head.safetensors` and `record.json` into a folder, made if needed."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "head.safetensors").write_bytes(save(self._tensors()))
        (folder / "record.json").write_text(
            json.dumps(self.record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )

    @classmethod
    def load(cls, name: str | Path) -> "LinearHead":
        """Load a shipped head by its name (`linear-weak`, `linear-dialogue`), or one that `save` wrote by its folder.

        Raises:
            FileNotFoundError: the name is neither.
            ValueError: a file of the folder is damaged.
        """
        names = shipped_names("linear")
        folder = SHIPPED[str(name)].weights if str(name) in names else Path(name)
        if not (folder / "head.safetensors").is_file():
            raise FileNotFoundError(
                f"no head {str(name)!r}: expected {' or '.join(map(repr, names))}, or a folder with head.safetensors "
                "and record.json"
            )
        tensors, _ = read_arrays(folder / "head.safetensors")
        record = read_json(folder / "record.json")
        with usable(folder / "head.safetensors"):
            return cls(
                weight=tensors["weight"],
                bias=tensors["bias"],
                temperature=float(tensors["temperature"][0]),
                decay=float(tensors["decay"][0]) if "decay" in tensors else None,
                record=record,
            )

    def _tensors(self) -> dict[str, npt.NDArray[Any]]:
        tensors: dict[str, npt.NDArray[Any]] = {
            "weight": self.weight,
            "bias": self.bias,
            "temperature": np.array([self.temperature], np.float64),
        }
        if self.decay is not None:
            tensors["decay"] = np.array([self.decay], np.float64)
        return tensors


def probabilities_of(logits: Floats) -> Floats:
    """Return the softmax of every row, float32 [n, labels]."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Floats = exponentials / exponentials.sum(axis=1, keepdims=True)
    return probabilities


def dialogue_features(embeddings: Floats, offsets: npt.NDArray[np.integer], decay: float = DECAY) -> Floats:
    """Return the features of every turn with its own history, float32 [turns, 2 * dim + 1].

    A row is the turn's embedding, the embedding of its context, and 1 if there is a context, else 0 (the context is
    then zero). The context of turn i is the mean of the turns before it, newest first, with weights 1, d, d^2, ...
    divided by their sum, so that they sum to 1 for every length:

        c_i = (e_{i-1} + d e_{i-2} + d^2 e_{i-3} + ...) / (1 + d + d^2 + ...)

    With d = 1/2 these are the half-decaying weights of EDOS (Section 3.3: 4/7, 2/7, 1/7 for three turns). It is
    computed forward, from c_0 = 0 and n_0 = 0:

        n_i = 1 + d n_{i-1},    c_i = (e_{i-1} + d n_{i-1} c_{i-1}) / n_i

    where no power appears, so that no length of dialogue overflows.

    Args:
        embeddings: float32 [turns, dim], the turns of all dialogues one behind the other.
        offsets: [dialogues + 1], rising from 0 to the number of turns; a dialogue may be empty.
        decay: d, 0 (only the previous turn counts) to 1 (all count alike).

    Raises:
        ValueError: the decay is out of range, or the offsets do not cover the turns.
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"decay must be from 0 to 1, got {decay}")
    lengths = np.diff(offsets)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(embeddings) or (lengths < 0).any():
        raise ValueError(f"offsets must rise from 0 to the number of turns, {len(embeddings)}, got {_ends(offsets)}")
    dim = embeddings.shape[1]
    features = np.zeros((len(embeddings), 2 * dim + 1), dtype=np.float32)
    features[:, :dim] = embeddings
    context = features[:, dim : 2 * dim]
    # All dialogues take a step together, longest first: those that have a turn at this position are a prefix.
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = offsets[:-1][order], lengths[order]
    norm = 0.0
    for position in range(1, int(lengths.max(initial=0))):
        rows = starts[: np.searchsorted(-lengths, -position, side="left")] + position
        memory, norm = decay * norm, 1 + decay * norm
        context[rows] = (embeddings[rows - 1] + np.float32(memory) * context[rows - 1]) / np.float32(norm)
        features[rows, -1] = 1
    return features


def _ends(offsets: npt.NDArray[np.integer]) -> str:
    return f"{offsets[0]} ... {offsets[-1]}" if len(offsets) else "none"
