"""`edos crowd`: parses the command line, calls the package, prints."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

_SOURCE = (
    "The EDOS authors' CSV, a result CSV of Amazon Mechanical Turk, or a CSV or JSON lines with `task`, "
    "`worker`, `label`."
)
Source = Annotated[Path, typer.Argument(help=_SOURCE, show_default=False)]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Column of a Mechanical Turk file: `answer=Answer.emotion{n}`; also `typed`, `task`, `dialogue`.",
    ),
]


def commands(explained: Callable[[Callable[..., None]], Callable[..., None]]) -> typer.Typer:
    """Return the commands of `edos crowd`.

    Args:
        explained: wraps a command so that errors which a user can mend become one message and an exit code.
    """
    app = typer.Typer(
        no_args_is_help=True, help="Labels by people: choose dialogues to ask for, measure agreement, make the seed."
    )
    for command in (select, agreement, seed):
        app.command()(explained(command))
    return app


def agreement(
    source: Source,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    outside: Annotated[
        str,
        typer.Option(help="An answer that is none of the 41: `own` label, one `other` label for all, or `missing`."),
    ] = "own",
    columns: Columns = None,
    random_seed: Annotated[int, typer.Option("--seed", help="Seed of the intervals.")] = 0,
) -> None:
    """Measure how far people agree: raw agreement, Fleiss' kappa, Krippendorff's alpha, with 95 % intervals, and for
    each label.

    Rows agree where one label has the most answers, alone, and at least two.
    """
    from edos_dataset.cli import console as show
    from edos_dataset.crowd.agreement import measure
    from edos_dataset.crowd.answers import MTurkColumns, read_answers
    from edos_dataset.crowd.tables import agreement_tables

    chosen: Any = outside
    report = measure(read_answers(source, MTurkColumns().override(columns or [])), chosen, seed=random_seed)
    if as_json:
        typer.echo(json.dumps(report, indent=1, ensure_ascii=False))
        return
    for part in agreement_tables(report):
        show.terminal().print(part, highlight=False)


def seed(
    source: Source,
    out: Annotated[Path, typer.Option(help="Folder to write; one of an earlier seed is replaced.", show_default=False)],
    method: Annotated[str, typer.Option(help="`majority`, `dawid-skene` or `mace`.")] = "majority",
    ties: Annotated[
        str, typer.Option(help="Without a winner: `abstain`, `first`, `random`, or `soft` (kept for its soft label).")
    ] = "abstain",
    least_votes: Annotated[int, typer.Option(min=1, help="Answers that a majority needs.")] = 2,
    repeats: Annotated[
        str, typer.Option(help="`pool` the answers to equal texts, or leave each task its `own`.")
    ] = "pool",
    encoder: Annotated[
        str,
        typer.Option(help="SentenceTransformer that finds near texts: a name, folder or Hub id.", show_default=True),
    ] = "all-MiniLM-L6-v2",
    near: Annotated[float, typer.Option(help="Cosine from which last turns stay in one split.")] = 0.95,
    shares: Annotated[tuple[float, float, float], typer.Option(help="Shares of train, validation and test.")] = (
        0.6,
        0.2,
        0.2,
    ),
    columns: Columns = None,
    random_seed: Annotated[int, typer.Option("--seed", help="Seed of all that is drawn.")] = 0,
) -> None:
    """Make the data set `amt_seed`: dialogues with the agreed label, all answers, soft labels, and a 60/20/20 split
    without leaks.
    """
    from edos_dataset.cli import console as show
    from edos_dataset.crowd.answers import MTurkColumns, read_answers
    from edos_dataset.crowd.seed import SeedRules, make_seed

    given: dict[str, Any] = {"method": method, "ties": ties, "repeats": repeats}
    rules = SeedRules(least_votes=least_votes, model=encoder, near=near, shares=shares, seed=random_seed, **given)
    counts = make_seed(read_answers(source, MTurkColumns().override(columns or [])), out, rules)
    splits = ", ".join(f"{split} {count:,}" for split, count in counts["splits"].items())
    terminal = show.terminal()
    terminal.print(
        f"{counts['tasks']:,} tasks, {counts['texts']:,} texts, {counts['labelled']:,} of them with a label: {splits}",
        highlight=False,
    )
    terminal.print(
        f'from datasets import load_dataset; ds = load_dataset("{out.as_posix()}", "amt_seed")',
        style="green",
        soft_wrap=True,
        markup=False,
    )


def select(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate` or `edos label` wrote.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            help="File of JSON lines to write; it appears, or is replaced, only when it is whole.", show_default=False
        ),
    ],
    per_label: Annotated[int, typer.Option(min=1, help="Dialogues a label.")] = 250,
    confidence: Annotated[float, typer.Option(min=0, max=1, help="Least confidence of the last turn's label.")] = 0.9,
    config: Annotated[
        str | None, typer.Option(help="Config whose labels count.", show_default="edos_initial, or edos")
    ] = None,
    alpha: Annotated[float, typer.Option(help="α of f = f_sum / (α + tokens).")] = 87.0,
    weight: Annotated[float, typer.Option(help="Weight of d, the share of distinct words.")] = 0.04,
) -> None:
    """Choose dialogues to ask people about: of each label the most readable ones whose last turn surely has it."""
    from collections import Counter

    from edos_dataset.cli import console as show
    from edos_dataset.crowd.readability import select_tasks
    from edos_dataset.crowd.tables import selection_table
    from edos_dataset.runs.shards import write_text

    tasks = select_tasks(run, per_label, confidence, config, alpha, weight)
    write_text(out, "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks))
    show.terminal().print(selection_table(Counter(task["label"] for task in tasks), per_label), highlight=False)
