"""What is in the files of an inventory, so that a file edited in place is noticed whatever its size and dates say."""

import hashlib
import os
from multiprocessing.pool import ThreadPool

import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.stores.addresses import split_address
from edos_dataset.schema.tables import FILE
from edos_dataset.sources.files import open_file
from edos_dataset.sources.parsed import ReadError

_MOST = 1 << 28
_THREADS = 8  # most of the time is spent waiting for a disk


def with_contents(films: pa.Table) -> pa.Table:
    """Return FILMS or BOOKS with the content of each file as its `stamp`; of the members of a zip archive the inventory
    has the checksum already.

    Every file is read once, which the first stage then has from memory: 0.1 s for a thousand files, beside the 20 s
    that they take to curate. Of one larger than 256 MB the beginning, size and dates count. A file that cannot be read
    keeps its date; reading it tells why.
    """
    flat, offsets = unnest(films, "files")
    columns = {field.name: flat.field(field.name) for field in FILE}
    loose, stamps = columns["member"].is_null(), columns["stamp"]
    with ThreadPool(_THREADS) as threads:
        contents = pa.array(threads.imap(_content, columns["location"].filter(loose).to_pylist(), 64), pa.string())
    stamps = pc.replace_with_mask(stamps, loose, pc.coalesce(contents, stamps.filter(loose)))
    lists = nest(offsets, FILE, {**columns, "stamp": stamps})
    return films.set_column(films.column_names.index("files"), films.schema.field("files"), lists)


def contents_of(films: pa.Table) -> dict[str, str]:
    """Return a digest of each film's or book's files, by its key: their ids and stamps, not where they lie."""
    flat, offsets = unnest(films, "files")
    stamped = list(zip(flat.field("document_id").to_pylist(), flat.field("stamp").to_pylist(), strict=True))
    borders = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    found: dict[str, list[tuple[str, str]]] = {}
    for film, (start, stop) in zip(films[0].to_pylist(), borders, strict=True):  # a film may have several rows
        found.setdefault(film, []).extend(stamped[start:stop])
    return {film: hash_json(sorted(files))[:16] for film, files in found.items()}


def _content(location: bytes) -> str | None:
    """Return a digest of a file, None where it cannot be read, or a store has told its tag already."""
    if split_address(os.fsdecode(location)):
        return None
    try:
        with open_file(os.fsdecode(location)) as file:
            status = os.fstat(file.fileno())
            sha256, left = hashlib.sha256(), _MOST
            while left and (block := file.read(min(left, 1 << 20))):
                sha256.update(block)
                left -= len(block)
    except (OSError, ValueError, ReadError):  # what was a file when it was found may be a pipe by now
        return None
    rest = f" {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}" if status.st_size > _MOST else ""
    return sha256.hexdigest()[:32] + rest
