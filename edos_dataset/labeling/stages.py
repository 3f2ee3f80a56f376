"""The labelling stages: embeddings of turns, weak labels of single turns, labels of turns with their history."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats, nest, unnest
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, limit_blas, limit_threads
from edos_dataset.labeling.models.embedded import EmbeddedLabeler, TurnEmbedder
from edos_dataset.labeling.models.labelers import Labeler, check_labeler, encoder_under, load_labeler
from edos_dataset.labeling.models.linear import LinearLabeler
from edos_dataset.labels import EMOTIONS, LABELS
from edos_dataset.runs.pipeline import BY_HAND, Stage, Unit, check_ranges
from edos_dataset.schema.tables import DIALOGUES, ENCODED, LABEL_FIELDS, LABELLED, TOP, labelled


@dataclass(frozen=True)
class EncodeTurns(Stage):
    """Embed every turn: DIALOGUES to ENCODED.

    On a CPU it runs in one thread, so that a run gives the same bytes whatever its number of workers.

    Args:
        model: a SentenceTransformer: the packaged all-MiniLM-L6-v2, a Hub id or a folder; or a labeler that stands on
            an encoder, by the name that `load_labeler` knows, whose encoder is meant.
        device: "cpu", "cuda", "cuda:1", ...
        trust_remote_code: run the code that came with the model; it stands in no recipe.
    """

    model: str = DEFAULT_MODEL
    device: str = "cpu"
    trust_remote_code: bool = field(default=False, metadata=BY_HAND)

    name: ClassVar[str] = "encode"
    unit: ClassVar[Unit] = "turns"
    needs, gives, ends = ("dialogue_id", "turns"), ("embeddings", "embedded_by"), ("turns.key",)

    @property
    def encoder(self) -> TurnEmbedder:
        """The model."""
        if self.model != DEFAULT_MODEL and encoder_under(self.model):
            labeler = load_labeler(self.model, self.device, None, self.trust_remote_code)
            assert isinstance(labeler, EmbeddedLabeler), "it stands on an encoder"
            return labeler.encoder
        return Encoder(self.model, self.device, trust_remote_code=self.trust_remote_code)

    def check(self) -> None:
        """Check the model's files and the device."""
        self.encoder.check()

    def inputs(self) -> dict[str, str]:
        """Return the identity of the model's weights."""
        return {"model": self.encoder.identity}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Add the embeddings."""
        turns, offsets = unnest(table, "turns")
        with limit_threads(1):
            vectors = self.encoder.encode(turns.field("text").to_pylist()).astype("<f2")
        rows = [vectors[start:stop].tobytes() for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
        columns = {name: table[name] for name in DIALOGUES.names}
        return pa.table(
            {**columns, "embeddings": rows, "embedded_by": [self.encoder.identity] * len(rows)}, schema=ENCODED
        )


@dataclass(frozen=True)
class LabelTurns(Stage):
    """Label every turn by itself, and score turns and dialogues: DIALOGUES or ENCODED to LABELLED (the weak labeler of
    EDOS, Section 3).

    A dialogue's emotionality is the mean over its turns of the probabilities of the 32 emotions, summed (Xie & Pu,
    Section 3); its confidence is the mean probability of its turns' labels.

    Args:
        model: a name that `load_labeler` knows. One that stands on an encoder takes the embeddings of the stage
            "encode", where that encoder made them.
        device: "cpu", "cuda", "cuda:1", ... On a CPU it runs in one thread, so that a run gives the same bytes whatever
            its number of workers.
        top: how many of the most probable labels stand beside each turn, 1 to 41.
        batch_tokens: most tokens in a batch, padding included; from 1; null takes what suits the device.
        trust_remote_code: run the code that came with the model; it stands in no recipe.
    """

    model: str = "weak"
    device: str = "cpu"
    top: int = 3
    batch_tokens: int | None = None
    trust_remote_code: bool = field(default=False, metadata=BY_HAND)

    name: ClassVar[str] = "weak_label"
    unit: ClassVar[Unit] = "turns"
    needs, ends = ("dialogue_id", "turns"), ("turns.key",)
    gives: ClassVar[tuple[str, ...] | None] = ("emotionality", "confidence", "turns.label")

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, top=(1, len(LABELS)), batch_tokens=(1, 1 << 30))

    @property
    def labeler(self) -> Labeler:
        """The model, shared by all stages of the process that name it."""
        return load_labeler(self.model, self.device, self.batch_tokens, self.trust_remote_code)

    def check(self) -> None:
        """Check the model, its labels and the device."""
        try:
            check_labeler(self.labeler)
        except ValueError as error:
            if self.model in str(error):
                raise
            raise ValueError(f"model {self.model!r}: {error}") from error

    def inputs(self) -> dict[str, str]:
        """Return the identity of the model's weights."""
        return {"model": self.labeler.identity}

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the model's record, by the name that stands in `label_source`."""
        return {self.labeler.source: self.labeler.record}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Add labels and scores."""
        offsets, probabilities, turns = self._label(table)
        columns = {field.name: table[field.name] for field in ENCODED if field.name in table.column_names}
        for name in ("embeddings", "embedded_by"):
            columns.setdefault(name, pa.nulls(table.num_rows, ENCODED.field(name).type))
        columns["turns"] = turns
        columns["emotionality"] = _means(probabilities[:, : len(EMOTIONS)].sum(axis=1), offsets)
        columns["confidence"] = _means(probabilities.max(axis=1, initial=0), offsets)
        return pa.table(columns, schema=LABELLED)

    def _label(self, table: pa.Table) -> tuple[np.ndarray, np.ndarray, pa.ListArray]:
        """Return the offsets of the dialogues, the probabilities of their turns [turns, 41], and the labelled turns."""
        from edos_dataset.labeling.models.static import StaticLabeler

        turns, offsets = unnest(table, "turns")
        labeler = self.labeler
        there = isinstance(labeler, EmbeddedLabeler) and embedded_by(table, labeler.encoder.identity)
        without_torch = isinstance(labeler, StaticLabeler) or (there and isinstance(labeler, LinearLabeler))
        with limit_blas(1) if without_torch else limit_threads(1):
            if there and isinstance(labeler, EmbeddedLabeler):
                probabilities = labeler.on_embeddings(embeddings_of(table), offsets)
            else:
                probabilities = labeler.predict_proba(dialogues_of(turns.field("text"), offsets))
        return offsets, probabilities, _labelled(turns, offsets, probabilities, self.top, labeler.source)


@dataclass(frozen=True)
class AnnotateDialogues(LabelTurns):
    """Label every turn with its history: LABELLED to LABELLED; the labels are replaced, the scores that selected the
    dialogue stay.

    Other tables with turns will do as well: all columns but the turns stay as they are.

    Args:
        model: a name that `load_labeler` knows, best one that reads a turn's history.
        device: "cpu", "cuda", "cuda:1", ... On a CPU it runs in one thread, so that a run gives the same bytes whatever
            its number of workers.
        top: how many of the most probable labels stand beside each turn, 1 to 41.
        batch_tokens: most tokens in a batch, padding included; from 1; null takes what suits the device.
        trust_remote_code: run the code that came with the model; it stands in no recipe.
    """

    model: str = "general"

    name: ClassVar[str] = "annotate"
    gives = ("turns.label",)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Replace the labels."""
        _, _, turns = self._label(table)
        return table.set_column(table.column_names.index("turns"), "turns", turns)


