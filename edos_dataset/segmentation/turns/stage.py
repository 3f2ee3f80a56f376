"""The stages that join sentences to turns, or mark each sentence with its turn."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import flags, nest, unnest
from edos_dataset.languages import same_language
from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.schema.tables import MARKED, MARKED_SENTENCE, TURN, TURNS
from edos_dataset.segmentation.turns.capitals import in_small_letters
from edos_dataset.segmentation.turns.scorers import SCORERS, TurnScorer, load_scorer, maker
from edos_dataset.sources.formats import of_scripts, with_speakers

_MARKED = 0.98
"""The certainty of marks that overrule the scores: a dash inside a block, or the name of a speaker. At all 17,001
labelled boundaries before such a dash the speaker changes, but names are parsed, and files have errors.
"""


@dataclass(frozen=True)
class SegmentTurns(Stage):
    """Join the sentences of one speaker to turns.

    Whatever the score, a dash inside a block and a speaker's name begin a turn; but if the name is that of the current
    turn, as in files that name the speaker of every block, the turn continues. No turn spans a long silence, since
    dialogues may be cut there, and only between turns.

    Args:
        scorer: name of a scorer in SCORERS, or a folder with the weights of one.
        others: the same, for documents in languages that `scorer` was not trained on; one that knows all languages.
        threshold: a sentence continues the turn if its score is at least this, 0 to 1.
        max_pause: seconds of silence after which a turn is over, at most the `gap` of the stage "dialogues".
        least_certainty: a sentence continues the turn only if the certainty of that is at least this, 0 to 1, whatever
            the threshold; the stage "dialogues" has the same value, and separates two dialogues there.
        message_pause: seconds, 0 or more, within which successive messages of one person in a chat are one turn. In
            chats the speaker is known, and the other parameters have no effect.
    """

    scorer: str = "scripts"
    others: str = "marks"
    threshold: float = 0.5
    max_pause: float = 5.0
    least_certainty: float = 0.0
    message_pause: float = 900.0

    name: ClassVar[str] = "turns"
    unit: ClassVar[Unit] = "sentences"
    needs, gives, ends = ("sentences",), ("turns",), ("sentences",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in (self.scorer, self.others):
            if name not in SCORERS:
                maker(name)  # weights are not read before `check`
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold is {self.threshold}, but scores lie between 0 and 1")
        if not self.max_pause >= 0:
            raise ValueError(f"max_pause must be at least 0 seconds, got {self.max_pause}")
        check_certainty(self.least_certainty)
        if not self.message_pause >= 0:
            raise ValueError(f"message_pause must be at least 0 seconds, got {self.message_pause}")

    def check(self) -> None:
        """Read the scorers' weights.

        Raises:
            ValueError: one cannot be read, or `others` does not know all languages.
        """
        load_scorer(self.scorer)
        if load_scorer(self.others).languages is not None:
            raise ValueError(f"others is {self.others!r}, which does not know all languages: give 'marks' or 'rules'")

    def inputs(self) -> dict[str, str]:
        """Return the hashes of the scorers' weights, of `others` if `scorer` does not know all languages."""
        names = ("scorer", "others") if load_scorer(self.scorer).languages else ("scorer",)
        return {name: load_scorer(getattr(self, name)).identity for name in names}

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the record of how the scorer was made, by its name; nothing for the rules."""
        record = load_scorer(self.scorer).record
        return {record.get("name", self.scorer): record} if record else {}

    def score(self, table: pa.Table) -> np.ndarray:
        """Score every sentence of SENTENCES, as TurnScorer does, with a scorer for the language of each document."""
        chats = with_speakers(table["source"])
        if chats.any():
            here = np.repeat(chats, pc.list_value_length(table["sentences"]).to_numpy())
            scores = np.empty(len(here), np.float32)
            scores[here] = _by_speaker(table.filter(pa.array(chats)))
            scores[~here] = self.score(table.filter(pa.array(~chats)))
            return scores
        scorer, table = load_scorer(self.scorer), in_small_letters(table)
        judged = np.array([_judges(scorer, one or "en") for one in table["language"].to_pylist()], bool)
        if judged.all():
            return scorer.same_turn(table)
        lengths = pc.list_value_length(table["sentences"]).to_numpy()
        scores = np.empty(lengths.sum(), np.float32)
        scores[np.repeat(judged, lengths)] = scorer.same_turn(table.filter(pa.array(judged)))
        scores[np.repeat(~judged, lengths)] = load_scorer(self.others).same_turn(table.filter(pa.array(~judged)))
        return scores

    def begins(self, table: pa.Table, scores: np.ndarray) -> np.ndarray:
        """Return where turns begin, by the scores and by the marks that overrule them.

        Args:
            table: SENTENCES.
            scores: the result of `score`, [sentences].

        Returns:
            bool [sentences]: whether a turn begins with the sentence; true for the first of a document.
        """
        return self._decide(table, scores)[0]

    def _decide(self, table: pa.Table, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where turns begin, and the certainty that the same speaker continues with each sentence, 0 to 1."""
        sentences, offsets = unnest(table, "sentences")
        dashes = _inner_dash(sentences)
        same = np.where(dashes, np.minimum(scores, 1 - _MARKED), scores)
        begins = _heed_names(sentences, offsets, ~(same >= self.threshold) | dashes)
        named = flags(sentences.field("speaker").is_valid()) & ~np.isnan(same)
        same[named] = np.where(begins[named], 1 - _MARKED, _MARKED)
        begins |= ~(same >= self.least_certainty)
        begins |= _pauses(sentences) > self.max_pause
        chats = np.repeat(with_speakers(table["source"]), np.diff(offsets))
        if chats.any():
            same[chats] = scores[chats]
            scripts = np.repeat(of_scripts(table["source"]), np.diff(offsets))
            same[scripts] = np.clip(scores[scripts], 1 - _MARKED, _MARKED)
            begins[chats] = ~(scores[chats] > 0) | (_pauses(sentences)[chats] > self.message_pause)
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
            **{name: sentences.field(name).take(pa.array(starts)) for name in ("speaker", "scene", "voice")},
            "manner": _manners(sentences.field("manner"), starts),
            "new_speaker": pa.array(1 - same[starts], pa.float32(), from_pandas=True),
            "one_speaker": pa.array(_products(np.where(begins, 1, same), starts), pa.float32()),
        }
        lists = nest(np.searchsorted(starts, offsets), TURN, columns)
        columns = {name: table[name] for name in TURNS.names if name != "turns"}
        return pa.table({**columns, "turns": lists}, schema=TURNS)


