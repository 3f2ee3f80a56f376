"""Blocks of two speakers: with a dash before each, or split evenly into cues without dashes, and how one becomes the
other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import nest, unnest
from edos_dataset.cleaning import captions
from edos_dataset.cleaning.markup import strip_markup
from edos_dataset.schema import LINE
from edos_dataset.sources.speakers import Cue


def is_even_split(one: Cue, other: Cue) -> bool:
    """Return whether two cues are the halves of one block: they touch, and last equally long, to the millisecond."""
    if one.start is None or one.end is None or other.start is None or other.end is None:
        return False
    begin, middle, again, end = (round(time * 1000) for time in (one.start, one.end, other.start, other.end))
    return middle == again and abs((middle - begin) - (end - again)) <= 1


def doubt_halves(cues: Sequence[Cue]) -> list[Cue]:
    """Return cues with an unknown speaker where two halves of a block would have one speaker, up to the next cue that
    names its own.

    A block is split because two people speak in it, so the source did not recognise the second one's words.
    """
    judged: list[Cue] = []
    unsure = False
    for place, cue in enumerate(cues):
        unsure = (unsure and not cue.named) or (
            place > 0 and cue.speaker == cues[place - 1].speaker and is_even_split(cues[place - 1], cue)
        )
        judged.append(replace(cue, speaker=None) if unsure else cue)
    return judged


def join_even_splits(cues: Iterable[Cue]) -> list[list[Cue]]:
    """Return cues as blocks, of which those hold two that the source split evenly because two people speak in them."""
    blocks: list[list[Cue]] = []
    for cue in cues:
        if blocks and len(blocks[-1]) == 1 and is_even_split(blocks[-1][0], cue):
            blocks[-1].append(cue)
        else:
            blocks.append([cue])
    return blocks


def undash(lines: pa.Table) -> pa.Table:
    """Return LINES without leading dashes; a block that they part becomes as many blocks that touch and last equally
    long.

    This is how the cues of `sitcom_speakers` were made.
    """
    flat, offsets = unnest(lines, "lines")
    rows = np.repeat(np.arange(lines.num_rows), np.diff(offsets))
    texts = [captions.split_dash(strip_markup(text)) for text in flat.field("text").to_pylist()]
    begins = np.diff(rows << 32 | flat.field("first_block").to_numpy(), prepend=-1) != 0
    dash = np.array([dashed for _, dashed in texts], bool) & ~begins
    part_of = np.cumsum(begins | dash) - 1
    block = np.cumsum(begins) - 1
    first_part = part_of[begins]
    parts = np.diff(np.r_[first_part, part_of[-1:] + 1])[block]
    number = part_of - first_part[block]
    start, end = (flat.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    first_of_document = part_of[offsets[:-1][np.diff(offsets) > 0]]
    numbers = part_of - np.repeat(first_of_document, np.diff(offsets)[np.diff(offsets) > 0])
    columns = {item.name: flat.field(item.name) for item in LINE} | {
        "text": [
            text if dashed else original
            for (text, dashed), original in zip(texts, flat.field("text").to_pylist(), strict=True)
        ],
        "start": pa.array(np.round(start + (end - start) * number / parts, 3), from_pandas=True),
        "end": pa.array(np.round(start + (end - start) * (number + 1) / parts, 3), from_pandas=True),
        "first_block": numbers.astype(np.int32),
        "last_block": numbers.astype(np.int32),
    }
    return lines.set_column(
        lines.column_names.index("lines"), lines.schema.field("lines"), nest(offsets, LINE, columns)
    )
