"""`edos crowd serve`, `edos crowd invite` and `edos crowd answers`."""

import json
import secrets
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from edos_dataset.cli.console import say
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import Force

Folder = Annotated[Path, typer.Argument(help="Folder that `edos crowd hits` wrote.", show_default=False)]
PASSWORD = "EDOS_CROWD_PASSWORD"


@explained(stopped="All answers are safe; the same command goes on where it was.")
def serve(
    batch: Folder,
    host: Annotated[str, typer.Option(help="Address to listen at; `0.0.0.0` for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 8000,
    answers: Annotated[
        int | None, typer.Option(min=1, help="Different people a HIT.", show_default="that of the batch")
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open", help="Let anybody join under a name of their own, without an invitation.")
    ] = False,
    mturk: Annotated[
        bool,
        typer.Option(
            "--mturk", help="Take workers of Mechanical Turk, by external questions at /mturk?hit=HIT; needs HTTPS."
        ),
    ] = False,
    consent: Annotated[
        Path | None, typer.Option(help="Text that workers agree to, paragraphs.", show_default="ours")
    ] = None,
    password: Annotated[
        str | None,
        typer.Option(envvar=PASSWORD, help="Of the live page, /admin.", show_default="a new one, which is printed"),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=1, help="Minutes after which the HIT of somebody who is gone goes to another.")
    ] = 60.0,
    most_hits: Annotated[int, typer.Option(min=1, help="HITs a worker gets.")] = 50,
) -> None:
    """Serve the pages of a batch: workers label or judge, `/admin` shows how it goes.

    Answers are on the disk, in the batch's `answers.sqlite`, before a worker's page goes on: a killed server loses
    none, and the same command goes on where it was.
    """
    from dataclasses import replace

    from edos_dataset.crowd.assignments import Work
    from edos_dataset.crowd.batches import ANSWERS, read_batch
    from edos_dataset.crowd.store import Store
    from edos_dataset.web.crowd.serving import check_installed
    from edos_dataset.web.crowd.serving import serve as serve_pages
    from edos_dataset.web.crowd.workers import Doors

    check_installed()
    asked = read_batch(batch)
    asked = replace(asked, workers=answers or asked.workers)
    given = password or secrets.token_urlsafe(9)
    text = None if consent is None else consent.read_text(encoding="utf-8")
    doors = Doors(given, open_to_all, mturk, text)
    work = Work(Store(batch / ANSWERS), asked, 60 * patience, most_hits)

    told = None if password else given
    serve_pages(work, doors, host, port, lambda address: _tell(address, batch, open_to_all, told))


def _tell(address: str, batch: Path, open_to_all: bool, password: str | None) -> None:
    """Print where the pages are; the password of the live page only where it was made up."""
    entrance = (
        "open to all" if open_to_all else f"invite workers: edos crowd invite {escape(str(batch))} --url {address}"
    )
    lines = [f"{address}  {entrance}", f"{address}/admin  the live page"]
    say(lines if password is None else [*lines, f"password of the live page: {password}"])


@explained()
def invite(
    batch: Folder,
    names: Annotated[list[str] | None, typer.Argument(help="Names of workers.", show_default=False)] = None,
    number: Annotated[int, typer.Option(min=0, help="Workers to invite beside, under names made up.")] = 0,
    url: Annotated[str, typer.Option(help="Address of the pages, as workers reach it.")] = "http://127.0.0.1:8000",
) -> None:
    """Print a link for each worker: whoever opens it answers under that name. It is shown this once."""
    from edos_dataset.crowd.batches import ANSWERS, read_batch
    from edos_dataset.crowd.store import Store
    from edos_dataset.crowd.workers import invite as invite_workers

    if not names and not number:
        raise typer.BadParameter("give names, or --number")
    read_batch(batch)
    wanted = [*(names or []), *(f"worker-{secrets.token_hex(4)}" for _ in range(number))]
    tokens = invite_workers(Store(batch / ANSWERS), wanted)
    for name, token in tokens.items():
        typer.echo(f"{name}\t{url.rstrip('/')}/w/{token}")


@explained()
def answers(
    batch: Folder,
    out: Annotated[Path, typer.Option(help="File to write: `.jsonl`, or `.csv` of labels.", show_default=False)],
    log: Annotated[
        bool, typer.Option("--log", help="Lines of all that was answered, of quiz questions too, and handed in.")
    ] = False,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Answers of HITs that nobody handed in, too.")
    ] = False,
    force: Force = False,
) -> None:
    """Write what people answered: labels for `edos crowd agreement` and `seed`, judgements as lines.

    Workers go by codes, which are digests with a salt of the batch alone.
    """
    from edos_dataset.crowd.batches import ANSWERS, read_batch
    from edos_dataset.crowd.collected import answer_lines, as_csv, label_rows
    from edos_dataset.crowd.store import Store
    from edos_dataset.runs.out_file import check_out_file
    from edos_dataset.runs.shards import write_text

    asked = read_batch(batch)
    if not (batch / ANSWERS).exists():
        raise ValueError(f"{batch} holds no answers: `edos crowd serve {batch}` collects them")
    plain = log or asked.kind == "judging"
    if out.suffix not in ((".jsonl",) if plain else (".jsonl", ".csv")):
        raise ValueError(f"{out}: give a file .jsonl{'' if plain else ', or .csv'} as --out")
    target, store = check_out_file(out, force=force), Store(batch / ANSWERS)
    rows = list((answer_lines if plain else label_rows)(store, asked, unfinished))
    if out.suffix == ".csv":
        write_text(target, as_csv(rows))
    else:
        write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    workers = len({row["worker"] for row in rows})
    say([f"{sum('finished' not in row for row in rows):,} answers of {workers:,} workers"])
