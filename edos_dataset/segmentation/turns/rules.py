"""Turns by subtitlers' marks and by how people take turns, with weights fitted to real speakers.

The weights are the rounded ones of a logistic regression on 173 episodes of two series and 30 of a third, whose
sentences carry speaker names; the bias maximises the F1 of new turns there. On the other half of the episodes, compared
with a new turn at every block and every dash ("boundaries") and at every sentence ("always"):

                     accuracy                            F1 of a new turn
    two series       77.9 %  (boundaries 71.9, always 51.3)   0.808  (0.785, 0.678)
    the third        75.5 %  (boundaries 66.1, always 49.9)   0.778  (0.744, 0.666)
    without dashes   68.8 % and 67.4 %  (boundaries 63.0, 58.0)

7 % and 10 % of the turns then hold more than one speaker; 27 % and 28 % of the turns that follow another are by the
same speaker. The word lists come from the first half of the two series and from all of the third, so the third's figure
is slightly too high.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import flags, unnest

_BIAS = 0.19  # no sum of weights with it is 0, so no decision at 0.5 depends on rounding
_INNER_DASH = -5.6  # a dash that is not the first of its block: the subtitler's own mark of a new speaker
_LONE_DASH = -3.0  # the only dash of its block: the style in which each new speaker gets a dash
_OPENING_DASH = -0.6  # the first of two dashes only shows that the block has two speakers
_SAME_BLOCK = 3.5
_AT_BOUNDARY = {
    "pause": -0.4,  # 0.3 s or more: longer ones add nothing
    "asked": -1.1,  # the sentence before was a question
    "asks": -0.4,  # this one is
    "asked_and_asks": 1.2,  # one speaker asks again
    "left_open": 0.6,  # the sentence before ended with ... or -- or a comma, or without a mark
    "taken_up": 1.0,  # this one begins with ... or a lower-case letter
    "short": -0.6,  # at most three words
    "short_before": 0.2,  # at most two
    "same_person": 0.6,  # both only "I", or both only "you"
    "other_person": -0.6,  # "I" answers "you"
    "reply": -1.2,
    "weak_reply": -0.6,
    "called_by_name": -0.6,
    "going_on": 0.4,
    "hesitated": 0.8,
}

_ASKS = r"\?[\"'”’»)!]*$"
_OPEN = r"(?:\.\.\.|…|--|[—–-]|[,;:])[\"'”’»]*$"
_UNMARKED = r"[\p{L}\p{N}][\"'”’»]*$"
_TAKEN_UP = r"^(?:\.\.\.|…)"
_SMALL = r"^[\"'“‘„]?\p{Ll}"
_YOU = r"(?i)\b(?:you(?:['’]re|r|['’]ve|['’]ll)?|du|dich|dir|neked|téged)\b"
_ME = r"\b(?:I|I['’](?:m|ve|ll)|[Mm]y|[Mm]e|[Mm]ine|[Ii]ch|[Mm]ich|[Mm]ir|[Nn]ekem|[Ee]ngem)\b"
_REPLY = (
    r"(?i)^(?:yes|yeah|yep|no|nope|well|oh|actually|really|sure|fine|great|wow|you['’]re right|excuse me"
    r"|that['’]s not|that['’]s a|wait|i know|nothing"
    r"|exactly|absolutely|of course|ah|mm-hmm|uh-huh|good|right|hmm|whoa|ooh|aw|thanks|thank you|i['’]m sorry|sorry"
    r"|ja|nein|doch|ach|danke|natürlich|genau|klar|wirklich|stimmt|igen|nem|dehogy|köszönöm|persze|tényleg"
    r"|sí|oui|non|sì|sim|não|nee)(?:[^\p{L}]|$)"
)
_WEAK_REPLY = (
    r"(?i)^(?:okay|ok|all right|hey|hi|hello|what|why|are|does|is|how come|so you|come on|don['’]t|please|not"
    r"|i don['’]t|i can['’]t|you don['’]t|you['’]re not|i['’]m not|look|huh|boy|did|who|was"
    r"|warum|wer|wie|hallo|bitte|miért|hogyan|szia|kérlek)(?:[^\p{L}]|$)"
)
_GOING_ON = (
    r"(?i)^(?:and|but|or|i mean|now|when|which|anyway|like|the|he|she|they|it was|it['’]s just|in|at|one|we['’]ll"
    r"|i can|i['’]m gonna|i['’]ve|i just|i want|i got|as|just|if|see|you see|then|because|plus|besides|this|there['’]s"
    r"|until|after|before|for|with|also|even|maybe|his|her|und|aber|oder|denn|és|de|vagy|mert)(?:[^\p{L}]|$)"
)
_CALLED_BY_NAME = r"^\p{Lu}\p{Ll}+,"
_HESITATED = (
    r"(?i)(?:^|[\s,])(?:um|uh|er|you see|you know|i mean|wait|oh|look|listen|understand|question"
    r"|all right|right)(?:\.\.\.|…|[.,!])$"
)


@dataclass(frozen=True)
class RuleScorer:
    """Scores by dashes, blocks, pauses, marks of continuation, and the words with which people answer or continue."""

    languages: ClassVar[tuple[str, ...] | None] = None
    identity: ClassVar[str] = ""
    record: ClassVar[dict[str, Any]] = {}

    def same_turn(self, table: pa.Table) -> np.ndarray:
        """Score every sentence of SENTENCES; see TurnScorer."""
        sentences, offsets = unnest(table, "sentences")
        if not len(sentences):
            return np.zeros(0, np.float32)
        dash = flags(sentences.field("dash"))
        inside, dashes = _blocks(sentences, offsets, dash)
        weight = np.full(len(sentences), _BIAS)
        weight += _SAME_BLOCK * (inside & ~dash) + _INNER_DASH * (inside & dash)
        weight += np.where(dashes > 1, _OPENING_DASH, _LONE_DASH) * (~inside & dash)
        for name, holds in _boundary_evidence(sentences, offsets).items():
            weight += _AT_BOUNDARY[name] * (holds & ~inside)
        score: np.ndarray = (1 / (1 + np.exp(-weight))).astype(np.float32)
        score[offsets[:-1][np.diff(offsets) > 0]] = np.nan
        return score


def _blocks(sentences: pa.StructArray, offsets: np.ndarray, dash: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which sentences begin in the block where the previous one ended, and the number of dashes in the block
    where each begins.
    """
    # unknown blocks are NaN, which equals nothing
    first, last = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("first_block", "last_block"))
    inside = np.r_[False, first[1:] == last[:-1]]
    inside[offsets[:-1][np.diff(offsets) > 0]] = False
    group = np.cumsum(~inside)
    return inside, np.bincount(group, weights=dash)[group]


