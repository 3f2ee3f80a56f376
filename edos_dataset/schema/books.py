"""The tables that a run over books carries between its stages (BOOKS, READ_BOOKS, BOOK_DIALOGUES), and what their
columns are made of. All texts are Unicode in NFC.
"""

import pyarrow as pa

from edos_dataset.schema.tables import FILE, READING, labelled

BOOKS = pa.schema(
    {
        "book": pa.string(),
        "title": pa.string(),  # as a catalogue says it, or null; as the author
        "author": pa.string(),
        "files": pa.list_(FILE),
    }
)
"""A book and all its files, several formats or encodings of one text; the unit that is read, split and sharded."""

BOOK_SOURCE = pa.struct(
    {
        "kind": pa.string(),  # "text", "tei", "html" or "epub"
        "path": pa.string(),  # as in FILE
        "title": pa.string(),  # as the file or the catalogue says it, or null; as the author and the year
        "author": pa.string(),
        "year": pa.int32(),
    }
)
"""Facts of a book that are published."""

BLOCK = pa.struct(
    {
        "text": pa.string(),
        "kind": pa.string(),  # as of `sources.books.book.Block`, as the next two
        "chapter": pa.int32(),
        "speaker": pa.string(),
    }
)
"""A paragraph of a book."""

_BOOK = {
    "document_id": pa.string(),
    "book": pa.string(),
    "language": pa.string(),
    "source": BOOK_SOURCE,
    "reading": READING,
}

READ_BOOKS = pa.schema({**_BOOK, "text": pa.large_string(), "blocks": pa.list_(BLOCK)})
"""A book as read: as one text, as recipe `papers` wants it, or as blocks; the other one is null."""

BOOK_TURN = pa.struct(
    {
        "text": pa.string(),
        "sentence_ids": pa.list_(pa.int32()),  # numbers of the blocks (recipe `papers`: paragraphs) that it stands in
        "speaker": pa.string(),  # where the book says it, or it is sure by turns; otherwise null
        "narration": pa.string(),  # what the narrator says between and after its quotes; null where nothing
    }
)
"""What somebody says in a book until somebody else speaks."""

LABELLED_BOOK_TURN = labelled(BOOK_TURN)
"""As of the turns of films."""

BOOK_DIALOGUES = pa.schema({"dialogue_id": pa.string(), **_BOOK, "turns": pa.list_(BOOK_TURN)})
"""One dialogue a row; the id is `<document_id>#<number of the block in which it begins>`."""
