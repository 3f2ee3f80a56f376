"""Dialogues in memory (lists, data frames, datasets): read as records, and labelled."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.commands.line_runs import announced
from edos_dataset.commands.options import COMMAND_LINE
from edos_dataset.commands.progress import warn
from edos_dataset.labeling.languages import LanguageTally, languages_of
from edos_dataset.labeling.models.labelers import CheckedLabeler
from edos_dataset.labeling.models.shipped import MULTILINGUAL, is_supported, suited
from edos_dataset.labeling.stages import UNANSWERED, AnnotateDialogues, LabelTurns, dialogues_of
from edos_dataset.labeling.translation import as_parameter
from edos_dataset.languages import name_of_language
from edos_dataset.languages.detection import guess_language
from edos_dataset.releases.chats import renamed
from edos_dataset.releases.dialogues import curated_config, lines_of, read_dialogues, read_source, tables_of
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.readers import STDIN, typed_rows
from edos_dataset.releases.formats.records import Dialogue, Place, Record
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.several import SeveralFiles
from edos_dataset.releases.formats.sources import rows_of, splits_of
from edos_dataset.releases.formats.survey import checked_dialogues
from edos_dataset.releases.labelled_tables import kept_columns, row_labels
from edos_dataset.schema import list_of
from edos_dataset.schema.tables import SEVERAL
from edos_dataset.text import shown
from edos_dataset.wording import counted, unit_of

CPU_SHARD_TURNS, GPU_SHARD_TURNS = 1_000, 20_000
"""Turns per shard, the unit of work, resuming and memory. A shard takes a few seconds, so that even a small file uses
all cores.
"""


def label_in_memory(dialogues: Any, stage: AnnotateDialogues, meant: Selection) -> Any:  # noqa: ANN401
    """Return labelled dialogues in the form in which they were given; see `edos_dataset.label` without `out`."""
    if isinstance(dialogues, dict):
        parts = splits_of(dialogues, "the dictionary", meant.split)
        stage = _with_names_given(stage, parts.values(), meant)
        return type(dialogues)({name: _labelled_dataset(part, stage, meant) for name, part in parts.items()})
    stage = _with_names_given(stage, [dialogues], meant)
    if hasattr(dialogues, "with_format"):
        return _labelled_dataset(dialogues, stage, meant)
    findings = Findings()
    found = _dialogues_in(dialogues, meant, findings)
    if not isinstance(dialogues, str | Path | SeveralFiles) and is_frame(dialogues):
        return _labelled_frame(dialogues, found, stage, findings)
    return list(_labelled(found, stage, findings))


def model_for(dialogues: Any, meant: Selection, model: Any, language: str | None) -> tuple[Any, list[str]]:  # noqa: ANN401
    """Return the model to label dialogues with, and what to say of the choice.

    Args:
        dialogues: as for `edos_dataset.label`.
        meant: the part of them to read.
        model: the one that is asked for; None for the shipped model for the language.
        language: code of their language; None to judge it by the first of them, if they can be read twice.

    Raises:
        ValueError: a model is given beside a language, or no shipped model supports the language.
    """
    if model is not None and language is not None:
        raise ValueError(f"--language chooses the model, and so does --model {model}: give one of the two")
    if model is not None:
        return model, []
    if language and not is_supported(language):
        raise ValueError(
            f"no model that comes with edos-dataset knows {name_of_language(language)}: give a --model that does, such "
            "as a classifier of the Hub or openai:MODEL"
        )
    found = language or guess_language(" ".join(_first_texts(dialogues, meant)))
    chosen = suited(LABELER, found)
    if found is None or chosen == LABELER:
        return chosen, []
    why = f"the {'texts are' if language else 'first texts look'} {name_of_language(found)}"
    return chosen, [f"labelled by {chosen!r}, since {why}"]


def others_for(dialogues: Any, meant: Selection, model: Any, language: str | None) -> str | None:  # noqa: ANN401
    """Return the model for those of the dialogues that are in other languages than the default model's, or None where
    a model or a language is asked for, and for folders of `curate`, which have one language; arguments as for
    `model_for`.
    """
    is_folder = isinstance(dialogues, str | Path) and curated_config(dialogues, meant.config) is not None
    return None if model is not None or language is not None or is_folder else MULTILINGUAL


def labelled_by_others(table: pa.Table, stage: AnnotateDialogues) -> int:
    """Return how many labelled dialogues the stage's model for other languages labelled."""
    turns, offsets = unnest(table, "turns")
    sources = turns.field("label_source").take(pa.array(offsets[:-1][np.diff(offsets) > 0]))
    found: int = pc.sum(pc.equal(sources, stage.for_others.source)).as_py() or 0
    return found