def embedded_by(table: pa.Table, identity: str) -> bool:
    """Tell whether a table has embeddings of all its turns, by the encoder of an identity."""
    if not {"embeddings", "embedded_by"} <= set(table.column_names) or table["embeddings"].null_count:
        return False
    return set(table["embedded_by"].unique().to_pylist()) <= {identity}


def dialogues_of(texts: pa.StringArray, offsets: np.ndarray) -> list[list[str]]:
    """Return flat texts as the turns of each dialogue."""
    flat = texts.to_pylist()
    return [flat[start:stop] for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]


def embeddings_of(table: pa.Table) -> np.ndarray:
    """Return the embeddings of all turns of an ENCODED or LABELLED table, float32 [turns, dim]."""
    turns, _ = unnest(table, "turns")
    data = b"".join(table["embeddings"].to_pylist())
    return np.frombuffer(data, "<f2").reshape(len(turns), -1 if data else 0).astype(np.float32)


def _labelled(turns: pa.StructArray, offsets: np.ndarray, probabilities: Floats, top: int, source: str) -> pa.ListArray:
    """Return the turns with label, confidence, the most probable labels (of equal ones the smaller id first), and who
    says so.
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :top]
    ranked = np.take_along_axis(probabilities, order, axis=1)
    ends = np.arange(len(turns) + 1) * order.shape[1]
    kind = labelled(turns.type)
    columns = {
        **{field.name: turns.field(field.name) for field in kind if field.name not in LABEL_FIELDS.names},
        "label": order[:, 0],
        "confidence": ranked[:, 0],
        "top": nest(ends, TOP, {"label": order.ravel(), "probability": ranked.ravel()}),
        "label_source": [source] * len(turns),
    }
    return nest(offsets, kind, columns)


def _means(values: np.ndarray, offsets: np.ndarray) -> pa.Array:
    """Return the mean of each dialogue's values, float32; it does not depend on the dialogues beside it."""
    lengths = np.diff(offsets)
    if not lengths.all():
        raise ValueError("a dialogue without turns cannot be scored")
    sums = np.add.reduceat(values.astype(np.float64), offsets[:-1]) if len(lengths) else np.zeros(0)
    return pa.array((sums / lengths).astype(np.float32))
