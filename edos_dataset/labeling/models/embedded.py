"""Labelers that stand on an encoder: what they see of a turn is its embedding, which can be made once for several."""

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.dialogues import dialogues_given


class TurnEmbedder(Protocol):
    """What embeds turns.

    Attributes:
        name: as the stage "encode" names it.
        identity: name and digest of everything that decides an embedding.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - said above

    @property
    def identity(self) -> str: ...  # noqa: D102

    def check(self) -> None:
        """Check that it can be used.

        Raises:
            ValueError: it cannot.
        """
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the embeddings of texts, float32 [texts, dim]; repeats are allowed."""
        ...


class EmbeddedLabeler:
    """A labeler that stands on an encoder.

    Attributes:
        encoder: whose embeddings it takes.
    """

    encoder: TurnEmbedder

    def on_embeddings(self, embeddings: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return the probabilities of turns whose embeddings are there, float32 [turns, 41].

        Args:
            embeddings: float32 [turns, dim], of the labeler's own encoder, the turns of all dialogues one behind the
                other, oldest first.
            offsets: [dialogues + 1]; the turns of dialogue i are `offsets[i]:offsets[i + 1]`.

        Raises:
            ValueError: the embeddings are not of this encoder's length.
        """
        raise NotImplementedError

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`."""
        dialogues = dialogues_given(dialogues)
        # Runs keep embeddings in half precision: a label is the same with them and without.
        embeddings = self.encoder.encode(list(chain.from_iterable(dialogues))).astype(np.float16).astype(np.float32)
        return self.on_embeddings(embeddings, np.cumsum([0, *map(len, dialogues)]))
