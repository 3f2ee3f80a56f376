"""Invented documents for the tests of turn features."""

import pyarrow as pa

from edos_dataset.schema import SENTENCES


def sentence(text, start=None, end=None, block=0, last_block=None, dash=False):
    last = block if last_block is None else last_block
    return {
        "id": 1,
        "text": text,
        "start": start,
        "end": end,
        "first_block": block,
        "last_block": last,
        "dash": dash,
        "speaker": None,
    }


def documents(*films, genres=(), language="en"):
    rows = [
        {
            "document_id": f"d{number}",
            "film": f"f{number}",
            "language": language,
            "source": {"kind": "subtitle", "path": "p", "genres": list(genres) if genres is not None else None},
            "reading": {},
            "sentences": film,
        }
        for number, film in enumerate(films)
    ]
    return pa.Table.from_pylist(rows, schema=SENTENCES)


def spoken(*texts, pause=0.1):
    """Return sentences of two seconds, a block each."""
    return [sentence(text, number * (2 + pause), number * (2 + pause) + 2, number) for number, text in enumerate(texts)]
