"""Converts documents in capitals, such as live captions, to lower case for scorers trained on normal spelling."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.schema.tables import LINE

_FEW = 0.1  # largest fraction of sentences with lower-case letters in a document in capitals
_OPENING = re.compile(r"^\W*\w|\bi\b(?=['’]|\W|$)")


def in_small_letters(table: pa.Table) -> pa.Table:
    """Return SENTENCES with documents in capitals lowered, except the first letter of each sentence and "I"."""
    sentences, offsets = unnest(table, "sentences")
    texts = sentences.field("text")
    small = np.r_[0, np.cumsum(pc.match_substring_regex(texts, r"\p{Ll}").to_numpy(zero_copy_only=False))]
    lengths = np.diff(offsets)
    capitals = np.diff(small[offsets]) <= _FEW * lengths
    if not (capitals & (lengths > 0)).any():
        return table
    chosen = np.flatnonzero(np.repeat(capitals, lengths)).tolist()
    written = texts.to_pylist()
    for place in chosen:
        written[place] = _OPENING.sub(lambda match: match.group().upper(), written[place].lower())
    columns = {field.name: sentences.field(field.name) for field in LINE} | {"text": pa.array(written, pa.string())}
    at = table.schema.get_field_index("sentences")
    return table.set_column(at, table.schema.field(at), nest(offsets, LINE, columns))