def remark_on_others(count: int, dialogues: int, stage: AnnotateDialogues) -> str | None:
    """Return a sentence about the dialogues that the model for other languages labelled, None if there are none."""
    if not count:
        return None
    which = f"{count:,} of {counted(dialogues, 'dialogues')} {'is' if count == 1 else 'are'} in another language"
    return f"{which}: labelled by {stage.others!r}"


def _first_texts(dialogues: Any, meant: Selection) -> list[str]:  # noqa: ANN401
    """Return the turns of the first dialogues, or none if reading them would use them up or fails."""
    if isinstance(dialogues, dict) or (isinstance(dialogues, str | Path) and not _is_kept(Path(dialogues))):
        return []
    try:
        if isinstance(dialogues, str | Path | SeveralFiles):
            tables = read_source(dialogues, _FIRST, meant, Findings())
        else:
            tables = tables_of(_dialogues_in(dialogues, meant, Findings()), _FIRST)
        table = next(iter(tables), None)
    except (ValueError, OSError):
        return []  # reported when they are read in earnest
    return [] if table is None else unnest(table, "turns")[0].field("text").to_pylist()


def _is_kept(path: Path) -> bool:
    """Return whether a path is no pipe, no standard input, and no name on the Hub."""
    return path.is_file() or path.is_dir()


LABELER = AnnotateDialogues.model
"""The model that labels by default."""

_FIRST = 300  # turns by which the language is judged


def is_frame(dialogues: Any) -> bool:  # noqa: ANN401 - anything
    """Return whether something is a data frame of pandas, polars or another library with Arrow's interface, or an Arrow
    table; none of them need be installed.

    Raises:
        ValueError: it is a query, such as polars' LazyFrame.
    """
    if hasattr(dialogues, "collect"):
        raise ValueError(f"a {type(dialogues).__name__} is a query without rows: give what its collect() returns")
    return _is_pandas(dialogues) or (hasattr(dialogues, "columns") and hasattr(dialogues, "__arrow_c_stream__"))


def _is_pandas(frame: Any) -> bool:  # noqa: ANN401 - anything
    return hasattr(frame, "to_dict") and hasattr(frame, "iloc")


def records_of(dialogues: Any) -> Iterator[Record]:  # noqa: ANN401
    """Yield the records of a list, data frame or dataset.

    Raises:
        ValueError: the object is not a list of dialogues.
    """
    place = Place("dialogue", "dialogue")
    if is_frame(dialogues):
        yield from _frame_rows(dialogues)
        return
    if hasattr(dialogues, "with_format"):
        yield from rows_of(dialogues, "data set")
        return
    if not isinstance(dialogues, Sequence) or any(isinstance(dialogue, str | bytes) for dialogue in dialogues):
        raise ValueError(
            f"dialogues must be a list of dialogues, each a list of texts or a dictionary, got {shown(dialogues)}; put "
            "the turns of one dialogue into a list of their own"
        )
    for number, dialogue in enumerate(dialogues, 1):
        yield Record(place, number, list(dialogue) if isinstance(dialogue, tuple) else dialogue, True)


