"""`edos`: parses the command line, calls the package, prints."""

import json
import logging
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from edos_dataset.cli.crowd import commands as crowd_commands
from edos_dataset.cli.download import download
from edos_dataset.cli.extend import audit, extend
from edos_dataset.cli.hydrate import hydrate, labels_only
from edos_dataset.cli.publish import publish
from edos_dataset.runs.engines.base import WorkerDied
from edos_dataset.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""Turn subtitles into dialogues in which every turn carries one of 41 emotions and response intents.

`edos curate films/ --out edos` reads every subtitle below `films/` (OPUS XML, SubRip, WebVTT, ASS; plain, gzipped or in a zip), finds turns and dialogues,
cleans them, labels every turn, and writes a folder that `datasets` loads:

`load_dataset("edos")` `load_dataset("edos", "edos_initial")` `load_dataset("edos", "os")`

`edos segment films/ --out turns.jsonl` finds the turns and nothing more; `edos label dialogues.jsonl --out labelled.jsonl` labels dialogues of yours.

Killed or stopped, the same command goes on where it was. `edos inspect edos` shows what came out.""",
)

FAILED, TOO_MANY_BAD = 1, 3
"""Exit codes beside 0 (done), 2 (wrong usage) and 130 (stopped with Ctrl-C)."""

Sources = Annotated[
    list[Path], typer.Argument(help="Files, folders and zip archives of subtitles.", show_default=False)
]
Language = Annotated[str, typer.Option(help="Language of the subtitles; files of another one are left out.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes.", show_default="one a core")]
MaxBad = Annotated[float, typer.Option(min=0, max=1, help="Share of unreadable files above which the exit code is 3.")]
_OF_RECIPE = "that of `edos recipe`"
_MODELS = "`weak`, `dialogue`, `fast`, `linear-weak`, `linear-dialogue`, a folder, or a Hub id"
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@contextmanager
def _explained(
    kept: str = "What is finished is kept; mend this and give the same command again",
    stopped: str = "The same command goes on where it was.",
) -> Iterator[None]:
    """Turn the errors that a user can mend into one message and an exit code; the texts say what is left when writing
    failed or the user stopped.
    """
    try:
        yield
    except (ValueError, ImportError, WorkerDied) as error:
        _fail(str(error))
    except BrokenPipeError:  # whoever reads standard output has seen enough; typer ends quietly
        raise
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        _fail(f"{error.strerror or error}:{where}. {kept}")
    except KeyboardInterrupt:
        typer.echo(f"Stopped. {stopped}", err=True)
        raise typer.Exit(130) from None


def _fail(message: str) -> None:
    Console(stderr=True).print(
        f"[bold red]error[/bold red] {escape(message)}", highlight=False, soft_wrap=True, markup=True
    )
    raise typer.Exit(FAILED)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Set up what all commands share."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


@app.command()
def curate(
    sources: Sources,
    out: Annotated[
        Path, typer.Option(help="Folder to write; one of an earlier run is brought up to date.", show_default=False)
    ],
    recipe: Annotated[
        Path | None,
        typer.Option(help="YAML list of stages, as `edos recipe` prints it.", show_default="the built-in one"),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a parameter: `dialogues.gap=4.0`. May be repeated.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Dialogues to select for edos_initial and edos.", show_default="1,000,000")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Select by `emotionality` or `confidence`.", show_default="emotionality")
    ] = None,
    weak_model: Annotated[
        str | None, typer.Option(help=f"What labels single turns: {_MODELS}.", show_default=_OF_RECIPE)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="What labels turns with their history; likewise.", show_default=_OF_RECIPE)
    ] = None,
    labels: Annotated[bool, typer.Option(help="Label the turns; without, only the config `os` is made.")] = True,
    language: Language = "en",
    workers: Workers = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Films at most.", show_default="all")] = None,
    rejects: Annotated[
        bool, typer.Option("--rejects", help="Keep all that is dropped, with its reason, beside the shards in `.run`.")
    ] = False,
    max_bad: MaxBad = 0.2,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the files and estimate time and disk; write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a dataset out of subtitles.

    Exit codes: 0 done, 1 failed (the message says why), 2 wrong usage, 3 done, but too many files could not be read,
    130 stopped.
    """
    from edos_dataset.cli import console as show
    from edos_dataset.commands import curate as curating
    from edos_dataset.commands.estimate import estimate
    from edos_dataset.runs.manifest import bad_share
    from edos_dataset.runs.engines.base import available_cores
    from edos_dataset.runs.recipes import load_recipe, override
    from edos_dataset.sources.inventory import find_films

    with _explained():
        models = {name: chosen for name, chosen in (("weak_model", weak_model), ("model", model)) if chosen is not None}
        default = curating.subtitles_to_edos(**models) if labels else curating.subtitles_to_dialogues()
        pipeline = load_recipe(recipe, curating.KNOWN) if recipe else default
        options = {"select.top": top, "select.by": by, "label.model": weak_model, "annotate.model": model}
        chosen = [f"{parameter}={json.dumps(value)}" for parameter, value in options.items() if value is not None]
        pipeline = override(pipeline, [f"read.language={language}", *chosen, *(settings or [])])
        inventory = find_films(sources, language)
        processes = workers or available_cores()
        if dry_run:
            guess = estimate(inventory.films.slice(0, limit), pipeline, processes)
            lines = (
                [json.dumps(asdict(guess), indent=1)]
                if as_json
                else [*show.estimate_lines(guess), *show.skipped_lines(inventory.skipped)]
            )
            print(*lines, sep="\n")  # noqa: T201 - plain text for pipes
            return
        with show.progress_bars(Console(stderr=True)) as progress:
            manifest = curating.curate(
                inventory,
                out,
                pipeline,
                workers=processes,
                limit=limit,
                language=language,
                keep_rejects=rejects,
                progress=progress,
            )
        if manifest is None:
            return
        if as_json:
            typer.echo(json.dumps(manifest, indent=1, ensure_ascii=False))
        else:
            _print_run(show.terminal(), out, manifest)
        _judge(bad_share(manifest), max_bad)


