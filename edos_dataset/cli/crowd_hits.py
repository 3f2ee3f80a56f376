"""`edos crowd hits`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import say
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import Force


@explained()
def hits(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Labelling: the file of `edos crowd select`. Judging: JSON lines of `dialogue_id`, `turns`, `answers` "
            "(`model` and `text`) and `truth`; or several files of `edos respond --out` as MODEL=FILE; or the folder "
            "of --records of `evaluation/generation.py`.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the batch, to be made.", show_default=False)],
    kind: Annotated[
        str | None, typer.Option(help="`labelling` or `judging`.", show_default="by what the source holds")
    ] = None,
    quiz: Annotated[
        Path | None,
        typer.Option(help="Questions with known answers: JSON lines of `turns`, `label`.", show_default="46 of ours"),
    ] = None,
    rows: Annotated[
        list[str] | None, typer.Option("--row", help="Model of the records to judge; may be repeated.")
    ] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Dialogues a HIT.", show_default="15, or 10 to judge")] = None,
    checks: Annotated[
        int | None, typer.Option(min=0, help="Quiz questions, or bonus tasks, a HIT.", show_default="5, or 3")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Different people a HIT.", show_default="3, or 4 to judge")
    ] = None,
    reward: Annotated[float, typer.Option(min=0, help="US dollars a HIT.")] = 0.4,
    bonus: Annotated[float, typer.Option(min=0, help="US dollars for a HIT well done.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
    force: Force = False,
) -> None:
    """Bundle dialogues into HITs, for `edos crowd serve`: to label (EDOS, Section 3.2), or models' answers to judge
    (Xie & Pu, Section 5.4).
    """
    from edos_dataset.commands.crowd_hits import make_batch
    from edos_dataset.crowd.batches import write_batch

    sizes: dict[str, Any] = {"size": size, "checks": checks, "workers": workers, "reward": reward, "bonus": bonus}
    batch = make_batch(sources, kind, quiz, rows or [], seed, **sizes)
    write_batch(out, batch, force)
    items, number = sum(len(hit.items) for hit in batch.hits), len(batch.hits)
    hit = f"{number:,} HIT{'s' * (number != 1)}"
    least, most = batch.cost
    say(
        [
            f"{batch.kind}: {hit} with {items:,} questions, {batch.workers} people each",
            f"{least:,.2f} to {most:,.2f} US dollars, a platform's fee not counted",
            f"edos crowd serve {escape(str(out))}",
        ]
    )
