"""The published form of runs, prepared for an atomic commit: the configs, the picture of their labels, and the card.

A run over subtitles has its configs in a folder of its own. Runs over books share a folder, with a config for each
language. A record of each language, `.run/published_LANGUAGE.json`, describes its contents; card and manifest are made
from all records, and the data of the other languages stay unchanged.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.publishing import layout
from edos_dataset.publishing.cards import pictures
from edos_dataset.publishing.cards.dataset import (
    BooksPart,
    Origin,
    books_card,
    dataset_card,
    labelled_config,
    labelled_part,
)
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE, draw_labels
from edos_dataset.publishing.front_matter import with_content
from edos_dataset.publishing.layout import ConfigFiles, filled_division, write_config
from edos_dataset.publishing.splits import Division
from edos_dataset.publishing.statistics import from_record
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.manifest import Manifest, merged
from edos_dataset.runs.pipeline import Steps
from edos_dataset.runs.shards import (
    StageCount,
    digest,
    read_checked,
    read_shard,
    write_checked,
    write_text,
)
from edos_dataset.schema import BOOK_LANGUAGES
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.wording import counted

_RECORD = "published.json"

NONE_LEFT = "no_dialogue_left"
"""Reason for a book whose dialogues have all been removed."""

_UNWANTED = ("other_file_of_book", "other_language")
"""Reasons for files that are readable but not wanted, and so need no attention."""


def prepare_published(
    folder: OutputFolder,
    outputs: Mapping[str, Sequence[Path]],
    language: str,
    pipeline: Steps,
    counts: Sequence[StageCount],
    origin: Origin,
    engine: Engine,
    division: Division | None = None,
) -> list[ConfigFiles]:
    """Prepare the configs, the picture of their labels and the card in a folder; configs and picture are kept if the
    folder already holds the result of these shards. The caller adds other files, and commits.

    Args:
        folder: The published folder, locked by the caller.
        outputs: Shards of each config; configs that are not named are not part of the new contents.
        language: Code of the dialogues' language.
        pipeline: The pipeline that made the shards; the card names its models.
        counts: Counts of each stage.
        origin: How it was made, for the card.
        engine: Engine whose workers write the configs.
        division: Division of the films among the splits, by their hashes.
    """
    division = filled_division(division or Division(), next(iter(outputs.values()), []), engine.corpus)
    makers = [code_hash(layout.__name__), code_hash(pictures.__name__), version("matplotlib")]
    divided = [*division.shares, division.seed, dict(division.moved)]
    made_of = {config: [digest(path) for path in shards] for config, shards in outputs.items()}
    key = hash_json([made_of, *makers, divided])
    configs = _written_before(folder, key)
    labelled = labelled_config(configs or [])
    if configs is not None:
        prepared = folder.prepare(keep=[*digests_of(configs), *[LABEL_PICTURE] * bool(labelled)])
    else:
        prepared = folder.prepare()
        corpus = engine.corpus
        configs = [
            write_config(config, shards, folder.shared, engine=corpus, division=division)
            for config, shards in outputs.items()
        ]
        files = digests_of(configs)
        labelled = labelled_config(configs)
        if labelled:
            draw_labels(labelled.labels, labelled.config, prepared / LABEL_PICTURE, labelled.set_of_labels)
            files |= {LABEL_PICTURE: digest(prepared / LABEL_PICTURE)}
        record = {"key": key, "files": files, "configs": list(map(vars, configs))}
        write_checked(prepared / ".run" / _RECORD, record)
    models, segmenters = records_of(pipeline, LabelTurns), records_of(pipeline, SegmentTurns)
    stages = [vars(count) for count in counts]
    card = dataset_card(configs, language, models, stages, segmenters, origin, labelled is not None)
    write_text(prepared / "README.md", with_content(card, digests_of(configs)))
    return configs


def holds(films: int, configs: Iterable[ConfigFiles]) -> dict[str, int]:
    """Return the contents of a folder, for `runs.provenance`."""
    return {"films": films, "dialogues": max((written.total_rows for written in configs), default=0)}


def digests_of(configs: Iterable[ConfigFiles]) -> dict[str, str]:
    """Return the SHA-256 of each data file of configs."""
    return {name: known for written in configs for name, known in written.digests.items()}


def _written_before(folder: OutputFolder, key: str) -> list[ConfigFiles] | None:
    """Return the configs that an earlier call wrote, if they have this key and are still complete."""
    try:
        record = read_checked(folder.run / _RECORD)
        if record["key"] != key or not folder.has(record["files"]):
            return None
        return [from_record(ConfigFiles, written) for written in record["configs"]]
    # Absent, truncated or from another version: write it again.
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def records_of(pipeline: Steps, kind: type[LabelTurns] | type[SegmentTurns]) -> dict[str, dict[str, Any]]:
    """Return the records of the models that stages of a kind use, by the models' names."""
    return {name: record for item in pipeline if isinstance(item, kind) for name, record in item.records().items()}


