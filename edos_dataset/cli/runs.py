"""`edos curate`, `books`, `segment`, `merge`, `recipe` and `sample`: from files to datasets."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from edos_dataset.cli.console import call, check_any, check_bad, emit, explained, say
from edos_dataset.cli.options import (
    MODELS,
    OF_RECIPE,
    Address,
    ApiKeyEnv,
    AsJson,
    BaseUrl,
    Concurrency,
    Engine,
    FilesFrom,
    Force,
    History,
    LabelMapOption,
    LabelSetOption,
    Language,
    MaxBad,
    MultiLabel,
    PriceIn,
    PriceOut,
    Pseudonymize,
    Shard,
    Sources,
    SplitSeed,
    SplitShares,
    Timeout,
    TrustRemoteCode,
    Workers,
    check_out,
)
from edos_dataset.wording import counted, unit_of

_MERGED = ("curate", "books")
_OWN = ("--shard", "--force", "--trust-remote-code", "--json")
"""Options that each array task and the merge must be given anew: a record in an untrusted folder must not set them."""

Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Override a recipe parameter: `dialogues.gap=4.0`. May be repeated.")
]


@explained()
def curate(
    out: Annotated[
        Path | None, typer.Option(help="Output folder; an earlier run in it is updated.", show_default=False)
    ] = None,
    sources: Sources = None,
    files_from: FilesFrom = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="Recipe: `default`, `papers`, `scripts` for screenplays, or a YAML file of stages, as printed by "
            "`edos recipe`.",
            show_default="default, or scripts if all files are screenplays",
        ),
    ] = None,
    settings: Settings = None,
    top: Annotated[
        int | None,
        typer.Option(help="Number of dialogues to select for `edos_initial` and `edos`.", show_default="1,000,000"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Score by which dialogues are selected: `emotionality`, `confidence` or `certainty`.",
            show_default="emotionality",
        ),
    ] = None,
    weak_model: Annotated[
        str | None,
        typer.Option(help=f"Model that labels single turns without context: {MODELS}.", show_default=OF_RECIPE),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Model that labels turns in context; same choices as --weak-model.", show_default=OF_RECIPE),
    ] = None,
    labels: Annotated[
        bool, typer.Option(help="Label the turns. Without labels, only the config `os` is written.")
    ] = True,
    label_set: LabelSetOption = None,
    label_map: LabelMapOption = None,
    history: History = None,
    multi_label: MultiLabel = False,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    splits: SplitShares = None,
    split_seed: SplitSeed = 0,
    language: Language = None,
    pseudonymize: Pseudonymize = False,
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    shard: Shard = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of films.", show_default="all")] = None,
    keep_rejects: Annotated[
        bool,
        typer.Option(
            "--rejects",
            help="Keep everything rejected, with the reason, in `.run` of the output folder, for `edos rejects`.",
        ),
    ] = False,
    force: Force = False,
    max_bad: MaxBad = 0.2,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the files and estimate time and disk space; write nothing.")
    ] = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Make a dataset of emotion-labelled dialogues from subtitles.

    Run it again to resume, or to add new films to a finished folder. If the recipe was changed, or films were changed
    or removed, --force is needed to replace the folder.

    Exit codes: 0 done; 1 failed, with a message; 2 wrong usage; 3 done, but too many files were unreadable (--max-bad);
    5 done, but no dialogue is left; 130 stopped.
    """
    from edos_dataset.cli.tables import estimate_lines, report_line
    from edos_dataset.commands.curate import DryRun
    from edos_dataset.commands.curate import curate as run

    check_out(out, dry_run)
    out = out or Path("edos")  # where a dry run would write
    done = call(run, locals())
    if isinstance(done, DryRun):
        emit(dict(done), as_json, [*estimate_lines(done), *done.remarks])
    else:
        _print(done, out, as_json, max_bad, [report_line(out)])


