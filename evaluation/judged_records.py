"""Turns of films that a judge read: where each is, what models said of it, and how the judge found that. No texts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.judged_sheets import read_jsonl

YES = "yes"
KINDS = {
    "anger_missed": "the speaker is annoyed, angry or furious, and the label says nothing of it",
    "keyword": "a word of the turn decides, not what is meant (“sorry” → sympathizing)",
    "opener_or_rhetorical_questioning": "questioning, of an opener or a question to which nobody wants an answer",
    "topic_not_speaker": "fits what is talked about, not what the speaker feels",
    "emotion_in_plain_fact": "an emotion for a turn that shows none",
    "neutral_where_emotion": "neutral, though an emotion is plain",
    "wrong_intent": "an intent that is not the speaker's",
    "two_speakers_in_turn": "fits the other one of two speakers whom the turn holds",
    "other": "wrong in another way, such as an emotion for another one",
}
"""Why a label is wrong; of several reasons the first that fits."""


class Answer(NamedTuple):
    """What a model says of a turn: its label, and the label's probability."""

    label: str
    confidence: float


@dataclass(frozen=True)
class Judged:
    """A turn that was drawn, without its text.

    Attributes:
        number: on the sheet.
        pool: that it was drawn from.
        file: of its film, below the folder that the run read.
        dialogue_id: of the run.
        turn: which of the dialogue's turns, from 1.
        sentence_ids: of every turn up to this one, as `edos segment` numbers them.
        digest: of the text: the first 8 hex digits of its SHA-256.
        answers: model → what it says.
        own: the judge's own label, "" before they judged.
        candidates: label → YES or one of KINDS, "" before they judged; as on the sheet.
    """

    number: int
    pool: str
    file: str
    dialogue_id: str
    turn: int
    sentence_ids: list[list[int]]
    digest: str
    answers: dict[str, Answer]
    own: str = ""
    candidates: dict[str, str] = field(default_factory=dict)


def read_records(path: Path) -> list[Judged]:
    """Read what `jsonl_of` wrote; see `read_jsonl`."""
    return read_jsonl(path, _record_of, "turn")


def _record_of(row: dict[str, Any]) -> Judged:
    answers = {model: Answer(*answer) for model, answer in row.pop("answers").items()}
    return Judged(**row, answers=answers)


def show_pools(records: Sequence[Judged]) -> str:
    """Return in a line how many turns of how many dialogues there are."""
    pools = ", ".join(f"{count} of {pool}" for pool, count in Counter(record.pool for record in records).items())
    return f"{len(records)} turns of {len({record.dialogue_id for record in records})} dialogues: {pools}"
