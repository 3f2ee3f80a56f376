"""The verb `report`: describes a dataset on a page.

One pass over the dialogues counts and makes MinHash signatures; near-duplicates and doubtful labels are then searched
for, and the page, its figures and its pictures are drawn and put in place together.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from edos_dataset.analysis.batch import split_order
from edos_dataset.analysis.counting import Part, count_parts, parts_of
from edos_dataset.analysis.counts import Counts
from edos_dataset.analysis.duplicates import LEAST, SHARE, NearDuplicates, comparison_of, copies, find_near_duplicates
from edos_dataset.analysis.figures import compare, data_figures
from edos_dataset.analysis.page import dialogues_at, render, shown_dialogues, to_json, wanted_places
from edos_dataset.analysis.pictures import draw_pictures
from edos_dataset.analysis.suspicious_labels import SuspiciousLabels, find_suspicious_labels, suspicious_label_figures
from edos_dataset.analysis.translated import in_language
from edos_dataset.commands.options import Result, verb
from edos_dataset.commands.progress import Say, steps, warn
from edos_dataset.label_sets import LabelMap, LabelSet, load_label_set
from edos_dataset.label_sets.translations import ENGLISH, shown_language
from edos_dataset.publishing.cards.paper_figures import BY_LABEL, COMPARED, EDOS_PAPER, KL_OF_LABELS, PUBLISHED
from edos_dataset.publishing.inspection import kept_rejects, reasons_of, rejected_units
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.reported import Asked, Reading, Reported, asked_of, open_reported
from edos_dataset.runs.engines.base import Engine, available_cores
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.folder import check_out_file
from edos_dataset.runs.stores.paths import local_place, place_of
from edos_dataset.text import clipped
from edos_dataset.version import __version__
from edos_dataset.wording import counted

REPORT = "report.html"
_EXAMPLES = 3

_FEW = 30_000


@verb
def report(
    source: str | Asked,
    against: str | Asked | Sequence[str | Asked] = (),
    out: str | Path = REPORT,
    *,
    config: str | None = None,
    revision: str | None = None,
    data: str | Path | None = None,
    pictures: bool = True,
    workers: int | None = None,
    force: bool = False,
    progress: bool | Say | None = None,
    label_set: "str | Path | LabelSet | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | Mapping[str, Any] | None" = None,
    column: str | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    one_dialogue: bool = False,
    skip_bad: bool = False,
    language: str = ENGLISH,
) -> Result:
    """Write a report on a dataset, as `edos report` does: a page that needs no network, its figures as JSON, and its
    pictures.

    Args:
        source: folder written by this package, JSON lines with labels, a dataset on the Hub, or a third-party dataset
            by name, such as "empathetic_dialogues", "dailydialog" or "meld".
        against: datasets to compare it with, each also as "NAME#CONFIG" or "NAME@REVISION".
        out: HTML file of the page; `NAME.json` and the folder `NAME_pictures` are written beside `NAME.html`.
        config: config of the dataset; by default its first.
        revision: revision of a dataset on the Hub.
        data: folder of third-party datasets; by default EDOS_DATA_DIR.
        pictures: also write the pictures as PNG and SVG.
        workers: number of processes; by default one per core.
        force: replace an earlier report.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        label_set: label set of files and of datasets on the Hub, a name or a YAML file; by default that of EDOS.
        label_map: label set or map into which all labels are translated, as in `label`.
        column: of files: column or key of the texts or dialogues; by default found by name.
        id_column: of files: column of the ids of dialogues; by default found by name.
        label_column: of files: column or key of the labels; by default `label`.
        one_dialogue: of files: all rows are turns of one dialogue.
        skip_bad: of files: leave out records that are no dialogue or turn, or have an unknown label.
        language: code of the language in which the page and the pictures name the 41 labels (en, de, es, fr, hu, it, nl
            or pt); the figures have the English names.

    Returns:
        The figures, as in the JSON file.

    Raises:
        ValueError: a source is not a dataset or is damaged, or `out` exists.
    """
    named_in = shown_language(language)
    asked = source if isinstance(source, Asked) else asked_of(source, config, revision)
    given = [against] if isinstance(against, str | Asked) else against
    labels = None if label_set is None else load_label_set(label_set)
    meant = Selection(column=column, id_column=id_column, one_dialogue=one_dialogue, skip_bad=skip_bad)
    reading = Reading(labels, label_map, meant, label_column, warn)
    others = [each if isinstance(each, Asked) else asked_of(each) for each in given]
    with steps(progress) as say:
        files = report_files(local_place(out, "--out of `edos report`"), force)
        with tempfile.TemporaryDirectory(prefix="edos-report-") as scratch:
            opened = []
            for number, one in enumerate((asked, *others)):
                folder = Path(scratch) / str(number)
                folder.mkdir()
                say(f"opening {one.source}")
                opened.append(open_reported(one, folder, None if data is None else Path(data), reading))
            look = look_at(opened, Path(scratch), workers or available_cores(), say)
        say("drawing")
        figures = _figures(opened, look)
        rejects = _rejected_examples(opened[0])
        drawn, to_see = (figures, look.to_see) if named_in == ENGLISH else in_language(figures, look.to_see, named_in)
        page = render(drawn, to_see, rejects)
        with replacing_report(files) as made:
            if pictures:
                draw_pictures(drawn, made.pictures)
            made.figures.write_text(to_json(figures, None), encoding="utf-8")
            made.page.write_text(page, encoding="utf-8")
    sizes = {one["name"]: counted(one["sizes"]["dialogues"], "dialogues") for one in figures["data"]}
    return Result("report", figures, place_of(out), sizes, f"open {out}")


def _figures(opened: Sequence[Reported], look: "Look") -> dict[str, Any]:
    counted = look.counts
    first, others = opened[0], list(zip(_names(opened), opened, counted, strict=True))[1:]
    return {
        "made_by": f"edos-dataset {__version__}",
        "data": [
            {"name": name, **_facts(one), **data_figures(counts, one.labels)}
            for name, one, counts in zip(_names(opened), opened, counted, strict=True)
        ],
        "comparisons": [
            {"of": _names(opened)[0], "with": name, **compare(counted[0], first.labels, counts, one.labels)}
            for name, one, counts in others
        ],
        "doubts": look.doubts,
        "copies": look.copies([name for name, _, _ in others]),
        "papers": _papers(),
        "manifest": _manifest(first),
    }


def _names(opened: Sequence[Reported]) -> list[str]:
    """Return a short, unique name of each dataset."""
    names: list[str] = []
    for one in opened:
        base = Path(one.asked.source.rstrip("/")).name or one.asked.source
        parts = [base, one.asked.revision and f"@{one.asked.revision}", one.config and f" ({one.config})"]
        name = "".join(part for part in parts if part)
        names.append(name if name not in names else f"{name} [{len(names) + 1}]")
    return names


def _facts(one: Reported) -> dict[str, Any]:
    return {"source": one.asked.source, "config": one.config, "revision": one.asked.revision}


def _papers() -> dict[str, Any]:
    return {
        "sizes": [vars(row) for row in PUBLISHED],
        "others": [dict(zip(("name", "labels", "dialogues", "turns"), row, strict=True)) for row in COMPARED],
        "by_label": {"source": f"{EDOS_PAPER}, Table 9", "dialogues_turns": [list(row) for row in BY_LABEL]},
        "kl_of_labels": KL_OF_LABELS,
    }


def _manifest(one: Reported) -> dict[str, Any] | None:
    """Return the rejects, stages and counts of the run that made a dataset; None if it has no manifest of a run."""
    if one.manifest is None or not one.manifest.get("stages"):
        return None
    return {
        "rejected": reasons_of(one.manifest),
        "stages": [
            {name: stage[name] for name in ("stage", "unit", "read", "kept")} for stage in one.manifest["stages"]
        ],
        "counts": _counts(one.manifest["configs"], (one.config or "").split(", ")),
    }


def _counts(configs: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the counts of the configs that are reported, in total; None if the manifest lacks one."""
    if not all(name in configs for name in names):
        return None
    if len(names) == 1:
        return configs[names[0]]
    return {what: sum(configs[name][what] for name in names) for what in ("dialogues", "turns", "tokens")}


