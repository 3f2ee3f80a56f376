"""`edos extend`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from edos_dataset.cli.console import call, emit, explained, load_call, nothing
from edos_dataset.cli.options import Address, AsJson, Column, Device, DeviceWorkers, Engine, Force, IdColumn, SkipBad
from edos_dataset.wording import counted, unit_of

if TYPE_CHECKING:
    from edos_dataset.cli.data_table import Table


@explained()
def extend(
    seed: Annotated[Path, typer.Argument(help="Folder written by `edos crowd seed`.", show_default=False)],
    pool: Annotated[
        list[Path],
        typer.Argument(
            help="Folders written by `edos curate`, or files of dialogues as `edos label` reads them.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Output folder; an earlier extension in it is updated.", show_default=False),
    ],
    recipe: Annotated[
        str | None,
        typer.Option(
            help="Recipe: `papers`, `minilm`, or a YAML file with a list of steps.",
            show_default="depends on the encoder",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a parameter of a step: `1.threshold=0.85`. May be repeated."),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help=(
                "Classifier trained for self-labelling: `linear`, `fasttext`, or a command that takes "
                "--labelled FOLDER --out MODEL."
            )
        ),
    ] = "linear",
    encoder: Annotated[
        str, typer.Option(help="SentenceTransformer that measures similarity: a name, folder or Hub id.")
    ] = "all-MiniLM-L6-v2",
    device: Device = None,
    history: Annotated[int, typer.Option(min=0, help="Maximum number of preceding turns to embed with a turn.")] = 4,
    every_turn: Annotated[
        bool,
        typer.Option(
            "--every-turn/--last-turns", help="Label every turn of the pool, or only the last turn of each dialogue."
        ),
    ] = True,
    config: Annotated[
        str | None, typer.Option(help="Config to read from the pool's folders.", show_default="the first of each")
    ] = None,
    column: Column = None,
    id_column: IdColumn = None,
    skip_bad: SkipBad = False,
    memory: Annotated[str, typer.Option(help="Memory limit of a similarity search, such as 500MB or 2GB.")] = "2GB",
    workers: DeviceWorkers = None,
    engine: Engine = None,
    address: Address = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Extend a small labelled seed: propagate its labels to similar dialogues, add labels of which a classifier is
    confident, and propagate those too.

    Only the train split grows; no dialogue that is similar to a validation or test dialogue gets a label. Load the
    folder with `load_dataset(OUT, "extended")`; `audit.html` shows random and doubtful examples of every label and
    step. All workers, or the processes of `accelerate launch -m edos_dataset extend`, embed the pool; one process does
    the rest. Exit codes: 0 done; 1 failed, with a message; 2 wrong usage; 5 done, but no turn got a label; 130 stopped.
    """
    from edos_dataset.commands.extend import extend as run

    done = call(run, locals())
    if done:  # only in the first of several launched processes
        emit(dict(done), as_json, extension_report(out, done))
        if not any(step["labelled"] for step in done["steps"]):
            raise nothing(f"no turn of the pool got a label; {_remedy(done['steps'][0])}")


_LIMITS = {"not_similar": "threshold", "not_confident": "confidence"}
"""Reason → the parameter of a step that decides it."""


def _remedy(step: Mapping[str, Any]) -> str:
    """Return why a step gave no label, by its commonest reason, and what to do."""
    reason, count = max(step["rejected"].items(), key=lambda entry: entry[1])
    why = f"step {step['step']} rejected {counted(count, 'candidates')} as {reason}"
    if reason not in _LIMITS:
        return f"{why}: give a pool of other dialogues"
    limit = _LIMITS[reason]
    now = step["parameters"][limit]
    return f"{why}: give a larger pool, or a lower limit as --set {step['step']}.{limit}={now - 0.1:.2g} (now {now:g})"


def extension_report(out: Path, counts: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the steps of an extension, how to load it, and where to read examples."""
    yield extension_table(counts)
    yield load_call(out.as_posix(), "extended")
    yield f"read some examples: {out / 'audit.html'}"


def extension_table(counts: Mapping[str, Any]) -> "Table":
    """Return the table of steps: number of new labels, that of the papers, rejects by reason, and a check."""
    from edos_dataset.cli.data_table import Table

    sizes = ", ".join(f"{split} {rows:,}" for split, rows in counts["seed"].items())
    table = Table(
        title=f"seed: {sizes}; pool: {counted(counts['pool']['candidates'], 'turns')}; "
        f"train split now {counts['rows']:,}",
        title_justify="left",
    )
    for name in ("step", "method"):
        table.add_column(name)
    for name in ("read", "new labels", "papers"):
        table.add_column(name, justify="right")
    table.add_column("rejected")
    table.add_column("check")
    for step in counts["steps"]:
        rejected = ", ".join(
            f"{reason} {count:,}" for reason, count in sorted(step["rejected"].items(), key=lambda item: -item[1])
        )
        if "among_seeds" in step:
            near, same = step["among_seeds"]["near"], step["among_seeds"]["same"]
            check = (
                f"{same:,} of {counted(near, 'near dialogues')} of the seed {unit_of(same, 'have')} the same label "
                f"({same / near:.0%})"
                if near
                else "no dialogue of the seed is near another"
            )
        else:
            check = f"cross-entropy on validation {step['validation_cross_entropy'][-1]:.3f}"
        number = str(step["step"]) + (f", round {step['round']}" if step["round"] > 1 else "")
        papers = f"{step['papers']:,}" if step.get("papers") else ""
        table.add_row(number, step["method"], f"{step['read']:,}", f"{step['labelled']:,}", papers, rejected, check)
    return table