def histories_of(pipeline: Steps) -> dict[str, int] | None:
    """Return how many earlier turns the labelling models that leave it open see, by their names; None without any."""
    seen = {name: record.get("history") for name, record in records_of(pipeline, LabelTurns).items()}
    return {name: history for name, history in seen.items() if isinstance(history, int)} or None


def summary(written: ConfigFiles) -> dict[str, Any]:
    """Return a config's entry in a manifest."""
    rows, turns, tokens = written.total_rows, written.total_turns, written.total_tokens
    _, certainty = written.sure()
    labels: dict[str, Any] = {"label_set": written.label_set} if written.label_set else {}
    return {
        "dialogues": rows,
        "turns": turns,
        "tokens": tokens,
        "turns_per_dialogue": round(turns / max(rows, 1), 3),
        "tokens_per_turn": round(tokens / max(turns, 1), 3),
        "certainty": None if certainty is None else round(certainty, 4),
        "splits": written.rows,
        "bytes": sum(written.bytes.values()),
        **labels,
    }


def split_remarks(configs: Sequence[ConfigFiles], division: Division, unit: str) -> list[str]:
    """Return sentences on splits that are empty, or were filled, each with what to do.

    Args:
        configs: The configs that were written; the first has the dialogues of all films or books.
        division: The division that was asked for.
        unit: "films" or "books".
    """
    first, *others = configs
    if not first.total_rows:
        return []
    remarks, few = [], counted(first.documents, unit)
    if first.moved:
        remarks.append(
            f"splits of {first.divided} would be empty with only {few}, so {first.moved:,} went to another split than "
            f"by hash; more {unit} may undo that"
        )
    if empty := [split for split in division.wanted if not first.rows[split]]:
        remedy = "" if division.fill else f", or give --splits {first.divided}, to have one in each split"
        remarks.append(f"{_named(empty)} empty with only {few}: add {unit}{remedy}")
    for written in others:
        if gone := [split for split in division.wanted if first.rows[split] and not written.rows[split]]:
            remarks.append(
                f"{_named(gone)} empty in {written.config}, as no dialogue of it was selected: give a larger --top, "
                f"or more {unit}"
            )
    return remarks


def _named(splits: Sequence[str]) -> str:
    return f"the {' and '.join(splits)} {'split is' if len(splits) == 1 else 'splits are'}"


def recipe_file(language: str) -> str:
    """Return the name of the YAML file with a language's pipeline, next to the card."""
    return f"recipe_{language}.yaml"


def write_books(
    folder: OutputFolder, language: str, config: str, shards: Sequence[Path], engine: Engine, division: Division
) -> ConfigFiles:
    """Begin the new contents of a folder of books: let an engine's workers prepare the config of one language, unless
    the folder already holds the result of these shards, and keep those of the others.
    """
    division = filled_division(division, shards, engine.corpus)
    divided = [*division.shares, division.seed, dict(division.moved)]
    key = hash_json([config, [digest(path) for path in shards], code_hash(layout.__name__), divided])
    record = read_checked(folder.run / _record_of(language))
    others = _others(folder, language)
    kept = [name for part in others for name in (*part.written.digests, recipe_file(part.language))]
    if record.get("key") == key and folder.has(record["written"]["digests"]):
        written = from_record(ConfigFiles, record["written"])
        folder.prepare(keep=[*kept, *written.digests])
    else:
        folder.prepare(keep=kept)
        written = write_config(config, shards, folder.shared, engine=engine.corpus, division=division)
    write_checked(folder.prepared / folder.run.name / _record_of(language), {"key": key, "written": vars(written)})
    return written


def finish_books(folder: OutputFolder, part: BooksPart) -> None:
    """Complete the new contents of a folder of books: the record of one language; card, manifest and picture of all.

    Args:
        folder: The folder after `write_books`.
        part: Its new contents of the language.
    """
    path = folder.prepared / folder.run.name / _record_of(part.language)
    write_checked(path, {**read_checked(path), **_as_record(part)})
    parts = sorted([*_others(folder, part.language), part], key=lambda each: BOOK_LANGUAGES.index(each.language))
    labelled = labelled_part(parts)
    if labelled is not None:
        written = labelled.written
        draw_labels(written.labels, written.config, folder.prepared / LABEL_PICTURE, written.set_of_labels)
    card = with_content(books_card(parts), digests_of(each.written for each in parts))
    write_text(folder.prepared / "README.md", card)
    _joint_manifest({each.language: each.manifest for each in parts}).write(folder.prepared)


