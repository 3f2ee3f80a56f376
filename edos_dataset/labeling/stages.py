"""The labelling stages: embeddings of turns, weak labels of single turns, and labels of turns with their history."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Bools, Floats, nest, unnest
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, limit_blas, limit_threads
from edos_dataset.label_sets import LabelSet, LabelSetError, with_label_set
from edos_dataset.labeling.models.base import EmbeddedLabeler, Labeler, TurnEmbedder, shortened
from edos_dataset.labeling.models.endpoint.labeler import HISTORY, EndpointLabeler
from edos_dataset.labeling.models.endpoint.settings import PREFIX, Endpoint
from edos_dataset.labeling.models.labelers import check_labeler, encoder_under, load_labeler, register_labeler
from edos_dataset.labeling.models.linear import LinearLabeler
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.labeling.priors import Priors, as_priors, priors_of
from edos_dataset.labeling.translation import Given, Translation, as_parameter, digest_of, naming, translation_of
from edos_dataset.labels import LABELS
from edos_dataset.languages.detection import in_other_language
from edos_dataset.runs.pipeline import BY_HAND, Stage, Unit, check_ranges
from edos_dataset.schema.tables import DIALOGUES, ENCODED, LABEL_FIELDS, LABELLED, SEVERAL, TOP, labelled

UNANSWERED = "turns without an answer"
"""What a run counts of a model at an endpoint: such turns have no label."""


@dataclass(frozen=True)
class EncodeTurns(Stage):
    """Embed every turn: DIALOGUES to ENCODED.

    On a CPU it uses one thread, so that the rows of a run do not depend on the number of workers.

    Args:
        model: a SentenceTransformer: the packaged all-MiniLM-L6-v2, a Hub id or a folder; or the name of a labeler
            whose encoder to use (`load_labeler`).
        device: "cpu", "cuda", "cuda:1", ...
        trust_remote_code: run the code in the model's folder or repository; never read from a recipe.
    """

    model: str = DEFAULT_MODEL
    device: str = "cpu"
    trust_remote_code: bool = field(default=False, metadata=BY_HAND)

    name: ClassVar[str] = "encode"
    unit: ClassVar[Unit] = "turns"
    needs, gives, ends = ("dialogue_id", "turns"), ("embeddings", "embedded_by"), ("turns.key",)

    @property
    def encoder(self) -> TurnEmbedder:
        """The embedding model."""
        if self.model != DEFAULT_MODEL and encoder_under(self.model):
            labeler = load_labeler(self.model, self.device, None, self.trust_remote_code)
            assert isinstance(labeler, EmbeddedLabeler), "encoder_under named it"
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
    """Label every turn without its history, and score turns and dialogues: DIALOGUES or ENCODED to LABELLED (the weak
    labeler of EDOS, Section 3).

    A dialogue's emotionality is the mean over its turns of the summed probabilities of the 32 emotions (Xie & Pu,
    Section 3); its confidence is the mean probability of its turns' labels.

    Args:
        model: a name that `load_labeler` accepts; in Python also a labeler or a function (`register_labeler`). A
            labeler with an encoder uses the embeddings of the stage "encode", if its own encoder made them.
        device: "cpu", "cuda", "cuda:1", ... On a CPU it uses one thread, so that the rows of a run do not depend on the
            number of workers.
        top: number of most probable labels stored with each turn, 1 to 41.
        batch_tokens: maximum number of tokens in a batch, padding included, at least 1; with null it depends on the
            device.
        trust_remote_code: run the code in the model's folder or repository; never read from a recipe.
        label_set: the label set to write, built in or the content of a file; null for the model's own. Labels of
            another set are translated by the known map between the two.
        label_map: a label set or a map into which the labels are translated after that; null for none.
        history: number of earlier turns that a turn is seen with, for a model that leaves it open, from 0; null for
            what the model does by itself.
        priors: how often each label is expected, by which the answers are weighed: "films", "crowd", "none" for every
            label alike, or `label: share`; null for the model as it is (`labeling.priors`).
        multi_label: let a model at an endpoint give a turn several labels.
        endpoint: where a model `openai:MODEL` is and how it is asked; never read from a recipe.
    """

    model: str = "weak"
    device: str = "cpu"
    top: int = 3
    batch_tokens: int | None = None
    trust_remote_code: bool = field(default=False, metadata=BY_HAND)
    label_set: Given = None
    label_map: Given = None
    history: int | None = None
    priors: Given = None
    multi_label: bool = False
    endpoint: Endpoint | None = field(default=None, metadata=BY_HAND)

    name: ClassVar[str] = "weak_label"
    unit: ClassVar[Unit] = "turns"
    needs, ends = ("dialogue_id", "turns"), ("turns.key",)
    gives: ClassVar[tuple[str, ...] | None] = ("emotionality", "confidence", "turns.label")
    reach: ClassVar[int] = 0
    """Earlier turns that a model at an endpoint sees."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not isinstance(self.model, str):
            object.__setattr__(self, "model", register_labeler(self.model))
        for name in ("label_set", "label_map"):
            object.__setattr__(self, name, as_parameter(getattr(self, name)))
        object.__setattr__(self, "priors", as_priors(self.priors))
        if self.priors is not None and self.model.startswith(PREFIX):
            raise ValueError(
                f"--priors weighs probabilities, and {self.model!r} at an endpoint names labels: leave it out"
            )
        check_ranges(self, top=(1, len(LABELS)), batch_tokens=(1, 1 << 30), history=(0, 1_000))

    @property
    def labeler(self) -> Labeler:
        """The model, shared by all stages of the process with the same name."""
        history = self.reach if self.history is None and self.model.startswith(PREFIX) else self.history
        labeler = load_labeler(
            self.model, self.device, self.batch_tokens, self.trust_remote_code, history, self.endpoint
        )
        return naming(labeler, self.label_set, self.multi_label)

    @property
    def identity(self) -> str:
        """Name and digest of everything that affects the probabilities: the labeler's, and the priors if any."""
        return self.labeler.identity if self._priors is None else self._priors.named(self.labeler.identity)

    @property
    def source(self) -> str:
        """The identity as stored in the column `label_source`, with a short digest."""
        return self.labeler.source if self._priors is None else shortened(self.identity)

    @property
    def _priors(self) -> Priors | None:
        return None if self.priors is None else priors_of(self.labeler, self.priors)

    @property
    def labels(self) -> LabelSet:
        """The label set of the output."""
        return self._translation.labels

    @property
    def _translation(self) -> Translation:
        return translation_of(self.labeler.label_set, self.label_set, self.label_map)

    def check(self) -> None:
        """Check the model, its labels and the device."""
        try:
            _ = self.labels, self._priors
            check_labeler(self.labeler)
        except LabelSetError:
            raise
        except ValueError as error:
            if self.model in str(error):
                raise
            raise ValueError(f"model {self.model!r}: {error}") from error

    def inputs(self) -> dict[str, str]:
        """Return the identity of the model's weights."""
        labels = digest_of(self.labeler, self._translation)
        return {"model": self.identity, **({"labels": labels} if labels else {})}

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Return how many turns have no label, if there are any."""
        unanswered = unnest(table, "turns")[0].field("label").null_count
        return {UNANSWERED: unanswered} if unanswered else {}

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the model's record, keyed by its name in `label_source`."""
        weighed = {} if self._priors is None else {"priors": self._priors.name}
        return {self.source: self.labeler.record | weighed}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Add labels and scores."""
        offsets, probabilities, turns = self._label(table)
        columns = {field.name: table[field.name] for field in ENCODED if field.name in table.column_names}
        for name in ("embeddings", "embedded_by"):
            columns.setdefault(name, pa.nulls(table.num_rows, ENCODED.field(name).type))
        columns["turns"] = turns
        columns["emotionality"] = _means(_of_emotions(probabilities, self.labels), offsets)
        columns["confidence"] = _means(probabilities.max(axis=1, initial=0), offsets)
        schema = LABELLED.set(LABELLED.get_field_index("turns"), pa.field("turns", turns.type))
        return with_label_set(pa.table(columns, schema=schema), self.labels)

    def _label(self, table: pa.Table) -> tuple[np.ndarray, np.ndarray, pa.ListArray]:
        """Return the offsets of the dialogues, the probabilities of their turns, [turns, labels], and the labelled
        turns.
        """
        from edos_dataset.labeling.models.static import StaticLabeler

        turns, offsets = unnest(table, "turns")
        labeler = self.labeler
        embedded = isinstance(labeler, EmbeddedLabeler) and embedded_by(table, labeler.encoder.identity)
        without_torch = isinstance(labeler, StaticLabeler | EndpointLabeler) or (
            embedded and isinstance(labeler, LinearLabeler)
        )
        with limit_blas(1) if without_torch else limit_threads(1):
            if embedded and isinstance(labeler, EmbeddedLabeler):
                probabilities = labeler.on_embeddings(embeddings_of(table), offsets)
            else:
                probabilities = labeler.predict_proba(dialogues_of(turns.field("text"), offsets))
        if self._priors is not None:
            probabilities = self._priors(probabilities)
        answered = np.flatnonzero(~np.isnan(probabilities).any(axis=1))
        translated = self._translation(probabilities[answered], exclusive=labeler.threshold is None)
        if len(answered) == len(turns):
            probabilities = translated
        else:
            probabilities = np.full((len(turns), len(self.labels)), np.nan, np.float32)
            probabilities[answered] = translated
        return (
            offsets,
            probabilities,
            _labelled(turns, offsets, probabilities, self.top, self.source, labeler.threshold),
        )


@dataclass(frozen=True)
class AnnotateDialogues(LabelTurns):
    """Label every turn with its history: LABELLED to LABELLED. The labels are replaced; the scores that selected the
    dialogue are kept.

    Any table with turns is accepted; all columns but the turns are kept.

    Args:
        model: a name that `load_labeler` accepts, preferably of a labeler that uses the history; in Python also a
            labeler or a function.
        device: "cpu", "cuda", "cuda:1", ... On a CPU it uses one thread, so that the rows of a run do not depend on the
            number of workers.
        top: number of most probable labels stored with each turn, 1 to 41.
        batch_tokens: maximum number of tokens in a batch, padding included, at least 1; with null it depends on the
            device.
        trust_remote_code: run the code in the model's folder or repository; never read from a recipe.
        label_set: the label set to write, built in or the content of a file; null for the model's own. Labels of
            another set are translated by the known map between the two.
        label_map: a label set or a map into which the labels are translated after that; null for none.
        history: number of earlier turns that a turn is seen with, for a model that leaves it open, from 0; null for
            what the model does by itself.
        priors: how often each label is expected, by which the answers are weighed: "films", "crowd", "none" for every
            label alike, or `label: share`; null for the model as it is (`labeling.priors`).
        multi_label: let a model at an endpoint give a turn several labels.
        endpoint: where a model `openai:MODEL` is and how it is asked; never read from a recipe.
        others: a shipped model that labels the dialogues whose words are of one of its languages and of none that
            `model`, a shipped one, supports; None for none. Never read from a recipe.
    """

    model: str = "general"
    others: str | None = field(default=None, metadata=BY_HAND)

    name: ClassVar[str] = "annotate"
    gives = ("turns.label",)
    reach: ClassVar[int] = HISTORY

    def inputs(self) -> dict[str, str]:
        """Return the identities of the models' weights."""
        return super().inputs() | ({"others": self.for_others.identity} if self.others else {})

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the models' records, keyed by their names in `label_source`."""
        return super().records() | (self.for_others.records() if self.others else {})

    @property
    def for_others(self) -> "AnnotateDialogues":
        """The stage that labels the dialogues in other languages."""
        assert self.others, "asked for where there is one"
        return replace(self, model=self.others, others=None)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Replace the labels."""
        theirs = self._of_others(table)
        if not theirs.any():
            return self._relabelled(table)
        if theirs.all():
            return self.for_others(table)
        parts = [self._relabelled(table.filter(pa.array(~theirs))), self.for_others(table.filter(pa.array(theirs)))]
        order = np.argsort(np.r_[np.flatnonzero(~theirs), np.flatnonzero(theirs)])
        return pa.concat_tables(parts).take(pa.array(order))

    def _relabelled(self, table: pa.Table) -> pa.Table:
        _, _, turns = self._label(table)
        return with_label_set(table.set_column(table.column_names.index("turns"), "turns", turns), self.labels)

    def _of_others(self, table: pa.Table) -> Bools:
        """Return which dialogues the model for other languages labels, [dialogues]."""
        if not self.others:
            return np.zeros(table.num_rows, bool)
        turns, offsets = unnest(table, "turns")
        known, theirs = (SHIPPED[name].languages for name in (self.model, self.others))
        return np.array(
            [in_other_language(texts, known, theirs) for texts in dialogues_of(turns.field("text"), offsets)], bool
        )


def embedded_by(table: pa.Table, identity: str) -> bool:
    """Return whether a table has embeddings of all its turns, made by the encoder with this identity."""
    if not {"embeddings", "embedded_by"} <= set(table.column_names) or table["embeddings"].null_count:
        return False
    return set(table["embedded_by"].unique().to_pylist()) <= {identity}


def dialogues_of(texts: pa.StringArray, offsets: np.ndarray) -> list[list[str]]:
    """Return the texts of each dialogue."""
    flat = texts.to_pylist()
    return [flat[start:stop] for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]


def embeddings_of(table: pa.Table) -> np.ndarray:
    """Return the embeddings of all turns of an ENCODED or LABELLED table, float32 [turns, dim]."""
    turns, _ = unnest(table, "turns")
    data = b"".join(table["embeddings"].to_pylist())
    return np.frombuffer(data, "<f2").reshape(len(turns), -1 if data else 0).astype(np.float32)


def _labelled(
    turns: pa.StructArray, offsets: np.ndarray, probabilities: Floats, top: int, source: str, threshold: float | None
) -> pa.ListArray:
    """Return the turns with label, confidence, the most probable labels (of equal ones the smaller id first), the
    source of the label, and where a turn can have several labels all that it has. A turn whose probabilities are NaN
    has no label: null, and empty lists.
    """
    answered = ~np.isnan(probabilities).any(axis=1)
    ranks = np.argsort(-probabilities, axis=1, kind="stable")
    order = ranks[:, :top]
    ranked = np.take_along_axis(probabilities, order, axis=1)
    ends = np.r_[0, np.cumsum(answered * order.shape[1])]
    several = threshold is not None
    kind = labelled(turns.type, several)
    columns = {
        **{field.name: turns.field(field.name) for field in kind if field.name not in (*LABEL_FIELDS.names, SEVERAL)},
        "label": pa.array(order[:, 0], mask=~answered),
        "confidence": pa.array(ranked[:, 0], mask=~answered),
        "top": nest(ends, TOP, {"label": order[answered].ravel(), "probability": ranked[answered].ravel()}),
        "label_source": [source] * len(turns),
    }
    if threshold is not None:
        all_ranked = np.take_along_axis(probabilities, ranks, axis=1)
        held = all_ranked >= threshold
        ends = np.r_[0, np.cumsum(held.sum(axis=1))]
        columns[SEVERAL] = nest(ends, TOP, {"label": ranks[held], "probability": all_ranked[held]})
    return nest(offsets, kind, columns)


def _of_emotions(probabilities: Floats, labels: LabelSet) -> Floats:
    """Return for each turn the probability that it shows an emotion: the sum over the emotions."""
    ids = [labels.ids[name] for name in labels.emotions]
    # A slice where possible: numpy adds the columns of a copy in another order, which would change the last bit.
    chosen = probabilities[:, ids[0] : ids[-1] + 1] if ids == list(range(len(ids))) and ids else probabilities[:, ids]
    summed: Floats = chosen.sum(axis=1)
    return summed if labels == Labeler.label_set else np.minimum(summed, np.float32(1))


def _means(values: np.ndarray, offsets: np.ndarray) -> pa.Array:
    """Return the mean of each dialogue's values that are not NaN, float32, independent of the other dialogues; null
    where there is none.
    """
    if not np.diff(offsets).all():
        raise ValueError("a dialogue without turns cannot be scored")
    there = ~np.isnan(values)
    sums, lengths = (
        np.add.reduceat(each, offsets[:-1]) if len(offsets) > 1 else np.zeros(0)
        for each in (np.where(there, values, 0).astype(np.float64), there.astype(np.int64))
    )
    return pa.array((sums / np.maximum(lengths, 1)).astype(np.float32), mask=lengths == 0)
