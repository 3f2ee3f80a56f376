"""`edos`: registers the commands. Each command imports what it needs only when it is called, so that help is fast."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from edos_dataset.cli.console import LOUDNESS, note, only_the_first_prints, styled
from edos_dataset.cli.crowd import answers, hits, import_, invite, select, serve
from edos_dataset.cli.crowd import export as export_tasks
from edos_dataset.cli.crowd_mturk import mturk
from edos_dataset.cli.crowd_results import agreement, judgements, seed, workers
from edos_dataset.cli.dialogues import label, respond
from edos_dataset.cli.download import download
from edos_dataset.cli.evaluate import evaluate
from edos_dataset.cli.export import export
from edos_dataset.cli.extend import extend
from edos_dataset.cli.flags import Command, Group
from edos_dataset.cli.inspect import inspect, rejects
from edos_dataset.cli.labels import labels
from edos_dataset.cli.plan import plan
from edos_dataset.cli.publish import hydrate, labels_only, publish
from edos_dataset.cli.report import audit, report
from edos_dataset.cli.reproduce import reproduce
from edos_dataset.cli.runs import books, curate, merge, recipe, sample, segment, words_to_repeat
from edos_dataset.commands.options import COMMAND_LINE
from edos_dataset.commands.progress import ON_WARNING
from edos_dataset.version import __version__

_ANYWHERE = ("-q", "--quiet", "-v", "--verbose")
"""Options of `edos` itself that may also follow the name of the command."""

_WORDS = "edos.words"
"""Key of the command line's arguments in the context."""


class _Commands(Group):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer brings a click of its own
        """Parse the command line after moving the options of `_ANYWHERE` to the front."""
        end = args.index("--") if "--" in args else len(args)
        found = [word for word in args[:end] if word in _ANYWHERE]
        rest = [word for word in args[:end] if word not in _ANYWHERE]
        ctx.meta[_WORDS] = [*rest, *args[end:]]
        return super().parse_args(ctx, [*found, *rest, *args[end:]])


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""Turn subtitles into dialogues in which every turn is labelled with one of 41 emotions and response intents.

`edos curate films/ --out edos` reads all subtitles below `films/` (OPUS XML, SubRip, WebVTT, ASS, TTML,
SAMI, YouTube captions, Whisper transcripts and more; plain, gzipped or zipped),
splits them into turns and dialogues, cleans them, labels every turn, and writes a folder for `datasets`:
`load_dataset("edos")`, and the larger configs `edos_initial` and `os`.

`edos segment films/ --out turns.jsonl` only splits subtitles into turns; `edos label dialogues.jsonl --out
labelled.jsonl` labels your own dialogues.

Run the same command again to resume after an interruption. `edos inspect edos` shows the result.""",
)

crowd = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Collect labels and judgements from people: select dialogues, serve pages, measure agreement, build the seed.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@contextmanager
def _from_the_command_line(words: list[str]) -> Iterator[None]:
    """Make verbs name command-line options in messages, and print warnings as notes, while `edos` calls them."""
    called = COMMAND_LINE.set(words_to_repeat(words))
    warned = ON_WARNING.set(lambda text: note(styled(("note", "yellow"), f" {text}")))
    try:
        yield
    finally:
        COMMAND_LINE.reset(called)
        ON_WARNING.reset(warned)


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show only results and errors; may also follow a command.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Show library logs and tracebacks of errors; may also follow a command."),
    ] = False,
) -> None:
    """Set up what all commands share."""
    if quiet and verbose:
        raise typer.BadParameter("--quiet and --verbose exclude each other: give only one of them")
    LOUDNESS.quiet, LOUDNESS.verbose = quiet, verbose
    context.with_resource(only_the_first_prints())
    context.with_resource(_from_the_command_line(context.meta.get(_WORDS, [])))
    level = logging.DEBUG if verbose else logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    if not verbose:
        logging.getLogger("urllib3").setLevel(
            logging.ERROR
        )  # it logs tracebacks for lost connections, which are retried


GROUPS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "Make a dataset": (curate, books, segment, label, extend, merge),
    "Look at it": (inspect, rejects, report, audit),
    "Prepare": (sample, download, plan, recipe),
    "Answer and evaluate": (respond, evaluate, reproduce),
    "Pass it on": (export, publish, labels_only, hydrate),
}
"""Headings of `edos --help` → commands."""

for heading, commands in GROUPS.items():
    for command in commands:
        app.command(cls=Command, rich_help_panel=heading)(command)
for of_crowd in (select, hits, invite, serve, answers, workers, agreement, judgements, seed):
    crowd.command(cls=Command)(of_crowd)
crowd.command("import", cls=Command)(import_)
crowd.command("export", cls=Command)(export_tasks)
crowd.add_typer(mturk, name="mturk")
app.add_typer(crowd, name="crowd", rich_help_panel="Collect labels")
app.add_typer(labels, name="labels", rich_help_panel="Collect labels")
