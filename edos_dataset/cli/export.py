"""`edos export`: dialogues in the forms that other programs read."""

from pathlib import Path
from typing import Annotated

import typer

from edos_dataset.cli.console import call, emit, explained, nothing
from edos_dataset.cli.options import AsJson, Config, Force, OutEncoding, Revision, Split
from edos_dataset.wording import counted


@explained()
def export(
    run: Annotated[
        str,
        typer.Argument(
            help="Folder written by `edos`, a file of `edos label` or `edos segment`, or a dataset on the Hub, "
            "`NAMESPACE/NAME`.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            help="Form: `messages` (chats for TRL), `sharegpt`, `pairs` (context and response), `flat` (the same, with "
            "the first turns), `csv` and `parquet` (a row for each turn), "
            "`script` (a row for each speech and each narration), `srt`, `vtt`, `ass`, `ssml`.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Output file, whose suffix says its format; `{split}` in its name writes one file a split; `-` for "
            "standard output. For subtitles and SSML of several films a folder.",
            show_default=False,
        ),
    ],
    config: Config = None,
    split: Split = None,
    revision: Revision = None,
    min_certainty: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Cut dialogues at boundaries with a smaller certainty; single turns leave."),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            help="System prompt of every chat, in which `{label}` and `{speaker}` are those of the last answer."
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            help="File, folder or archive that was curated: its subtitles are marked, with all of their blocks.",
            show_default="as the paths in RUN say; without a file, turns become blocks",
        ),
    ] = None,
    mark: Annotated[str, typer.Option(help="What subtitles are marked with: `both`, `label` or `speaker`.")] = "both",
    voice: Annotated[
        list[str] | None,
        typer.Option(
            help="Voice of a speaker in SSML; may be repeated, and speakers get them by turns. `SPEAKER=VOICE` is for "
            "one speaker, `narrator=VOICE` for the narrator of books.",
            show_default="the speaker's name",
        ),
    ] = None,
    emotion: Annotated[
        str, typer.Option(help="Emotion in SSML: `express-as` (a style of mstts), `prosody` or `none`.")
    ] = "express-as",
    out_encoding: OutEncoding = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write dialogues in the form that another program reads: chats for training, tables, the
    subtitles that came in with speaker and label for each block, or speech.

    Exit codes: 0 done; 1 failed, with a message; 2 wrong usage; 5 done, but nothing came out; 130 stopped.
    """
    from edos_dataset.commands.export import export as run_export

    done = call(run_export, locals())
    files = done["files"]
    where = f"{counted(len(files), 'files')}, such as {files[0]}" if len(files) > 3 else ", ".join(files)
    lines = [f"{counted(done['dialogues'], 'dialogues')}, {counted(done['rows'], 'rows')}: {where}"] if files else []
    if 1 < len(files) <= 3:
        lines = [
            f"{counted(count['dialogues'], 'dialogues')}, {counted(count['rows'], 'rows')}: {file}"
            for file, count in done["counts"].items()
        ]
    lines += [f"left out: {counted(count, what)}" for what, count in done["left_out"].items()]
    if not (str(out) == "-" and not as_json):
        emit(dict(done), as_json, lines)
    if not done["rows"]:
        reasons = ", ".join(counted(count, what) for what, count in done["left_out"].items())
        why = f"there are only {reasons}" if reasons else "no dialogue matches --split and --min-certainty"
        raise nothing(why)