def _manners(notes: pa.StringArray, starts: np.ndarray) -> pa.StringArray:
    """Return the writer's notes on each turn, each once, separated by semicolons; null without any."""
    manners: list[str | None] = [None] * len(starts)
    noted = np.flatnonzero(flags(notes.is_valid()))
    for turn, note in zip(np.searchsorted(starts, noted, side="right") - 1, notes.take(pa.array(noted)), strict=True):
        before, said = manners[turn], note.as_py()
        if before is None:
            manners[turn] = said
        elif said not in before.split("; "):
            manners[turn] = f"{before}; {said}"
    return pa.array(manners, pa.string())


def check_certainty(least: float) -> None:
    """Raise ValueError if a stage's `least_certainty` is not a probability."""
    if not 0 <= least <= 1:
        raise ValueError(f"least_certainty is {least}, but a probability lies between 0 and 1; 0 asks for none")


def _products(factors: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the product of each group of numbers (0 to 1); groups begin at `starts`."""
    if not len(starts):
        return np.zeros(0)
    product: np.ndarray = np.multiply.reduceat(factors.astype(np.float64), starts)
    return product


def _judges(scorer: TurnScorer, language: str) -> bool:
    return scorer.languages is None or any(same_language(language, known) for known in scorer.languages)


def _by_speaker(table: pa.Table) -> np.ndarray:
    """Return 1 where the previous sentence's speaker continues in one scene, 0 where another begins, and NaN for the
    first sentence of a document; float32 [sentences].
    """
    sentences, offsets = unnest(table, "sentences")
    names, scenes = sentences.field("speaker"), pc.fill_null(sentences.field("scene"), 0)
    scores = np.full(len(names), np.nan, np.float32)
    scores[1:] = flags(pc.and_(pc.equal(names[1:], names[:-1]), pc.equal(scenes[1:], scenes[:-1])))
    scores[offsets[:-1][np.diff(offsets) > 0]] = np.nan
    return scores


def _pauses(sentences: pa.StructArray) -> np.ndarray:
    """Return the seconds between each sentence and the previous one; NaN for the first or where a time is missing."""
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
        begins: for each sentence, whether a turn begins with it by all evidence but the names.
    """
    names = sentences.field("speaker")
    named = np.flatnonzero(flags(names.is_valid()))
    known = names.take(pa.array(named))
    before = np.cumsum(begins)  # number of turns that begin up to each sentence
    again = np.zeros(len(named), bool)
    again[1:] = flags(pc.equal(known[1:], known[:-1])) & (before[named[1:] - 1] == before[named[:-1]])
    again &= ~np.isin(named, offsets)
    begins = begins.copy()
    begins[named] = ~again
    return begins


@dataclass(frozen=True)
class MarkTurns(SegmentTurns):
    """Add the turn of every sentence, and the score that it continues the previous one: SENTENCES to MARKED.

    The turns are those of SegmentTurns, with the same parameters.
    """

    name: ClassVar[str] = "mark"
    unit: ClassVar[Unit] = "sentences"

    def __call__(self, table: pa.Table) -> pa.Table:
        """Mark the turns."""
        scores = self.score(table)
        begins = self.begins(table, scores)
        sentences, offsets = unnest(table, "sentences")
        before = np.r_[0, np.cumsum(begins)]  # number of turns that begin before each sentence
        first = np.flatnonzero(begins)[before[1:] - 1]  # first sentence of each one's turn, which names the speaker
        columns = {
            "sentence_id": sentences.field("id"),
            **{name: sentences.field(name) for name in ("start", "end", "text")},
            "speaker": sentences.field("speaker").take(pa.array(first)),
            **{name: sentences.field(name) for name in ("scene", "manner", "voice")},
            "turn_id": before[1:] - np.repeat(before[offsets[:-1]], np.diff(offsets)) - 1,
            "same_turn_score": pa.array(scores, pa.float32(), from_pandas=True),
        }
        marked = nest(offsets, MARKED_SENTENCE, columns)
        return pa.table({"document_id": table["document_id"], "sentences": marked}, schema=MARKED)


def smooth(texts: pa.StringArray, starts: np.ndarray) -> pa.StringArray:
    """Remove the marks of continuation inside a turn: "if it..." and "...rains" become "if it rains"."""
    opens = flags(pc.match_substring_regex(texts, r"^(?:\.\.\.|…)"))
    opens[starts] = False
    if not opens.any():
        return texts
    closes = np.r_[opens[1:], False]
    texts = pc.if_else(pa.array(opens), pc.replace_substring_regex(texts, r"^(?:\.\.\.|…)\s*", ""), texts)
    return pc.if_else(pa.array(closes), pc.replace_substring_regex(texts, r"\s*(?:\.\.\.|…)$", ""), texts)
