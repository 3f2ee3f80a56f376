"""What the verbs share: options and results of runs, and messages that name options or parameters as the caller did."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from edos_dataset.commands.progress import bars

if TYPE_CHECKING:
    from edos_dataset.runs.array_jobs import ArrayTask
    from edos_dataset.runs.engines.base import Engine
    from edos_dataset.runs.pipeline import Steps
    from edos_dataset.runs.run import Progress

P = ParamSpec("P")
R = TypeVar("R")

COMMAND_LINE: ContextVar[Sequence[str] | None] = ContextVar("COMMAND_LINE", default=None)
"""The arguments of the command line while `edos` runs a verb; None if Python code calls it."""

_ADDRESS = "--base-url"

OTHER_NAMES = {
    "set": "settings",
    "rejects": "keep_rejects",
    "max-bad": None,
    "json": None,
    "format": "form",
    "map": "label_map",
}
"""Command-line options whose parameter has another name: option → parameter; None if there is no parameter."""


class UsageError(ValueError):
    """Settings contradict each other, or one is missing; the command line then exits with code 2."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out, independently of its pipeline.

    Attributes:
        workers: number of processes. The output is byte-identical for any number and engine.
        engine: engine of the processes: "local", "accelerate", "datasets" or "ray" (`runs.engines`).
        limit: maximum number of documents, the first in order of key.
        keep_rejects: keep everything rejected, with the reason, beside the shards.
        force: replace a finished run of another recipe or of input that was removed or changed, and files that were
            edited since; not needed if input was only added.
        progress: called after each shard.
        shard: the array task that this run is; None for an ordinary run.
        arguments: command line of an array task without the task's number, for messages about other tasks.
    """

    workers: int = 1
    engine: str = "local"
    limit: int | None = None
    keep_rejects: bool = False
    force: bool = False
    progress: "Progress" = lambda *_: None
    shard: "ArrayTask | None" = None
    arguments: Sequence[str] = ()

    def start_engine(self, device: str = "cpu") -> "Engine":
        """Return the engine for a torch device; it starts when its context is entered."""
        from edos_dataset.runs.array_jobs import ArrayEngine
        from edos_dataset.runs.engines import engine_of

        engine = engine_of(self.engine, self.workers, device)
        return ArrayEngine(engine, self.shard) if self.shard else engine


@contextmanager
def run_options(
    workers: int | None = 1,
    engine: str | None = None,
    *,
    address: str | None = None,
    device: str = "cpu",
    progress: "bool | Progress | None" = None,
    shard: str | None = None,
    arguments: Sequence[str] = (),
    **others: Any,  # noqa: ANN401 - fields of RunOptions
) -> Iterator[RunOptions]:
    """Yield the options of a run, and show its progress until the context ends.

    Args:
        workers: number of processes; None means one per core, or two per GPU.
        engine: name of the engine; None means "local", or "accelerate" in a launched process.
        address: address of the Ray cluster, for the engine "ray".
        device: torch device of the stages.
        progress: as in `progress.bars`.
        shard: "I/N" for task I of an array job of N tasks, or "0/N" to merge them.
        arguments: command line of the array task, if Python code calls the verb.
        others: further fields of RunOptions.

    Raises:
        ValueError: the engine, the number of workers or the task is invalid.
    """
    from edos_dataset.runs.engines import check_engine, take_engine

    name, processes = take_engine(engine and check_engine(engine), workers, device, address)
    words = COMMAND_LINE.get()
    with bars(progress) as report:
        yield RunOptions(
            processes,
            name,
            progress=report,
            shard=_array_task(shard),
            arguments=_without_secrets(arguments if words is None else words),
            **others,
        )


def _without_secrets(words: Sequence[str]) -> list[str]:
    """Return a command line that may be kept on disk: the address of an endpoint has no credentials."""
    if not any(word.partition("=")[0] == _ADDRESS for word in words):
        return list(words)
    from edos_dataset.labeling.models.endpoint.settings import public_address

    kept: list[str] = []
    for word in words:
        option, equals, value = word.partition("=")
        if equals and option == _ADDRESS:
            word = f"{option}={public_address(value)}"
        elif kept and kept[-1] == _ADDRESS:
            word = public_address(word)
        kept.append(word)
    return kept


def _array_task(shard: str | None) -> "ArrayTask | None":
    from edos_dataset.runs.array_jobs import ArrayTask

    if shard is None:
        return None
    return ArrayTask(0, ArrayTask.parse(f"1/{shard[2:]}").total) if shard.startswith("0/") else ArrayTask.parse(shard)


def command_words(command: str, values: Mapping[str, Any]) -> list[str]:
    """Return the command line that is equivalent to a call, for an array job: the paths, then the options.

    Args:
        command: name of the verb.
        values: option → value; an option is repeated for each element of a list, and left out for None and False.
    """
    words = [command]
    for name, value in values.items():
        option = "" if name == "sources" else f"--{name}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                words.append(option)
            elif each is not None and each is not False:
                words += [option, str(each)] if option else [str(each)]
    return words


_LONGEST_SIZE = 18  # digits
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse_size(text: str) -> int:
    """Return the bytes of a size such as "2GB", "500 MB" or "1073741824"; units are powers of 1,024.

    Raises:
        ValueError: the text is not a size.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None or len(match[1]) > _LONGEST_SIZE:
        from edos_dataset.runs.untrusted import shown

        raise ValueError(f"{shown(text)} is not a size: give a number of bytes, or 500MB, 2GB")
    return int(float(match[1]) * (1 << _UNITS[match[2].upper()]))