def remark_on_language(others: int, checked: int, stage: LabelTurns) -> str | None:
    """Return a sentence about dialogues in a language that the model does not support, None if there are none; called
    from Python, also issue it as a warning.
    """
    if not others:
        return None
    *some, last = map(name_of_language, languages_of(stage) or ())
    known, none_of = (f"{', '.join(some)} {word} {last}" if some else last for word in ("and", "or"))
    which = f"{others:,} of {counted(checked, 'dialogues')} {unit_of(others, 'do')}n't look {none_of}"
    second = getattr(stage, "others", None)
    models = f"models {stage.model!r} and {second!r} know" if second else f"model {stage.model!r} knows"
    remark = (
        f"{which}; {models} {known} only: for others give a --model that knows them, such as a classifier of the Hub "
        "or openai:MODEL"
    )
    if COMMAND_LINE.get() is None:
        warn(remark)
    return remark


def shard_turns_of(stage: AnnotateDialogues) -> int:
    """Return the number of turns per shard for the device of a stage."""
    return CPU_SHARD_TURNS if stage.device == "cpu" else GPU_SHARD_TURNS


def pseudonymized_records(dialogues: Any, meant: Selection, findings: Findings) -> list[dict[str, Any]]:  # noqa: ANN401
    """Return dialogues as records in which speakers have pseudonyms; the findings receive what was found in them, and
    its warnings are issued.

    Raises:
        ValueError: the dialogues are a dataset, a data frame or a folder of `curate`.
    """
    if isinstance(dialogues, dict) or is_frame(dialogues) or hasattr(dialogues, "with_format"):
        raise ValueError("pseudonymize takes a file or a list of dialogues, not a data set: its columns would stay")
    if not isinstance(dialogues, str | Path | SeveralFiles):
        found = checked_dialogues(lambda _: records_of(dialogues), meant, "the input", findings)
    elif curated_config(dialogues, meant.config) is not None:
        raise ValueError(f"{dialogues} is a folder of `edos curate`: give --pseudonymize to that command")
    else:
        found = read_dialogues(dialogues, meant, findings)
    records = renamed(found)
    for warning in findings.warnings:
        warn(warning)
    return records


def _dialogues_in(dialogues: Any, meant: Selection, findings: Findings) -> Iterator[Dialogue]:  # noqa: ANN401
    if isinstance(dialogues, str | Path | SeveralFiles):
        return read_dialogues(dialogues, meant, findings)
    name = "the data set" if hasattr(dialogues, "with_format") else "the input"
    return checked_dialogues(lambda _: records_of(dialogues), meant, name, findings)


def _with_names_given(stage: AnnotateDialogues, sources: Iterable[Any], meant: Selection) -> AnnotateDialogues:
    """Return a stage with the label set that its model has for these dialogues, if the model is a function that names
    the labels of turns without saying which there are.
    """
    labeler, sources = stage.labeler, list(sources)
    is_read_once = any(isinstance(source, str | Path) and str(source) == STDIN for source in sources)
    if stage.label_set is not None or not isinstance(labeler, CheckedLabeler) or is_read_once:
        return stage
    tables = (
        table
        for source in sources
        for table in tables_of(_dialogues_in(source, meant, Findings()), shard_turns_of(stage))
    )
    names = labeler.names_given(
        dialogues_of(turns.field("text"), offsets) for turns, offsets in (unnest(table, "turns") for table in tables)
    )
    return stage if names is None else replace(stage, label_set=as_parameter(names))


def _frame_rows(frame: Any) -> Iterator[Record]:  # noqa: ANN401 - a data frame
    place = Place("row", "row")
    if not _is_pandas(frame):
        yield from typed_rows([_arrow_table(frame)], place)
        return
    try:
        yield from typed_rows([pa.Table.from_pandas(frame, preserve_index=False)], place)
    except pa.ArrowException:  # a column of several types
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        yield from (Record(place, number, row, True) for number, row in enumerate(rows, 1))


def _labelled(dialogues: Iterator[Dialogue], stage: AnnotateDialogues, findings: Findings) -> Iterator[Any]:
    for table in _labelled_tables(dialogues, stage, findings):
        yield from map(json.loads, lines_of(table))


