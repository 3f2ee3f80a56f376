"""What a person sees of a run: its stages, its configs, a few dialogues, and an estimate of one."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from rich.console import RenderableType
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from edos_dataset.cli.console import load_call
from edos_dataset.commands.estimate import Estimate
from edos_dataset.labels import EMOTIONS, LABELS
from edos_dataset.publishing.inspection import confidence_of
from edos_dataset.schema import BOOK_CONFIGS, CONFIGS
from edos_dataset.sources.inventory import Inventory


def run_report(out: Path, manifest: Mapping[str, Any], notes: Iterable[str] = ()) -> Iterator[RenderableType]:
    """Yield what a run did: its stages, its configs, files that could not be read, `notes`, and how to load it."""
    yield stage_table(manifest)
    yield config_table(manifest)
    yield from quarantine_lines(manifest)
    yield from (f"[yellow]{escape(remark)}[/yellow]" for remark in manifest.get("remarks", []))
    yield from notes
    yield load_line(out, manifest)


def stage_table(manifest: Mapping[str, Any]) -> Table:
    """Return the table of stages: what each read, kept and rejected, by reason, and how fast one worker was."""
    read = ", ".join(
        f"{manifest['input'][unit]:,} {unit}" for unit in ("films", "books", "files") if unit in manifest["input"]
    )
    table = Table(title=read, title_justify="left")
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
    """Return the table of configs: dialogues, splits, turns, means, size; the mean certainty, where it is known."""
    table = Table()
    table.add_column("config", no_wrap=True)
    means = ("turns a dialogue", "tokens a turn", "certainty")
    for name in ("dialogues", "train / validation / test", "turns", *means, "size"):
        table.add_column(name, justify="right")
    for config, row in manifest["configs"].items():
        splits = " / ".join(f"{count:,}" for count in row["splits"].values())
        certainty = row.get("certainty")  # manifests of earlier versions say nothing of it
        sure = "" if certainty is None else f"{certainty:.2f}"
        cells = (f"{row['turns']:,}", f"{row['turns_per_dialogue']:.2f}", f"{row['tokens_per_turn']:.2f}", sure)
        table.add_row(config, f"{row['dialogues']:,}", splits, *cells, decimal(row["bytes"]))
    return table


def dialogue_lines(dialogues: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield dialogues of any config as lines of rich markup: each after its id and how sure it is, each turn after its
    label and confidence, where it has them.
    """
    for dialogue in dialogues:
        yield f"[bold]{escape(dialogue['dialogue_id'])}[/bold]{_sure(dialogue)}"
        last = len(dialogue["turns"]) - 1
        labelled = "label" in dialogue or any("label" in turn for turn in dialogue["turns"])
        for number, turn in enumerate(dialogue["turns"]):
            label, confidence = turn.get("label"), turn.get("confidence")
            if number == last and "label" in dialogue:
                label, confidence = dialogue["label"], confidence_of(dialogue)
            speaker = f"[bold]{escape(turn['speaker'])}:[/bold] " if turn.get("speaker") else ""
            text = speaker + escape(turn["text"] if "text" in turn else f"(SHA-256 {turn['text_sha256']})")
            yield f"  {_label(label, confidence)}  {text}" if labelled else f"  - {text}"
        yield ""


def _sure(dialogue: Mapping[str, Any]) -> str:
    """Return how sure a dialogue is, to stand behind its id; nothing where that is not known."""
    certainty, errors = dialogue.get("certainty"), dialogue.get("expected_errors")
    if certainty is None or errors is None:
        return ""
    return f"  [dim]certainty {certainty:.2f}, {errors:.1f} errors expected[/dim]"


def _label(label: int | None, confidence: float | None) -> str:
    """Return a label in its colour, and its confidence, in columns; blanks where there is none."""
    name = "" if label is None else LABELS[label]
    colour = "magenta" if name in EMOTIONS else "cyan"
    sure = "" if confidence is None else f"{confidence:.2f}"
    return f"[{colour}]{name:>13}[/{colour}] [dim]{sure:4}[/dim]"


def quarantine_lines(manifest: Mapping[str, Any], most: int | None = 10) -> Iterator[str]:
    """Yield one line for each file that could not be read, `most` at the most (None: all), after a heading; nothing if
    all could be.
    """
    notes = manifest["quarantined"]
    if notes:
        yield "could not be read:"
    for note in notes[:most]:
        yield f"  [yellow]{note['reason']}[/yellow] {escape(note['detail'])}"
    if most is not None and len(notes) > most:
        yield f"  and {len(notes) - most} more, in manifest.json"


def estimate_lines(estimate: Estimate, inventory: Inventory, most: int = 10) -> Iterator[str]:
    """Yield what a dry run found out, what cannot be opened, and what is not going to be read, `most` of the latter."""
    yield f"{estimate.films:,} films in {estimate.files:,} files, {decimal(estimate.bytes)}"
    yield (
        f"about {estimate.sentences:,} sentences, {estimate.dialogues:,} dialogues and {estimate.turns:,} turns, "
        f"judged by {estimate.sampled} films"
    )
    minutes, seconds = divmod(round(estimate.seconds), 60)
    yield f"about {minutes} min {seconds} s and {decimal(estimate.disk)} of disk"
    yield from quarantine_lines({"quarantined": inventory.quarantined}, None)
    for path, reason in inventory.skipped[:most]:
        yield escape(f"  not read: {path} ({reason})")
    if len(inventory.skipped) > most:
        yield f"  and {len(inventory.skipped) - most} more"


def report_line(out: Path) -> str:
    """Return the command that shows what a folder's data look like, as rich markup."""
    page = "report.html" if "://" in str(out) else str(out / "report.html")  # it is written on this machine
    folder, page = quote(str(out)), quote(page)
    return f"[green]{escape(f'edos report {folder} --out {page}')}[/green]"


def load_line(out: Path, manifest: Mapping[str, Any]) -> str:
    """Return the line of Python that loads the default config, the first that has dialogues, as rich markup."""
    configs = (*CONFIGS, *BOOK_CONFIGS)
    default = next((config for config in configs if manifest["configs"].get(config, {}).get("dialogues")), None)
    if default is None:
        return (
            "[yellow]no dialogues came out, so there is nothing to load[/yellow]; the table above says where they "
            "were rejected"
        )
    # A bare name could be that of a data set on the Hub.
    path = out.as_posix()
    if "://" in path:  # `datasets` knows stores as places of files alone
        splits = manifest["configs"][default]["splits"]
        files = {split: f"{path}/{default}/{split}-*.parquet" for split, rows in splits.items() if rows}
        call = f'from datasets import load_dataset; ds = load_dataset("parquet", data_files={json.dumps(files)})'
        return f"[green]{escape(call)}[/green]"
    place = f"./{path}" if "/" not in path and path != "edos" else path
    if default in BOOK_CONFIGS:
        return load_call(place, default)
    return f"{load_call(place)}  # config {default}"
