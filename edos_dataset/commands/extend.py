"""From few labels to many: what `edos extend` does (EDOS, Section 3.3), step by step, and after being killed from the
step where it was.

The labels of each step lie in `.run/steps` with a completion record that names the seed, the pool, the rules and the
steps before; vectors and a classifier's probabilities are kept piece by piece. Memory: the texts of the pool, 164 bytes
a candidate while a classifier's answers are compared, and the search's own budget.
"""

import json
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
from edos_dataset.augmentation.audit import write_audit
from edos_dataset.augmentation.embeddings import VectorStore, kept_array
from edos_dataset.augmentation.extended import card, extended_features, write_extended
from edos_dataset.augmentation.guards import Dialogues
from edos_dataset.augmentation.labelled import labelled_of
from edos_dataset.augmentation.learners import Learner, learner_of
from edos_dataset.augmentation.pool import Piece, Pool, read_pool
from edos_dataset.augmentation.self_labeling import SelfLabel, SelfLabelingRules, choose, gains
from edos_dataset.augmentation.similarity import TWO_GB
from edos_dataset.augmentation.spreading import SpreadLabel, agreement_of_seeds, spread
from edos_dataset.augmentation.steps import PAPERS, PAPERS_COUNTS, SpreadStep, Step
from edos_dataset.crowd.seed import read_seed
from edos_dataset.labeling.models.encoder import Encoder
from edos_dataset.labeling.models.labelers import Labeler, LinearLabeler
from edos_dataset.labeling.stages import dialogues_of
from edos_dataset.metrics.classification import cross_entropy
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.shards import ShardRecord, StageCount, locked, read_record, read_shard, write_record, write_shard
from edos_dataset.schema import SPLITS

Say = Callable[[str], object]
METHODS = {SpreadStep: "spread", SelfLabelingRules: "self-label"}


