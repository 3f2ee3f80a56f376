"""Labels of turn boundaries from the speakers of cues, and blocks of two speakers in both forms: with a dash before
each, or split evenly into cues without dashes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Bools, Floats, Ints, flags, nest, unnest
from edos_dataset.cleaning import captions
from edos_dataset.cleaning.captions import strip_markup
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.schema import LINE, LINES, READING, SENTENCES, SOURCE
from edos_dataset.segmentation.sentences import SplitSentences
from training.transcripts.speakers import Cue


def is_even_split(one: Cue, other: Cue) -> bool:
    """Return whether two cues are the halves of one block: adjacent and equally long, to the millisecond."""
    if one.start is None or one.end is None or other.start is None or other.end is None:
        return False
    begin, middle, again, end = (round(time * 1000) for time in (one.start, one.end, other.start, other.end))
    return middle == again and abs((middle - begin) - (end - again)) <= 1


def doubt_halves(cues: Sequence[Cue]) -> list[Cue]:
    """Return cues with the speaker set to unknown if two halves of a block have the same speaker, up to the next cue
    that names its speaker.

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
    """Return cues as blocks; a block has two cues if the source split it evenly because two people speak in it."""
    blocks: list[list[Cue]] = []
    for cue in cues:
        if blocks and len(blocks[-1]) == 1 and is_even_split(blocks[-1][0], cue):
            blocks[-1].append(cue)
        else:
            blocks.append([cue])
    return blocks


