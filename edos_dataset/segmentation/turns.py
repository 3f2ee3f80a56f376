"""Sentences to turns: who goes on speaking, and when somebody else does."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.pipeline import Stage, Unit
from edos_dataset.schema import TURN, TURNS, unnest
from edos_dataset.segmentation.turn_rules import RuleScorer, flags


class TurnScorer(Protocol):
    """What says whether a sentence belongs to the same turn as the one before."""

    def same_turn(self, sentences: pa.StructArray, offsets: np.ndarray) -> np.ndarray:
        """Score every sentence of some documents.

        Args:
            sentences: structs of LINE, document after document.
            offsets: [documents + 1] positions at which each document begins.

        Returns:
            float32 [sentences], 0 to 1: how surely the speaker of the sentence before goes on; NaN for the first sentence of a document.
        """
        ...


SCORERS: dict[str, TurnScorer] = {"rules": RuleScorer()}
"""The scorers by the name that a recipe gives."""


@dataclass(frozen=True)
class SegmentTurns(Stage):
    """Join the sentences of one speaker to turns.

    Whatever the score, a turn begins with a dash inside a block, and with a speaker's name unless the sentence before has the same.

    Args:
        scorer: name of a scorer in SCORERS.
        threshold: a sentence goes on with the turn where its score is at least this, 0 to 1.
    """

    scorer: str = "rules"
    threshold: float = 0.5

    name: ClassVar[str] = "turns"
    unit: ClassVar[Unit] = "sentences"

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.scorer not in SCORERS:
            raise ValueError(f"no turn scorer is named {self.scorer!r}; there is {', '.join(SCORERS)}")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold is {self.threshold}, but scores lie between 0 and 1")

    def __call__(self, table: pa.Table) -> pa.Table:
        """Turn SENTENCES into TURNS, a document a row."""
        sentences, offsets = unnest(table, "sentences")
        scores = SCORERS[self.scorer].same_turn(sentences, offsets)
        starts = np.flatnonzero(~(scores >= self.threshold) | _told(sentences))
        ends = np.r_[starts[1:], len(sentences)] - 1 if len(starts) else starts
        groups = pa.array(np.r_[starts, len(sentences)], pa.int32())
        columns = {
            "text": pc.binary_join(pa.ListArray.from_arrays(groups, _smooth(sentences.field("text"), starts)), " "),
            "start": sentences.field("start").take(pa.array(starts)),
            "end": sentences.field("end").take(pa.array(ends)),
            "sentence_ids": pa.ListArray.from_arrays(groups, sentences.field("id")),
        }
        turns = pa.StructArray.from_arrays([columns[field.name] for field in TURN], fields=list(TURN))
        lists = pa.ListArray.from_arrays(pa.array(np.searchsorted(starts, offsets), pa.int32()), turns)
        columns = {name: table[name] for name in TURNS.names if name != "turns"}
        return pa.table({**columns, "turns": lists}, schema=TURNS)


def _told(sentences: pa.StructArray) -> np.ndarray:
    """Say where the file itself tells that somebody else speaks."""
    if not len(sentences):
        return np.zeros(0, bool)
    block, last, speaker = (sentences.field(name) for name in ("first_block", "last_block", "speaker"))
    inside = np.r_[False, block.to_numpy()[1:] == last.to_numpy()[:-1]]
    known = flags(pc.equal(speaker[1:], speaker[:-1]))
    return (flags(sentences.field("dash")) & inside) | (flags(speaker.is_valid()) & ~np.r_[False, known])


def _smooth(texts: pa.StringArray, starts: np.ndarray) -> pa.StringArray:
    """Take away the marks of continuation where a turn goes on: "if it..." and "...rains" are "if it rains"."""
    opens = flags(pc.match_substring_regex(texts, r"^(?:\.\.\.|…)"))
    opens[starts] = False
    if not opens.any():
        return texts
    closes = np.r_[opens[1:], False]
    texts = pc.if_else(pa.array(opens), pc.replace_substring_regex(texts, r"^(?:\.\.\.|…)\s*", ""), texts)
    return pc.if_else(pa.array(closes), pc.replace_substring_regex(texts, r"\s*(?:\.\.\.|…)$", ""), texts)