def _labelled_tables(dialogues: Iterator[Dialogue], stage: AnnotateDialogues, findings: Findings) -> Iterator[pa.Table]:
    """Yield labelled tables; warn of findings about the source and of dialogues in other languages."""
    tally = LanguageTally(languages_of(stage) or ())
    unanswered = 0
    for table in announced(tables_of(dialogues, shard_turns_of(stage)), findings):
        tally.add(table)
        labelled = stage(table)
        unanswered += stage.tally(labelled).get(UNANSWERED, 0)
        yield labelled
    remark_on_language(*tally.counts(), stage)
    if unanswered:
        warn(f"{counted(unanswered, 'turns have')} no label: {stage.model} gave no usable answer")


def _labelled_frame(frame: Any, found: Iterator[Dialogue], stage: AnnotateDialogues, findings: Findings) -> Any:  # noqa: ANN401
    """Return a labelled data frame: with new columns if each row is a turn, otherwise with labelled turns."""
    tables = list(_labelled_tables(found, stage, findings))
    if not _is_pandas(frame):
        return _labelled_arrow(frame, tables, stage, findings)
    if not findings.has_rows:
        rows = [json.loads(line) for table in tables for line in lines_of(table)]
        return type(frame)(rows, index=frame.index if len(rows) == len(frame) else None)
    labels = row_labels(tables, stage.top)
    names = kept_columns(map(str, frame.columns), list(labels.columns))
    kept = frame[[name for name in frame.columns if str(name) in names]].iloc[labels.rows]
    return kept.rename(columns={name: names[str(name)] for name in kept.columns}).assign(**labels.columns)


def _labelled_arrow(frame: Any, tables: Sequence[pa.Table], stage: AnnotateDialogues, findings: Findings) -> Any:  # noqa: ANN401
    """Return a frame of another library, made from Arrow, with labels as of `_labelled_frame`."""
    if not findings.has_rows:
        table = pa.Table.from_pylist([json.loads(line) for table in tables for line in lines_of(table)])
    else:
        given, labels = _arrow_table(frame), row_labels(tables, stage.top)
        names = kept_columns(given.column_names, list(labels.columns))
        kept = given.select(list(names)).take(pa.array(labels.rows)).rename_columns(list(names.values()))
        table = pa.table({**dict(zip(kept.column_names, kept.columns, strict=True)), **labels.columns})
    return table if isinstance(frame, pa.Table) else type(frame)(table)


def _arrow_table(frame: Any) -> pa.Table:  # noqa: ANN401
    """Return a frame as an Arrow table, texts as plain strings."""
    table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    views = [field.name for field in table.schema if pa.types.is_string_view(field.type)]
    for name in views:
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].cast(pa.large_string()))
    return table


def _labelled_dataset(dataset: Any, stage: AnnotateDialogues, meant: Selection) -> Any:  # noqa: ANN401
    """Return a labelled dataset; if its rows are dialogues, its other columns are kept unchanged."""
    import datasets

    if not isinstance(dataset, datasets.Dataset):
        raise ValueError(f"a {type(dataset).__name__} cannot be labelled: give a Dataset")
    findings = Findings()
    found = _dialogues_in(dataset, meant, findings)
    rows = list(_labelled(found, stage, findings))
    if not rows:
        raise ValueError("the data set has no rows: there is nothing to label")
    kept = [name for name in dataset.column_names if name in rows[0] and name not in ("dialogue_id", "turns")]
    kept = kept if len(rows) == len(dataset) else []
    ours = datasets.Dataset.from_list([{key: row[key] for key in row if key not in kept} for row in rows])
    of_label = datasets.ClassLabel(names=list(stage.labels.labels))
    turn = dict(
        ours.features["turns"][0] if isinstance(ours.features["turns"], list) else ours.features["turns"].feature
    )
    turn |= {
        "text": datasets.Value("string"),
        "label": of_label,
        "confidence": datasets.Value("float32"),
        "top": list_of({"label": of_label, "probability": datasets.Value("float32")}),
    }
    if stage.labeler.threshold is not None:
        turn[SEVERAL] = turn["top"]
    ours = ours.cast(datasets.Features({**ours.features, "turns": list_of(turn)}))
    if not kept:
        return ours
    return datasets.concatenate_datasets([ours, dataset.select_columns(kept)], axis=1)