def undash(lines: pa.Table) -> pa.Table:
    """Return LINES without leading dashes; a block with several becomes as many adjacent blocks of equal duration.

    The cues of `sitcom_speakers` were made in this way.
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


@dataclass(frozen=True)
class Script:
    """A film, episode or dialogue as blocks of cues.

    Attributes:
        document_id: its name, unique in the corpus.
        film: key of the film or episode.
        blocks: the cues of each subtitle block, several if it has several speakers.
        dashes: begin each cue of a block with several by a dash, as subtitles do.
        breaks: numbers of the cues before which something is missing, so that the boundary is unknown.
    """

    document_id: str
    film: str
    blocks: Sequence[Sequence[Cue]]
    dashes: bool = False
    breaks: frozenset[int] = field(default_factory=frozenset)


def split_lines(
    lines: pa.Table, clean: CleanLines | None = None, split: SplitSentences | None = None
) -> tuple[pa.Table, pa.Table]:
    """Return the LINES that cleaning keeps, and their SENTENCES, from the given stages or those of the default recipe.
    Documents of which nothing remains are dropped from both.
    """
    kept, _ = split_rejects((clean or CleanLines())(lines))
    return kept, (split or SplitSentences())(kept)


def script_lines(scripts: Sequence[Script]) -> pa.Table:
    """Return scripts as LINES without speakers; each cue of a block with several begins with a dash, as in
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
    """Return the numbers of the cues (of all scripts) in which each sentence begins and ends.

    In a block with several cues each begins with a dash, which separates them.
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
    # A sentence that continues at the first dash of a block takes that dash from the sentences of the block.
    took = np.r_[False, last_block[:-1] == block[1:]] & np.r_[True, block[1:] != block[:-1]][: len(block)]
    begin += np.isin(block, block[took]) & ~np.isin(block, units)
    end = np.where(last == first_block, begin, last_block + ~np.isin(last_block, units))
    return tuple(cue[first][np.searchsorted(units, wanted, side="right") - 1] for wanted in (begin, end))


def _units(flat: pa.StructArray, rows: Ints) -> Ints:
    """Number the parts into which dashes split blocks, so that the numbers increase within a document and from one to
    the next.
    """
    block = (rows << 32) + (flat.field("first_block").to_numpy().astype(np.int64) << 8)
    dash = flags(flat.field("dash")).astype(np.int64)
    starts = np.flatnonzero(np.r_[True, block[1:] != block[:-1]][: len(block)])
    before = np.cumsum(dash) - dash
    units: Ints = block + np.minimum(
        np.cumsum(dash) - np.repeat(before[starts], np.diff(np.r_[starts, len(block)])), 255
    )
    return units


LABELLED = pa.schema(
    [
        *SENTENCES,
        pa.field(
            "same_turn", pa.list_(pa.int8())
        ),  # 1 the previous sentence's speaker continues, 0 another one begins, -1 unknown or first sentence
        pa.field(
            "label_confidence", pa.list_(pa.float32())
        ),  # approximate probability that the label is right; 0 if it is unknown
        pa.field("corpus", pa.string()),
    ]
)
"""A labelled document. If the source has no blocks (`first_block`, `last_block`) or times, they are null: unknown,
which is neither "same" nor "other".
"""


@dataclass(frozen=True)
class Trust:
    """How often labels derived from the speakers of cues are right, 0 to 1.

    Attributes:
        new: another speaker.
        inside: the same cue.
        first: the same speaker, at the first cue without a name in the source, where the previous speaker continues.
        later: the same speaker, at a later such cue.
        again: the same speaker, named again.
    """

    new: float = 0.95
    inside: float = 0.95
    first: float = 0.95
    later: float = 0.95
    again: float = 0.95


_DOUBT = {
    "spans": 0.5,  # the sentence before or after the boundary extends over a change of speaker
    # the source names a speaker in between without a cue: the words were cut, or the source could not place them
    "missed": 0.5,
    "half": 0.9,  # a block was split evenly for two speakers, but the source does not name the second
    "named": 0.9,  # the text itself has "NAME:", which differs from the source
}
_NOT_LETTER = re.compile(r"[\W_]+")


def label_scripts(scripts: Sequence[Script], corpus: str, trust: Trust | None = None) -> pa.Table:
    """Split scripts into sentences as a run would, without speakers, and label these by the speakers of the cues.

    A sentence has the speakers of the cues in which it begins and ends; a label compares the end of one sentence with
    the beginning of the next. Names are compared as written (`transcripts.speakers.unify_names` merges variants); None
    is an unknown speaker. If the text names somebody else ("NAME:"), a turn of unknown length begins. A boundary with a
    dash that the source missed is unknown.

    Args:
        scripts: with different document ids.
        corpus: name of the corpus.
        trust: trust in the source; irregularities at a boundary lower its confidence further.

    Returns:
        LABELLED.
    """
    if not scripts:
        return LABELLED.empty_table()
    lines, sentences = split_lines(script_lines(scripts))
    cues = [cue for script in scripts for block in script.blocks for cue in block]
    first_cue = np.cumsum([0, *(sum(map(len, script.blocks)) for script in scripts)])
    begins, ends = cues_of_sentences(scripts, first_cue, lines, sentences)
    breaks = np.array(
        [place + start for script, start in zip(scripts, first_cue, strict=False) for place in sorted(script.breaks)],
        np.int64,
    )
    flat, _ = unnest(sentences, "sentences")
    same, confidence = _compare(cues, begins, ends, breaks, trust or Trust())
    same[
        (begins == np.r_[-1, ends[:-1]]) & flags(flat.field("dash"))
    ] = -1  # one speaker in the source, two by the dash
    other = _names_other(flat.field("speaker"), [cues[cue].speaker for cue in begins.tolist()])
    same[np.r_[False, other[:-1]]] = -1
    same[other], confidence[other] = 0, _DOUBT["named"]
    return add_labels(sentences, same, confidence, corpus)


def _names_other(said: pa.StringArray, speakers: Sequence[str | None]) -> Bools:
    names = [name and _NOT_LETTER.sub("", name).upper() for name in said.to_pylist()]
    return np.array([name is not None and name != speaker for name, speaker in zip(names, speakers, strict=True)], bool)


def add_labels(sentences: pa.Table, same: npt.ArrayLike, confidence: npt.ArrayLike, corpus: str) -> pa.Table:
    """Add labels to sentences.

    Args:
        sentences: SENTENCES.
        same: [sentences] 1, 0 or -1; replaced by -1 for the first of a document.
        confidence: [sentences] 0 to 1.
        corpus: name of the corpus.

    Returns:
        LABELLED.
    """
    _, offsets = unnest(sentences, "sentences")
    labels = np.array(same, np.int8)
    labels[offsets[:-1][np.diff(offsets) > 0]] = -1
    sure = np.where(labels < 0, 0, confidence).astype(np.float32)
    lists = pa.array(offsets, pa.int32())
    columns = [
        *sentences.columns,
        pa.ListArray.from_arrays(lists, pa.array(labels)),
        pa.ListArray.from_arrays(lists, pa.array(sure)),
    ]
    return pa.Table.from_arrays([*columns, pa.array([corpus] * sentences.num_rows, pa.string())], schema=LABELLED)


def _compare(
    cues: Sequence[Cue], begins: Ints, ends: Ints, breaks: Ints, trust: Trust
) -> tuple[npt.NDArray[np.int8], Floats]:
    """Compare the speaker at the end of each sentence with that at the beginning of the next."""
    codes: dict[str, int] = {}
    speaker = np.array(
        [-1 if cue.speaker is None else codes.setdefault(cue.speaker, len(codes)) for cue in cues], np.int64
    )
    place = np.arange(len(cues))
    since = place - np.maximum.accumulate(np.where([cue.named for cue in cues], place, 0))
    between = [{name for name in cue.missed if name != cue.speaker} != set() for cue in cues]
    half = np.r_[False, [is_even_split(one, other) for one, other in zip(cues, cues[1:], strict=False)]]
    before = np.r_[begins[:1], ends[:-1]]
    unknown = (speaker[before] < 0) | (speaker[begins] < 0)
    second = half[begins] & (before + 1 == begins)
    same = np.where(second, 0, np.where(unknown, -1, speaker[before] == speaker[begins])).astype(np.int8)
    cases = [same == 0, before == begins, since[begins] == 0, since[begins] == 1]
    confidence = np.select(cases, [trust.new, trust.inside, trust.again, trust.first], trust.later).astype(np.float32)
    changes = np.cumsum(np.r_[0, speaker[1:] != speaker[:-1]] + np.array(between, np.int64))
    spans = speaker[begins] != speaker[ends]
    confidence[spans | np.r_[False, spans[:-1]]] *= _DOUBT["spans"]
    confidence[(changes[begins] > changes[before]) & (same == 1)] *= _DOUBT["missed"]
    confidence[second & unknown] *= _DOUBT["half"]
    same[_any_between(np.isin(place, breaks), before, begins)] = -1
    return same, confidence


def _any_between(holds: Bools, after: Ints, upto: Ints) -> Bools:
    total = np.cumsum(holds)
    return total[upto] > total[after]
