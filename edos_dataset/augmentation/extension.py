"""From few labels to many, step by step (EDOS, Section 3.3); an interrupted run resumes at the step it had reached.

The labels of each step are kept in `.run/steps` with a completion record that names the seed, the pool, the rules and
the previous steps; vectors and a classifier's probabilities are kept piece by piece. Memory: the texts of the pool,
164 bytes per candidate while a classifier's probabilities are compared, and the search's own budget.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats, Ints
from edos_dataset.augmentation.embeddings import VectorStore, kept_array
from edos_dataset.augmentation.guards import Dialogues
from edos_dataset.augmentation.labelled import labelled_of
from edos_dataset.augmentation.learners import Learner
from edos_dataset.augmentation.pool import Piece, Pool
from edos_dataset.augmentation.rows import extended_rows
from edos_dataset.augmentation.self_labeling import SelfLabel, SelfLabelingRules, choose, gains
from edos_dataset.augmentation.spreading import SpreadLabel, agreement_of_seeds, spread
from edos_dataset.augmentation.steps import PAPERS, PAPERS_COUNTS, SpreadStep, Step
from edos_dataset.label_sets import DEFAULT, LabelSet, label_set_of
from edos_dataset.labeling.models.base import EmbeddedLabeler, Labeler
from edos_dataset.labeling.stages import dialogues_of
from edos_dataset.metrics.classification import cross_entropy
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.shards import ShardRecord, StageCount

Say = Callable[[str], object]
_METHODS: dict[type[Step], str] = {SpreadStep: "spread", SelfLabelingRules: "self-label"}

Made = tuple[pa.Table, StageCount, dict[str, Any]]
"""New labels, their counts, and the other entries for `extend.json`."""

Keep = Callable[[str, str, Callable[[], Made]], tuple[pa.Table, ShardRecord]]
"""Returns a table that is made once, as `runs.run.Run.keep` does. That function is not imported, as it affects no label
and everything that this module imports is part of the key of every step.
"""


@dataclass
class Extension:
    """An extension in progress.

    Attributes:
        folder: where a classifier's probabilities are kept.
        keep: keeps the labels of each step.
        seed: rows of the config, by split.
        pool: the candidates.
        store: the vectors.
        learner: the learner that self-labelling trains.
        memory: bytes for a search.
        say: called with progress messages.
        tables: the new labels of each step and round, rows of the config.
        counts: the entry of each in `extend.json`.
        key: digest of everything that decided them.
    """

    folder: Path
    keep: Keep
    seed: dict[str, pa.Table]
    pool: Pool
    store: VectorStore
    learner: Learner
    memory: int
    say: Say
    tables: list[pa.Table] = field(default_factory=list)
    counts: list[dict[str, Any]] = field(default_factory=list)
    key: str = ""

    def __post_init__(self) -> None:
        """Start the chain of digests."""
        seed = [labelled_of(table).identity for table in self.seed.values()]
        self.key = hash_json([*seed, self.pool.identity, self.store.encoder.identity, code_hash(__name__)])

    def take(self, number: int, step: Step) -> None:
        """Carry out a step."""
        if isinstance(step, SpreadStep):
            self._add(number, step, 1, "", lambda: self._spread(number, step))
            return
        losses: list[float] = []
        for turn in range(1, step.rounds + 1):
            labels = partial(self._self_label, number, step, turn, losses)
            facts = self._add(number, step, turn, self.learner.identity, labels)
            losses = facts["validation_cross_entropy"]
            if not gains(losses, step.patience):
                break

    def _add(self, number: int, step: Step, turn: int, identity: str, make: Callable[[], Made]) -> dict[str, Any]:
        method = _METHODS[type(step)]
        key = hash_json([self.key, asdict(step), turn, identity])

        def made() -> Made:
            self.say(f"step {number}, {method}" + (f", round {turn}" if turn > 1 else ""))
            return make()

        table, record = self.keep(f"steps/{number:02d}-{step.name}-{turn}", key, made)
        self.key = hash_json([key, record.digest])
        [count] = record.counts
        entry = {
            "step": number,
            "method": method,
            "round": turn,
            "parameters": asdict(step),
            "read": count.read,
            "labelled": count.kept,
        }
        self.counts.append(entry | {"rejected": count.rejected, "by_label": count.tally, **record.facts})
        self.tables.append(table)
        return record.facts

    def _spread(self, number: int, step: SpreadStep) -> Made:
        before = [self.seed["train"], *self.tables]
        latest = (
            [table for table, entry in zip(self.tables, self.counts, strict=True) if entry["step"] == number - 1]
            if number > 1
            else before
        )
        around = pa.concat_tables(before if step.around == "all" else latest)
        known = [self._dialogues(table) for table in before]
        seeds, labels = self._dialogues(around), around["label"].to_pylist()
        spreading = spread(
            seeds, labels, self.pool.candidates, self._held_out, step, 1, known, self.memory, names=self._labels.labels
        )
        places = {dialogue_id: place for place, dialogue_id in enumerate(seeds.ids)}
        soft = around["soft_label"].take(pa.array([places[label.seed_id] for label in spreading.labels], pa.int64()))
        given: dict[str, list[Any]] = {
            "seed_id": [label.seed_id for label in spreading.labels],
            "similarity": [label.similarity for label in spreading.labels],
        }
        table = self._table(spreading.labels, number, "spread", soft, given)
        # Measured on human labels only: a classifier's labels would agree with themselves.
        among = agreement_of_seeds(known[0], before[0]["label"].to_pylist(), step, self.memory)
        return table, spreading.count, {"seeds": len(seeds), "among_seeds": among}

    def _self_label(self, number: int, step: SelfLabelingRules, turn: int, losses: list[float]) -> Made:
        """Train on all labels so far and label with the classifier; no labels if it is no better than the last one."""
        labelled = [self.seed["train"], *self.tables]
        validation = labelled_of(self.seed["validation"])
        labeler = self.learner.fit(labelled_of(pa.concat_tables(labelled)), validation)
        offsets = np.cumsum([0, *map(len, validation.turns)])
        answers = self._predict(labeler, pa.array(chain.from_iterable(validation.turns), pa.string()), offsets)[
            offsets[1:] - 1
        ]
        losses = [*losses, cross_entropy(answers, validation.labels)]
        facts = {
            "classifier": labeler.identity,
            "validation_cross_entropy": losses,
            "trained_on": sum(map(len, labelled)),
        }
        if not gains(losses, step.patience):
            return self._table([], number, "self-label", [], {}), StageCount(step.name, "dialogues"), facts
        probabilities = np.concatenate([self._probabilities(labeler, piece) for piece in self.pool.pieces])
        own = [table for table, entry in zip(self.tables, self.counts, strict=True) if entry["step"] == number]
        taken = Counter(label for table in own for label in table["label"].to_pylist())
        known = [self._dialogues(table) for table in labelled]
        choice = choose(
            probabilities,
            self.pool.candidates,
            self._held_out,
            known,
            step,
            turn,
            taken,
            self.memory,
            self._labels.labels,
        )
        soft = probabilities[[label.row for label in choice.labels]]
        given = {"confidence": [label.confidence for label in choice.labels]}
        return (
            self._table(choice.labels, number, "self-label", list(soft / soft.sum(axis=1, keepdims=True)), given),
            choice.count,
            facts,
        )

    def _probabilities(self, labeler: Labeler, piece: Piece) -> Floats:
        """Return the probabilities of a piece's candidates, float32 [candidates, 41], and keep them."""
        key = hash_json([labeler.identity, piece.identity])
        path = self.folder / "probabilities" / f"{key[:16]}.npy"
        return kept_array(
            path, key, lambda: self._predict(labeler, piece.turns.field("text"), piece.offsets)[piece.rows]
        )

    def _predict(self, labeler: Labeler, texts: pa.StringArray, offsets: Ints) -> Floats:
        """Return the probabilities of the turns of successive dialogues, float32 [turns, 41].

        A labeler with the store's encoder as its backbone uses the stored embeddings.
        """
        if isinstance(labeler, EmbeddedLabeler) and labeler.encoder.identity == self.store.encoder.identity:
            return labeler.on_embeddings(np.asarray(self.store.turns(texts.to_pylist()), np.float32), offsets)
        return labeler.predict_proba(dialogues_of(texts, offsets))

    @cached_property
    def _labels(self) -> LabelSet:
        return label_set_of(self.seed["train"].schema)

    @cached_property
    def _held_out(self) -> Dialogues:
        return self._dialogues(pa.concat_tables([self.seed["validation"], self.seed["test"]]))

    def _dialogues(self, table: pa.Table) -> Dialogues:
        """Return labelled dialogues with their vectors, which cover as much history as those of candidates."""
        turns, history = labelled_of(table).turns, self.pool.history
        kept = turns if history is None else [dialogue[-history - 1 :] for dialogue in turns]
        return Dialogues(table["dialogue_id"].to_pylist(), turns, self.store.dialogues(kept))

    def _table(
        self,
        labels: Sequence[SpreadLabel | SelfLabel],
        number: int,
        method: str,
        soft: Any,  # noqa: ANN401
        given: dict[str, list[Any]],
    ) -> pa.Table:
        columns: dict[str, Any] = {
            "dialogue_id": [label.dialogue_id for label in labels],
            "turns": [self.pool.turns(label.row).to_pylist() for label in labels],
            "label": [label.label for label in labels],
            "soft_label": soft,
            "round": [label.round for label in labels],
        }
        return extended_rows(columns | given, number, method, self._labels)

    def summary(self, sources: Sequence[str], steps: Sequence[Step]) -> dict[str, Any]:
        """Return the counts of the sources and of all steps."""
        like_papers = [type(step) for step in steps] == [type(step) for step in PAPERS]  # whatever the parameters
        papers = dict(enumerate(PAPERS_COUNTS, 1)) if like_papers else {}
        pieces = self.pool.pieces
        return {
            "seed": {split: table.num_rows for split, table in self.seed.items()},
            "steps": [entry | {"papers": papers.get(entry["step"])} for entry in self.counts],
            "rows": self.seed["train"].num_rows + sum(map(len, self.tables)),
            "pool": {
                "sources": ", ".join(sources),
                "dialogues": sum(len(piece.ids) for piece in pieces),
                "turns": sum(len(piece.turns) for piece in pieces),
                "candidates": len(self.pool.candidates),
            },
            "encoder": self.store.encoder.identity,
            "learner": self.learner.identity,
            **({} if self._labels.name == DEFAULT else {"label_set": self._labels.as_dict()}),
        }
