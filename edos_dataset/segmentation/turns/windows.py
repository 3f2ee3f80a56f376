"""Documents as an encoder reads them: windows of sentences, with a mark before every sentence.

A window is one sequence of tokens: the mark that opens, the first sentence, a mark, the second, and so on, and a mark
at the end. The mark before a sentence stands for the seam there, and carries the evidence of it. Windows overlap, so
that every seam is decided where some sentences are read on both sides of it, unless the document begins or ends there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints, unnest
from edos_dataset.encoders.batches import pad
from edos_dataset.segmentation.turns.evidence import Reading
from edos_dataset.segmentation.turns.net import evidence_rows

TOKENS = 256
"""Of a window at most, marks among them."""

MARGIN = 3
"""Sentences at either end of a window that are read, but whose seams another window decides."""

LONGEST = 30
"""Tokens of a sentence that are read: where it is longer, half from its beginning and half from its end."""


@dataclass(frozen=True)
class Window:
    """A stretch of a document's sentences.

    Attributes:
        begin: the first sentence that is read.
        end: one behind the last.
        first: the first sentence whose seam is decided.
        stop: one behind the last.
    """

    begin: int
    end: int
    first: int
    stop: int


@dataclass(frozen=True, eq=False)
class Sentences:
    """The sentences of a document.

    Attributes:
        tokens: ids of each, without marks, at most LONGEST.
        evidence: int64 [sentences, len(EVIDENCE)], rows of the embedding of evidence.
    """

    tokens: Sequence[Sequence[int]]
    evidence: Ints

    def windows(self, shift: int = 0) -> Iterator[Window]:
        """Yield the windows of the document; `shift` as for `windows`."""
        return windows([len(ids) for ids in self.tokens], shift)

    def size(self, window: Window) -> int:
        """Return the tokens of a window, marks among them."""
        return sum(len(ids) + 1 for ids in self.tokens[window.begin : window.end]) + 1


@dataclass(frozen=True)
class Marks:
    """Ids of the tokens that are no words: what opens a window, what stands before and behind the others' sentences,
    and what fills up.
    """

    opening: int
    between: int
    padding: int

    @classmethod
    def of(cls, tokenizer: Any) -> "Marks":  # noqa: ANN401 - any tokenizer of transformers
        """Return those of a tokenizer."""
        return cls(tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)


@dataclass(frozen=True, eq=False)
class Batch:
    """Windows that are read at once.

    Attributes:
        ids: int64 [windows, longest], tokens.
        mask: int64 [windows, longest], 1 where a token is.
        marks: int64 [sentences, 2], window and place of the mark before each sentence, window after window.
        evidence: int64 [sentences, len(EVIDENCE)].
    """

    ids: Ints
    mask: Ints
    marks: Ints
    evidence: Ints


def windows(lengths: Sequence[int] | Ints, shift: int = 0) -> Iterator[Window]:
    """Yield the windows of a document in their order; each seam is decided in one of them.

    Args:
        lengths: tokens of each sentence, at most LONGEST.
        shift: tokens by which the first window is shorter: training moves the borders from pass to pass.
    """
    ends = np.cumsum(np.asarray(lengths, np.int64) + 1)
    decided, total = 0, len(ends)
    while decided < total:
        begin = max(0, decided - MARGIN)
        room = TOKENS - 1 - (0 if decided else shift) + (int(ends[begin - 1]) if begin else 0)
        end = min(total, max(int(np.searchsorted(ends, room, side="right")), decided + 1))
        stop = total if end == total else max(decided + 1, end - MARGIN)
        yield Window(begin, end, decided, stop)
        decided = stop


def read_sentences(reading: Reading, tokenizer: Any) -> Iterator[Sentences]:  # noqa: ANN401 - any of transformers
    """Yield the sentences of each document."""
    sentences, _ = unnest(reading.table, "sentences")
    ids, evidence = token_ids(tokenizer, sentences.field("text")), evidence_rows(reading)
    for begin, end in zip(reading.offsets[:-1].tolist(), reading.offsets[1:].tolist(), strict=True):
        yield Sentences(ids[begin:end], evidence[begin:end])


def token_ids(tokenizer: Any, texts: pa.StringArray) -> list[list[int]]:  # noqa: ANN401 - any of transformers
    """Return the tokens of sentences without marks, at most LONGEST each; each distinct sentence is read once."""
    coded = texts.dictionary_encode()
    distinct = coded.dictionary.to_pylist()
    ids = tokenizer(distinct, add_special_tokens=False)["input_ids"] if distinct else []
    half = LONGEST // 2
    short = [each if len(each) <= LONGEST else each[:half] + each[-half:] for each in ids]
    return [short[code] for code in coded.indices.to_pylist()]


def batch_of(parts: Sequence[tuple[Sentences, Window]], marks: Marks) -> Batch:
    """Return windows, one at least, as arrays, filled up at the right."""
    sequences, places = [], []
    for row, (sentences, window) in enumerate(parts):
        sequence: list[int] = []
        for ids in sentences.tokens[window.begin : window.end]:
            places.append((row, len(sequence)))
            sequence += [marks.between if sequence else marks.opening, *ids]
        sequences.append([*sequence, marks.between])
    filled, mask = pad(sequences, np.array(list(map(len, sequences)), np.int64), marks.padding)
    evidence = np.concatenate([sentences.evidence[window.begin : window.end] for sentences, window in parts])
    return Batch(filled, mask, np.array(places, np.int64).reshape(-1, 2), evidence)
