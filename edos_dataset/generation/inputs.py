"""Histories and answers as the response models read them: token ids, and for each token its speaker and its label.

This file travels with every saved response model (`trust_remote_code=True`), beside `config.py`, the only one of this
package that it imports.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from .config import IGNORED


class EncodedHistory(NamedTuple):
    """A history; three lists of one length.

    Attributes:
        input_ids: token ids.
        segment_ids: parity of the token's turn, counted from the first turn of the dialogue: 0 or 1.
        label_ids: label of the token's turn; 0 where none are known.
    """

    input_ids: list[int]
    segment_ids: list[int]
    label_ids: list[int]


def encode_history(
    tokenizer: Any,  # noqa: ANN401 - every tokenizer of transformers
    turns: Sequence[str],
    labels: Sequence[int] | None = None,
    max_tokens: int = 100,
    most_turns: int | None = None,
) -> EncodedHistory:
    """Put the turns of a history into one sequence, "<s> u1 </s></s> u2 </s>", as RoBERTa joins texts.

    The separators around a turn count to it. A history that is too long loses its oldest turns, whole, so that the
    newest stay (the papers' code drops such a pair); if the newest turn alone is too long, it loses its first tokens.
    Segments count from the first turn that was given, whether it is left or not: so the answer's, which is the one
    after the last turn's, is that of its speaker in the whole dialogue.

    Args:
        tokenizer: with a start (`bos_token_id`) and an end token (`eos_token_id`).
        turns: oldest first, at least one.
        labels: the label of each turn, 0 to 40, if known.
        max_tokens: most tokens of the result, at least 3.
        most_turns: most turns of the result, at least 1; None for all that fit.

    Raises:
        ValueError: there is no turn, or there are not as many labels as turns.
    """
    if not turns or max_tokens < 3:
        raise ValueError(
            f"a history has at least one turn and three tokens, got {len(turns)} turns, {max_tokens} tokens"
        )
    if labels is not None and len(labels) != len(turns):
        raise ValueError(f"each turn has one label, got {len(turns)} turns and {len(labels)} labels")
    start, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    read = tokenizer(list(turns), add_special_tokens=False, split_special_tokens=True)["input_ids"]
    oldest = 0 if most_turns is None else max(0, len(read) - most_turns)
    first, used = len(read) - 1, len(read[-1]) + 2
    while first > oldest and used + len(read[first - 1]) + 2 <= max_tokens:
        first -= 1
        used += len(read[first]) + 2
    ids: list[int] = []
    segments: list[int] = []
    known: list[int] = []
    for number in range(first, len(read)):
        words = read[number][max(0, len(read[number]) - (max_tokens - 2)) :]
        turn = [end if ids else start, *words, end]
        ids += turn
        segments += [number % 2] * len(turn)
        known += [labels[number] if labels is not None else 0] * len(turn)
    return EncodedHistory(ids, segments, known)


def encode_response(tokenizer: Any, text: str, max_tokens: int = 100) -> list[int]:  # noqa: ANN401
    """Return the targets of an answer: its tokens, cut to `max_tokens - 1`, and the end token."""
    ids = tokenizer([text], add_special_tokens=False, split_special_tokens=True)["input_ids"][0]
    return [*ids[: max_tokens - 1], tokenizer.eos_token_id]


def pad(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    """Return the rows as one int64 tensor, [rows, longest row], filled up with `value` at the right."""
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], dtype=torch.long)


def batch_histories(histories: Sequence[EncodedHistory], padding: int) -> dict[str, torch.Tensor]:
    """Return what the models read, `input_ids`, `attention_mask`, `segment_ids` and `label_ids`, each [histories,
    longest], padded at the right.
    """
    return {
        "input_ids": pad([history.input_ids for history in histories], padding),
        "attention_mask": pad([[1] * len(history.input_ids) for history in histories], 0),
        "segment_ids": pad([history.segment_ids for history in histories], 0),
        "label_ids": pad([history.label_ids for history in histories], 0),
    }


def batch_responses(responses: Sequence[Sequence[int]], start: int, padding: int) -> dict[str, torch.Tensor]:
    """Return what a model learns answers from, each [answers, longest], padded at the right.

    Args:
        responses: targets, as `encode_response` returns them.
        start: id of the token that begins an answer.
        padding: id that fills up shorter answers.

    Returns:
        `decoder_input_ids` and `labels`, which is -100 behind the end.
    """
    return {
        "decoder_input_ids": pad([[start, *response[:-1]] for response in responses], padding),
        "labels": pad(responses, IGNORED),
    }
