"""The interface of labelers, and checks of their inputs and outputs."""

import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Floats
from edos_dataset.label_sets import DEFAULT, LabelSet, load_label_set, set_of_names
from edos_dataset.text import shown

TRIAL = [["Hello.", "How are you?"]]
"""Dialogues that a labeler has to label before a run starts."""

_WANTED = (
    "predict_proba takes dialogues, each a list of its turns, oldest first: [['I lost my job.', 'Oh no!']] is one of "
    "two turns, [[text] for text in texts] are single turns"
)


class Labeler(ABC):
    """Labels turns. A subclass implements `predict_proba` and overrides the attributes that it knows.

    Attributes:
        context: number of earlier turns that it sees with a turn: 0 for none, None for all.
        record: how the labeler was made: data, metrics, licences.
        languages: codes of the languages that it supports, or None if unknown.
        label_set: the labels that it predicts: a `LabelSet`, or anything that `label_set_given` accepts.
        threshold: the probability from which a label applies, if a turn can have several labels; None if a turn has
            exactly one, so that its probabilities sum to 1.
    """

    context: int | None = 0
    record: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed
    languages: Sequence[str] | None = None
    label_set: LabelSet = load_label_set(DEFAULT)
    threshold: float | None = None

    @abstractmethod
    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn, predicted with its history: float32 [turns of all dialogues, labels
        of the label set].

        Args:
            dialogues: turns of each dialogue, oldest first.

        Raises:
            ValueError: the input is not a list of dialogues; a list of texts, for example.
        """

    @cached_property
    def identity(self) -> str:
        """Name and digest of everything that affects the probabilities, for fingerprints.

        By default the class and its source code: override it if the labeler has weights or parameters.
        """
        return identity_of(type(self))

    @property
    def source(self) -> str:
        """Name and short digest, as stored in the column `label_source`."""
        return shortened(self.identity)


class TurnEmbedder(Protocol):
    """Embeds turns.

    Attributes:
        name: the name of the model in the stage "encode".
        identity: name and digest of everything that affects the embeddings.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - said above

    @property
    def identity(self) -> str: ...  # noqa: D102

    def check(self) -> None:
        """Check that the model can be used.

        Raises:
            ValueError: it cannot.
        """
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the embeddings of texts, float32 [texts, dim]; texts may repeat."""
        ...


class EmbeddedLabeler(Labeler):
    """A labeler whose input is embeddings of turns, which several labelers can share.

    Attributes:
        encoder: the model that embeds the turns.
    """

    encoder: TurnEmbedder

    @abstractmethod
    def on_embeddings(self, embeddings: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return the probabilities of embedded turns, float32 [turns, labels].

        Args:
            embeddings: float32 [turns, dim], by the labeler's own encoder; the turns of all dialogues, oldest first.
            offsets: [dialogues + 1]; the turns of dialogue i are `offsets[i]:offsets[i + 1]`.

        Raises:
            ValueError: the embeddings do not have the encoder's dimension.
        """

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`."""
        dialogues = dialogues_given(dialogues)
        # Runs store embeddings in half precision; rounding here gives the same labels with and without them.
        embeddings = self.encoder.encode(list(chain.from_iterable(dialogues))).astype(np.float16).astype(np.float32)
        return self.on_embeddings(embeddings, np.cumsum([0, *map(len, dialogues)]))


def history_refused(model: object, context: int | None) -> ValueError:
    """Return the error for a history that is given to a model which does not leave it open."""
    sees = "all earlier turns" if context is None else f"{context} earlier turns" if context else "every turn alone"
    return ValueError(
        f"--history is for models at an endpoint, openai:MODEL, and text classifiers of others; {str(model)!r} sees "
        f"{sees}: leave it out"
    )


def shortened(identity: str) -> str:
    """Return a name and digest with the first 8 digits of the digest: `general-minilm@0123abcd`."""
    name, _, digest = identity.partition("@")
    return f"{name}@{digest[:8]}"


def identity_of(made: Any) -> str:  # noqa: ANN401 - a class, or anything that can be called
    """Return the name of a class, function or other callable and a digest of its source code, `marks.Marks@` and 16 hex
    digits; of a callable object, and of an object's method, also of what the object holds.
    """
    named = made if hasattr(made, "__qualname__") else type(made)
    holder = made if named is not made else made.__self__ if inspect.ismethod(made) else None
    try:
        code = inspect.getsource(named)
    except (OSError, TypeError):
        code = ""  # entered at a prompt, so there is no source file
    digest = sha256(code.encode() + (b"" if holder is None else _content(holder)))
    return f"{named.__module__}.{named.__qualname__}@{digest.hexdigest()[:16]}"


def _content(holder: object) -> bytes:
    """Return what an object holds; if it cannot be pickled, as a client of a server, what no other object has."""
    try:
        return pickle.dumps(holder)
    except Exception:  # noqa: BLE001 - code of the object can raise anything
        return uuid4().bytes


def dialogues_given(dialogues: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return dialogues as lists of turns.

    Raises:
        ValueError: the input is something else: a text, or a list of texts, whose characters would become turns.
    """
    if isinstance(dialogues, str | bytes | Mapping) or not isinstance(dialogues, Iterable):
        raise ValueError(f"{shown(dialogues)} is not a list of dialogues: {_WANTED}")
    given: list[list[str]] = []
    for number, turns in enumerate(dialogues):
        if isinstance(turns, str | bytes | Mapping) or not isinstance(turns, Iterable):
            raise ValueError(f"dialogue {number} is {shown(turns)}, which is not a list of turns: {_WANTED}")
        given.append(list(turns))
        for place, turn in enumerate(given[-1]):
            if not isinstance(turn, str):
                raise ValueError(f"turn {place} of dialogue {number} is {shown(turn)}, which is not a text: {_WANTED}")
    return given


def label_set_given(given: Any) -> LabelSet:  # noqa: ANN401 - stated by a user
    """Return the label set that a user's labeler states: a set, the name or file of one, or a list of label names.

    Names that are those of a built-in set, in its order, give that set.

    Raises:
        LabelSetError: it is none of these.
    """
    if isinstance(given, LabelSet | str | Path):
        return load_label_set(given)
    if isinstance(given, Mapping):  # id2label
        given = [given[key] for key in sorted(given, key=int)]
    if not isinstance(given, Iterable):
        raise ValueError(f"its label_set is {shown(given)}: expected a LabelSet, the name of one, or a list of labels")
    return set_of_names(list(given))


def check_probabilities(
    found: Any,  # noqa: ANN401 - what a labeler returned
    dialogues: list[list[str]],
    labels: LabelSet | None = None,
    exclusive: bool = True,
) -> Floats:
    """Return a labeler's output as probabilities, float32 [turns, labels].

    The output is an array of probabilities, or a label name for every turn, which gets probability 1.

    Args:
        found: the labeler's output.
        dialogues: turns of each dialogue.
        labels: its label set; by default the 41 labels of EDOS.
        exclusive: whether a turn has exactly one label, so that its probabilities sum to 1.

    Raises:
        ValueError: the output is neither.
    """
    labels = labels or Labeler.label_set
    turns, width = sum(map(len, dialogues)), len(labels)
    if isinstance(found, list | tuple) and found and all(isinstance(label, str) for label in found):
        found = np.eye(width, dtype=np.float32)[[label_id(label, labels) for label in found]]
    try:
        probabilities: Floats = np.asarray(found, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"it returned no probabilities, but {shown(found)}") from error
    if not turns and not probabilities.size:
        return np.zeros((0, width), np.float32)
    if probabilities.shape != (turns, width):
        raise ValueError(
            f"it returned an array {list(probabilities.shape)} for {turns} turns, not [{turns}, {width}]"
            + _REMEDY * (probabilities.ndim == 2 and len(probabilities) == turns)
        )
    _check_rows(probabilities, exclusive)
    return probabilities


def _check_rows(probabilities: Floats, exclusive: bool) -> None:
    wanted = f"it returned rows that are not probabilities: each must have {probabilities.shape[1]} from 0 to 1"
    if not ((probabilities >= 0) & (probabilities <= 1.001)).all():
        raise ValueError(wanted + " that sum to 1" * exclusive)
    if exclusive and (abs(probabilities.sum(1) - 1) > 0.01).any():
        raise ValueError(
            f"{wanted} that sum to 1; where a turn can have several labels, give the labeler an attribute `threshold`"
        )


_REMEDY = (
    "; if these are other labels, name them all: a list of them as an attribute `label_set` of the labeler, or "
    "--label-set NAME|FILE"
)


def label_id(name: str, labels: LabelSet) -> int:
    """Return the id of a label that a labeler returned.

    Raises:
        ValueError: it is none of its label set; the message says how to name that.
    """
    if (found := labels.find(name)) is None:
        raise ValueError(labels.unknown(name) + _REMEDY)
    return found
