"""Sentences to turns: who goes on speaking, and when somebody else does."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.pipeline import Stage, Unit
from edos_dataset.schema import TURN, TURNS, unnest


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


@dataclass(frozen=True)
class RuleScorer:
    """Score by the marks that subtitlers set."""

    def same_turn(self, sentences: pa.StructArray, offsets: np.ndarray) -> np.ndarray:
        """Score every sentence of some documents; see TurnScorer."""
        text = sentences.field("text")
        start = sentences.field("start").to_numpy(zero_copy_only=False)
        end = sentences.field("end").to_numpy(zero_copy_only=False)
        first, last = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("first_block", "last_block"))
        before = np.r_[0, np.arange(len(text) - 1)] if len(text) else np.zeros(0, np.int64)
        same_block = first == last[before]
        gap = np.nan_to_num(start - end[before], nan=0.0)
        ended = flags(pc.match_substring_regex(text, r"[.!?…][\"'”’»)]*$"))[before]
        asked = flags(pc.match_substring_regex(text, r"\?[\"'”’»)!]*$"))[before]
        trailed = flags(pc.match_substring_regex(text, r"(?:\.\.\.|…|--|—|,)$"))[before]
        lower = flags(pc.match_substring_regex(text, r"^(?:\.\.\.|…)?\s*\p{Ll}"))
        logit = 3.0 * same_block - 0.5 + 2.0 * ~ended + 1.0 * trailed + 2.0 * lower - 1.5 * asked - 0.5 * np.clip(gap, 0, 4)
        score: np.ndarray = (1 / (1 + np.exp(-logit))).astype(np.float32)
        score[offsets[:-1][np.diff(offsets) > 0]] = np.nan
        return score


SCORERS: dict[str, TurnScorer] = {"rules": RuleScorer()}
"""The scorers by the name that a recipe gives."""


@dataclass(frozen=True)
class SegmentTurns(Stage):
    """Join the sentences of one speaker to turns.

    A dash opens a turn whatever the score; a speaker's name opens one unless the turn before is known to be the same speaker's.

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
        dash = flags(sentences.field("dash"))
        named = flags(sentences.field("speaker").is_valid())
        starts = np.flatnonzero(~(scores >= self.threshold) | dash | named)
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


def flags(array: pa.BooleanArray) -> np.ndarray:
    """Return an array of booleans as numpy, null as false."""
    values: np.ndarray = pc.fill_null(array, False).to_numpy(zero_copy_only=False)
    return values


def _smooth(texts: pa.StringArray, starts: np.ndarray) -> pa.StringArray:
    """Take away the marks of continuation where a turn goes on: "if it..." and "...rains" are "if it rains"."""
    opens = flags(pc.match_substring_regex(texts, r"^(?:\.\.\.|…)"))
    opens[starts] = False
    if not opens.any():
        return texts
    closes = np.r_[opens[1:], False]
    texts = pc.if_else(pa.array(opens), pc.replace_substring_regex(texts, r"^(?:\.\.\.|…)\s*", ""), texts)
    return pc.if_else(pa.array(closes), pc.replace_substring_regex(texts, r"\s*(?:\.\.\.|…)$", ""), texts)
