"""Labels from a `ContextClassifier`: every distinct turn is encoded once, for both of its heads, and the small network
that sees the dialogue runs over the vectors.

Reproducibility is that of `encoder.py`. On a GPU the encoder computes in bfloat16, the rest in float32.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Floats
from edos_dataset.encoders.folders import read_json
from edos_dataset.labeling.models.embedded import EmbeddedLabeler
from edos_dataset.labeling.models.heads import probabilities_of
from edos_dataset.labeling.models.saved_labeler import SavedLabeler
from edos_dataset.labeling.models.saved_model import digests_of
from edos_dataset.labels import LABELS
from edos_dataset.runs.fingerprints import hash_json

_BLOCK = 2048  # turns at a time: what is in work stays in the processor's cache
_KIND = "edos-context-classifier"  # as of ContextClassifierConfig, for which torch would have to be loaded
READ = ("encoder", "turn_tokens", "start_id", "separator_id", "padding_id")
"""What of a configuration decides a vector."""


def sees_vectors(folder: Path) -> bool:
    """Tell whether a folder holds a `ContextClassifier`."""
    return (folder / "config.json").is_file() and read_json(folder / "config.json").get("model_type") == _KIND


class ContextLabeler(EmbeddedLabeler, SavedLabeler):
    """Labels turns with a `ContextClassifier`, by one of its answers.

    Args:
        folder: as for `SavedLabeler`, and so are the next four.
        device: likewise.
        batch_tokens: likewise.
        identity: likewise.
        trust_remote_code: likewise.
        encoder_identity: name and digest by which the encoder is known; by default a digest of what decides a vector.
        answer: which of the model's; the one that its configuration names by default.

    Raises:
        ValueError: the model has no such answer; and as `SavedLabeler`.
    """

    def __init__(
        self,
        folder: str | Path,
        device: str = "cpu",
        batch_tokens: int | None = None,
        identity: str | None = None,
        trust_remote_code: bool = False,
        encoder_identity: str | None = None,
        answer: str | None = None,
    ) -> None:
        super().__init__(folder, device, batch_tokens, identity, trust_remote_code)
        if answer is not None and answer not in self._config.answers:
            raise ValueError(f"{folder} has no answer {answer!r}: there are {', '.join(self._config.answers)}")
        self._asked = answer
        self._answer = answer or self._config.answer
        self.context = 0 if self._config.answers[self._answer]["sees"] == "turn" else None
        self.encoder: TurnEncoder = TurnEncoder(self, encoder_identity)

    @cached_property
    def identity(self) -> str:
        """As of `SavedLabeler`, with the answer that was asked for: `my-model#weak@` and 16 hex digits."""
        name, _, digest = super().identity.rpartition("@")
        return f"{name}#{self._asked}@{digest}" if self._asked else f"{name}@{digest}"

    def on_embeddings(self, embeddings: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return the probabilities of turns whose embeddings are there; see `EmbeddedLabeler`."""
        import torch

        if embeddings.ndim != 2 or (len(embeddings) and embeddings.shape[1] != self.encoder.dim):
            raise ValueError(
                f"{self.folder} takes embeddings [turns, {self.encoder.dim}], got {list(embeddings.shape)}: they are "
                "another encoder's"
            )
        logits = np.empty((len(embeddings), len(LABELS)), np.float32)
        with torch.inference_mode():
            for bounds in _blocks(np.unique(offsets)):  # an empty dialogue has no bounds of its own
                block = slice(bounds[0], bounds[-1])
                vectors = torch.from_numpy(np.array(embeddings[block], np.float32)).to(self.device)
                logits[block] = self._logits(vectors, bounds - bounds[0])
        return probabilities_of(logits[:, self._columns]) if len(logits) else logits

    def _logits(self, vectors: Any, offsets: npt.NDArray[np.integer]) -> Floats:  # noqa: ANN401 - a tensor
        """Return the logits of the turns of whole dialogues, float32 [turns, 41], in the model's order of labels."""
        import torch

        model: Any = self._model
        starts = np.repeat(offsets[:-1], np.diff(offsets)).astype(np.int64)
        logits = model.label(vectors, torch.from_numpy(starts).to(self.device), self._answer)
        found: Floats = logits.float().cpu().numpy()
        return found


class TurnEncoder:
    """The encoder of a `ContextClassifier`, as `Encoder` is one of sentence-transformers.

    Args:
        labeler: whose model it is.
        identity: name and digest by which it is known.
    """

    def __init__(self, labeler: SavedLabeler, identity: str | None) -> None:
        self._labeler, self._identity = labeler, identity

    @property
    def name(self) -> str:
        """The folder of the model."""
        return str(self._labeler.folder)

    @property
    def dim(self) -> int:
        """Length of an embedding. Loads the model."""
        model: Any = self._labeler._model
        return int(model.encoder.config.hidden_size)

    @cached_property
    def identity(self) -> str:
        """Kind and digest of what decides an embedding: the same for both heads of a model, wherever it lies."""
        if self._identity:
            return self._identity
        config = read_json(self._labeler.folder / "config.json")
        decides = [digests_of(self._labeler.folder), {name: config.get(name) for name in READ}]
        return f"{_KIND}@{hash_json(decides)[:16]}"

    def check(self) -> None:
        """Load the model and label a dialogue with it.

        Raises:
            ModelError: it is damaged.
        """
        self._labeler.check()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the embeddings of texts, float32 [texts, dim]; each distinct one is computed once. All are tokenised
        at once, so memory grows with the list: call it shard by shard.
        """
        model: Any = self._labeler._model
        return self._labeler._run(model.encode, self.sequences(texts), self.dim)

    def sequences(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the token ids that the encoder reads of every text: start, its tokens, separator."""
        config, distinct = self._labeler._config, list(dict.fromkeys(texts))
        words = self._labeler._read(distinct, config.turn_tokens - 2, special=False)
        framed = ((config.start_id, *turn, config.separator_id) for turn in words)
        ids = dict(zip(distinct, framed, strict=True))
        return [ids[text] for text in texts]


def _blocks(offsets: npt.NDArray[np.integer]) -> Iterator[npt.NDArray[np.integer]]:
    """Yield the offsets of whole dialogues, of `_BLOCK` turns at most or of one dialogue; where they are cut depends on
    the offsets alone.
    """
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _BLOCK, side="right")) - 1)
        yield offsets[first : last + 1]
        first = last