def _judge(bad: float, max_bad: float) -> None:
    if bad > max_bad:
        Console(stderr=True).print(
            f"[bold red]{bad:.0%} of the files could not be read[/bold red] (more than {max_bad:.0%}, --max-bad)"
        )
        raise typer.Exit(TOO_MANY_BAD)


def _print_run(terminal: Console, out: Path, manifest: dict[str, object]) -> None:
    from edos_dataset.cli import console as show

    terminal.print(show.stage_table(manifest))
    terminal.print(show.config_table(manifest))
    if manifest["quarantined"]:
        terminal.print("could not be read:", *show.quarantine_lines(manifest), sep="\n", soft_wrap=True)
    terminal.print(show.load_line(out, manifest), soft_wrap=True)


@app.command()
def segment(
    sources: Sources,
    out: Annotated[
        Path,
        typer.Option(
            help="File to write, `-` for standard output; it appears, or is replaced, only when it is whole.",
            show_default=False,
        ),
    ],
    scorer: Annotated[
        str | None,
        typer.Option(
            help="What scores the sentences; the rules do where it doesn't know the language.", show_default=_OF_RECIPE
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="A turn goes on where the score is at least this, 0 to 1.", show_default=_OF_RECIPE),
    ] = None,
    language: Language = "en",
    workers: Workers = None,
    max_bad: MaxBad = 0.2,
) -> None:
    """Find the turns and nothing more: write one JSON object a sentence.

    `document_id`, `sentence_id`, `start` and `end` (seconds or null), `text`, `turn_id` (numbers the turns of a
    document from 0), and `same_turn_score`, from 0 to 1: how surely the speaker of the sentence before goes on; null
    for the first sentence of a document. Exit codes are those of `edos curate`.
    """
    from edos_dataset.cli import console as show
    from edos_dataset.commands.segment import segment as write_turns
    from edos_dataset.runs.engines.base import available_cores
    from edos_dataset.runs.manifest import bad_share
    from edos_dataset.segmentation.turns.marks import MarkTurns
    from edos_dataset.sources.inventory import find_films

    target = None if str(out) == "-" else out
    with _explained(kept="No file was written", stopped="No file was written."):
        chosen: dict[str, Any] = {
            name: value for name, value in (("scorer", scorer), ("threshold", threshold)) if value is not None
        }
        stage = MarkTurns(language=language, **chosen)
        inventory = find_films(sources, language)
        with show.progress_bars(Console(stderr=True)) as progress:
            done = write_turns(
                inventory, target, stage, language=language, workers=workers or available_cores(), progress=progress
            )
        if done is None:
            return
        terminal = show.terminal(stderr=target is None)
        terminal.print(
            f"{done['sentences']:,} sentences in {done['turns']:,} turns of {done['documents']:,} documents",
            highlight=False,
        )
        if done["quarantined"]:
            terminal.print(
                "could not be read:",
                *show.quarantine_lines(done, most=len(done["quarantined"])),
                sep="\n",
                soft_wrap=True,
            )
        _judge(bad_share(done), max_bad)


