"""`edos label`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from edos_dataset.cli.console import progress_bars, say
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import (
    MODELS,
    Address,
    Column,
    Config,
    Device,
    DeviceWorkers,
    Engine,
    Force,
    Form,
    Revision,
    Split,
    TrustRemoteCode,
)
from edos_dataset.cli.output import shards_from_before, target_file


@explained()
def label(
    source: Annotated[
        str,
        typer.Argument(
            help="JSON lines, JSON, CSV, TSV, Parquet or plain text, also gzipped; `-` for standard input; a folder of "
            "ours, one of `save_to_disk`, or a data set of the Hub, `namespace/name`.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="File of JSON lines to write, `-` for standard output; for a folder of `edos curate` a folder.",
            show_default=False,
        ),
    ],
    model: Annotated[str, typer.Option(help=f"What labels: {MODELS}.")] = "general",
    device: Device = None,
    workers: DeviceWorkers = None,
    engine: Engine = None,
    address: Address = None,
    top: Annotated[int, typer.Option(min=1, max=41, help="Most probable labels beside each turn.")] = 3,
    batch_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens in a batch.", show_default="1,024; on a GPU 32,768")
    ] = None,
    column: Column = None,
    form: Form = None,
    config: Config = None,
    split: Split = None,
    revision: Revision = None,
    force: Force = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Label every turn of dialogues, with its history.

    A record is a dialogue, `{"dialogue_id", "turns": [...]}` of texts, `{"speaker", "text"}` or chat messages, or a
    turn of one, `dialogue_id, text`. In plain text a line is a turn, and an empty line ends the dialogue. Out come
    lines `{"dialogue_id", "turns": [{"text", "label", "confidence", "top": [{"label", "probability"}]}]}` in the same
    order, with all that stood beside; a folder of `edos curate` becomes one with the same dialogues, newly labelled.
    Many GPUs or hosts: `accelerate launch -m edos_dataset label`, with the same arguments.
    """
    from edos_dataset.commands.label import label as label_dialogues
    from edos_dataset.commands.languages import foreign_lines
    from edos_dataset.labeling.models.labelers import default_device
    from edos_dataset.labeling.stages import AnnotateDialogues
    from edos_dataset.releases.dialogues import curated_config
    from edos_dataset.releases.given.sources import Selection
    from edos_dataset.runs.engines.by_name import check_printing, take_engine
    from edos_dataset.runs.stores.paths import place_of

    out = place_of(out)
    stage = AnnotateDialogues(model, device or default_device(), top, batch_tokens, trust_remote_code)
    (engine, processes), printed = take_engine(engine, workers, stage.device, address), str(out) == "-"
    if printed:
        check_printing(engine)
    if printed and curated_config(source, config) is not None:
        raise ValueError(f"{source} is a folder and becomes a folder: give one as --out, not standard output")
    with target_file(out) as target, progress_bars() as progress:
        done = label_dialogues(
            source,
            target,
            stage,
            meant=Selection(config, split, revision, column, form),
            force=force,
            workers=processes,
            engine=engine,
            progress=progress,
        )
    if done is None:  # another process tells
        return
    counts = f"{done['turns']:,} turns of {done['dialogues']:,} dialogues"
    told = f"{counts} labelled by {stage.labeler.source}{shards_from_before(done)}"
    say([escape(told), *map(escape, foreign_lines(done, stage))], stderr=printed)
