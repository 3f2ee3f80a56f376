"""Scripts, films, episodes or dialogues as blocks of cues, become sentences as a run makes them, and the cues in which
these begin and end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints, flags, nest, unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.schema import LINE, LINES, READING, SOURCE
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.sources.speakers import Cue


@dataclass(frozen=True)
class Script:
    """A film, episode or dialogue as blocks of cues.

    Attributes:
        document_id: its name, unique in the corpus.
        film: key of the film or episode.
        blocks: the cues of each subtitle block, several where it holds several speakers.
        dashes: open each cue of a block that holds several by a dash, as subtitles do.
        breaks: numbers of the cues before which something is missing, so that the seam there is unknown.
    """

    document_id: str
    film: str
    blocks: Sequence[Sequence[Cue]]
    dashes: bool = False
    breaks: frozenset[int] = field(default_factory=frozenset)


def split_lines(
    lines: pa.Table, clean: CleanLines | None = None, split: SplitSentences | None = None
) -> tuple[pa.Table, pa.Table]:
    """Return the LINES that cleaning keeps, and their SENTENCES, by the stages given or those of the default recipe;
    documents of which nothing is left are gone from both.
    """
    kept, _ = split_rejects((clean or CleanLines())(lines))
    return kept, (split or SplitSentences())(kept)


def script_lines(scripts: Sequence[Script]) -> pa.Table:
    """Return scripts as LINES without speakers; where a block holds several cues, each is opened by a dash, as in
    subtitles.
    """
    rows: list[tuple[Any, ...]] = []
    offsets = [0]
    for script in scripts:
        for number, block in enumerate(script.blocks):
            dash = "- " if script.dashes and len(block) > 1 else ""
            texts = [(dash if place == 0 else "") + line for cue in block for place, line in enumerate(cue.lines)]
            rows += [
                (len(rows) - offsets[-1] + 1 + place, text, block[0].start, block[-1].end, number, number)
                for place, text in enumerate(texts)
            ]
        offsets.append(len(rows))
    names = ("id", "text", "start", "end", "first_block", "last_block")
    columns: dict[str, Any] = (
        dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())
    )
    columns |= {"dash": np.zeros(len(rows), bool), "speaker": pa.nulls(len(rows), pa.string())}
    count = len(scripts)
    source: dict[str, list[Any]] = {
        "kind": ["subtitle"] * count,
        "path": [script.document_id for script in scripts],
        "genres": [[]] * count,
    }
    return pa.table(
        {
            "document_id": [script.document_id for script in scripts],
            "film": [script.film for script in scripts],
            "language": ["en"] * count,
            "source": _structs(SOURCE, source, count),
            "reading": _structs(READING, {"bad_times": [0] * count}, count),
            "lines": nest(offsets, LINE, columns),
        },
        schema=LINES,
    )


def _structs(kind: pa.StructType, columns: dict[str, list[Any]], count: int) -> pa.StructArray:
    arrays = [pa.array(columns.get(item.name, [None] * count), item.type) for item in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def cues_of_sentences(
    scripts: Sequence[Script], first_cue: Ints, lines: pa.Table, sentences: pa.Table
) -> tuple[Ints, Ints]:
    """Return, for every sentence, the numbers of the cues (of all scripts) in which it begins and ends.

    In a block with several cues each begins with a dash, so the dashes tell them apart.
    """
    rows = {script.document_id: row for row, script in enumerate(scripts)}
    documents = np.array([rows[name] for name in lines["document_id"].to_pylist()], np.int64)
    of_line = [
        np.repeat(np.arange(len(cues)), [len(cue.lines) for cue in cues])
        for cues in ([c for b in s.blocks for c in b] for s in scripts)
    ]
    flat, offsets = unnest(lines, "lines")
    line_rows = np.repeat(documents, np.diff(offsets))
    line_offsets = np.cumsum([0, *map(len, of_line)])
    cue = (np.concatenate(of_line) + np.repeat(first_cue[:-1], np.diff(line_offsets)))[
        line_offsets[line_rows] + flat.field("id").to_numpy() - 1
    ]
    units, first = np.unique(_units(flat, line_rows), return_index=True)
    flat, offsets = unnest(sentences, "sentences")
    rows_of_sentences = np.repeat(documents, np.diff(offsets))
    begin = _units(flat, rows_of_sentences)
    last, first_block = (flat.field(name).to_numpy().astype(np.int64) for name in ("last_block", "first_block"))
    block, last_block = ((rows_of_sentences << 32) + (number << 8) for number in (first_block, last))
    # A sentence that goes on at the first dash of a block takes that dash away from the sentences of the block.
    took = np.r_[False, last_block[:-1] == block[1:]] & np.r_[True, block[1:] != block[:-1]][: len(block)]
    begin += np.isin(block, block[took]) & ~np.isin(block, units)
    end = np.where(last == first_block, begin, last_block + ~np.isin(last_block, units))
    return tuple(cue[first][np.searchsorted(units, wanted, side="right") - 1] for wanted in (begin, end))


def _units(flat: pa.StructArray, rows: Ints) -> Ints:
    """Number the parts into which dashes part blocks, so that the numbers grow through a document and from one to the
    next.
    """
    block = (rows << 32) + (flat.field("first_block").to_numpy().astype(np.int64) << 8)
    dash = flags(flat.field("dash")).astype(np.int64)
    starts = np.flatnonzero(np.r_[True, block[1:] != block[:-1]][: len(block)])
    before = np.cumsum(dash) - dash
    units: Ints = block + np.minimum(
        np.cumsum(dash) - np.repeat(before[starts], np.diff(np.r_[starts, len(block)])), 255
    )
    return units
