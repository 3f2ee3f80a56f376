"""Linear heads, which map sentence embeddings to the probabilities of the 41 labels: their inference and fitting.

The package ships two heads made by `training/train_linear_heads.py`, each a folder of `weights/` with the weights and a
record of how they were made:

* `linear-weak` uses the embedding of one turn, like the sentence-level weak labeler of EDOS (Section 3.1);
* `linear-dialogue` uses the turn and its history, like the dialogue-level classifier of EDOS (Section 3.3.1), and was
  fitted to human labels.

`augmentation/learners.py` fits heads too.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import threadpoolctl
from safetensors.numpy import save

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, model_folder
from edos_dataset.encoders.folders import read_arrays, read_json, usable
from edos_dataset.label_sets import set_of_names
from edos_dataset.labeling.models.base import EmbeddedLabeler
from edos_dataset.labeling.models.shipped import SHIPPED, shipped_names
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import Ints, cross_entropy, fit_temperature

DECAY = 0.5
"""Weight of a turn in the history relative to the next newer one: EDOS halves it with every step back."""


@dataclass(frozen=True, eq=False)
class LinearHead:
    """A softmax over a linear map: probabilities = softmax((features @ weight + bias) / temperature).

    Attributes:
        weight: float32 [features, 41].
        bias: float32 [41].
        temperature: above 0; fitted on held-out data so that about 70 % of the labels with a probability of 0.7 are
            right.
        decay: decay of the history, 0 to 1, for a head on `dialogue_features`; None for a head on single turns.
        record: how the head was made: data, metrics, licences, encoder.
    """

    weight: Floats
    bias: Floats
    temperature: float = 1.0
    decay: float | None = None
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the shapes and ranges."""
        size = len(self.labels)
        if self.weight.ndim != 2 or self.weight.shape[1] != size or self.bias.shape != (size,):
            raise ValueError(
                f"a head needs weight [features, {size}] and bias [{size}], got {self.weight.shape} and "
                f"{self.bias.shape}"
            )
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"temperature must be above 0, got {self.temperature}")
        if self.decay is not None and not 0 <= self.decay <= 1:
            raise ValueError(f"decay must be from 0 to 1, got {self.decay}")

    @property
    def labels(self) -> Sequence[str]:
        """Names of the labels: `labels` of the record, or those of EDOS."""
        named: Sequence[str] = self.record.get("labels", LABELS)
        return named

    @property
    def identity(self) -> str:
        """Digest (16 hex digits) of all numbers that affect the probabilities, for fingerprints."""
        digest = hashlib.sha256()
        for name, values in sorted(self._tensors().items()):
            digest.update(f"{name} {values.shape}".encode() + np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:16]

    @property
    def source(self) -> str:
        """Name and short digest, such as `linear-weak@0a1b2c3d`, as in the column `label_source`."""
        return f"{self.record.get('name', 'linear')}@{self.identity[:8]}"

    def features(self, embeddings: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return the input of this head, one row per turn.

        Args:
            embeddings: float32 [turns, dim], the turns of all dialogues, concatenated.
            offsets: [dialogues + 1]; the turns of dialogue i are `offsets[i]:offsets[i + 1]`.
        """
        return embeddings if self.decay is None else dialogue_features(embeddings, offsets, self.decay)

    def predict_proba(self, features: Floats) -> Floats:
        """Return calibrated probabilities, float32 [n, 41], of features [n, features].

        Raises:
            ValueError: the features have the wrong length, for example because they come from another encoder.
        """
        if not len(features):
            return np.zeros((0, len(self.labels)), dtype=np.float32)
        if features.ndim != 2 or features.shape[1] != len(self.weight):
            encoder = self.record.get("encoder", "the encoder it was trained on")
            raise ValueError(
                f"this head takes features [n, {len(self.weight)}], got {list(features.shape)}; it goes with {encoder}"
            )
        # One thread: sums split over threads can differ in the last bits, depending on the load of the machine.
        with threadpoolctl.threadpool_limits(1, user_api="blas"):
            logits = (features.astype(np.float32, copy=False) @ self.weight + self.bias) / np.float32(self.temperature)
        return probabilities_of(logits)

    def save(self, folder: str | Path) -> None:
        """Write `head.safetensors` and `record.json` into a folder, which is created if needed."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "head.safetensors").write_bytes(save(self._tensors()))
        (folder / "record.json").write_text(
            json.dumps(self.record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )

    @classmethod
    def load(cls, name: str | Path) -> "LinearHead":
        """Load a shipped head by name (`linear-weak`, `linear-dialogue`), or a saved one by its folder.

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


class LinearLabeler(EmbeddedLabeler):
    """Labels turns with a linear head on the embeddings of the default encoder.

    Args:
        head: the head.
        device: torch device of the encoder.
        batch_tokens: maximum number of tokens in a batch of the encoder; by default the encoder's own.
    """

    def __init__(self, head: LinearHead, device: str = "cpu", batch_tokens: int | None = None) -> None:
        self.head = head
        self.encoder = Encoder(DEFAULT_MODEL, device, batch_tokens)
        self.record = head.record
        self.context = 0 if head.decay is None else None
        if "labels" in head.record:
            self.label_set = set_of_names(list(head.labels))

    @cached_property
    def identity(self) -> str:
        """Digests of head and encoder."""
        return f"{self.head.source.partition('@')[0]}@{self.head.identity} on {self.encoder.identity}"

    @property
    def source(self) -> str:
        """Name and short digest of the head."""
        return self.head.source

    def check(self) -> None:
        """Check that the head fits the encoder, and that the encoder is complete.

        Raises:
            ValueError: the head does not fit, or the encoder is incomplete.
        """
        self.encoder.check()
        width = read_json(model_folder(self.encoder.name) / "config.json").get("hidden_size")
        wanted = width if self.head.decay is None else 2 * (width or 0) + 1
        if len(self.head.weight) != wanted:
            raise ValueError(
                f"the linear head {self.source} takes {len(self.head.weight):,} features, but {self.encoder.name} "
                f"gives {wanted:,}: it is another encoder's, or damaged: copy, download or train the model again"
            )

    def on_embeddings(self, embeddings: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return the probabilities of embedded turns; see `EmbeddedLabeler`."""
        return self.head.predict_proba(self.head.features(embeddings, offsets))


def probabilities_of(logits: Floats) -> Floats:
    """Return the softmax of every row, float32 [n, labels]."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Floats = exponentials / exponentials.sum(axis=1, keepdims=True)
    return probabilities


def dialogue_features(embeddings: Floats, offsets: npt.NDArray[np.integer], decay: float = DECAY) -> Floats:
    """Return the features of every turn and its history, float32 [turns, 2 * dim + 1].

    A row is the turn's embedding, the embedding of its context, and 1 if there is a context, else 0 (the context is
    then zero). The context of turn i is the weighted mean of the turns before it, newest first, with weights 1, d, d^2,
    ...:

        c_i = (e_{i-1} + d e_{i-2} + d^2 e_{i-3} + ...) / (1 + d + d^2 + ...)

    With d = 1/2 these are the half-decaying weights of EDOS (Section 3.3: 4/7, 2/7, 1/7 for three turns). They are
    computed forward, from c_0 = 0 and n_0 = 0:

        n_i = 1 + d n_{i-1},    c_i = (e_{i-1} + d n_{i-1} c_{i-1}) / n_i

    without powers, so that a dialogue of any length does not overflow.

    Args:
        embeddings: float32 [turns, dim], the turns of all dialogues, concatenated.
        offsets: [dialogues + 1], rising from 0 to the number of turns; a dialogue may be empty.
        decay: d, from 0 (only the previous turn counts) to 1 (all count equally).

    Raises:
        ValueError: the decay is out of range, or the offsets do not match the turns.
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"decay must be from 0 to 1, got {decay}")
    lengths = np.diff(offsets)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(embeddings) or (lengths < 0).any():
        ends = f"{offsets[0]} ... {offsets[-1]}" if len(offsets) else "none"
        raise ValueError(f"offsets must rise from 0 to the number of turns, {len(embeddings)}, got {ends}")
    dim = embeddings.shape[1]
    features = np.zeros((len(embeddings), 2 * dim + 1), dtype=np.float32)
    features[:, :dim] = embeddings
    context = features[:, dim : 2 * dim]
    # All dialogues advance together, longest first, so that those with a turn at this position are a prefix.
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = offsets[:-1][order], lengths[order]
    norm = 0.0
    for position in range(1, int(lengths.max(initial=0))):
        rows = starts[: np.searchsorted(-lengths, -position, side="left")] + position
        memory, norm = decay * norm, 1 + decay * norm
        context[rows] = (embeddings[rows - 1] + np.float32(memory) * context[rows - 1]) / np.float32(norm)
        features[rows, -1] = 1
    return features


