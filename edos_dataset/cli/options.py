"""Arguments and options that several commands share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from edos_dataset.commands.options import UsageError
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.languages import check_language
from edos_dataset.releases.formats.forms import FORMS, WRITTEN
from edos_dataset.runs.engines import check_engine, launched
from edos_dataset.wording import counted

OF_RECIPE = "as in the recipe"
MODELS = f"{', '.join(f'`{name}`' for name in SHIPPED)}, a folder, a Hub id, or `openai:MODEL` at an endpoint"
_ANSWERS = (
    "The EDOS authors' CSV, a results CSV from Amazon Mechanical Turk, or CSV or JSON lines with `task`, "
    "`worker` and `label`."
)


def _known_engine(name: str | None) -> str | None:
    """Return the name of an engine after checking it.

    Raises:
        BadParameter: the engine is unknown, or cannot be used in a process that was started by `accelerate launch`.
    """
    if name is None:
        return None
    try:
        check_engine(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if launched() and name != "accelerate":
        raise typer.BadParameter(f"with {name!r} every launched process would do all of the work; leave it out")
    return name


def _known_task(text: str | None) -> str | None:
    from edos_dataset.runs.array_jobs import ArrayTask

    try:
        if text is not None:
            ArrayTask.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if text is not None and launched():
        raise typer.BadParameter("the launched processes already divide the work among them; leave it out")
    return text


def known_language(code: str | None) -> str | None:
    """Return a language code as it is stored, or report that there is none such."""
    try:
        return None if code is None else check_language(code)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Files of subtitles, captions or transcripts (OPUS XML, SRT, VTT, ASS, TTML, SAMI, SBV, SUB, LRC, "
        "YouTube, Whisper), folders or zip archives, local or in a store: `s3://BUCKET/FOLDER`; or a pattern in "
        "quotes: `'films/**/*.srt'`.",
        show_default=False,
    ),
]
FilesFrom = Annotated[
    Path | None,
    typer.Option(
        "--files-from",
        help="File with the path of a file to read on each line, or with NUL between them; `-` for standard input.",
        show_default="none",
    ),
]
Answers = Annotated[Path, typer.Argument(help=_ANSWERS, show_default=False)]
AnswerColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Column of a Mechanical Turk file, such as `answer=Answer.emotion{n}`; also for `typed`, `task`, "
        "`dialogue`. May be repeated.",
    ),
]
AnswerLabels = Annotated[
    str | None,
    typer.Option(
        "--label-set",
        help="Label set that the workers chose from: a name (`edos labels list`) or a YAML file.",
        show_default="that of the batch, or edos41",
    ),
]
HitBatchFolder = Annotated[Path, typer.Argument(help="Folder written by `edos crowd hits`.", show_default=False)]
HitBatch = Annotated[
    Path | None,
    typer.Option("--batch", help="Folder of the batch that was answered.", show_default="the folder of the answers"),
]
QualityRecipe = Annotated[
    Path | None,
    typer.Option(
        "--rules", help="YAML file of quality rules, such as `quiz_right: 4`.", show_default="those of the batch"
    ),
]
Pseudonymize = Annotated[
    bool,
    typer.Option(
        "--pseudonymize",
        help="Replace the names of speakers by `speaker 1`, `speaker 2`, ..., also in texts that mention them.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        callback=known_language,
        help="Language code of the subtitles, such as `en` or `pt_br`; files in other languages are skipped.",
        show_default="as in the recipe: en",
    ),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Number of processes.", show_default="one per core")]
Device = Annotated[
    str | None, typer.Option(help="Torch device: `cpu`, `cuda`, `cuda:1`, ...", show_default="cuda if available")
]
DeviceWorkers = Annotated[
    int | None, typer.Option(min=1, help="Number of processes.", show_default="one per core, or two per GPU")
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        "--text-column",
        help="Column or key of the texts or dialogues.",
        show_default="turns, messages, text, ...",
    ),
]
_BY_NAME = "found by name"
IdColumn = Annotated[str | None, typer.Option(help="Column of the dialogue ids.", show_default=_BY_NAME)]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the labels.", show_default="label")]
SpeakerColumn = Annotated[
    str | None,
    typer.Option(help="Column of the speakers; written as `speaker` in JSON lines.", show_default=_BY_NAME),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(help="Column of the times by which the turns of a dialogue are ordered.", show_default=_BY_NAME),
]
OneDialogue = Annotated[bool, typer.Option("--one-dialogue", help="Treat all rows as turns of one dialogue.")]
KeepSystem = Annotated[bool, typer.Option("--keep-system", help="Treat system prompts of chats as turns.")]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad",
        help="Leave out and count malformed records, and those without a text or id, instead of stopping with an "
        "error.",
    ),
]
OutFormat = Annotated[
    str | None,
    typer.Option(
        "--out-format",
        help=f"Format of the output: {', '.join(WRITTEN)}.",
        show_default="by the suffix of --out, else jsonl",
    ),
]
OutEncoding = Annotated[
    str | None,
    typer.Option(
        "--out-encoding",
        help="Encoding of CSV: `utf-8`, or `utf-8-sig`, by which Excel shows umlauts.",
        show_default="utf-8; for a workbook or another encoding utf-8-sig",
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--format", help=f"Format of the input: {', '.join(FORMS)}.", show_default="detected from name and content"
    ),
]
Config = Annotated[str | None, typer.Option(help="Config of the dataset.", show_default="its default config")]
Split = Annotated[str | None, typer.Option(help="Split of the dataset.", show_default="all")]
Revision = Annotated[
    str | None, typer.Option(help="Tag, branch or commit of the dataset on the Hub.", show_default="main")
]
Engine = Annotated[
    str | None,
    typer.Option(
        callback=_known_engine,
        help="Engine that does the work: `local` processes, `accelerate` (processes started by `accelerate launch`), "
        "`datasets` (`Dataset.map`) or `ray` (Ray actors). The output is byte-identical with all of them.",
        show_default="local, or accelerate under accelerate launch",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of the Ray cluster for `--engine ray`: `head:6379`, or `auto` for the cluster on this machine.",
        show_default="RAY_ADDRESS, or a new local cluster",
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        callback=_known_task,
        help="Run only task I of the N tasks of an array job, given as `I/N`; `edos merge OUT` completes the run.",
        show_default="the whole run",
    ),
]
MaxBad = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="Maximum fraction of unreadable files, 0 to 1; above it, the exit code is 3. A folder or zip archive that "
        "cannot be opened counts as all files, so only 1 accepts it.",
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run custom code that comes with a model; read it first. Models trained with this package need no code.",
    ),
]
LabelSetOption = Annotated[
    str | None,
    typer.Option(
        "--label-set",
        help="Label set to write: a name (`edos labels list`) or a YAML file.",
        show_default="that of the model",
    ),
]
LabelMapOption = Annotated[
    str | None,
    typer.Option(
        "--map",
        help="Translate the labels: into the label set of this name, or by a YAML file of `label: target` lines. The "
        "probabilities of labels with the same target are summed.",
        show_default="none",
    ),
]
Priors = Annotated[
    str | None,
    typer.Option(
        help="How often each label is expected, by which the answers are weighed: `films`, `crowd`, `none` for every "
        "label alike, or a file of shares (JSON, YAML, or CSV with the columns `label` and `share`).",
        show_default="the model as it is",
    ),
]
History = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1_000,
        help="Earlier turns that a turn is seen with, for models at an endpoint and text classifiers of others.",
        show_default="10 at an endpoint, 0 otherwise",
    ),
]
MultiLabel = Annotated[
    bool, typer.Option("--multi-label", help="Let a model at an endpoint give a turn several labels.")
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        help="Address of the endpoint of a model `openai:MODEL`: vLLM, llama.cpp, Ollama, or a hosted one, such as "
        "`http://localhost:8000/v1`.",
        show_default="OPENAI_BASE_URL",
    ),
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        "--api-key-env",
        metavar="NAME",
        help="Variable of the environment with the endpoint's key.",
        show_default="OPENAI_API_KEY",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1, max=1_000, help="Requests to the endpoint at a time, of all workers together.", show_default="8"
    ),
]
Timeout = Annotated[
    float | None, typer.Option(help="Seconds after which a request counts as lost.", show_default="120")
]
PriceIn = Annotated[
    float | None, typer.Option(min=0, help="Price of a million tokens of prompts.", show_default="not known")
]
PriceOut = Annotated[
    float | None, typer.Option(min=0, help="Price of a million tokens of answers.", show_default="not known")
]
SplitShares = Annotated[
    str | None,
    typer.Option(
        "--splits",
        help="Shares of the train, validation and test splits; where there are few, one goes to each split at least.",
        show_default="80/10/10; of books 90/5/5",
    ),
]
SplitSeed = Annotated[int, typer.Option(min=0, help="Random seed of the splits.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the existing output.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def reused(done: Mapping[str, Any]) -> str:
    """Return a phrase that states how many shards were reused; "" if none were."""
    return f", {done['reused']:,} of {counted(done['shards'], 'shards')} reused" if done["reused"] else ""


def check_out(out: Path | None, dry_run: bool) -> None:
    """Raise UsageError for a command that writes, but is not given where."""
    if out is None and not dry_run:
        raise UsageError("give --out, where the result goes; only --dry-run needs none")


def remarks_of(done: Mapping[str, Any]) -> list[str]:
    """Return the remarks on a source without those already shown as warnings."""
    return [remark for remark in done.get("remarks", []) if remark not in done.get("warnings", [])]