def _joint_manifest(manifests: Mapping[str, Mapping[str, Any]]) -> Manifest:
    """Return the manifest of runs over books, given that of each language."""
    return Manifest(
        input=merged(manifest["input"] for manifest in manifests.values()),
        stages=_stages(manifests.values()),
        remarks=[remark for manifest in manifests.values() for remark in manifest.get("remarks", [])] or None,
        quarantined=[note for manifest in manifests.values() for note in manifest["quarantined"]],
        left_out=[file for manifest in manifests.values() for file in manifest.get("left_out", [])],
        configs={name: counts for manifest in manifests.values() for name, counts in manifest["configs"].items()},
        books=[book for manifest in manifests.values() for book in manifest["books"]],
        runs={language: _without(manifest, "books") for language, manifest in manifests.items()},
    )


def ledger(
    books: pa.Table, shards: Iterable[Path], notes: Iterable[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the result of each book, and the files that could not be read.

    Args:
        books: BOOKS that were read.
        shards: Parquet files of the dialogues that were kept of them.
        notes: Notes of the stages.

    Returns:
        `id`, `dialogues`, `utterances`, `kept` and `reason` (null for a kept one) of each book, numbers first; and
        `path`, `reason` and `detail` of each file that could not be read. The id is the number of Project Gutenberg or
        the name of the file, or where several books have that, the whole key.
    """
    counts: dict[str, list[int]] = {}
    for shard in shards:
        table = read_shard(shard, ["book", "turns.list.element.speaker"])
        for book, turns in zip(
            table["book"].to_pylist(), pc.list_value_length(table["turns"]).to_pylist(), strict=True
        ):
            of_book = counts.setdefault(book, [0, 0])
            of_book[0] += 1
            of_book[1] += turns
    reasons: dict[str, str] = {}
    unread = []
    for note in notes:
        reason = note["reason"]
        if "path" in note and reason not in _UNWANTED:
            unread.append({name: note[name] for name in ("path", "reason", "detail")})
        if reasons.get(note["book"], _UNWANTED[0]) == _UNWANTED[0]:
            reasons[note["book"]] = reason
    rows: list[dict[str, Any]] = []
    keys: list[str] = sorted(books["book"].to_pylist())
    times = Counter(map(_short, keys))
    for book in keys:
        dialogues, utterances = counts.get(book, (0, 0))
        reason = None if dialogues else reasons.get(book, NONE_LEFT)
        row = {"dialogues": dialogues, "utterances": utterances, "kept": dialogues > 0, "reason": reason}
        rows.append({"id": _short(book) if times[_short(book)] == 1 else book, **row})
    rows.sort(key=lambda row: _by_number(str(row["id"])))
    return rows, sorted(unread, key=lambda note: (note["path"], note["reason"]))


def _by_number(name: str) -> tuple[bool, int, str]:
    """Return a sort key for names of books: numbers come first, in numeric order."""
    return not name.isdecimal(), int(name) if name.isdecimal() else 0, name


def _short(book: str) -> str:
    return book.rpartition("/")[2]


def words_of(shards: Iterable[Path]) -> int:
    """Return the number of words, separated by spaces, of all utterances of shards."""
    words = 0
    for shard in shards:
        texts = unnest(read_shard(shard, ["turns.list.element.text"]), "turns")[0].field("text")
        gaps = pc.sum(pc.count_substring_regex(texts, r"\s+")).as_py() or 0
        words += gaps + int(np.count_nonzero(pc.binary_length(texts).to_numpy(zero_copy_only=False)))
    return words


def _record_of(language: str) -> str:
    return f"published_{language}.json"


def _others(folder: OutputFolder, language: str) -> list[BooksPart]:
    """Return a folder's contents of other languages, as far as they are still complete."""
    parts = []
    for other in BOOK_LANGUAGES:
        record = read_checked(folder.run / _record_of(other)) if other != language else {}
        if record.get("manifest") and folder.has(record["written"]["digests"]):
            parts.append(_part_of(record))
    return parts


def _as_record(part: BooksPart) -> dict[str, Any]:
    record = {**vars(part), "origin": asdict(part.origin)}
    return _without(record, "written")


def _part_of(record: Mapping[str, Any]) -> BooksPart:
    named = {name: record[name] for name in ("language", "manifest", "parameters", "models", "words")}
    return BooksPart(**named, origin=Origin(**record["origin"]), written=from_record(ConfigFiles, record["written"]))


def _stages(manifests: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the stages of all languages, with the counts of each added up."""
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for manifest in manifests:
        for entry in manifest["stages"]:
            stages.setdefault(entry["stage"], []).append(entry)
    totals = []
    for entries in stages.values():
        total = merged(entries)
        seconds = total["seconds"]
        totals.append({**total, "per_second": round(total["read"] / seconds, 1) if seconds else None})
    return totals


def _without(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != name}