def _boundary_evidence(sentences: pa.StructArray, offsets: np.ndarray) -> dict[str, np.ndarray]:
    """Return the evidence between each sentence and the previous one; meaningless for the first of a document."""
    texts = sentences.field("text")
    start = sentences.field("start").to_numpy(zero_copy_only=False)
    end = sentences.field("end").to_numpy(zero_copy_only=False)
    words = pc.add(pc.count_substring(texts, " "), 1).to_numpy()
    asks, you, me, reply, weak, going_on = (
        _match(texts, pattern) for pattern in (_ASKS, _YOU, _ME, _REPLY, _WEAK_REPLY, _GOING_ON)
    )
    asked, you_before, me_before = _before(asks), _before(you), _before(me)
    only_me, only_you = me & ~you, you & ~me
    only_me_before, only_you_before = me_before & ~you_before, you_before & ~me_before
    return {
        "pause": np.r_[False, (start[1:] - end[:-1]).round(3) >= 0.3],
        "asked": asked,
        "asks": asks,
        "asked_and_asks": asked & asks,
        "left_open": _before(_match(texts, _OPEN) | _where_unusual(_match(texts, _UNMARKED), offsets)),
        "taken_up": _match(texts, _TAKEN_UP) | _where_unusual(_match(texts, _SMALL), offsets),
        "short": words <= 3,
        "short_before": _before(words <= 2),
        "same_person": (only_me & only_me_before) | (only_you & only_you_before),
        "other_person": (only_me & only_you_before) | (only_you & only_me_before),
        "reply": reply,
        "weak_reply": weak & ~reply,
        "called_by_name": _match(texts, _CALLED_BY_NAME) & ~(reply | weak | going_on),
        "going_on": going_on,
        "hesitated": _before(_match(texts, _HESITATED)),
    }


def _where_unusual(holds: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Drop evidence that holds for more than a quarter of a document's sentences, such as the lack of full stops in a
    document that has none.
    """
    total = np.r_[0, np.cumsum(holds)]
    lengths = np.diff(offsets)
    usual = total[offsets[1:]] - total[offsets[:-1]] > lengths / 4
    unusual: np.ndarray = holds & ~np.repeat(usual, lengths)
    return unusual


def _match(texts: pa.StringArray, pattern: str) -> np.ndarray:
    return flags(pc.match_substring_regex(texts, pattern))


def _before(values: np.ndarray) -> np.ndarray:
    shifted: np.ndarray = np.r_[False, values[:-1]]
    return shifted
