"""Tables and lines about a run: its stages, its configs, dialogues, and the estimate of a dry run."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.filesize import decimal
from rich.text import Text

from edos_dataset.cli.console import load_call, styled
from edos_dataset.cli.data_table import Table
from edos_dataset.label_sets import DEFAULT, LabelSet, load_label_set
from edos_dataset.palette import EMOTION, INTENT, NEUTRAL
from edos_dataset.publishing.inspection import confidence_of
from edos_dataset.schema import BOOK_CONFIGS, CONFIGS
from edos_dataset.wording import counted

if TYPE_CHECKING:  # it imports all that a run needs
    from edos_dataset.commands.curate import DryRun


def run_report(out: Path, manifest: Mapping[str, Any], notes: Iterable[str] = ()) -> Iterator[RenderableType]:
    """Yield the stages and configs of a run, unreadable files, `notes`, and how to load its output."""
    yield stage_table(manifest)
    yield config_table(manifest)
    yield from split_lines(manifest)
    yield from quarantine_lines(manifest)
    yield from not_taken_lines(manifest)
    yield from (styled((remark, "yellow")) for remark in manifest.get("remarks", []))
    yield from notes
    yield load_line(out, manifest)


def stage_table(manifest: Mapping[str, Any]) -> Table:
    """Return the table of stages: read, kept, rejected by reason, and the speed of one worker."""
    read = ", ".join(
        counted(manifest["input"][unit], unit) for unit in ("films", "books", "files") if unit in manifest["input"]
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
    """Return the table of configs: dialogues, turns, means, size, and the mean certainty if known."""
    table = Table()
    table.add_column("config", no_wrap=True)
    for name, width in (("dialogues", None), ("turns", None), ("turns per dialogue", 8), ("tokens per turn", 6)):
        table.add_column(name, justify="right", no_wrap=width is None, max_width=width)
    for name in ("certainty", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    for config, row in manifest["configs"].items():
        certainty = row.get("certainty")  # absent from manifests of earlier versions
        sure = "" if certainty is None else f"{certainty:.2f}"
        cells = (f"{row['turns']:,}", f"{row['turns_per_dialogue']:.2f}", f"{row['tokens_per_turn']:.2f}", sure)
        table.add_row(config, f"{row['dialogues']:,}", *cells, decimal(row["bytes"]))
    return table


def split_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line with the dialogues of each split, for all configs that have the same numbers together."""
    alike: dict[str, list[str]] = {}
    for config, row in manifest["configs"].items():
        splits = ", ".join(f"{name} {count:,}" for name, count in row["splits"].items())
        alike.setdefault(splits, []).append(config)
    for splits, configs in alike.items():
        yield f"splits of {', '.join(configs)}: {splits}"


def dialogue_lines(
    dialogues: Sequence[Mapping[str, Any]], label_set: Mapping[str, Any] | None = None
) -> Iterator[Text | str]:
    """Yield dialogues of any config as lines, with ids, and with certainties, labels and confidences if
    known.

    Args:
        dialogues: rows of a config.
        label_set: content of the label set; None for that of EDOS.
    """
    labels = load_label_set(label_set or DEFAULT)
    for dialogue in dialogues:
        yield styled((dialogue["dialogue_id"], "bold"), (_certainty(dialogue), "dim"))
        last = len(dialogue["turns"]) - 1
        labelled = "label" in dialogue or any("label" in turn for turn in dialogue["turns"])
        for number, turn in enumerate(dialogue["turns"]):
            label, confidence = turn.get("label"), turn.get("confidence")
            if number == last and "label" in dialogue:
                label, confidence = dialogue["label"], confidence_of(dialogue)
            speaker = (f"{turn['speaker']}: ", "bold") if turn.get("speaker") else ""
            text = styled(speaker, turn["text"] if "text" in turn else f"(SHA-256 {turn['text_sha256']})")
            yield styled("  ", _label(label, confidence, labels), "  ", text) if labelled else styled("  - ", text)
        yield ""


def _certainty(dialogue: Mapping[str, Any]) -> str:
    certainty, errors = dialogue.get("certainty"), dialogue.get("expected_errors")
    if certainty is None or errors is None:
        return ""
    return f"  certainty {certainty:.2f}, {errors:.1f} errors expected"


def _label(label: int | None, confidence: float | None, labels: LabelSet) -> Text:
    name = "" if label is None else labels.labels[label]
    colour = EMOTION if name in labels.emotions else NEUTRAL if name == labels.neutral else INTENT
    sure = "" if confidence is None else f"{confidence:.2f}"
    return styled((f"{name:>13}", colour), " ", (f"{sure:4}", "dim"))


