"""Arguments and options that several commands have."""

import re
from pathlib import Path
from typing import Annotated

import typer

from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.languages.codes import check_language
from edos_dataset.releases.given.forms import FORMS
from edos_dataset.runs.engines.array import Share
from edos_dataset.runs.engines.by_name import check_engine, launched

OF_RECIPE = "that of `edos recipe`"
MODELS = f"{', '.join(f'`{name}`' for name in SHIPPED)}, a folder, or a Hub id"
_ANSWERS = (
    "The EDOS authors' CSV, a result CSV of Amazon Mechanical Turk, or a CSV or JSON lines with `task`, "
    "`worker`, `label`."
)


def _known_engine(name: str | None) -> str | None:
    """Return the name of an engine; another one is wrong usage, and one that knows nothing of a launcher under one."""
    if name is None:
        return None
    try:
        check_engine(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if launched() and name != "accelerate":
        raise typer.BadParameter(f"with {name!r} each launched process would do all of the work; leave it out")
    return name


def _known_share(text: str | None) -> str | None:
    """Return a share of an array job; what names none is wrong usage."""
    try:
        if text is not None:
            Share.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if text is not None and launched():
        raise typer.BadParameter("each launched process has its share already; leave it out")
    return text


def _known_language(code: str | None) -> str | None:
    """Return the code of a language; what is none is wrong usage."""
    try:
        return None if code is None else check_language(code)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


Sources = Annotated[
    list[Path],
    typer.Argument(
        help="Files, folders and zip archives of subtitles, here or in a store: `s3://BUCKET/FOLDER`.",
        show_default=False,
    ),
]
Answers = Annotated[Path, typer.Argument(help=_ANSWERS, show_default=False)]
AnswerColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Column of a Mechanical Turk file: `answer=Answer.emotion{n}`; also `typed`, `task`, `dialogue`.",
    ),
]
HitBatchFolder = Annotated[Path, typer.Argument(help="Folder that `edos crowd hits` wrote.", show_default=False)]
HitBatch = Annotated[
    Path | None,
    typer.Option(
        "--batch", help="Folder of the batch that was answered.", show_default="the one that the answers lie in"
    ),
]
QualityRecipe = Annotated[
    Path | None,
    typer.Option(
        "--rules", help="YAML of rules of quality, such as `quiz_right: 4`.", show_default="those of the batch"
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        callback=_known_language,
        help="Language of the subtitles, a code such as `en` or `pt_br`; files in another one are left out.",
        show_default="that of the recipe: en",
    ),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes.", show_default="one a core")]
Device = Annotated[str | None, typer.Option(help="`cpu`, `cuda`, `cuda:1`, ...", show_default="cuda if there is one")]
DeviceWorkers = Annotated[int | None, typer.Option(min=1, help="Processes.", show_default="one a core, or two a GPU")]
Column = Annotated[
    str | None,
    typer.Option(help="Column or key of the texts, or of the dialogues.", show_default="turns, messages, text, ..."),
]
Form = Annotated[
    str | None,
    typer.Option("--format", help=f"What the file is: {', '.join(FORMS)}.", show_default="by name and content"),
]
Config = Annotated[str | None, typer.Option(help="Config of the data set.", show_default="the default one")]
Split = Annotated[str | None, typer.Option(help="Split of the data set.", show_default="all")]
Revision = Annotated[str | None, typer.Option(help="Revision of the Hub's data set.", show_default="main")]
Engine = Annotated[
    str | None,
    typer.Option(
        callback=_known_engine,
        help="Where the work is done: `local` processes, `accelerate` (those that `accelerate launch` started), "
        "`datasets` (`Dataset.map`), or `ray` (actors of Ray). The same bytes come out.",
        show_default="local, or accelerate where it launched this",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Ray cluster that `--engine ray` works on: `head:6379`, or `auto` for the one on this machine.",
        show_default="RAY_ADDRESS, or a Ray of the run's own",
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        callback=_known_share,
        help="Make the I-th of N shares, `I/N`, in an array job of Slurm; `edos merge OUT` ends the run.",
        show_default="all",
    ),
]
MaxBad = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="Share of unreadable files above which the exit code is 3. A folder or zip that cannot be opened holds "
        "nobody knows how many and counts as all: only 1 lets it pass.",
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run the code that came with a model, where it names some: read it before. Models trained with this "
        "package need none.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse_size(text: str) -> int:
    """Return a size such as "2GB", "500 MB" or "1073741824" in bytes; units are powers of 1,024.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"{text!r} is no size: give a number of bytes, or 500MB, 2GB")
    return int(float(match[1]) * (1 << _UNITS[match[2].upper()]))
