"""The verb `extend`: extends a small labelled seed by the steps of `augmentation.extension`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.augmentation.audit import write_audit
from edos_dataset.augmentation.embeddings import CuratedEmbeddings, VectorStore
from edos_dataset.augmentation.extended import COUNTS
from edos_dataset.augmentation.extension import Extension
from edos_dataset.augmentation.learners import check_learner, learner_of
from edos_dataset.augmentation.pool import PIECE_TURNS, Embedding, Pool, read_pool
from edos_dataset.augmentation.rows import rows_of_seed
from edos_dataset.augmentation.similarity import TWO_GB
from edos_dataset.augmentation.steps import Step, override_steps, steps_of
from edos_dataset.commands.audit import PAGE
from edos_dataset.commands.options import Result, RunOptions, parse_size, run_options, verb
from edos_dataset.commands.progress import Say, warn
from edos_dataset.commands.progress import steps as steps_shown
from edos_dataset.crowd.seed import read_seed
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, default_device
from edos_dataset.publishing.cards.single import extended_card
from edos_dataset.publishing.layout import write_single
from edos_dataset.releases.dialogues import read_sources
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.fingerprints import code_hash
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.provenance import Provenance, digests_of
from edos_dataset.runs.run import Run
from edos_dataset.runs.stores.paths import local_place, place_of
from edos_dataset.schema import EXTENDED, SPLITS
from edos_dataset.wording import counted


@verb
def extend(
    seed: str | Path,
    pool: str | Path | Sequence[str | Path],
    out: str | Path,
    steps: Sequence[Step] | None = None,
    *,
    recipe: str | Path | None = None,
    settings: Sequence[str] = (),
    encoder: str | Encoder | None = None,
    learner: str = "linear",
    history: int | None = 4,
    every_turn: bool = True,
    config: str | None = None,
    memory: int | str = TWO_GB,
    device: str | None = None,
    workers: int | None = 1,
    engine: str | None = None,
    address: str | None = None,
    force: bool = False,
    progress: bool | Say | None = None,
    column: str | None = None,
    id_column: str | None = None,
    skip_bad: bool = False,
) -> Result:
    """Extend a small labelled seed, as `edos extend` does: propagate its labels to similar dialogues, add labels of
    which a classifier is confident, and propagate those too.

    Only the train split grows; no dialogue that is similar to a validation or test dialogue gets a label.

    Args:
        seed: folder written by `crowd.make_seed`.
        pool: folders of `curate` or `label`, and files in any form that `label` reads.
        out: output folder; an earlier extension in it is updated, and unchanged steps are reused.
        steps: steps in order, instead of a recipe and its settings.
        recipe: "papers", "minilm", or a YAML file with a list of steps; the default depends on the encoder.
        settings: overrides of step parameters, such as "1.threshold=0.85".
        encoder: SentenceTransformer that measures similarity, by name, folder or Hub id; by default all-MiniLM-L6-v2.
        learner: classifier trained for self-labelling: a name or command line known to `learner_of`.
        history: maximum number of preceding turns to embed with a candidate; None for all.
        every_turn: whether every turn of the pool may get a label, or only the last one of each dialogue.
        config: config to read from the pool's folders; by default the first of each.
        memory: memory limit of a similarity search, in bytes or as "2GB".
        device: torch device of the encoder; by default a GPU if available.
        workers: number of processes that embed the pool; None means one per core, or two per GPU.
        engine: "local", "accelerate", "datasets" or "ray", as in `RunOptions`.
        address: address of the Ray cluster, for the engine "ray".
        force: replace a finished extension of other parameters or input, and files edited since.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        column: column or key of the texts or dialogues in files; by default found by name.
        id_column: column of the dialogue ids in files; by default found by name.
        skip_bad: leave out records of files that are neither dialogues nor turns, instead of raising an error.

    Returns:
        The counts, as written to `out/extend.json`; `publishing.cards.single` describes them. Empty in all launched
        processes but the first: they only embed their part of the pool.

    Raises:
        ValueError: a source or a parameter is invalid, or the learner failed.
        FolderError: `seed` holds no seed, `out` holds something else, or another process is using it.
    """
    seed, out = place_of(seed), local_place(out, "--out of `edos extend`")
    sources = [place_of(each) for each in ([pool] if isinstance(pool, str | Path) else pool)]
    check_apart(out, [seed, *sources])
    chosen_steps = _steps(steps, recipe, settings, encoder)
    meant = Selection(column=column, id_column=id_column, skip_bad=skip_bad)
    limit = parse_size(memory) if isinstance(memory, str) else memory
    chosen: Any = encoder
    if encoder is None or isinstance(encoder, str):
        chosen = Encoder(encoder or DEFAULT_MODEL, device or default_device())
    options_of = run_options(workers, engine, address=address, device=chosen.device, progress=False)
    with options_of as options, steps_shown(progress) as say:
        counts = _extend(
            seed,
            sources,
            out,
            chosen_steps,
            chosen,
            learner,
            history,
            every_turn,
            config,
            meant,
            limit,
            force,
            options,
            say,
        )
    if counts is None:
        return Result("extend", {})
    return Result("extend", counts, out, {"labelled turns": counts["rows"]}, '.load("extended"); read audit.html')


def _steps(
    steps: Sequence[Step] | None, recipe: str | Path | None, settings: Sequence[str], encoder: str | Encoder | None
) -> Sequence[Step]:
    if steps is not None:
        if recipe is not None or settings:
            raise ValueError("steps replace a recipe and its settings: give either steps or a recipe")
        return steps
    named = encoder if isinstance(encoder, str) else DEFAULT_MODEL
    return override_steps(steps_of(None if recipe is None else str(recipe), named), settings)


def _extend(
    seed: Path,
    sources: Sequence[Path],
    out: Path,
    steps: Sequence[Step],
    encoder: Encoder,
    learner: str,
    history: int | None,
    every_turn: bool,
    config: str | None,
    meant: Selection,
    memory: int,
    force: bool,
    options: RunOptions,
    say: Say,
) -> dict[str, Any] | None:
    encoder.check()
    check_learner(learner)
    tables = {split: rows_of_seed(read_seed(seed, [split])) for split in SPLITS}
    if not tables["train"].num_rows:
        raise ValueError(f"{seed} has no dialogue with a label in its training part: nothing to start from")
    given = {"encoder": encoder.identity, "learner": learner, "history": history, "every turn": every_turn}
    columns = {name: value for name, value in asdict(meant).items() if value}
    parameters = {**_parameters_of(steps), **given, "config": config, **columns}
    made_of = Provenance(parameters, {"files": digests_of([seed, *sources])}, code_hash(__name__))
    engine = options.start_engine(encoder.device)
    with OutputFolder(out, "extend", engine.is_main, force) as folder, engine:
        made_of.check(folder)
        store = VectorStore(folder.run / "vectors", encoder)
        pool = _pool_of(sources, config, meant, Embedding(store, history, every_turn), engine, say)
        if not engine.is_main:
            return None
        trainer, keep = learner_of(learner, folder.run / "learner", encoder.device), Run(folder.run, engine).keep
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


def _pool_of(
    sources: Sequence[Path],
    config: str | None,
    meant: Selection,
    embedding: Embedding,
    engine: Engine,
    say: Say,
) -> Pool:
    say("reading and embedding the pool")
    known = CuratedEmbeddings.find(sources if engine.is_main else [], embedding.store.encoder.identity)
    tables = known.added(read_sources(sources, config, PIECE_TURNS, meant, warn))
    pool = read_pool(tables, embedding, engine, lambda turns: say(f"embedding the pool: {counted(turns, 'turns')}"))
    if engine.is_main and not pool.pieces:
        raise ValueError(f"the pool is empty: {', '.join(map(str, sources)) or 'no source'} gave no turns")
    return pool


def _parameters_of(steps: Sequence[Step]) -> dict[str, Any]:
    named = {f"{n}.{name}": value for n, step in enumerate(steps, 1) for name, value in asdict(step).items()}
    return {"steps": [step.name for step in steps], **named}
