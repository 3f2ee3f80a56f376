"""Which of one's own files a labelled document is, if none has its name: found by what is said in it.

Document ids are paths, and folders get other names. A dialogue's id also holds the number of its first sentence, and
its labels the hash of its first turn: a file in which at least half of a document's dialogues begin so is taken for it.
A wrong guess does no harm, as every turn is compared with its hash afterwards.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.publishing.attach import PublishedLabels
from edos_dataset.publishing.hashes import text_hash
from edos_dataset.runs.shards import read_shard
from edos_dataset.schema import FILE
from edos_dataset.text import hash64

SHARE = 0.5
"""Of a document's labelled dialogues that a file must have."""


def pick(films: pa.Table, wanted: Sequence[bool] | np.ndarray) -> pa.Table:
    """Return some files of a FILMS table, each as a film of its own, in their order.

    Args:
        films: the films.
        wanted: for each file, of all films one after the other, whether it is wanted.
    """
    files, offsets = unnest(films, "files")
    chosen = pa.array(np.flatnonzero(wanted))
    owners = np.repeat(np.arange(films.num_rows), np.diff(offsets))[chosen.to_numpy()]
    picked = files.take(chosen)
    lists = nest(np.arange(len(picked) + 1), FILE, {field.name: picked.field(field.name) for field in FILE})
    return pa.table({"film": films["film"].take(pa.array(owners)), "files": lists}, schema=films.schema)


def documents_of(films: pa.Table) -> pa.Array:
    """Return the document ids of all files of a FILMS table."""
    return unnest(films, "files")[0].field("document_id")


def rename(films: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Return the files that have a new document id, each as a film of its own."""
    picked = pick(films, [document in names for document in documents_of(films).to_pylist()])
    files, offsets = unnest(picked, "files")
    columns = {field.name: files.field(field.name) for field in FILE}
    columns["document_id"] = [names[document] for document in columns["document_id"].to_pylist()]
    return picked.set_column(
        picked.column_names.index("files"), picked.schema.field("files"), nest(offsets, FILE, columns)
    )


def find_renamed(published: PublishedLabels, missing: pa.Array, shards: Sequence[Path]) -> dict[str, str]:
    """Return document id of one's own → that of the labels, of the files that say the same.

    Of several files the one with the most dialogues in common is taken, of equal ones the smaller id.

    Args:
        published: the labels.
        missing: ids of the labelled documents that no file is called by.
        shards: dialogues made of the files that have no labels. Memory: a shard, and 100 bytes for each dialogue of
            the missing documents.
    """
    owners: dict[int, set[str]] = {}
    dialogues: Counter[str] = Counter()
    for document, dialogue, first in published.openings(missing):
        owners.setdefault(_key(dialogue, first), set()).add(document)
        dialogues[document] += 1
    votes: Counter[tuple[str, str]] = Counter()
    for shard in shards:
        table = read_shard(shard, ["dialogue_id", "document_id", "turns.list.element.text"])
        turns, offsets = unnest(table, "turns")
        firsts = turns.field("text").take(pa.array(offsets[:-1])).to_pylist()
        for document, dialogue, first in zip(
            table["document_id"].to_pylist(), table["dialogue_id"].to_pylist(), firsts, strict=True
        ):
            votes.update((theirs, document) for theirs in owners.get(_key(dialogue, text_hash(first)), ()))
    found: dict[str, str] = {}
    taken: set[str] = set()
    for (theirs, ours), count in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])):
        if count >= SHARE * dialogues[theirs] and ours not in found and theirs not in taken:
            found[ours] = theirs
            taken.add(theirs)
    return found


def missing_documents(published: PublishedLabels, films: pa.Table) -> pa.Array:
    """Return the ids of the labelled documents that no file is called by."""
    known = pc.is_in(published.documents, value_set=documents_of(films).cast(pa.string()))
    return published.documents.filter(pc.invert(known))


def _key(dialogue: str, first: str) -> int:
    """Return the hash of where a dialogue begins, by its id, and of its first turn's hash."""
    return hash64(f"{dialogue.rpartition('#')[2]} {first}".encode())
