"""All dialogues of a recipe, labelled where its kind needs it, and shared out into three parts by document."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Doubles
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import read_shard, write_shard
from edos_dataset.schema import SPLITS
from training.caches import key_of
from training.generator.recipe import GeneratorRecipe
from training.generator.sources import CONVERSATIONS, read_source

_HELD = 0.1
"""Share of documents of the test part, and of the validation part."""

_BLOCK = 20_000
"""Turns that are labelled, and kept, at once."""


@dataclass(frozen=True)
class Corpus:
    """What a training learns from and is measured by.

    Attributes:
        parts: split → table of CONVERSATIONS; labels are complete where they are needed.
        facts: for the record: of each source its dialogues, digest, and where labels and parts came from.
    """

    parts: dict[str, pa.Table]
    facts: list[dict[str, object]]


def load_corpus(recipe: GeneratorRecipe, data_dir: Path | None, dialogues: str | None, cache: Path) -> Corpus:
    """Read the recipe's sources.

    Args:
        recipe: the training.
        data_dir: folder of the raw releases.
        dialogues: folder or Hub id of a data set.
        cache: folder that keeps labels.

    Raises:
        ValueError: a source is not there, a turn has no label and nothing labels it, or a part stays empty.
    """
    tables, facts = [], []
    for name in recipe.data:
        table = read_source(name, data_dir, dialogues)
        labelled_by = "not needed"
        if recipe.labelled:
            table, labelled_by = with_labels(table, recipe, name, cache)
        table, division = with_splits(table, recipe.split_seed)
        tables.append(table)
        facts.append(
            {
                "source": name,
                "dialogues": len(table),
                "sha256": _digest(table),
                "labels": labelled_by,
                "division": division,
            }
        )
    whole = pa.concat_tables(tables)
    parts = {split: whole.filter(pc.equal(whole["split"], split)) for split in SPLITS}
    if empty := [split for split, part in parts.items() if not len(part)]:
        raise ValueError(
            f"{' and '.join(recipe.data)}: no dialogue for {' and '.join(empty)}, of {len(whole)} in all: give more "
            "dialogues, or a data set with all three splits"
        )
    return Corpus(parts, facts)


def with_labels(table: pa.Table, recipe: GeneratorRecipe, name: str, cache: Path) -> tuple[pa.Table, str]:
    """Return conversations of which every turn has a label, and who gave it; what a labeler says is kept in the cache,
    block by block.

    Raises:
        ValueError: a turn has none, and the recipe names no labeler.
    """
    labels = table["labels"].combine_chunks()
    missing = labels.values.null_count
    if labels.values.null_count < len(labels.values):
        extremes = pc.min_max(labels.values).as_py()
        if extremes["min"] < 0 or extremes["max"] >= len(LABELS):
            raise ValueError(f"{name}: a turn has the label {extremes['max']}; labels are 0 to {len(LABELS) - 1}")
    if not missing and not recipe.relabel:
        return table, "given"
    if recipe.labeler is None:
        raise ValueError(
            f"{name}: {missing} of {len(labels.values)} turns have no label, and the recipe names no labeler: say "
            "`labeler: general` (or fast), or label the data with `edos label`"
        )
    labeler = load_labeler(recipe.labeler)
    offsets, texts = labels.offsets, table["texts"].combine_chunks()
    bounds = offsets.to_numpy()
    starts = np.flatnonzero(np.diff(bounds[:-1] // _BLOCK, prepend=-1))
    said = []
    for start, stop in zip(starts, [*starts[1:], len(table)], strict=True):
        turns = texts.slice(start, stop - start).to_pylist()
        path = cache / f"labels-{key_of([labeler.identity, *(' | '.join(dialogue) for dialogue in turns)])}.parquet"
        if not path.is_file():
            ids = labeler.predict_proba(turns).argmax(axis=1).astype(np.int8)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_shard(path, pa.table({"label": ids}))
        said.append(read_shard(path)["label"].combine_chunks())
    told = pa.concat_arrays(said)
    values = told if recipe.relabel else pc.coalesce(labels.values, told)
    column = table.column_names.index("labels")
    table = table.set_column(column, CONVERSATIONS.field(column), pa.ListArray.from_arrays(offsets, values))
    source = f"{labeler.identity}, {len(told) if recipe.relabel else missing} of {len(told)} turns"
    return table, source


def with_splits(table: pa.Table, seed: int) -> tuple[pa.Table, str]:
    """Return conversations that all have a split, and how they were shared out.

    Where the data give all three, they keep theirs. Otherwise a tenth of the documents goes to the test part and a
    tenth to the validation part, by a digest of the document's id: a film is on the same side in every data set that
    is made of it. Of few documents, at least one goes to each part; with fewer than three, dialogues are shared out.
    """
    if set(table["split"].unique().to_pylist()) >= set(SPLITS):
        return table.filter(table["split"].is_valid()), "as given"
    by = "document_id" if len(table["document_id"].unique()) >= len(SPLITS) else "dialogue_id"
    names = table[by].combine_chunks().dictionary_encode()
    drawn = np.array([_drawn(name, seed) for name in names.dictionary.to_pylist()])
    column = table.column_names.index("split")
    parts = np.array(SPLITS)[_parts(drawn)][names.indices.to_numpy()]
    return table.set_column(column, "split", pa.array(parts, pa.string())), f"80/10/10 by {by}, seed {seed}"


def _drawn(name: str, seed: int) -> float:
    """Return a number from 0 to below 1 that a name and a seed decide."""
    return int.from_bytes(sha256(f"{seed}\n{name}".encode()).digest()[:8], "big") / 2**64


def _parts(drawn: Doubles) -> np.ndarray:
    """Return 0, 1 or 2 (train, validation, test) for numbers from 0 to 1."""
    parts = np.where(drawn < _HELD, 2, np.where(drawn < 2 * _HELD, 1, 0))
    ranked = np.argsort(drawn, kind="stable")
    if len(drawn) >= len(SPLITS) and len(np.unique(parts)) < len(SPLITS):
        parts = np.zeros(len(drawn), np.int64)
        parts[ranked[0]], parts[ranked[1]] = 2, 1
    return parts


def _digest(table: pa.Table) -> str:
    """Return a digest of all that is learned from a source."""
    found = sha256()
    for batch in table.to_batches(1000):
        found.update(repr(batch.to_pydict()).encode())
    return found.hexdigest()
