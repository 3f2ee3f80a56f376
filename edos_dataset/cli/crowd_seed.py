"""`edos crowd seed`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from edos_dataset.cli.console import load_call, say, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AnswerColumns, Answers, Force


@explained()
def seed(
    source: Answers,
    out: Annotated[
        Path, typer.Option(help="Folder to write; one of an earlier seed is brought up to date.", show_default=False)
    ],
    method: Annotated[str, typer.Option(help="`majority`, `dawid-skene` or `mace`.")] = "majority",
    ties: Annotated[
        str,
        typer.Option(help="Where no label wins: `abstain`, `first`, `random`, or `soft` (kept for its soft label)."),
    ] = "abstain",
    least_votes: Annotated[int, typer.Option(min=1, help="Answers that a majority needs.")] = 2,
    repeats: Annotated[
        str, typer.Option(help="`pool` the answers to equal texts, or leave each task its `own`.")
    ] = "pool",
    encoder: Annotated[
        str,
        typer.Option(help="SentenceTransformer that finds near texts: a name, folder or Hub id.", show_default=True),
    ] = "all-MiniLM-L6-v2",
    near: Annotated[float, typer.Option(help="Cosine, -1 to 1, from which last turns stay in one split.")] = 0.95,
    shares: Annotated[tuple[float, float, float], typer.Option(help="Shares of train, validation and test.")] = (
        0.6,
        0.2,
        0.2,
    ),
    columns: AnswerColumns = None,
    random_seed: Annotated[int, typer.Option("--seed", help="Seed of all that is drawn.")] = 0,
    force: Force = False,
) -> None:
    """Make the data set `amt_seed`: dialogues with the agreed label, all answers, soft labels, and a 60/20/20 split
    without leaks.
    """
    from edos_dataset.commands.seed import write_seed
    from edos_dataset.crowd.answers import MTurkColumns, read_answers
    from edos_dataset.crowd.seed import SeedRules

    given: dict[str, Any] = {"method": method, "ties": ties, "repeats": repeats}
    rules = SeedRules(least_votes=least_votes, model=encoder, near=near, shares=shares, seed=random_seed, **given)
    with status("reading the answers", lines=False) as tell:
        counts = write_seed(read_answers(source, MTurkColumns().override(columns or [])), out, rules, force, tell)
    splits = ", ".join(f"{split} {count:,}" for split, count in counts["splits"].items())
    texts = f"{counts['tasks']:,} tasks, {counts['texts']:,} texts, {counts['labelled']:,} of them with a label"
    say([f"{texts}: {splits}", load_call(out.as_posix(), "amt_seed")])