def _rejected_examples(one: Reported) -> list[Mapping[str, Any]]:
    """Return the first few texts that the run rejected for each reason; none if it kept no rejects."""
    if one.manifest is None or one.folder is None or not one.manifest.get("stages"):
        return []
    paths = kept_rejects(one.folder, one.manifest)
    found: list[Mapping[str, Any]] = []
    for each in reasons_of(one.manifest) if paths else ():
        units = rejected_units(paths, one.manifest, each["reason"], each["stage"])
        for unit in islice(units, _EXAMPLES):
            found.append({**unit, "texts": [clipped(text, 300) for text in unit["texts"][:6]]})
    return found


@dataclass(frozen=True)
class Look:
    """The measurements and examples of a report.

    Attributes:
        counts: counts of each dataset.
        splits: (number of the dataset, split), indexed by the number of the split.
        alike: near-duplicates.
        most: number of hashes in a MinHash signature.
        doubts: figures of doubtful labels in the first dataset; None if it has no probabilities.
        to_see: examples for the page: the result of `shown_dialogues`; `alike`, pairs of dialogues by row of the table
            of near-duplicates; and `doubted`, turns by label.
    """

    counts: list[Counts]
    splits: list[tuple[int, str]]
    alike: NearDuplicates
    most: int
    doubts: dict[str, Any] | None
    to_see: Mapping[str, Any]

    def copies(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the figures of duplicates and near-duplicates, given the names of the other datasets."""

        def near(one: str | None, other: str | None, name: str | None) -> int:
            number = 0 if name is None else 1 + names.index(name)
            return self.alike.between(*_sides(self.splits, one, other, number))[0]

        keys = {name: counts.keys for name, counts in zip(names, self.counts[1:], strict=True)}
        return {"share": SHARE, "least": LEAST, "hashes": self.most, **copies(self.counts[0].keys, keys, near)}


def look_at(opened: Sequence[Reported], scratch: Path, workers: int, say: Callable[[str], object]) -> Look:
    """Measure datasets and choose the examples of the report.

    Args:
        opened: the reported dataset, followed by those that it is compared with.
        scratch: folder for temporary files.
        workers: number of processes; a small number of dialogues is counted in this process.
        say: called with the current step.
    """
    parts: list[Part] = []
    of_set: list[list[Part]] = []
    for one in opened:
        of_set.append(parts_of(one.files, len(one.labels.names), len(parts)))
        parts += of_set[-1]
    total = sum(part.rows for part in parts)
    sketches = comparison_of(total, scratch)
    splits = [
        (number, split)
        for number, its in enumerate(of_set)
        for split in sorted({part.split for part in its}, key=split_order)
    ]
    of_part = [splits.index((number, part.split)) for number, its in enumerate(of_set) for part in its]
    with LocalEngine(workers if total > _FEW else 1) as engine:
        counts = []
        for one, its in zip(opened, of_set, strict=True):
            done = _counter(one.asked.source, say)
            counts.append(count_parts(its, len(one.labels.names), engine, sketches, done))
        say("comparing")
        alike = find_near_duplicates(sketches[0], of_part, engine)
        doubts = find_suspicious_labels(of_set[0], counts[0].given, engine)
        say("fetching what is shown")
        to_see = _to_see(parts, splits, alike, doubts, opened, counts[0], engine)
    figures = suspicious_label_figures(doubts, counts[0].given, opened[0].labels) if doubts else None
    return Look(counts, splits, alike, sketches[1], figures, to_see)


def _counter(source: str, say: Callable[[str], object]) -> Callable[[int, int], None]:
    def done(dialogues: int, total: int) -> None:
        say(f"{source}: {dialogues:,} of {counted(total, 'dialogues')}")

    return done


def _sides(
    splits: Sequence[tuple[int, str]], one: str | None, other: str | None, number: int
) -> tuple[list[int], list[int]]:
    """Return the numbers of a split (None for all) of the first dataset, and of a split of dataset `number`."""

    def numbers(data: int, split: str | None) -> list[int]:
        return [place for place, (its, name) in enumerate(splits) if its == data and split in (None, name)]

    return numbers(0, one), numbers(number, other)


def _to_see(
    parts: Sequence[Part],
    splits: Sequence[tuple[int, str]],
    alike: NearDuplicates,
    doubts: SuspiciousLabels | None,
    opened: Sequence[Reported],
    counts: Counts,
    engine: Engine,
) -> dict[str, Any]:
    """Return the examples for the page: random dialogues, near-duplicate pairs, and turns with doubtful labels."""
    pairs = _pairs(splits, alike, len(opened))
    worst = doubts.worst.groups if doubts else {}
    labels = opened[0].labels
    doubted = [entry.value[0] for entries in worst.values() for entry in entries]
    places = [*(place for _, found in pairs for pair in found for place in pair), *doubted]
    dialogues = dialogues_at(parts, [*places, *wanted_places(counts, labels)], engine)
    return {
        **shown_dialogues(counts, labels, dialogues, doubted),
        "alike": [
            {
                "of": one,
                "in": other,
                "data": number,
                "pairs": [[_beginning(dialogues[place]) for place in pair] for pair in found],
            }
            for (one, other, number), found in pairs
            if found
        ],
        "doubted": {
            labels.names[group]: list(_doubted_turns(entries, dialogues, labels.names))
            for group, entries in sorted(worst.items())
        },
    }


def _pairs(splits: Sequence[tuple[int, str]], alike: NearDuplicates, sets: int) -> list[tuple[Any, Any]]:
    """Return the near-duplicate pairs by row of their table: (split, other split, dataset) → pairs of rows."""
    own = [name for number, name in splits if number == 0]
    rows = [(one, other, 0) for one in own for other in own] + [(None, None, n) for n in range(1, sets)]
    return [(row, alike.between(*_sides(splits, *row))[1]) for row in rows]


def _beginning(dialogue: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": dialogue["id"], "texts": [turn[0] for turn in dialogue["turns"][:6]]}


def _doubted_turns(
    entries: Sequence[Any], dialogues: Mapping[int, Mapping[str, Any]], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    for place, turn, likely in (entry.value for entry in entries):
        if turn < len(dialogues[place]["turns"]):
            text = dialogues[place]["turns"][turn]
            yield {"id": dialogues[place]["id"], "turn": text, "likely": names[likely]}


class ReportFiles(NamedTuple):
    """The paths of a report.

    Attributes:
        page: HTML file.
        figures: JSON file.
        pictures: folder of PNG and SVG files.
    """

    page: Path
    figures: Path
    pictures: Path


def report_files(page: Path, force: bool) -> ReportFiles:
    """Return the paths of a report.

    Args:
        page: `NAME.html`; beside it are `NAME.json` and the folder `NAME_pictures`.
        force: whether an earlier report may be replaced.

    Raises:
        ValueError: one of the paths exists and may not be replaced, or their folder does not exist.
    """
    files = ReportFiles(page, page.with_suffix(".json"), page.with_name(f"{page.stem}_pictures"))
    if files.figures == page:
        raise ValueError(f"{page} is where the figures go, as JSON: name the page otherwise, as {page.stem}.html")
    for path in files[:2]:
        check_out_file(path, force=force)
    if files.pictures.exists() or files.pictures.is_symlink():
        if not force:
            raise ValueError(f"{files.pictures} is there already: give another --out, or --force to replace it")
        if not _are_pictures(files.pictures):
            raise ValueError(f"{files.pictures} is no folder of pictures alone: remove it, or give another --out")
    return files


@contextmanager
def replacing_report(files: ReportFiles) -> Iterator[ReportFiles]:
    """Yield temporary paths for the files of a report, and move the files into place at the end, the page last.

    The pictures of an earlier report are removed. After an error nothing has changed.
    """
    with tempfile.TemporaryDirectory(prefix=f".{files.page.name}-", dir=files.page.parent) as scratch:
        made = ReportFiles(*(Path(scratch) / path.name for path in files))
        yield made
        if files.pictures.exists():
            files.pictures.rename(Path(scratch) / "before")
        if made.pictures.exists():
            made.pictures.rename(files.pictures)
        for path, target in ((made.figures, files.figures), (made.page, files.page)):
            path.replace(target)


def _are_pictures(folder: Path) -> bool:
    return (
        folder.is_dir()
        and not folder.is_symlink()
        and all(path.suffix in (".png", ".svg") and path.is_file() for path in folder.iterdir())
    )