def device_of(pipeline: "Steps") -> str:
    """Return the torch device of a pipeline: that of its first stage that does not run on the CPU, else "cpu"."""
    devices = [getattr(item, "device", "cpu") for item in pipeline]
    return next((device for device in devices if device != "cpu"), "cpu")


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapping[str, Any]):
    """The result of a verb: a mapping with the keys of `--json`, shown as a table in notebooks.

    In all launched processes (`accelerate launch`) but the first it is empty. All verbs raise the same errors:
    `ValueError` for a source, setting, model or device that cannot be used (if possible before anything is read),
    `FolderError` for a folder that holds something else or that another run is using, `OSError` for a file that could
    not be written, `WorkerDied` for a killed worker or a script without `if __name__ == "__main__":`, and `Unfinished`
    when merging an array job whose tasks are incomplete. After the last three the same call resumes.

    Attributes:
        verb: name of the verb.
        counts: the mapping itself; for a dataset its manifest.
        folder: the folder or file that was written, if any.
        summary: the values to display: name → value.
        then: the suggested next step, as code or a command.
    """

    verb: str
    counts: Mapping[str, Any]
    folder: Path | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    then: str = ""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The content of the dataset's `manifest.json`."""
        return self.counts

    def load(self, config: str | None = None, split: str | None = None, **options: Any) -> Any:  # noqa: ANN401
        """Load the dataset that was written, as `edos_dataset.load` does: by default all splits of its first
        config, and of books those of all languages.

        Raises:
            ValueError: no dataset was written.
        """
        from edos_dataset.releases.load import load

        if self.folder is None:
            raise ValueError(f"{self.verb} wrote no dataset: there is nothing to load")
        return load(str(self.folder), config, split, **options)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return self.counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        shown = [f"{name}: {_figure(value)}" for name, value in self.summary.items()]
        where = f" → {self.folder}" if self.folder is not None else ""
        return f"<{self.verb}{where}; {', '.join(shown)}>" if shown else f"<{self.verb}{where}>"

    def _repr_html_(self) -> str:
        where = f" → <code>{escape(str(self.folder))}</code>" if self.folder is not None else ""
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(_figure(value))}</td></tr>"
            for name, value in self.summary.items()
        )
        then = f"<p>Next: <code>{escape(self.then)}</code></p>" if self.then else ""
        return f"<div><b>{escape(self.verb)}</b>{where}<table>{rows}</table>{then}</div>"


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def verb(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a verb, so that its error messages name parameters instead of options if Python code calls it."""
    names = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}

    @wraps(function)
    def called(*arguments: P.args, **keywords: P.kwargs) -> R:
        try:
            return function(*arguments, **keywords)
        except (ValueError, ImportError) as error:
            if COMMAND_LINE.get() is None and error.args and isinstance(error.args[0], str):
                error.args = (in_python(error.args[0], names), *error.args[1:])
            raise

    return called


def in_python(message: str, parameters: Mapping[str, Any]) -> str:
    """Return a message in which command-line options are replaced by the parameters of a Python function.

    Args:
        message: message such as "--top 5: --no-labels leaves the stage 'select' out".
        parameters: parameters of the function: name → default. Options without a parameter are kept.
    """

    def renamed(match: re.Match[str]) -> str:
        option, value = match[1], match[2]
        off = option.startswith("no-")
        name = OTHER_NAMES.get(option, option.removeprefix("no-").replace("-", "_"))
        if name is None or name not in parameters:
            return match[0]
        if off or isinstance(parameters[name], bool):
            return f"{name}={not off}" + (f" {value}" if value else "")
        if value is None:
            return name
        if option == "set":
            return f"settings=[{value!r}]"
        return f"{name}={value if re.fullmatch(r'[-+.0-9]+', value) or value.isupper() else repr(value)}"

    return re.sub(
        r"(?<![\w-])--([a-z][a-z-]*)(?:[ =]((?:[-+.\d]+(?![\w]))|[A-Z][A-Z/]+\b|[^\s:`]{1,200}(?=[:`])))?",
        renamed,
        message,
    )