@app.command()
def label(
    source: Annotated[
        Path,
        typer.Argument(
            help='JSON lines `{"dialogue_id", "turns": [text, ...]}`, or a folder of `edos curate`.', show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="File of JSON lines, or folder, to write.", show_default=False)],
    model: Annotated[str, typer.Option(help=f"What labels: {_MODELS}.")] = "dialogue",
    device: Annotated[
        str | None, typer.Option(help="`cpu`, `cuda`, `cuda:1`, ...", show_default="cuda if there is one")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes.", show_default="one a core, or two a GPU")
    ] = None,
    top: Annotated[int, typer.Option(help="Most probable labels beside each turn, 1 to 41.")] = 3,
    batch_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens in a batch.", show_default="1,024; on a GPU 32,768")
    ] = None,
    config: Annotated[str | None, typer.Option(help="Config of the folder.", show_default="the default one")] = None,
) -> None:
    """Label every turn of dialogues, with its history.

    JSON lines become lines `{"dialogue_id", "turns": [{"text", "label", "confidence", "top": [{"label",
    "probability"}]}]}` in the same order; a folder becomes one with the same dialogues, newly labelled. Many GPUs or
    hosts: `accelerate launch -m edos_dataset.commands.label`, with the same arguments.
    """
    from edos_dataset.cli import console as show
    from edos_dataset.commands.label import label as label_dialogues
    from edos_dataset.labeling.models.labelers import default_device
    from edos_dataset.labeling.stages import AnnotateDialogues
    from edos_dataset.runs.engines.base import available_cores

    with _explained():
        stage = AnnotateDialogues(model, device or default_device(), top, batch_tokens)
        launched = "WORLD_SIZE" in os.environ
        # Of two processes on a GPU, one reads, tokenises and writes while the other computes.
        processes = workers or ((1 if launched else available_cores()) if stage.device == "cpu" else 2)
        with show.progress_bars(Console(stderr=True, quiet=os.environ.get("RANK", "0") != "0")) as progress:
            done = label_dialogues(source, out, stage, config=config, workers=processes, progress=progress)
        if done:
            again = f", {done['reused']:,} of {done['shards']:,} shards from before" if done["reused"] else ""
            show.terminal().print(
                f"{done['turns']:,} turns of {done['dialogues']:,} dialogues labelled by {stage.labeler.source}{again}",
                highlight=False,
            )


@app.command()
def inspect(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate` wrote.", show_default=False)],
    dialogues: Annotated[int, typer.Option(min=0, help="Random dialogues to show.")] = 3,
    config: Annotated[
        str | None, typer.Option(help="Config to take them from.", show_default="the default one")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the choice, to see the same ones again.", show_default="none")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: its stages, what each kept and why it rejected the rest, and a few random dialogues with their
    labels.
    """
    from edos_dataset.cli import console as show
    from edos_dataset.publishing.inspection import random_dialogues
    from edos_dataset.runs.manifest import read_manifest

    with _explained():
        manifest = read_manifest(run)
        found = random_dialogues(run, manifest, dialogues, config, random.Random(seed))
        if as_json:
            typer.echo(json.dumps({**manifest, "dialogues": found}, indent=1, ensure_ascii=False))
            return
        terminal = show.terminal()
        _print_run(terminal, run, manifest)
        for line in show.dialogue_lines(found):
            terminal.print(line, soft_wrap=True, highlight=False)


@app.command()
def recipe(labels: Annotated[bool, typer.Option(help="With the labelling stages.")] = True) -> None:
    """Print the built-in recipe as YAML, to edit and give back with `edos curate --recipe`."""
    from edos_dataset.commands.curate import subtitles_to_dialogues, subtitles_to_edos
    from edos_dataset.runs.recipes import dump_recipe

    sys.stdout.write(dump_recipe(subtitles_to_edos() if labels else subtitles_to_dialogues()))


@app.command()
def sample(folder: Annotated[Path, typer.Argument(help="Folder to write.", show_default=False)]) -> None:
    """Copy the packaged sample, invented short films in every format with every kind of defect, to a folder, to try
    `edos curate` on.
    """
    from shutil import copytree

    with _explained():
        with as_file(files("edos_dataset") / "sample" / "films") as films:
            copytree(films, folder, dirs_exist_ok=True)
        typer.echo(
            f"{sum(path.is_file() for path in folder.rglob('*'))} files in {folder}; next: edos curate {folder} --out "
            "edos"
        )


for command in (download, extend, audit, publish, labels_only, hydrate):
    app.command()(_explained()(command))
app.add_typer(crowd_commands(_explained()), name="crowd")
