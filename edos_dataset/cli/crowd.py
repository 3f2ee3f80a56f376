"""`edos crowd select`, `hits`, `invite`, `serve`, `answers`, `export`, `import`: from dialogues to answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edos_dataset.cli.console import call, emit, explained, say, styled
from edos_dataset.cli.options import AsJson, Force, HitBatchFolder, LabelMapOption
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from edos_dataset.cli.data_table import Table

PASSWORD = "EDOS_CROWD_PASSWORD"

_SHOWN = (0.9, 0.7, 0.5, 0.3, 0.2)
"""Minimum confidences in the table of `select`."""


@explained()
def select(
    run: Annotated[Path, typer.Argument(help="Folder written by `edos curate` or `edos label`.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(help="Output file (JSON lines); it appears only when complete.", show_default=False),
    ],
    per_label: Annotated[int, typer.Option(min=1, help="Number of dialogues per label.")] = 250,
    confidence: Annotated[float, typer.Option(min=0, max=1, help="Preferred minimum confidence of the label.")] = 0.9,
    floor: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Minimum confidence of the turns that are added to labels with too few.",
        ),
    ] = 0.2,
    history: Annotated[int, typer.Option(min=0, help="Number of preceding turns to show with the turn to label.")] = 3,
    papers: Annotated[
        bool,
        typer.Option(
            "--papers",
            help="Select as in EDOS, Section 3.2: nothing below --confidence, and with the whole history.",
        ),
    ] = False,
    config: Annotated[
        str | None, typer.Option(help="Config that provides the labels.", show_default="edos_initial, or edos")
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="α of readability, f_sum / (α + tokens); higher values favour longer dialogues.")
    ] = 87.0,
    weight: Annotated[float, typer.Option(help="Weight of lexical diversity in readability.")] = 0.04,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Select dialogues for people to label: the same number per label, preferring readable ones whose last turn has the
    label with high confidence.

    The table shows, before anything is paid, how many dialogues each label gets and why, and how many it would get at
    other minimum confidences.
    """
    from edos_dataset.commands.crowd import select as choose

    report = call(choose, locals())
    emit(dict(report), as_json, [selection_table(dict(report)), *_warnings(dict(report))])


def selection_table(report: dict[str, Any]) -> "Table":
    """Return the table of labels: selected dialogues by reason, and candidates by minimum confidence."""
    from edos_dataset.cli.data_table import Table

    head = ("label", "dialogues", "confident", "below", "later guess", "")
    table = Table(
        *head,
        *(f"≥ {step}" for step in _SHOWN),
        title=f"{counted(report['dialogues'], 'dialogues')}, {report['per_label']:,} per label requested",
        title_justify="left",
    )
    for name, row in report["labels"].items():
        table.add_row(
            name,
            f"{row['dialogues']:,}",
            *(f"{count:,}" if count else "" for count in row["chosen"].values()),
            styled((f"{row['short']:,} short", "yellow")) if row["short"] else "",
            *(f"{row['at_confidence'][str(step)]:,}" for step in _SHOWN),
        )
    return table


def _warnings(report: dict[str, Any]) -> "list[RenderableType]":
    short = {name: row["dialogues"] for name, row in report["labels"].items() if row["short"]}
    hits, (least, most) = report["hits"], report["dollars"]
    lines: list[RenderableType] = [
        f"{counted(hits, 'HITs')} of 15 dialogues, 3 people each: {least:,.2f} to "
        f"{most:,.2f} US dollars on Mechanical Turk"
    ]
    if short:
        fewest = min(short, key=lambda name: short[name])
        most_of_all = f", {fewest} most of all, with {short[fewest]:,}"
        remedy = ": use more films, a lower --floor, or a smaller --per-label"
        lines.insert(0, styled((f"{counted(len(short), 'labels fall')} short", "yellow"), most_of_all, remedy))
    return lines


