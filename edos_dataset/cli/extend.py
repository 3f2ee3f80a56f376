"""`edos extend`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edos_dataset.cli.console import emit, load_call, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import Address, AsJson, Device, DeviceWorkers, Engine, Force, parse_size

if TYPE_CHECKING:
    from rich.table import Table


@explained()
def extend(
    seed: Annotated[Path, typer.Argument(help="A folder that `edos crowd seed` wrote.", show_default=False)],
    pool: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of `edos curate`, and files of JSON lines `{dialogue_id, turns}`.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder to write; one of an earlier extension is brought up to date.", show_default=False),
    ],
    recipe: Annotated[
        str | None,
        typer.Option(
            help="`papers`, `minilm`, or YAML with a list of steps.", show_default="what goes with the encoder"
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a parameter of a step: `1.threshold=0.85`. May be repeated."),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help=(
                "What self-labelling trains: `linear`, `fasttext`, or a command that takes --labelled FOLDER --out "
                "MODEL."
            )
        ),
    ] = "linear",
    encoder: Annotated[
        str, typer.Option(help="SentenceTransformer by which dialogues are near: a name, folder or Hub id.")
    ] = "all-MiniLM-L6-v2",
    device: Device = None,
    history: Annotated[int, typer.Option(min=0, help="Earlier turns that go with a turn, at most.")] = 4,
    every_turn: Annotated[
        bool,
        typer.Option(
            "--every-turn/--last-turns", help="Label every turn of the pool, or the last one of each dialogue."
        ),
    ] = True,
    config: Annotated[
        str | None, typer.Option(help="Config of the pool's folders.", show_default="the default one")
    ] = None,
    memory: Annotated[str, typer.Option(help="Memory of a search: 500MB, 2GB.")] = "2GB",
    workers: DeviceWorkers = None,
    engine: Engine = None,
    address: Address = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make many labels of few: spread those of a seed to near dialogues, let a classifier label what it is sure of,
    spread these.

    Only the training part grows; nothing near a dialogue of the validation or test part gets a label. The folder loads
    by `load_dataset(OUT, "extended")`; `audit.html` shows random and doubtful examples of every label of every step.
    The pool is embedded by all workers, or by those of `accelerate launch -m edos_dataset extend`; the rest by one.
    """
    from edos_dataset.augmentation.steps import override_steps, steps_of
    from edos_dataset.commands.extend import extend as extending
    from edos_dataset.encoders.encoder import Encoder
    from edos_dataset.labeling.models.labelers import default_device
    from edos_dataset.runs.engines.by_name import take_engine

    steps = override_steps(steps_of(recipe, encoder), settings or [])
    memory_bytes = parse_size(memory)
    chosen = Encoder(encoder, device or default_device())
    engine, processes = take_engine(engine, workers, chosen.device, address)
    with status() as tell:
        counts = extending(
            seed,
            pool,
            out,
            steps,
            encoder=chosen,
            learner=learner,
            history=history,
            every_turn=every_turn,
            config=config,
            memory=memory_bytes,
            force=force,
            workers=processes,
            engine=engine,
            say=tell,
        )
    if counts is None:  # another process tells
        return
    emit(counts, as_json, extension_report(out, counts))


def extension_report(out: Path, counts: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield what an extension did, how to load it, and where to read some of it."""
    yield extension_table(counts)
    yield load_call(out.as_posix(), "extended")
    yield escape(f"read some with your own eyes: {out / 'audit.html'}")


def extension_table(counts: Mapping[str, Any]) -> "Table":
    """Return the table of the steps of `edos extend`: what each labelled, beside the papers, why others got none, and
    what was measured on the way.
    """
    from rich.table import Table

    sizes = ", ".join(f"{split} {rows:,}" for split, rows in counts["seed"].items())
    table = Table(
        title=f"seed: {sizes}; pool: {counts['pool']['candidates']:,} turns; training part now {counts['rows']:,}",
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
                f"{same:,} of {near:,} near dialogues of the seed have the same label ({same / near:.0%})"
                if near
                else "no dialogue of the seed is near another"
            )
        else:
            check = f"cross-entropy on validation {step['validation_cross_entropy'][-1]:.3f}"
        number = str(step["step"]) + (f", round {step['round']}" if step["round"] > 1 else "")
        papers = f"{step['papers']:,}" if step.get("papers") else ""
        table.add_row(number, step["method"], f"{step['read']:,}", f"{step['labelled']:,}", papers, rejected, check)
    return table
