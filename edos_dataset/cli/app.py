"""`edos`: registers the commands, one file each. What a command needs is imported when it is called."""

import logging
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from edos_dataset.cli.audit import audit
from edos_dataset.cli.books import books
from edos_dataset.cli.console import LOUDNESS, only_the_first_prints
from edos_dataset.cli.crowd_agreement import agreement
from edos_dataset.cli.crowd_exchange import export, import_
from edos_dataset.cli.crowd_hits import hits
from edos_dataset.cli.crowd_judgements import judgements
from edos_dataset.cli.crowd_mturk import mturk
from edos_dataset.cli.crowd_seed import seed
from edos_dataset.cli.crowd_select import select
from edos_dataset.cli.crowd_serve import answers, invite, serve
from edos_dataset.cli.crowd_workers import workers
from edos_dataset.cli.curate import curate
from edos_dataset.cli.download import download
from edos_dataset.cli.evaluate import evaluate
from edos_dataset.cli.extend import extend
from edos_dataset.cli.hydrate import hydrate
from edos_dataset.cli.inspect import inspect
from edos_dataset.cli.label import label
from edos_dataset.cli.labels_only import labels_only
from edos_dataset.cli.merge import ARGUMENTS, merge
from edos_dataset.cli.plan import plan
from edos_dataset.cli.publish import publish
from edos_dataset.cli.recipe import recipe
from edos_dataset.cli.rejects import rejects
from edos_dataset.cli.report import report
from edos_dataset.cli.respond import respond
from edos_dataset.cli.sample import sample
from edos_dataset.cli.segment import segment
from edos_dataset.version import __version__

_ANYWHERE = ("-q", "--quiet", "-v", "--verbose")
"""Options of `edos` itself that may stand behind the command's name, too."""


class _Commands(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer brings a click of its own
        """Read the command line, with the options that may stand anywhere in front."""
        end = args.index("--") if "--" in args else len(args)
        found = [word for word in args[:end] if word in _ANYWHERE]
        rest = [word for word in args[:end] if word not in _ANYWHERE]
        ctx.meta[ARGUMENTS] = [*rest, *args[end:]]
        return super().parse_args(ctx, [*found, *rest, *args[end:]])


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""Turn subtitles into dialogues in which every turn carries one of 41 emotions and response intents.

`edos curate films/ --out edos` reads every subtitle below `films/` (OPUS XML, SubRip, WebVTT, ASS; plain, gzipped or
in a zip), finds turns and dialogues, cleans them, labels every turn, and writes a folder that `datasets` loads:

`load_dataset("edos")` `load_dataset("edos", "edos_initial")` `load_dataset("edos", "os")`

`edos segment films/ --out turns.jsonl` finds the turns and nothing more; `edos label dialogues.jsonl --out
labelled.jsonl` labels dialogues of yours.

Killed or stopped, the same command goes on where it was. `edos inspect edos` shows what came out.""",
)

crowd = typer.Typer(
    no_args_is_help=True,
    help="Labels and judgements by people: choose dialogues, ask on your own pages, measure agreement, make the seed.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show results and errors alone; also behind a command.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Show what libraries log, and tracebacks of errors; also behind a command."
        ),
    ] = False,
) -> None:
    """Set up what all commands share."""
    if quiet and verbose:
        raise typer.BadParameter("--quiet and --verbose exclude each other: give one of them")
    LOUDNESS.quiet, LOUDNESS.verbose = quiet, verbose
    context.with_resource(only_the_first_prints())
    level = logging.DEBUG if verbose else logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    if not verbose:
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # it tells of cut connections, tried again, by tracebacks


for command in (
    curate,
    books,
    segment,
    label,
    inspect,
    rejects,
    report,
    recipe,
    plan,
    sample,
    download,
    extend,
    audit,
    respond,
    evaluate,
    publish,
    labels_only,
    hydrate,
    merge,
):
    app.command()(command)
for of_crowd in (select, hits, invite, serve, answers, export, workers, agreement, judgements, seed):
    crowd.command()(of_crowd)
crowd.command("import")(import_)
crowd.add_typer(mturk, name="mturk")
app.add_typer(crowd, name="crowd")
