"""Sentences to turns: who goes on speaking, and when somebody else does."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import flags, nest, unnest
from edos_dataset.languages.codes import same_language
from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.schema.tables import TURN, TURNS
from edos_dataset.segmentation.turns.continuation import smooth
from edos_dataset.segmentation.turns.rules import RuleScorer
from edos_dataset.segmentation.turns.scorers import SCORERS, TurnScorer, load_scorer, maker

_MARKED = 0.98
"""How surely a mark in the file is right that overrules the scores: a dash inside a block, or the name of a speaker. In
17,001 labelled borders before such a dash another person speaks, but names are read, and files go wrong.
"""


@dataclass(frozen=True)
class SegmentTurns(Stage):
    """Join the sentences of one speaker to turns.

    Whatever the score, a turn begins with a dash inside a block and with a speaker's name; but where the name is that
    of the turn which is going on, as in files that name the speaker of every block, the turn goes on. And no turn spans
    a long silence, as dialogues, which are cut only between turns, may part there.

    Args:
        scorer: name of a scorer in SCORERS, or a folder with the weights of one; documents in a language that it can't
            judge are scored by the rules.
        threshold: a sentence goes on with the turn where its score is at least this, 0 to 1.
        max_pause: seconds of silence after which a turn is over, at most the `gap` of the stage "dialogues".
        least_certainty: a sentence goes on with the turn only where that is at least as sure, 0 to 1, whatever the
            threshold; the stage "dialogues" has the same value, and parts two dialogues there.
    """

    scorer: str = "blend"
    threshold: float = 0.5
    max_pause: float = 5.0
    least_certainty: float = 0.0

    name: ClassVar[str] = "turns"
    unit: ClassVar[Unit] = "sentences"
    needs, gives, ends = ("sentences",), ("turns",), ("sentences",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.scorer not in SCORERS:
            maker(self.scorer)  # weights are not read before `check`
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold is {self.threshold}, but scores lie between 0 and 1")
        if not self.max_pause >= 0:
            raise ValueError(f"max_pause must be at least 0 seconds, got {self.max_pause}")
        check_certainty(self.least_certainty)

    def check(self) -> None:
        """Read the scorer's weights."""
        load_scorer(self.scorer)

    def inputs(self) -> dict[str, str]:
        """Return the hash of the scorer's weights."""
        return {"scorer": load_scorer(self.scorer).identity}

    def records(self) -> dict[str, dict[str, Any]]:
        """Return how the scorer was made, by its name; nothing for the rules."""
        record = load_scorer(self.scorer).record
        return {record.get("name", self.scorer): record} if record else {}

    def score(self, table: pa.Table) -> np.ndarray:
        """Score every sentence of SENTENCES, as TurnScorer does; of each document by a scorer that can judge its
        language.
        """
        scorer = load_scorer(self.scorer)
        judged = np.array([_judges(scorer, one or "en") for one in table["language"].to_pylist()], bool)
        if judged.all():
            return scorer.same_turn(table)
        lengths = pc.list_value_length(table["sentences"]).to_numpy()
        scores = np.empty(lengths.sum(), np.float32)
        scores[np.repeat(judged, lengths)] = scorer.same_turn(table.filter(pa.array(judged)))
        scores[np.repeat(~judged, lengths)] = RuleScorer().same_turn(table.filter(pa.array(~judged)))
        return scores

    def begins(self, table: pa.Table, scores: np.ndarray) -> np.ndarray:
        """Decide where turns begin, by the scores and by what overrules them.

        Args:
            table: SENTENCES.
            scores: what `score` gives for it, [sentences].

        Returns:
            bool [sentences]: whether a turn begins with the sentence; true for the first of a document.
        """
        return self._decide(table, scores)[0]

    def _decide(self, table: pa.Table, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where turns begin, and how surely the speaker before goes on with each sentence after all, 0 to 1."""
        sentences, offsets = unnest(table, "sentences")
        dashes = _inner_dash(sentences)
        same = np.where(dashes, np.minimum(scores, 1 - _MARKED), scores)
        begins = _heed_names(sentences, offsets, ~(same >= self.threshold) | dashes)
        named = flags(sentences.field("speaker").is_valid()) & ~np.isnan(same)
        same[named] = np.where(begins[named], 1 - _MARKED, _MARKED)
        begins |= ~(same >= self.least_certainty)
        begins |= _pauses(sentences) > self.max_pause
        return begins, same

    def __call__(self, table: pa.Table) -> pa.Table:
        """Turn SENTENCES into TURNS, a document a row."""
        sentences, offsets = unnest(table, "sentences")
        begins, same = self._decide(table, self.score(table))
        starts = np.flatnonzero(begins)
        ends = np.r_[starts[1:], len(sentences)] - 1 if len(starts) else starts
        groups = pa.array(np.r_[starts, len(sentences)], pa.int32())
        columns = {
            "text": pc.binary_join(pa.ListArray.from_arrays(groups, smooth(sentences.field("text"), starts)), " "),
            "start": sentences.field("start").take(pa.array(starts)),
            "end": sentences.field("end").take(pa.array(ends)),
            "sentence_ids": pa.ListArray.from_arrays(groups, sentences.field("id")),
            "new_speaker": pa.array(1 - same[starts], pa.float32(), from_pandas=True),
            "one_speaker": pa.array(_products(np.where(begins, 1, same), starts), pa.float32()),
        }
        lists = nest(np.searchsorted(starts, offsets), TURN, columns)
        columns = {name: table[name] for name in TURNS.names if name != "turns"}
        return pa.table({**columns, "turns": lists}, schema=TURNS)


def check_certainty(least: float) -> None:
    """Raise ValueError where a stage is given a `least_certainty` that is no probability."""
    if not 0 <= least <= 1:
        raise ValueError(f"least_certainty is {least}, but a probability lies between 0 and 1; 0 asks for none")


def _products(factors: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the product of each group of numbers from 0 to 1, of those that begin at `starts`."""
    if not len(starts):
        return np.zeros(0)
    product: np.ndarray = np.multiply.reduceat(factors.astype(np.float64), starts)
    return product


def _judges(scorer: TurnScorer, language: str) -> bool:
    return scorer.languages is None or any(same_language(language, known) for known in scorer.languages)


def _pauses(sentences: pa.StructArray) -> np.ndarray:
    """Return the seconds between each sentence and the one before, NaN where a time is missing or none is before."""
    start, end = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    pauses: np.ndarray = np.full(len(sentences), np.nan)
    pauses[1:] = start[1:] - end[:-1]
    return pauses


def _inner_dash(sentences: pa.StructArray) -> np.ndarray:
    first, last = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("first_block", "last_block"))
    inner: np.ndarray = flags(sentences.field("dash"))
    inner[1:] &= first[1:] == last[:-1]
    return inner


def _heed_names(sentences: pa.StructArray, offsets: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Correct where turns begin by the names of speakers.

    Args:
        sentences: structs of LINE, document after document.
        offsets: [documents + 1] positions at which each document begins.
        begins: for each sentence, whether a turn begins with it as far as all but the names say.
    """
    names = sentences.field("speaker")
    named = np.flatnonzero(flags(names.is_valid()))
    known = names.take(pa.array(named))
    before = np.cumsum(begins)  # turns that begin up to each sentence
    again = np.zeros(len(named), bool)
    again[1:] = flags(pc.equal(known[1:], known[:-1])) & (before[named[1:] - 1] == before[named[:-1]])
    again &= ~np.isin(named, offsets)
    begins = begins.copy()
    begins[named] = ~again
    return begins