@explained()
def hits(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="For labelling: the file of `edos crowd select`, or dialogues of your own (as `edos label` reads or "
            "writes them), of which each turn but the first becomes a question. For judging: JSON lines of "
            "`dialogue_id`, `turns`, `answers` (`model` and `text`) and `truth`; or files of `edos respond --out` as "
            "MODEL=FILE; or a folder that `evaluation/generation.py --records` wrote.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Output folder of the batch.", show_default=False)],
    kind: Annotated[
        str | None, typer.Option(help="Task of the HITs: `labelling` or `judging`.", show_default="by the source")
    ] = None,
    quiz: Annotated[
        Path | None,
        typer.Option(
            help="Questions with known answers: JSON lines of `turns`, `label`.", show_default="46 built-in ones"
        ),
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option("--row", help="For a folder of records: name of a model to judge. May be repeated."),
    ] = None,
    size: Annotated[
        int | None, typer.Option(min=1, help="Dialogues per HIT.", show_default="15, or 10 for judging")
    ] = None,
    checks: Annotated[
        int | None,
        typer.Option(min=0, help="Quiz questions or bonus tasks per HIT.", show_default="5, or 3 for judging"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Different people per HIT.", show_default="3, or 4 for judging")
    ] = None,
    reward: Annotated[float, typer.Option(min=0, help="Payment in US dollars per HIT.")] = 0.4,
    bonus: Annotated[float, typer.Option(min=0, help="Bonus in US dollars for a HIT done well.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    label_set: Annotated[
        str | None,
        typer.Option(
            "--label-set",
            help="Label set to choose from: a name (`edos labels list`) or a YAML file.",
            show_default="that of the source, or edos41",
        ),
    ] = None,
    label_map: LabelMapOption = None,
    openings: Annotated[
        bool, typer.Option("--openings", help="Ask about first turns of dialogues too, which have nothing before them.")
    ] = False,
    guideline: Annotated[
        Path | None,
        typer.Option(help="Markdown file with what annotators should read before they begin.", show_default="none"),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language of the pages and the built-in quiz: en, de, es, fr, hu, it, nl or pt. Answers are English "
            "names of labels in every language.",
            show_default="that of the dialogues, or en",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Bundle dialogues into HITs for `edos crowd serve`: dialogues to label (EDOS, Section 3.2), or responses to judge
    (Xie & Pu, Section 5.4).
    """
    from edos_dataset.commands.crowd import make_hits

    done = call(make_hits, locals())
    least, most = done["dollars"]
    say(
        [
            f"{done['kind']}: {counted(done['hits'], 'HITs')} with {counted(done['questions'], 'questions')}, "
            f"{counted(done['workers'], 'people')} per HIT",
            f"{least:,.2f} to {most:,.2f} US dollars, not counting the fee of a platform",
            f"edos crowd serve {out}",
        ]
    )


@explained(stopped="All answers are saved; run the same command to resume.")
def serve(
    batch: HitBatchFolder,
    host: Annotated[str, typer.Option(help="Address to listen on; `0.0.0.0` for all interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")] = 8000,
    answers: Annotated[
        int | None, typer.Option(min=1, help="Different people per HIT.", show_default="as in the batch")
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open", help="Let anyone join without an invitation, under a name of their choice.")
    ] = False,
    mturk: Annotated[
        bool,
        typer.Option(
            "--mturk",
            help="Accept workers of Mechanical Turk through external questions at /mturk?hit=HIT; needs HTTPS.",
        ),
    ] = False,
    consent: Annotated[
        Path | None, typer.Option(help="Text file of the consent that workers give.", show_default="built-in text")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language of the pages, which workers can change: en, de, es, fr, hu, it, nl or pt.",
            show_default="as in the batch",
        ),
    ] = None,
    password: Annotated[
        str | None,
        typer.Option(envvar=PASSWORD, help="Password for the live page, /admin.", show_default="generated and printed"),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=1, help="Minutes after which the HIT of an inactive worker is offered to others.")
    ] = 60.0,
    most_hits: Annotated[int, typer.Option(min=1, help="Maximum number of HITs per worker.")] = 50,
) -> None:
    """Serve the pages of a batch, on which workers label or judge; `/admin` shows the progress.

    Every answer is saved to `answers.sqlite` in the batch before the worker's page continues, so a killed server loses
    none, and the same command resumes.
    """
    from edos_dataset.commands.crowd import serve as run

    def show(address: str, chosen: str) -> None:
        invitation = f"invite workers: edos crowd invite {batch} --url {address}"
        lines = [f"{address}  {'open to all' if open_to_all else invitation}", f"{address}/admin  the live page"]
        say(lines if password else [*lines, f"password of the live page: {chosen}"])

    call(run, locals(), ready=show)


@explained()
def invite(
    batch: HitBatchFolder,
    names: Annotated[list[str] | None, typer.Argument(help="Names of workers.", show_default=False)] = None,
    number: Annotated[int, typer.Option(min=0, help="Number of further workers to invite under random names.")] = 0,
    url: Annotated[str, typer.Option(help="Public address of the pages.")] = "http://127.0.0.1:8000",
) -> None:
    """Invite workers, and print a personal link for each, which cannot be shown again."""
    from edos_dataset.commands.crowd import invite as run

    for name, token in run(batch, names or [], number=number).items():
        typer.echo(f"{name}\t{url.rstrip('/')}/w/{token}")


@explained()
def answers(
    batch: HitBatchFolder,
    out: Annotated[Path, typer.Option(help="Output file: `.jsonl`, or `.csv` for labels.", show_default=False)],
    log: Annotated[
        bool, typer.Option("--log", help="Write every answer and submission, including those to quiz questions.")
    ] = False,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Include answers to HITs that were not submitted.")
    ] = False,
    force: Force = False,
) -> None:
    """Export the answers: labels for `edos crowd agreement` and `seed`, or judgements as JSON lines.

    Workers appear under pseudonyms: digests with a salt that only the batch has.
    """
    from edos_dataset.commands.crowd import collect

    done = call(collect, locals())
    say([f"{counted(done['answers'], 'answers')} of {counted(done['workers'], 'workers')}"])


@explained()
def export(
    source: Annotated[
        Path,
        typer.Argument(help="Folder of a batch, or the file of `edos crowd select`.", show_default=False),
    ],
    tool: Annotated[
        str, typer.Option("--to", help="Tool: `argilla`, `label-studio` or `prolific-csv`.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Output folder.", show_default=False)],
) -> None:
    """Export questions to another tool: Argilla, Label Studio, or Prolific's task builder."""
    from edos_dataset.commands.crowd import export as run

    say([f"{out}: {', '.join(run(source, tool, out)['files'])}"])


@explained()
def import_(
    source: Annotated[Path, typer.Argument(help="File or folder exported by the tool.", show_default=False)],
    tool: Annotated[
        str,
        typer.Option(
            "--from",
            help="Tool: `argilla`, `label-studio`, `prolific-csv`, or `mturk-csv` (results of the requester website).",
            show_default=False,
        ),
    ],
    batch: Annotated[
        Path,
        typer.Option(
            "--batch",
            help="What was exported to the tool: the folder of the batch, or the file of tasks.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output file.", show_default="added to answers.jsonl of the batch")
    ] = None,
    force: Force = False,
) -> None:
    """Import answers from another tool; workers are pseudonymised."""
    from edos_dataset.commands.crowd import import_answers

    done = call(import_answers, locals())
    say([f"{counted(done['answers'], 'answers')} in {done.folder}"])