@explained()
def books(
    out: Annotated[
        Path,
        typer.Option(help="Output folder; its configs of other languages are kept.", show_default=False),
    ],
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files, folders or zip archives of books: text, TEI, HTML, EPUB; or a pattern in quotes: "
            "`'novels/*.epub'`.",
            show_default=False,
        ),
    ] = None,
    files_from: FilesFrom = None,
    language: Annotated[
        str | None,
        typer.Option(help="Language code of the books, such as `en`.", show_default="that of the recipe: en"),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            help="Recipe: `default`, `papers` (the method of the Gutenberg Dialogue Dataset), or a YAML file of "
            "stages, as printed by `edos recipe --books`."
        ),
    ] = "default",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a recipe parameter: `length.max_words=60`. May be repeated."),
    ] = None,
    labels: Annotated[
        bool | None, typer.Option(help="Label the turns.", show_default="if a model knows the language")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"Model that labels the turns: {MODELS}.", show_default="that for the language")
    ] = None,
    label_set: LabelSetOption = None,
    label_map: LabelMapOption = None,
    history: History = None,
    multi_label: MultiLabel = False,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    splits: SplitShares = None,
    split_seed: SplitSeed = 0,
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    shard: Shard = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of books.", show_default="all")] = None,
    keep_rejects: Annotated[
        bool,
        typer.Option(
            "--rejects",
            "--keep-rejects",
            help="Keep everything rejected, with the reason, in `.run` of the output folder, for `edos rejects`.",
        ),
    ] = False,
    force: Force = False,
    max_bad: MaxBad = 0.2,
    trust_remote_code: TrustRemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Make a dataset of dialogues from books, one config per language: `gutenberg_en` (labelled), `gutenberg_de`, ...

    Run it again to resume, or to add new books to a finished folder. If the recipe was changed, or books were changed
    or removed, --force is needed to replace the config of the language. `edos inspect` shows the result for each book.

    Exit codes: 0 done; 1 failed, with a message; 2 wrong usage; 3 done, but too many files were unreadable (--max-bad);
    5 done, but no dialogue is left; 130 stopped.
    """
    from edos_dataset.commands.books import books as run

    done = call(run, locals())
    _print(done, out, as_json, max_bad)


def _print(done: Mapping[str, Any], out: Path, as_json: bool, max_bad: float, more: Sequence[Any] = ()) -> None:
    """Print the result of a run or an array task, which only the first of several launched processes has."""
    from edos_dataset.cli.tables import run_report
    from edos_dataset.commands.endpoints import line_of_usage
    from edos_dataset.runs.manifest import bad_fraction
    from edos_dataset.runs.stores.paths import place_of

    if "share" in done:
        emit(dict(done), as_json, _task_lines(done, out))
    elif done:
        asked = [line_of_usage(done["endpoint"])] if "endpoint" in done else []
        dialogues = sum(config["dialogues"] for config in done["configs"].values())
        emit(dict(done), as_json, [*run_report(place_of(out), done, asked), *(more if dialogues else ())])
        check_bad(bad_fraction(done), max_bad)
        check_any(dialogues, "dialogues", done)


def _task_lines(done: Mapping[str, Any], out: Path) -> list[str]:
    made = f"task {done['share']}: {counted(done['made'], 'shards')} made, {done['reused']:,} reused"
    if done["missing"]:
        then = (
            f"{counted(done['missing'], 'shards')} of {done['phase']!r} {unit_of(done['missing'], 'belong')} to other "
            "tasks; once they have finished, run: "
        )
    elif done["undecided"]:
        then = f"{done['undecided']!r} needs the whole corpus; run: "
    else:
        then = "all shards are there; run: "
    return [made, f"{then}edos merge {out}"]


@explained(
    kept="No file was written; fix this and run the same command again",
    stopped="No file was written. Run the same command to resume; with `--out -` it starts over.",
)
def segment(
    out: Annotated[
        Path,
        typer.Option(
            help="Output file, or `-` for standard output; it appears only when complete.",
            show_default=False,
        ),
    ],
    sources: Sources = None,
    files_from: FilesFrom = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            help="Scorer of turn boundaries; rules are used for languages that it does not support.",
            show_default=OF_RECIPE,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Minimum score at which a turn continues, 0 to 1.", show_default=OF_RECIPE),
    ] = None,
    language: Language = None,
    pseudonymize: Pseudonymize = False,
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    force: Force = False,
    max_bad: MaxBad = 0.2,
) -> None:
    """Only split subtitles into turns, and write one JSON object per sentence.

    Its keys are `document_id`, `sentence_id`, `start` and `end` (seconds or null), `text`, `turn_id` (counted from 0 in
    each document) and `same_turn_score` (0 to 1): the probability that the previous speaker continues, null for the
    first sentence of a document. If the file names the speaker, `speaker` follows. The exit codes are those of
    `edos curate`.
    """
    from edos_dataset.cli.tables import not_taken_lines, quarantine_lines
    from edos_dataset.commands.segment import segment as run
    from edos_dataset.runs.manifest import bad_fraction

    done = call(run, locals())
    if not done:  # another process prints
        return
    summary = (
        f"{counted(done['sentences'], 'sentences')} in {counted(done['turns'], 'turns')} "
        f"of {counted(done['documents'], 'documents')}"
    )
    say([summary, *quarantine_lines(done, most=None), *not_taken_lines(done)], stderr=done.folder is None)
    check_bad(bad_fraction(done), max_bad)
    check_any(done["sentences"], "sentences", done)


@explained()
def merge(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="Output folder of the array job.", show_default=False)],
    workers: Workers = None,
    engine: Engine = None,
    rest: Annotated[
        bool, typer.Option("--rest", help="Make missing shards in this process instead of reporting their tasks.")
    ] = False,
    force: Force = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """Complete the run of an array job (tasks with `--shard I/N`), or report which tasks must run again.

    The merge runs the steps that need the whole corpus, such as removing duplicates, once all earlier shards exist;
    then the tasks run again. A run thus alternates between array job and merge until the merge publishes the data:

    `while edos merge edos; [ $? -eq 4 ]; do sbatch --wait curate.sbatch || break; done`

    Exit codes: 0 done; 1 failed, with a message; 2 wrong usage; 3 done, but too many files were unreadable (--max-bad);
    4 the tasks named must run first; 130 stopped.
    """
    from edos_dataset.runs.array_jobs import ArrayJob, records_in
    from edos_dataset.runs.stores.paths import place_of

    out = place_of(out)
    jobs = [job for job in map(ArrayJob.read, records_in(out / ".run")) if job is not None]
    if not jobs:
        raise ValueError(f"{out} holds no array job to merge: run `edos curate SOURCE --out {out} --shard I/N` first")
    out = out.absolute()
    given: dict[str, Any] = {"workers": workers, "engine": engine, "force": force, "as_json": as_json}
    given |= {"trust_remote_code": trust_remote_code, "out": out, "shard": None}
    for job in jobs:
        command = job.arguments[0] if job.arguments else None
        if command not in _MERGED:
            raise ValueError(f"the record of the array job names a command that cannot be merged: {job.arguments[:1]}")
        words = [word for word in job.arguments[1:] if word != "--dry-run"]
        if Path(job.folder).is_dir():
            os.chdir(job.folder)  # the paths of the job's command line are relative to it
        group: Any = context.parent.command if context.parent else None
        chosen = group.get_command(context.parent, command)
        with chosen.make_context(command, words, parent=context.parent) as inner:
            inner.params |= given if rest else {**given, "shard": f"0/{job.count}"}
            chosen.invoke(inner)


def words_to_repeat(words: Sequence[str]) -> list[str]:
    """Return the arguments of a command line that an array job records: all but the options `_OWN` and their values."""
    kept: list[str] = []
    skip = False
    for word in words:
        own = word.partition("=")[0] in _OWN
        if not (skip or own):
            kept.append(word)
        skip = word == "--shard"
    return kept


@explained()
def recipe(
    name: Annotated[
        str,
        typer.Argument(
            help="Recipe: `default`, for the most accurate data, `papers`, the method of the papers, or `scripts`, for "
            "screenplays."
        ),
    ] = "default",
    labels: Annotated[bool, typer.Option(help="Include the labelling stages.")] = True,
    books: Annotated[
        bool, typer.Option("--books", help="Print the recipe of `edos books` instead of `edos curate`.")
    ] = False,
) -> None:
    """Print a built-in recipe as YAML, with an explanation of every parameter.

    Edit it and use it with `edos curate --recipe` or `edos books --recipe`.
    """
    from edos_dataset.recipes.books import books_pipeline
    from edos_dataset.recipes.subtitles import BUILT_IN, pipeline_of
    from edos_dataset.runs.recipes import RecipeError, described_recipe, nearest

    if name not in BUILT_IN:
        raise RecipeError(f"no built-in recipe is named {name!r}{nearest(name, list(BUILT_IN))}")
    pipeline = books_pipeline(name, labels=labels) if books else pipeline_of(name, labels=labels)
    typer.echo(described_recipe(pipeline), nl=False)


@explained()
def sample(folder: Annotated[Path, typer.Argument(help="Output folder.", show_default=False)]) -> None:
    """Copy the packaged sample to a folder: short invented films in all formats, with all kinds of defects, on which to
    try `edos curate`.

    No existing file is replaced.
    """
    from edos_dataset.commands.download import sample as run

    done = run(folder)
    typer.echo(f"{counted(done['files'], 'files')} in {folder}; next: {done.then}")