def quarantine_lines(manifest: Mapping[str, Any], most: int | None = 10) -> Iterator[Text | str]:
    """Yield a heading and a line for each unreadable file, at most `most` (None: all); nothing if there are none."""
    notes = manifest["quarantined"]
    if notes:
        yield "could not be read:"
    for note in notes[:most]:
        yield styled("  ", (note["reason"], "yellow"), f" {note['detail']}")
    if most is not None and len(notes) > most:
        yield f"  and {len(notes) - most} more, in manifest.json"


def left_out_lines(
    reasons: Iterable[Mapping[str, Any]], left_out: Sequence[Mapping[str, Any]], most: int = 10
) -> Iterator[Text | str]:
    """Yield a heading and a line for each readable file that was rejected, at most `most`, and how many more there are;
    nothing if there are none.

    Args:
        reasons: `stage`, `reason` and `count` of everything rejected.
        left_out: the files that the manifest names.
        most: maximum number of lines.
    """
    if left_out:
        yield "left out:"
    for file in left_out[:most]:
        yield styled("  ", (file["reason"], "yellow"), f" {file['detail']}")
    named = {(file["stage"], file["reason"]) for file in left_out}
    total = sum(row["count"] for row in reasons if (row["stage"], row["reason"]) in named)
    if (more := total - min(most, len(left_out))) > 0:
        hint = "edos rejects --reason lists the first 100 of a reason, or all of a run with --rejects"
        yield f"  and {more:,} more; {hint}"


def not_taken_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of files of unknown formats by suffix; nothing if there are none."""
    suffixes = manifest["input"].get("not_taken")  # absent from manifests of earlier versions
    if suffixes:
        from edos_dataset.sources.subtitles.reading import PICTURE_SUFFIXES

        counts = ", ".join(f"{number:,} {suffix}" for suffix, number in suffixes.items())
        pictures = "; .idx and .sup hold pictures, which need OCR" if suffixes.keys() & set(PICTURE_SUFFIXES) else ""
        yield f"not read, because the format is unknown: {counts}{pictures}"


def estimate_lines(done: "DryRun", most: int = 10) -> Iterator[Text | str]:
    """Yield the estimate of a dry run, unreadable files, and at most `most` of the files that will be skipped."""
    assert done.inventory is not None
    yield f"{counted(done['films'], 'films')} in {counted(done['files'], 'files')}, {decimal(done['bytes'])}"
    yield (
        f"about {counted(done['sentences'], 'sentences')}, {counted(done['dialogues'], 'dialogues')} and "
        f"{counted(done['turns'], 'turns')}, "
        f"measured on {counted(done['sampled'], 'films')}"
    )
    if "endpoint" in done:
        from edos_dataset.commands.endpoints import lines_of_need

        yield from lines_of_need(done["endpoint"])
    minutes, seconds = divmod(round(done["seconds"]), 60)
    yield f"about {minutes} min {seconds} s and {decimal(done['disk'])} of disk"
    yield from quarantine_lines({"quarantined": done.inventory.quarantined}, None)
    skipped = done.inventory.skipped
    for path, reason in skipped[:most]:
        yield f"  skipped: {path} ({reason})"
    if len(skipped) > most:
        yield f"  and {len(skipped) - most} more"


def report_line(out: Path) -> Text:
    """Return the command that writes a report on a folder."""
    page = "report.html" if "://" in str(out) else str(out / "report.html")  # the page is always a local file
    folder, page = quote(str(out)), quote(page)
    return styled((f"edos report {folder} --out {page}", "green"))


def load_line(out: Path, manifest: Mapping[str, Any]) -> Text:
    """Return the line of Python that loads the first config that has dialogues."""
    configs = (*CONFIGS, *BOOK_CONFIGS)
    default = next((config for config in configs if manifest["configs"].get(config, {}).get("dialogues")), None)
    if default is None:
        return styled(
            ("no dialogues are left, so there is nothing to load", "yellow"),
            "; the table above says where they were rejected",
        )
    # A bare name could be that of a dataset on the Hub.
    path = out.as_posix()
    if "://" in path:  # `datasets` reads files, not folders, from a store
        splits = manifest["configs"][default]["splits"]
        files = {split: f"{path}/{default}/{split}-*.parquet" for split, rows in splits.items() if rows}
        call = f'from datasets import load_dataset; ds = load_dataset("parquet", data_files={json.dumps(files)})'
        return styled((call, "green"))
    place = f"./{path}" if "/" not in path and path != "edos" else path
    if default in BOOK_CONFIGS:
        return load_call(place, default)
    return styled(load_call(place), f"  # config {default}")
