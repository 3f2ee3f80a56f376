"""What a person sees in the terminal: progress bars, the table of stages, a few dialogues."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from edos_dataset.commands.estimate import Estimate
from edos_dataset.labels import EMOTIONS, LABELS
from edos_dataset.runs.run import Progress as Report
from edos_dataset.schema import CONFIGS


def terminal(stderr: bool = False) -> Console:
    """Return the console of stdout or stderr; into a file or pipe it writes lines of 160 columns."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=160)


@contextmanager
def progress_bars(console: Console) -> Iterator[Report]:
    """Show a bar a phase, in shards, with the units read per second and the time left; give the function that a run
    calls.
    """
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def report(phase: str, done: int, total: int, units: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total, rate="")
            elapsed = bars.tasks[tasks[phase]].elapsed
            rate = f"{units / elapsed:,.0f}/s" if elapsed and units else ""
            bars.update(tasks[phase], completed=done, total=total, rate=rate)

        yield report


def stage_table(manifest: Mapping[str, Any]) -> Table:
    """Return the table of stages: what each read, kept and rejected, by reason, and how fast one worker was."""
    table = Table(
        title=f"{manifest['input']['films']:,} films, {manifest['input']['files']:,} files", title_justify="left"
    )
    table.add_column("stage")
    table.add_column("counts")
    for name in ("read", "kept"):
        table.add_column(name, justify="right")
    table.add_column("rejected")
    table.add_column("per second", justify="right")
    for stage in manifest["stages"]:
        reasons = sorted(stage["rejected"].items(), key=lambda item: -item[1])
        rejected = ", ".join(f"{reason} {count:,}" for reason, count in reasons)
        rate = f"{stage['per_second']:,.0f}" if stage["per_second"] else ""
        table.add_row(stage["stage"], stage["unit"], f"{stage['read']:,}", f"{stage['kept']:,}", rejected, rate)
    return table


def config_table(manifest: Mapping[str, Any]) -> Table:
    """Return the table of configs: dialogues, splits, turns, means, size."""
    table = Table()
    table.add_column("config")
    for name in ("dialogues", "train / validation / test", "turns", "turns a dialogue", "tokens a turn", "size"):
        table.add_column(name, justify="right")
    for config, row in manifest["configs"].items():
        splits = " / ".join(f"{count:,}" for count in row["splits"].values())
        means = (f"{row['turns_per_dialogue']:.2f}", f"{row['tokens_per_turn']:.2f}")
        table.add_row(config, f"{row['dialogues']:,}", splits, f"{row['turns']:,}", *means, decimal(row["bytes"]))
    return table


def extension_table(counts: Mapping[str, Any]) -> Table:
    """Return the table of the steps of `edos extend`: what each labelled, beside the papers, why others got none, and
    what was measured on the way.
    """
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


def judgement_table(found: Mapping[str, Any]) -> Table:
    """Return the table of error rates that `augmentation.audit.judged` gives."""
    table = Table()
    table.add_column("step")
    for name in ("judged", "wrong", "unsure", "error rate", "95 % interval", "doubtful ones: wrong of judged"):
        table.add_column(name, justify="right")
    for name, row in [*found["steps"].items(), ("overall", found["overall"])]:
        known = row["error_rate"] is not None
        rate, ends = (f"{row['error_rate']:.1%}", "{:.1%} – {:.1%}".format(*row["interval"])) if known else ("", "")
        table.add_row(
            name,
            f"{row['judged']:,}",
            f"{row['wrong']:,}",
            f"{row['unsure']:,}",
            rate,
            ends,
            f"{row['worst']['wrong']:,} of {row['worst']['judged']:,}",
        )
    return table


def dialogue_lines(dialogues: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield dialogues as lines of rich markup: each turn after its label and confidence."""
    for dialogue in dialogues:
        yield f"[bold]{escape(dialogue['dialogue_id'])}[/bold]"
        for turn in dialogue["turns"]:
            if "label" in turn:
                name = LABELS[turn["label"]]
                colour = "magenta" if name in EMOTIONS else "cyan"
                yield f"  [{colour}]{name:>13}[/{colour}] [dim]{turn['confidence']:.2f}[/dim]  {escape(turn['text'])}"
            else:
                yield f"  - {escape(turn['text'])}"
        yield ""


def quarantine_lines(manifest: Mapping[str, Any], most: int = 10) -> Iterator[str]:
    """Yield one line for each quarantined file, `most` at the most."""
    notes = manifest["quarantined"]
    for note in notes[:most]:
        yield f"  [yellow]{note['reason']}[/yellow] {escape(note['detail'])}"
    if len(notes) > most:
        yield f"  and {len(notes) - most} more, in manifest.json"


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """Yield what a dry run found out."""
    yield f"{estimate.films:,} films in {estimate.files:,} files, {decimal(estimate.bytes)}"
    yield (
        f"about {estimate.sentences:,} sentences, {estimate.dialogues:,} dialogues and {estimate.turns:,} turns, "
        f"judged by {estimate.sampled} films"
    )
    minutes, seconds = divmod(round(estimate.seconds), 60)
    yield f"about {minutes} min {seconds} s and {decimal(estimate.disk)} of disk"


def skipped_lines(skipped: Sequence[tuple[str, str]], most: int = 10) -> Iterator[str]:
    """Yield one line for each thing found that is not going to be read."""
    for path, reason in skipped[:most]:
        yield f"  not read: {path} ({reason})"
    if len(skipped) > most:
        yield f"  and {len(skipped) - most} more"


def load_line(out: Path, manifest: Mapping[str, Any]) -> str:
    """Return the line of Python that loads the default config, the first that has dialogues, as rich markup."""
    default = next((config for config in CONFIGS if manifest["configs"].get(config, {}).get("dialogues")), None)
    if default is None:
        return (
            "[yellow]no dialogues came out, so there is nothing to load[/yellow]; the table above says where they "
            "were rejected"
        )
    path = out.as_posix()
    path = f"./{path}" if "/" not in path and path != "edos" else path
    return (
        f"[green]from datasets import load_dataset; ds = load_dataset({escape(json.dumps(path))})[/green]  # config "
        f"{default}"
    )
