"""From few labels to many: what `edos extend` does; the steps are `augmentation.extension`'s."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.augmentation.audit import write_audit
from edos_dataset.augmentation.curated_embeddings import CuratedEmbeddings
from edos_dataset.augmentation.embeddings import VectorStore
from edos_dataset.augmentation.extended import COUNTS
from edos_dataset.augmentation.extension import Extension, Say
from edos_dataset.augmentation.learners import check_learner, learner_of
from edos_dataset.augmentation.pool import PIECE_TURNS, Embedding, Pool, read_pool
from edos_dataset.augmentation.rows import rows_of_seed
from edos_dataset.augmentation.similarity import TWO_GB
from edos_dataset.augmentation.steps import PAPERS, Step
from edos_dataset.commands.audit import PAGE
from edos_dataset.crowd.seed import read_seed
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.publishing.cards.extended import extended_card
from edos_dataset.publishing.single import write_single
from edos_dataset.releases.dialogues import read_sources
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.engines.by_name import engine_of
from edos_dataset.runs.fingerprints import code_hash
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.made_of import MadeOf, digests_of
from edos_dataset.runs.run import Run
from edos_dataset.schema import EXTENDED, SPLITS


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
    force: bool = False,
    workers: int = 1,
    engine: str = "local",
    say: Say = lambda text: None,
) -> dict[str, Any] | None:
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
        force: replace a finished extension by one of other parameters or input, and files that were edited since.
        workers: processes that embed the pool; neither their number nor the engine changes a byte.
        engine: where they run (`runs.engines.base`).
        say: told what is being done.

    Returns:
        The counts, as written to `out/extend.json`; `publishing.cards.extended` describes them. None in the processes
        of a launcher but the first, which embed their share and do nothing else.

    Raises:
        ValueError: a source or a parameter is wrong, or the learner failed.
        FolderError: `seed` holds no seed, or `out` something else, or another process is at work in it.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
    """
    chosen = encoder or Encoder()
    chosen.check()
    check_learner(learner)
    tables = {split: rows_of_seed(read_seed(seed, [split])) for split in SPLITS}
    if not tables["train"].num_rows:
        raise ValueError(f"{seed} has no dialogue with a label in its training part: nothing to start from")
    given = {"encoder": chosen.identity, "learner": learner, "history": history, "every turn": every_turn}
    parameters = {**_parameters_of(steps), **given, "config": config}
    made_of = MadeOf(parameters, {"files": digests_of([seed, *sources])}, code_hash(__name__))
    crew = engine_of(engine, workers, chosen.device)
    with OutputFolder(out, "extend", crew.leads, force) as folder, crew:
        made_of.check(folder)
        store = VectorStore(folder.run / "vectors", chosen)
        pool = _pool_of(sources, config, Embedding(store, history, every_turn), crew, say)
        if not crew.leads:
            return None
        trainer, keep = learner_of(learner, folder.run / "learner", chosen.device), Run(folder.run, crew).keep
        extension = Extension(folder.run, keep, tables, pool, store, trainer, memory, say)
        for number, step in enumerate(steps, 1):
            extension.take(number, step)
        command = ["edos extend", seed.name, *(source.name for source in sources), "--out", out.name]
        counts = extension.summary([source.name for source in sources], steps) | {"command": " ".join(command)}
        train = pa.concat_tables([tables["train"], *extension.tables])
        texts, prepared = {COUNTS: json.dumps(counts, indent=1, ensure_ascii=False)}, folder.prepare()
        write_single(prepared, EXTENDED, {**tables, "train": train}, extended_card(counts), texts)
        say("writing the labels audit")
        write_audit(prepared, prepared / PAGE)
        made_of.write(folder, {"labels": counts["rows"]})
        folder.commit()
    return counts


def _pool_of(sources: Sequence[Path], config: str | None, embedding: Embedding, crew: Engine, say: Say) -> Pool:
    """Return the pool, embedded, which in a process that doesn't lead is empty."""
    say("reading and embedding the pool")
    known = CuratedEmbeddings.find(sources if crew.leads else [], embedding.store.encoder.identity)
    tables = known.added(read_sources(sources, config, PIECE_TURNS))
    pool = read_pool(tables, embedding, crew, lambda turns: say(f"embedding the pool: {turns:,} turns"))
    if crew.leads and not pool.pieces:
        raise ValueError(f"the pool is empty: {', '.join(map(str, sources)) or 'no source'} gave no turns")
    return pool


def _parameters_of(steps: Sequence[Step]) -> dict[str, Any]:
    named = {f"{n}.{name}": value for n, step in enumerate(steps, 1) for name, value in asdict(step).items()}
    return {"steps": [step.name for step in steps], **named}
