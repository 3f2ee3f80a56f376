"""The published form of runs over books, prepared for one stroke: a config a language, one card and one manifest.

What a folder holds of each language stands in a record of its own, `.run/published_LANGUAGE.json`; card and manifest
are made of all of them, and the data of the other languages stay as they are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import unnest
from edos_dataset.publishing import layout
from edos_dataset.publishing.cards.books import BooksPart, books_card, labelled_part
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE, draw_labels
from edos_dataset.publishing.content import with_content
from edos_dataset.publishing.layout import ConfigFiles, write_config
from edos_dataset.publishing.published import digests_of
from edos_dataset.publishing.statistics import from_record
from edos_dataset.runs.engines.base import Engine
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.manifest import Manifest, added_up
from edos_dataset.runs.shards import digest, read_checked, read_shard, write_checked, write_text
from edos_dataset.schema import BOOK_LANGUAGES

NONE_LEFT = "no_dialogue_left"
"""Reason of a book whose dialogues have all left."""

_UNWANTED = ("other_file_of_book", "other_language")
"""Reasons of files that could be read and are not wanted, so nobody need look at them."""


def recipe_file(language: str) -> str:
    """Return the name of the file beside the card that has the pipeline of a language as YAML."""
    return f"recipe_{language}.yaml"


def write_books(
    folder: OutputFolder, language: str, config: str, shards: Sequence[Path], engine: Engine
) -> ConfigFiles:
    """Begin the new set of a folder: let an engine's workers prepare the config of one language, unless the folder
    holds just what these shards give, and keep those of the others.
    """
    key = hash_json([config, [digest(path) for path in shards], code_hash(layout.__name__)])
    record = read_checked(folder.run / _record(language))
    others = _others(folder, language)
    kept = [name for part in others for name in (*part.written.digests, recipe_file(part.language))]
    if record.get("key") == key and folder.has(record["written"]["digests"]):
        written = from_record(ConfigFiles, record["written"])
        folder.prepare(keep=[*kept, *written.digests])
    else:
        folder.prepare(keep=kept)
        written = write_config(config, shards, folder.shared, engine=engine.corpus)
    write_checked(folder.prepared / folder.run.name / _record(language), {"key": key, "written": vars(written)})
    return written


def finish_books(folder: OutputFolder, part: BooksPart) -> None:
    """End the new set of a folder: the record of one language, and card, manifest and picture of all.

    Args:
        folder: as `write_books` left it.
        part: what it holds of the language now.
    """
    path = folder.prepared / folder.run.name / _record(part.language)
    write_checked(path, {**read_checked(path), **_as_record(part)})
    parts = sorted([*_others(folder, part.language), part], key=lambda each: BOOK_LANGUAGES.index(each.language))
    labelled = labelled_part(parts)
    if labelled is not None:
        draw_labels(labelled.written.labels, labelled.written.config, folder.prepared / LABEL_PICTURE)
    card = with_content(books_card(parts), digests_of(each.written for each in parts))
    write_text(folder.prepared / "README.md", card)
    manifests = {each.language: each.manifest for each in parts}
    Manifest(
        input=added_up(manifest["input"] for manifest in manifests.values()),
        stages=_stages(manifests.values()),
        remarks=[remark for manifest in manifests.values() for remark in manifest.get("remarks", [])] or None,
        quarantined=[note for manifest in manifests.values() for note in manifest["quarantined"]],
        configs={name: counts for manifest in manifests.values() for name, counts in manifest["configs"].items()},
        books=[book for manifest in manifests.values() for book in manifest["books"]],
        runs={language: _without(manifest, "books") for language, manifest in manifests.items()},
    ).write(folder.prepared)


def ledger(
    books: pa.Table, shards: Iterable[Path], notes: Iterable[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what became of each book, and which files could not be read.

    Args:
        books: BOOKS that were read.
        shards: Parquet files of the dialogues that were kept of them.
        notes: what the stages told.

    Returns:
        `id`, `dialogues`, `utterances`, `kept` and `reason` (null of a kept one) of each book, numbers
        first; and of each file that could not be read `path`, `reason` and `detail`. The id is the number of Project
        Gutenberg or the name of the file, or where several books have that, the whole key.
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
    """Return what sorts names of books: numbers first, as such."""
    return not name.isdecimal(), int(name) if name.isdecimal() else 0, name


def _short(book: str) -> str:
    return book.rpartition("/")[2]


def words_of(shards: Iterable[Path]) -> int:
    """Return how many words, parted by spaces, all utterances of some shards have."""
    words = 0
    for shard in shards:
        texts = unnest(read_shard(shard, ["turns.list.element.text"]), "turns")[0].field("text")
        gaps = pc.sum(pc.count_substring_regex(texts, r"\s+")).as_py() or 0
        words += gaps + int(np.count_nonzero(pc.binary_length(texts).to_numpy(zero_copy_only=False)))
    return words


def _record(language: str) -> str:
    return f"published_{language}.json"


def _others(folder: OutputFolder, language: str) -> list[BooksPart]:
    """Return what a folder holds of other languages, as far as it is still there."""
    parts = []
    for other in BOOK_LANGUAGES:
        record = read_checked(folder.run / _record(other)) if other != language else {}
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
    """Return the stages of all languages, each with what it did to all of them."""
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for manifest in manifests:
        for entry in manifest["stages"]:
            stages.setdefault(entry["stage"], []).append(entry)
    totals = []
    for entries in stages.values():
        total = added_up(entries)
        seconds = total["seconds"]
        totals.append({**total, "per_second": round(total["read"] / seconds, 1) if seconds else None})
    return totals


def _without(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != name}