def fit(features: Floats, targets: Floats, l2: float) -> tuple[Floats, Floats]:
    """Fit a softmax regression by L-BFGS, starting from zero.

    The loss is the mean cross-entropy to the targets plus l2 / 2 times the sum of the squared weights; the bias is not
    penalised.

    Args:
        features: float32 [n, features].
        targets: float32 [n, 41], probabilities; multiplying a row by k weighs it like k rows.
        l2: 0 or more.

    Returns:
        Weight [features, 41] and bias [41].
    """
    import torch

    x, y = torch.from_numpy(features), torch.from_numpy(targets)
    weight = torch.zeros(x.shape[1], y.shape[1], requires_grad=True)
    bias = torch.zeros(y.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weight, bias], max_iter=300, history_size=20, line_search_fn="strong_wolfe", tolerance_grad=1e-6
    )

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(x @ weight + bias, y) + l2 / 2 * weight.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return weight.detach().numpy(), bias.detach().numpy()


def fit_dialogue(
    features: Floats, targets: Floats, weak: LinearHead, choice: Mapping[str, float]
) -> tuple[Floats, Floats]:
    """Fit a dialogue head with the logits of a weak head as 41 additional features.

    The logits are linear in the turn's embedding, so their weights are folded into those of the embedding.

    Args:
        features: float32 [n, 2 * dim + 1], rows of `dialogue_features`.
        targets: as for `fit`.
        weak: a head on single turns, weight [dim, 41].
        choice: `l2` as for `fit`; `context_scale` and `weak_scale`, factors of the context and the logits: the smaller
            the factor, the more strongly the weights of these features are penalised.

    Returns:
        Weight [2 * dim + 1, 41] and bias [41].
    """
    dim = len(weak.weight)
    weak_weight = choice["weak_scale"] * (weak.weight - weak.weight.mean(axis=1, keepdims=True))
    weak_bias = choice["weak_scale"] * (weak.bias - weak.bias.mean())
    context = np.float32(choice["context_scale"])
    extended = np.hstack(
        [features[:, :dim], context * features[:, dim:], features[:, :dim] @ weak_weight + weak_bias]
    ).astype(np.float32)
    weight, bias = fit(extended, targets, choice["l2"])
    own, others, from_weak = np.split(weight, [dim, features.shape[1]])
    return np.vstack([own + weak_weight @ from_weak, context * others]).astype(np.float32), (
        bias + weak_bias @ from_weak
    ).astype(np.float32)


def calibrate(
    weight: Floats,
    bias: Floats,
    features: Floats,
    labels: Ints,
    decay: float | None,
    record: dict[str, Any] | None = None,
) -> tuple[LinearHead, float]:
    """Return the head at the temperature with the lowest cross-entropy on held-out rows, and that cross-entropy (nats).

    Args:
        weight: float32 [features, 41].
        bias: float32 [41].
        features: float32 [n, features], rows that the head was not fitted on.
        labels: label ids of the rows, int64 [n].
        decay: as for `LinearHead`.
        record: as for `LinearHead`; names the labels if they are not those of EDOS.
    """
    head = LinearHead(weight, bias, round(fit_temperature(features @ weight + bias, labels), 4), decay, record or {})
    return head, cross_entropy(head.predict_proba(features), labels)
