"""The verb `label`: labels dialogues in any form, with `out` in a resumable run, otherwise in memory."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypedDict, TypeVar, overload

import pyarrow as pa

from edos_dataset.commands.endpoints import (
    asked_of,
    at_endpoint,
    labelers_of,
    needed,
    shared_among,
    shared_run,
    used,
    warn_of_absence,
)
from edos_dataset.commands.labelled_objects import (
    LABELER,
    label_in_memory,
    labelled_by_others,
    model_for,
    others_for,
    pseudonymized_records,
    records_of,
    remark_on_language,
    remark_on_others,
    shard_turns_of,
)
from edos_dataset.commands.line_runs import (
    announced,
    discarded_after_errors,
    found_in,
    kept_source,
    run_to_lines,
    target_file,
)
from edos_dataset.commands.options import Result, RunOptions, run_options, verb
from edos_dataset.commands.progress import announce
from edos_dataset.commands.startup import device_for
from edos_dataset.encoders.encoder import limit_blas, limit_threads
from edos_dataset.labeling.languages import count_other_languages, languages_of
from edos_dataset.labeling.stages import UNANSWERED, AnnotateDialogues, LabelTurns
from edos_dataset.releases.dialogues import curated_config, read_source, tables_of
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.readers import opened
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.several import SeveralFiles, files_in
from edos_dataset.releases.formats.sources import read_records
from edos_dataset.releases.formats.survey import checked_dialogues
from edos_dataset.releases.formats.writers import check_writable, form_of
from edos_dataset.releases.labelled_tables import Source, write_labelled
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.engines import check_printing
from edos_dataset.runs.folder import OutputFolder, config_files
from edos_dataset.runs.pipeline import Output, check_pipeline
from edos_dataset.runs.provenance import Provenance, digests_of, parameters_of
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Run
from edos_dataset.runs.shards import numbered, read_shard
from edos_dataset.runs.stores.paths import place_of

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset, DatasetDict

    from edos_dataset.label_sets import LabelMap, LabelSet
    from edos_dataset.labeling.models.base import Labeler
    from edos_dataset.runs.run import Progress


_LABELLED = "labelled"

D = TypeVar("D", "Dataset", "DatasetDict")


class Probability(TypedDict):
    """A label and its probability, 0 to 1."""

    label: str
    probability: float


class LabelledTurn(TypedDict):
    """A turn, its label with its probability, and the most probable labels; other keys of the input follow."""

    text: str
    label: str
    confidence: float
    top: list[Probability]


class LabelledDialogue(TypedDict):
    """A dialogue as in a line of `edos label`; other keys of the input follow."""

    dialogue_id: str
    turns: list[LabelledTurn]


@overload
def label(
    dialogues: "str | Path | pd.DataFrame | Sequence[Sequence[str]] | Sequence[Mapping[str, Any]]",
    model: "str | Path | Labeler | Callable[..., Any] | None" = None,
    *,
    out: None = None,
    **settings: Any,  # noqa: ANN401
) -> list[LabelledDialogue]: ...
@overload
def label(
    dialogues: D,
    model: "str | Path | Labeler | Callable[..., Any] | None" = None,
    *,
    out: None = None,
    **settings: Any,  # noqa: ANN401
) -> D: ...
@overload
def label(
    dialogues: Any,  # noqa: ANN401
    model: "str | Path | Labeler | Callable[..., Any] | None" = None,
    *,
    out: str | Path,
    **settings: Any,  # noqa: ANN401
) -> Result: ...
@verb  # type: ignore[misc] # the overloads abbreviate the settings
def label(
    dialogues: Any,
    model: "str | Path | Labeler | Callable[..., Any] | None" = None,
    *,
    out: str | Path | None = None,
    top: int = 3,
    device: str | None = None,
    batch_tokens: int | None = None,
    column: str | None = None,
    form: str | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    pseudonymize: bool = False,
    workers: int | None = 1,
    engine: str | None = None,
    address: str | None = None,
    force: bool = False,
    progress: "bool | Progress | None" = None,
    trust_remote_code: bool = False,
    shard_turns: int | None = None,
    id_column: str | None = None,
    speaker_column: str | None = None,
    time_column: str | None = None,
    one_dialogue: bool = False,
    keep_system: bool = False,
    skip_bad: bool = False,
    out_format: str | None = None,
    out_encoding: str | None = None,
    label_set: "str | Path | LabelSet | Mapping[str, Any] | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | Mapping[str, Any] | None" = None,
    history: int | None = None,
    priors: "str | Path | Mapping[str, float] | None" = None,
    multi_label: bool = False,
    base_url: str | None = None,
    api_key_env: str | None = None,
    concurrency: int | None = None,
    timeout: float | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    dry_run: bool = False,
    language: str | None = None,
) -> Any:
    """Label every turn of the given dialogues in its context, as `edos label` does.

        edos_dataset.label([["I lost my job.", "Oh no, what happened?"]])[0]["turns"][0]["label"]  # 'devastated'
        edos_dataset.label("dialogues.jsonl", out="labelled.jsonl", workers=2)

    Without `out` everything is held in memory and done in this process. With `out` finished shards are kept on disk, so
    the same call resumes after an interruption.

    Args:
        dialogues: lists of texts; dictionaries, each a dialogue or a turn as in a line of a file; a data frame of
            pandas or polars, or an Arrow table; a
            `datasets.Dataset` or `DatasetDict`; the path of a file or folder, a list of them, or a pattern such as
            "chats/*.txt"; "-" for standard input; or a dataset on the Hub, "namespace/name". The ids of dialogues of
            several files, or of a folder of files, begin with the file; a table of them has the file as a column.
        model: name known to `load_labeler`, folder or Hub id; by default "general" for English, and "multilingual" for
            the other languages that it supports.
        out: output folder for a folder of `curate`, otherwise a file, which appears or is replaced only when complete;
            until then finished shards are kept in `OUT.parts`. The suffix decides its format: .jsonl, .json, .csv,
            .tsv, .xlsx, .parquet or .arrow. A table of turns is written with its own columns and `label`, `confidence`,
            `label_2`, ... "-" is standard output.
        top: number of most probable labels to list with each turn, 1 to 41.
        device: torch device; by default a GPU if available.
        batch_tokens: maximum number of tokens in a batch; the default depends on the device.
        column: column or key of the texts or dialogues; by default the first known one.
        form: format of a file; by default detected from name and content.
        config: config of a folder of `edos` or a dataset on the Hub; by default its first. The unlabelled config "os"
            of a folder of `curate` becomes "edos".
        split: split of a saved dataset or one on the Hub; by default all.
        revision: revision of a dataset on the Hub.
        pseudonymize: replace the names of speakers by "speaker 1", "speaker 2", ..., also in texts that mention them;
            not for a `Dataset` or a folder of `curate`.
        workers: number of processes, in every launched process; None means one per core, or two per GPU.
        engine: "local", "accelerate", "datasets" or "ray", as in `RunOptions`.
        address: address of the Ray cluster, for the engine "ray".
        force: replace the file `out`; in a folder, replace labels of another model or of changed dialogues, and files
            that were edited since.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        trust_remote_code: run custom code that comes with a model.
        shard_turns: turns per shard, rounded up to whole dialogues; the default depends on the device.
        id_column: column of the dialogue ids; by default found by name.
        speaker_column: column of the speakers, written as `speaker` in JSON lines; by default found by name.
        time_column: column of the times by which the turns of a dialogue are ordered; by default found by name.
        one_dialogue: treat all rows as one dialogue.
        keep_system: treat system prompts of chats as turns.
        skip_bad: leave out and count records that are neither dialogues nor turns, instead of raising an error.
        out_format: format of `out`; by default according to its suffix.
        out_encoding: "utf-8" or "utf-8-sig", which Excel needs to show umlauts in a CSV file; by default the second if
            the source was a workbook or a CSV file in another encoding than UTF-8.
        label_set: label set to write: built in ("ekman7"), a YAML file, or a list of labels; by default that of the
            model. Labels of another set are translated by the known map between the two.
        label_map: label set into which the labels are translated, or a map `label: target`, in a YAML file or as a
            dictionary. The probabilities of labels with the same target are summed.
        history: number of earlier turns that a turn is seen with, for models at an endpoint, by default 10, and text
            classifiers of others, by default 0; see `TransformerLabeler`.
        priors: how often each label is expected, by which the answers are weighed: "films" or "crowd" for the shares of
            such turns, "none" for every label alike, a file of shares (JSON, YAML, or CSV with the columns label and
            share), or a dictionary of them; by default the model answers as it is. See `labeling.priors`.
        multi_label: let a model at an endpoint give a turn several labels.
        base_url: address of the endpoint of a model named "openai:MODEL", such as "http://localhost:8000/v1"; by
            default that of the environment, OPENAI_BASE_URL.
        api_key_env: variable of the environment with the key of the endpoint; by default OPENAI_API_KEY.
        concurrency: maximum number of requests to the endpoint at a time, of all workers together; 8 by default.
        timeout: seconds without an answer after which a request is repeated; 120 by default.
        price_in: price of a million tokens of prompts, for the cost.
        price_out: price of a million tokens of answers.
        dry_run: count the requests that a model at an endpoint needs, and estimate tokens and cost; send none.
        language: code of the language of the dialogues, by which the model is chosen; by default judged by the first of
            them, and if these are English dialogue by dialogue.

    Returns:
        Without `out` a list of labelled dialogues, in order; for a data frame, one of the same library with new columns
        as a table; for a dataset, or a dictionary of datasets, the same with `dialogue_id`, `turns` with label
        (`ClassLabel`) and confidence, and the other columns. With `out` a `Result`: the numbers of labelled `dialogues`
        and `turns`; of `shards`, and of those `reused` from an earlier call; `other_language`, the number of dialogues
        that do not look like the model's language, among `languages_checked`; `by_other_model`, the number that
        `multilingual` labelled since they look like one of its languages; `model`; `remarks`; `bad`, the numbers of
        records left out by reason; `endpoint`, what was used at one. For a dry run what would be:
        `dialogues`, `turns`, `requests`, `cached`, `tokens_in`, `tokens_out`, `cost`.

    Raises:
        ValueError: something is not a dialogue, an id is repeated, or the model cannot label turns.
    """
    meant = Selection(
        config,
        split,
        revision,
        column,
        form,
        id_column,
        speaker_column,
        time_column,
        one_dialogue,
        skip_bad,
        keep_system,
    )
    if out is not None:
        check_apart(out, dialogues if isinstance(dialogues, list | tuple) else [dialogues])
    dialogues = files_in(dialogues)
    findings = Findings()
    if pseudonymize:
        dialogues, meant = pseudonymized_records(dialogues, meant, findings), Selection()
    others = others_for(dialogues, meant, model, language)
    model, choice = model_for(dialogues, meant, model, language)
    announce(progress, f"loading the model {model}")
    chosen: Any = str(model) if isinstance(model, Path) else model
    # The stage converts both to plain data, whatever their type.
    labels: Any = {"label_set": label_set, "label_map": label_map, "priors": priors}
    labels["others"] = others if chosen == LABELER else None
    [stage] = at_endpoint(
        [AnnotateDialogues(chosen, device_for(chosen, device), top, batch_tokens, trust_remote_code, **labels)],
        run=shared_run(out),
        **asked_of(locals()),
    )
    if dry_run:
        return _dry_run(dialogues, stage, meant)
    if out is None:
        return label_in_memory(dialogues, stage, meant)
    with run_options(workers, engine, address=address, device=stage.device, progress=progress, force=force) as options:
        kind = form_of(out, out_format)
        check_writable(kind, out_encoding)
        [stage] = shared_among([stage], options.workers)
        target = _Target(out, kind, out_encoding)
        done = _to_files(dialogues, target, stage, meant, options, shard_turns or shard_turns_of(stage))
    if done is None:
        return Result("label", {})
    done |= {"model": stage.source, "label_set": stage.labels.name} | found_in(findings)
    if asked := used([stage], done.pop(UNANSWERED, 0)):
        done["endpoint"] = asked
    remarks = [
        remark_on_others(done.get("by_other_model", 0), done["dialogues"], stage),
        remark_on_language(done.get("other_language", 0), done.get("languages_checked", 0), stage),
    ]
    if said := [*choice, *done.get("remarks", []), *filter(None, remarks)]:
        done["remarks"] = said
    shown = {name: done[name] for name in ("dialogues", "turns", "model")}
    return Result("label", done, None if str(out) == "-" else place_of(out), shown)


def _dry_run(dialogues: Any, stage: AnnotateDialogues, meant: Selection) -> Result:  # noqa: ANN401
    """Return what labelling dialogues with a model at an endpoint would need."""
    if not labelers_of([stage]):
        raise ValueError("--dry-run counts the requests of a model at an endpoint, --model openai:MODEL: leave it out")
    _ = stage.labels  # its label set and map are right
    if isinstance(dialogues, str | Path | SeveralFiles):
        tables = read_source(dialogues, shard_turns_of(stage), meant, Findings())
    else:
        found = checked_dialogues(lambda _: records_of(dialogues), meant, "the input", Findings())
        tables = tables_of(found, shard_turns_of(stage))
    need = needed(stage, tables)
    return Result("label, dry run", need, None, need)


class _Target(NamedTuple):
    """Where labelled dialogues are written, in which format, and in which encoding if it is chosen."""

    out: str | Path
    form: str
    encoding: str | None


def _to_files(
    dialogues: Any,  # noqa: ANN401
    target: _Target,
    stage: AnnotateDialogues,
    meant: Selection,
    options: RunOptions,
    shard_turns: int,
) -> dict[str, Any] | None:
    out, form, findings = target.out, target.form, Findings()
    printed = str(out) == "-"
    if printed:
        check_printing(options.engine)
    # Fails before anything is read or written. One thread, as in the run itself.
    with limit_threads(1) if "torch" in sys.modules else limit_blas(1):
        check_pipeline([stage])
    warn_of_absence([stage])
    if isinstance(dialogues, str | Path):
        config = curated_config(dialogues, meant.config)
        if config is not None and printed:
            raise ValueError(
                f"{dialogues} is a folder, so the output is one too: give a folder as --out, not standard output"
            )
        if config is not None:
            tables = read_source(dialogues, shard_turns, meant)
            return _label_folder(place_of(dialogues), place_of(out), stage, tables, config, options)
        with kept_source(dialogues, meant, form not in ("json", "jsonl")) as (kept, chosen):
            tables = read_source(kept, shard_turns, chosen, findings)
            source = Source(lambda: read_records(str(kept), chosen), findings, lambda: opened(str(kept)))
            return _run(tables, target, stage, options, source)
    if isinstance(dialogues, SeveralFiles):
        source = Source(lambda: dialogues.records(meant, findings), findings)
        return _run(read_source(dialogues, shard_turns, meant, findings), target, stage, options, source)
    found = checked_dialogues(lambda _: records_of(dialogues), meant, "the input", findings)
    source = Source(lambda: records_of(dialogues), findings)
    return _run(tables_of(found, shard_turns), target, stage, options, source)


def _run(
    tables: Iterator[pa.Table],
    target: _Target,
    stage: AnnotateDialogues,
    options: RunOptions,
    source: Source,
) -> dict[str, Any] | None:
    """Label tables of dialogues and write them to a file."""

    def count(shards: Sequence[Path]) -> dict[str, int]:
        return other_language_counts(shards, stage) | _unanswered(shards, stage)

    def write(file: BinaryIO, shards: Sequence[Path]) -> None:
        write_labelled(file, target.form, lambda: map(read_shard, shards), source, stage.top, target.encoding)

    given = announced(tables, source.findings)
    with target_file(target.out) as file:
        done = run_to_lines(given, file, stage, write, options, command="label", device=stage.device, count=count)
    return None if done is None else done | found_in(source.findings)


def other_language_counts(shards: Sequence[Path], stage: LabelTurns) -> dict[str, int]:
    """Count the labelled dialogues in a language that the model does not support.

    Returns:
        `other_language`, their number, and `languages_checked`, that of all checked; empty if the model's languages are
        unknown. `by_other_model` is the number of those that the stage's model for other languages labelled, if it has
        one.
    """
    languages = languages_of(stage)
    if not languages:
        return {}
    others, checked = count_other_languages(shards, languages)
    counts = {"other_language": others, "languages_checked": checked}
    if isinstance(stage, AnnotateDialogues) and stage.others:
        counts["by_other_model"] = sum(labelled_by_others(read_shard(shard, ["turns"]), stage) for shard in shards)
    return counts


def _label_folder(
    source: Path,
    out: Path,
    stage: AnnotateDialogues,
    tables: Iterator[pa.Table],
    config: str,
    options: RunOptions,
) -> dict[str, Any] | None:
    """Label a config of a folder of `curate` and publish it in another folder."""
    new = not (out / ".run").exists()
    engine = options.start_engine(stage.device)
    with output_folder(out, "label", engine.is_main, options.force) as folder, engine:
        files = [path for paths in config_files(source, config).values() for path in paths]
        parameters = parameters_of([stage]) | {"config": config}
        made_of = Provenance(parameters, {"files": digests_of(files)}, stage.fingerprint())
        made_of.check(folder)
        run = Run(folder.run, engine, progress=options.progress)
        with discarded_after_errors(folder, engine, new):
            shards = run.execute(numbered(tables), [stage, Output(_LABELLED)])[_LABELLED]
        if not engine.is_main:
            return None
        _write_folder(source, folder, shards, stage, run, config, made_of)
        done = {"dialogues": run.rows, "turns": run.counts[0].read, "shards": len(shards), "reused": run.reused}
        return done | other_language_counts(shards, stage) | _unanswered(shards, stage)


def _unanswered(shards: Sequence[Path], stage: AnnotateDialogues) -> dict[str, int]:
    """Return how many turns a model at an endpoint did not label."""
    if not labelers_of([stage]):
        return {}
    return {UNANSWERED: sum(stage.tally(read_shard(shard, ["turns"])).get(UNANSWERED, 0) for shard in shards)}


def _write_folder(
    source: Path,
    folder: OutputFolder,
    shards: list[Path],
    stage: AnnotateDialogues,
    run: Run,
    config: str,
    made_of: Provenance,
) -> None:
    """Write the labelled config with card and manifest, as `curate` does."""
    from edos_dataset.publishing.cards.dataset import Origin
    from edos_dataset.publishing.published import histories_of, holds, prepare_published, summary
    from edos_dataset.runs.manifest import Manifest, stage_entry, versions

    target = "edos" if config == "os" else config
    documents = {
        document for shard in shards for document in read_shard(shard, ["document_id"])["document_id"].to_pylist()
    }
    language = read_shard(shards[0], ["language"])["language"][0].as_py() or "en"
    is_path = Path(stage.model.partition("#")[0]).exists() or Path(stage.model).exists()
    model = Path(stage.model).name if is_path else stage.model
    command = f"edos label SOURCE --config {config} --model {model}{_flags(stage)} --out edos"
    origin = Origin(command, stage.fingerprint(), versions())
    [written] = prepare_published(folder, {target: shards}, language, [stage], run.counts, origin, run.engine)
    Manifest(
        source=source.name,
        model=stage.identity,
        history=histories_of([stage]),
        fingerprint=origin.fingerprint,
        input={"films": len(documents), "files": len(documents), "skipped": []},
        stages=[stage_entry(count) for count in run.counts],
        configs={target: summary(written)},
    ).write(folder.prepared)
    made_of.write(folder, holds(len(documents), [written]))
    folder.commit()


def _flags(stage: AnnotateDialogues) -> str:
    """Return the options of a label set and a map, for a command to repeat."""
    given: dict[str, Any] = {"--label-set": stage.label_set, "--map": stage.label_map, "--history": stage.history}
    given["--priors"] = stage.priors
    if stage.endpoint is not None:
        given["--base-url"] = stage.endpoint.shown
    given = {option: str(value) if isinstance(value, int) else value for option, value in given.items()}
    named = {option: value if isinstance(value, str) else "FILE" for option, value in given.items() if value}
    return "".join(f" {option} {value}" for option, value in named.items()) + " --multi-label" * stage.multi_label