def extend(
    seed: Path,
    sources: Sequence[Path],
    out: Path,
    steps: Sequence[Step] = PAPERS,
    *,
    encoder: Encoder | None = None,
    learner: str = "linear",
    history: int | None = 4,
    every_turn: bool = True,
    config: str | None = None,
    memory: int = TWO_GB,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """Label dialogues of a pool, starting from the training part of a seed, and write the data set "extended".

    Args:
        seed: folder that `edos crowd seed` wrote.
        sources: the pool: folders of `edos curate` or `edos label`, and files of JSON lines.
        out: the folder to write; one of an earlier extension is brought up to date, and steps that would come out equal
            are taken from it.
        steps: what to do, in order.
        encoder: by whose embeddings dialogues are near; the packaged one by default.
        learner: what self-labelling trains: a name or command line that `learner_of` knows.
        history: earlier turns that go with a candidate at most; None for all.
        every_turn: every turn of the pool may get a label; else only the last one of each dialogue.
        config: config of the folders; by default the first that each has.
        memory: bytes for a search.
        say: told what is being done.

    Returns:
        The counts, as written to `out/extend.json`; `augmentation.extended.card` describes them.

    Raises:
        ValueError: a source or a parameter is wrong, or the learner failed.
        FolderError: `seed` holds no seed, or `out` something else, or another process is at work in it.
        OSError: a file could not be written; the same call goes on where it stopped.
    """
    tables = {split: _rows_of_seed(read_seed(seed, [split])) for split in SPLITS}
    if not tables["train"].num_rows:
        raise ValueError(f"{seed} has no dialogue with a label in its training part: nothing to start from")
    chosen = encoder or Encoder()
    with locked(out):
        store = VectorStore(out / ".run" / "vectors", chosen)
        say("reading and embedding the pool")
        pool = read_pool(
            sources, store, history, every_turn, config, lambda turns: say(f"embedding the pool: {turns:,} turns")
        )
        extension = Extension(
            out / ".run", tables, pool, store, learner_of(learner, out / ".run" / "learner", chosen.device), memory, say
        )
        for number, step in enumerate(steps, 1):
            extension.take(number, step)
        command = ["edos extend", seed.name, *(source.name for source in sources), "--out", out.name]
        counts = extension.summary([source.name for source in sources], steps) | {"command": " ".join(command)}
        train = pa.concat_tables([tables["train"], *extension.tables])
        write_extended(out, {**tables, "train": train}, counts, card(counts))
        say("writing the labels audit")
        write_audit(out, out / "audit.html")
    return counts


@dataclass
class Extension:
    """An extension under way.

    Attributes:
        folder: where what is finished is kept.
        seed: split to rows of the config.
        pool: the candidates.
        store: the vectors.
        learner: what self-labelling trains.
        memory: bytes for a search.
        say: told what is being done.
        tables: the new labels of each step and round, rows of the config.
        counts: the entry of each in `extend.json`.
        key: digest of all that decided them.
    """

    folder: Path
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
        """Begin the chain of digests."""
        seed = [labelled_of(table).identity for table in self.seed.values()]
        self.key = hash_json([*seed, self.pool.identity, self.store.encoder.identity, code_hash(__name__)])

    def take(self, number: int, step: Step) -> None:
        """Carry out a step."""
        if isinstance(step, SpreadStep):
            self._keep(number, step, 1, "", lambda: self._spread(number, step))
            return
        losses: list[float] = []
        for turn in range(1, step.rounds + 1):
            labels = partial(self._self_label, number, step, turn, losses)
            facts = self._keep(number, step, turn, self.learner.identity, labels)
            losses = facts["validation_cross_entropy"]
            if not gains(losses, step.patience):
                break

    def _keep(self, number: int, step: Step, turn: int, identity: str, make: Callable[[], "Made"]) -> dict[str, Any]:
        """Take a step's labels from its file if it is the one wanted; else make them."""
        path = self.folder / "steps" / f"{number:02d}-{step.name}-{turn}.parquet"
        key = hash_json([self.key, asdict(step), turn, identity])
        record = read_record(path)
        if record is None or record.key != key:
            self.say(f"step {number}, {METHODS[type(step)]}" + (f", round {turn}" if turn > 1 else ""))
            table, count, facts = make()
            record = ShardRecord(
                key, write_shard(path, table), path.stat().st_size, len(table), [count], [{"facts": json.dumps(facts)}]
            )
            write_record(path, record)
        self.key = hash_json([key, record.digest])
        facts = json.loads(record.notes[0]["facts"])
        [count] = record.counts
        entry = {
            "step": number,
            "method": METHODS[type(step)],
            "round": turn,
            "parameters": asdict(step),
            "read": count.read,
            "labelled": count.kept,
        }
        self.counts.append(entry | {"rejected": count.rejected, "by_label": count.tally, **facts})
        self.tables.append(read_shard(path))
        return dict(facts)

    def _spread(self, number: int, step: SpreadStep) -> "Made":
        """Spread the labels of the step before, or of all."""
        before = [self.seed["train"], *self.tables]
        latest = (
            [table for table, entry in zip(self.tables, self.counts, strict=True) if entry["step"] == number - 1]
            if number > 1
            else before
        )
        around = pa.concat_tables(before if step.around == "all" else latest)
        known = [self._dialogues(table) for table in before]
        seeds, labels = self._dialogues(around), around["label"].to_pylist()
        found = spread(seeds, labels, self.pool.candidates, self._held_out, step, 1, known, self.memory)
        places = {dialogue_id: place for place, dialogue_id in enumerate(seeds.ids)}
        soft = around["soft_label"].take(pa.array([places[label.seed_id] for label in found.labels], pa.int64()))
        given: dict[str, list[Any]] = {
            "seed_id": [label.seed_id for label in found.labels],
            "similarity": [label.similarity for label in found.labels],
        }
        table = self._table(found.labels, number, "spread", soft, given)
        # At this threshold, among the labels of people: those of a classifier would agree with themselves.
        among = agreement_of_seeds(known[0], before[0]["label"].to_pylist(), step, self.memory)
        return table, found.count, {"seeds": len(seeds), "among_seeds": among}

    def _self_label(self, number: int, step: SelfLabelingRules, turn: int, losses: list[float]) -> "Made":
        """Train on all labels so far, and let the classifier label; nothing, if it is no better than the one before."""
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
        found = choose(probabilities, self.pool.candidates, self._held_out, known, step, turn, taken, self.memory)
        soft = probabilities[[label.row for label in found.labels]]
        given = {"confidence": [label.confidence for label in found.labels]}
        return (
            self._table(found.labels, number, "self-label", list(soft / soft.sum(axis=1, keepdims=True)), given),
            found.count,
            facts,
        )

    def _probabilities(self, labeler: Labeler, piece: Piece) -> Floats:
        """Return the probabilities of a piece's candidates, float32 [candidates, 41], from before where they are there."""
        key = hash_json([labeler.identity, piece.identity])
        path = self.folder / "probabilities" / f"{key[:16]}.npy"
        return kept_array(
            path, key, lambda: self._predict(labeler, piece.turns.field("text"), piece.offsets)[piece.rows]
        )

    def _predict(self, labeler: Labeler, texts: pa.StringArray, offsets: Ints) -> Floats:
        """Return the probabilities of turns, one dialogue behind the other, float32 [turns, 41]; a linear head takes
        the embeddings that are kept.
        """
        if isinstance(labeler, LinearLabeler) and labeler.encoder.identity == self.store.encoder.identity:
            return labeler.on_embeddings(np.asarray(self.store.turns(texts.to_pylist()), np.float32), offsets)
        return labeler.predict_proba(dialogues_of(texts, offsets))

    @cached_property
    def _held_out(self) -> Dialogues:
        return self._dialogues(pa.concat_tables([self.seed["validation"], self.seed["test"]]))

    def _dialogues(self, table: pa.Table) -> Dialogues:
        """Return labelled dialogues with their vectors; of the history counts as much as with a candidate's."""
        turns, history = labelled_of(table).turns, self.pool.history
        kept = turns if history is None else [dialogue[-history - 1 :] for dialogue in turns]
        return Dialogues(table["dialogue_id"].to_pylist(), turns, self.store.dialogues(kept))

    def _table(
        self,
        labels: Sequence[SpreadLabel | SelfLabel],
        number: int,
        method: str,
        soft: Any,
        given: dict[str, list[Any]],
    ) -> pa.Table:  # noqa: ANN401
        """Return new labels as rows of the config."""
        columns: dict[str, Any] = {
            "dialogue_id": [label.dialogue_id for label in labels],
            "turns": [self.pool.turns(label.row).to_pylist() for label in labels],
            "label": [label.label for label in labels],
            "soft_label": soft,
            "round": [label.round for label in labels],
        }
        return _rows(columns | given, number, method)

    def summary(self, sources: Sequence[str], steps: Sequence[Step]) -> dict[str, Any]:
        """Return the counts of everything."""
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
        }


Made = tuple[pa.Table, StageCount, dict[str, Any]]
"""New labels, their counts, and what else goes into `extend.json`."""


def _rows_of_seed(table: pa.Table) -> pa.Table:
    """Return the rows of a seed that have a label as rows of the config."""
    table = table.filter(table["label"].is_valid())
    return _rows(
        {name: table[name] for name in ("dialogue_id", "turns", "label", "soft_label")} | {"round": [0] * len(table)},
        0,
        "crowd",
    )


def _rows(columns: dict[str, Any], step: int, method: str) -> pa.Table:
    schema: pa.Schema = extended_features().arrow_schema
    size = len(columns["label"])
    columns = columns | {"method": [method] * size, "step": [step] * size}
    arrays = {}
    for entry in schema:
        values = columns.get(entry.name, [None] * size)
        arrays[entry.name] = (
            values.cast(entry.type) if isinstance(values, pa.ChunkedArray) else pa.array(values, entry.type)
        )
    return pa.table(arrays, schema=schema)
