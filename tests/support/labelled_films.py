"""Invented labelled documents for the tests of what learns turns."""

import numpy as np
import pyarrow as pa

from edos_dataset.schema import SENTENCES

LABELS = {"same_turn": pa.list_(pa.int8()), "label_confidence": pa.list_(pa.float32()), "corpus": pa.string()}


def labelled(films, sentences=30, seed=0):
    """Return documents in which a turn goes on where a sentence opens with "And" and ends with a dot; all else is
    drawn.

    Args:
        films: (corpus, document, film) of each.
        sentences: of each.
        seed: documents of one seed, and of one place in the list, are the same.
    """
    generator = np.random.default_rng(seed)
    rows = []
    for corpus, document, film in films:
        opening, word, mark = (
            generator.choice(values, sentences)
            for values in (["And", "But"], ["boats", "rivers", "stones"], [".", "?"])
        )
        same = ((opening == "And") & (mark == ".")).astype(int)
        same[0] = -1
        lines = [
            {
                "id": number + 1,
                "text": text,
                "start": 2.0 * number,
                "end": 2.0 * number + 1.9,
                "first_block": number,
                "last_block": number,
                "dash": False,
            }
            for number, text in enumerate(f"{a} the {b}{c}" for a, b, c in zip(opening, word, mark, strict=True))
        ]
        source = {"kind": "subtitle", "path": document, "genres": ["Comedy"]}
        facts = {
            "document_id": document,
            "film": film,
            "language": "en",
            "source": source,
            "reading": {},
            "sentences": lines,
        }
        rows.append(facts | {"same_turn": same, "label_confidence": np.where(same < 0, 0, 0.9), "corpus": corpus})
    return pa.Table.from_pylist(
        rows, schema=pa.schema([*SENTENCES, *(pa.field(name, kind) for name, kind in LABELS.items())])
    )


def flat(table, name):
    """Return the values of a list column: [sentences]."""
    return table[name].combine_chunks().flatten().to_numpy()
