"""A linear head with its encoder, as a labeler."""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, model_folder
from edos_dataset.encoders.folders import read_json
from edos_dataset.labeling.models.embedded import EmbeddedLabeler
from edos_dataset.labeling.models.heads import LinearHead


class LinearLabeler(EmbeddedLabeler):
    """A linear head on the embeddings of the default encoder.

    Args:
        head: the head.
        device: torch device of the encoder.
        batch_tokens: most tokens in a batch of the encoder; its own default if None.
    """

    def __init__(self, head: LinearHead, device: str = "cpu", batch_tokens: int | None = None) -> None:
        self.head = head
        self.encoder = Encoder(DEFAULT_MODEL, device, batch_tokens)

    @cached_property
    def identity(self) -> str:
        """Digests of head and encoder."""
        return f"{self.head.source.partition('@')[0]}@{self.head.identity} on {self.encoder.identity}"

    @property
    def source(self) -> str:
        """Name and short digest of the head."""
        return self.head.source

    @property
    def record(self) -> dict[str, Any]:
        """The head's record."""
        return self.head.record

    @property
    def context(self) -> int | None:
        """All earlier turns for a head with a decay, and none for one without."""
        return 0 if self.head.decay is None else None

    def check(self) -> None:
        """Check that the head goes with the encoder, and that the encoder is whole.

        Raises:
            ValueError: it does not.
        """
        self.encoder.check()
        width = read_json(model_folder(self.encoder.name) / "config.json").get("hidden_size")
        wanted = width if self.head.decay is None else 2 * (width or 0) + 1
        if len(self.head.weight) != wanted:
            raise ValueError(
                f"the linear head {self.source} takes {len(self.head.weight):,} features, but {self.encoder.name} "
                f"gives {wanted:,}: it is another encoder's, or damaged: copy, fetch or make the model again"
            )

    def on_embeddings(self, embeddings: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return the probabilities of turns whose embeddings are there, see `EmbeddedLabeler`."""
        return self.head.predict_proba(self.head.features(embeddings, offsets))
