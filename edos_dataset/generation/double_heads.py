"""GPT-2 with two heads, as the Gutenberg Dialogue Dataset's paper trains it (Csaky & Recski, 2021; after Wolf et al.,
"TransferTransfo", 2019): one continues the history, the other tells the true answer from a random one.

The model is `GPT2DoubleHeadsModel` of transformers; what it saves is read as any decoder, without the second head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from edos_dataset.generation.config import IGNORED
from edos_dataset.generation.inputs import pad
from edos_dataset.generation.prompts import PromptFormat, encode_pair

GUTENBERG = PromptFormat(turns=3)
"""The paper's history: three utterances."""

LANGUAGE, CHOICE = 2.0, 1.0
"""The paper's weights of the two losses."""


@dataclass(frozen=True)
class Choice:
    """A history, its answer, and answers to others.

    Attributes:
        turns: of the history, oldest first.
        answer: the true one.
        others: wrong ones, at least one; the paper has one.
    """

    turns: Sequence[str]
    answer: str
    others: Sequence[str]


def draw_others(count: int, generator: torch.Generator, number: int = 1) -> list[list[int]]:
    """Return for each of `count` pairs the numbers of other ones, from which to take wrong answers.

    Args:
        count: of the pairs, at least 2.
        generator: of the draws, on the CPU.
        number: of wrong answers for each.

    Raises:
        ValueError: there is no other pair.
    """
    if count < 2:
        raise ValueError(f"a wrong answer is another pair's, so there must be at least 2 pairs, got {count}")
    shifts = torch.randint(1, count, (count, number), generator=generator)
    return ((torch.arange(count)[:, None] + shifts) % count).tolist()


def batch_choices(
    tokenizer: Any,  # noqa: ANN401
    choices: Sequence[Choice],
    form: PromptFormat = GUTENBERG,
    max_tokens: int = 512,
    response_tokens: int = 100,
) -> dict[str, torch.Tensor]:
    """Return the inputs of the model.

    Args:
        tokenizer: that of the model, with an end token; that is the padding too where there is none.
        choices: all with as many wrong answers.
        form: how histories are told.
        max_tokens: most tokens of history and answer.
        response_tokens: most of them that are of the answer.

    Returns:
        `input_ids`, `attention_mask` and `labels` [batch, answers, longest], the true answer being the last, and the
        only one with labels; `mc_token_ids` [batch, answers], the place of each end; `mc_labels` [batch].
    """
    padding = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    rows, targets = [], []
    for choice in choices:
        lines = form.lines(choice.turns)
        for text in (*choice.others, choice.answer):
            row, learned = encode_pair(
                tokenizer, lines, text, causal=True, max_tokens=max_tokens, response_tokens=response_tokens
            )
            rows.append(row)
            targets.append([IGNORED] * len(row))
        targets[-1] = learned
    shape = (len(choices), len(choices[0].others) + 1, -1)
    ids = pad(rows, padding)
    last = torch.tensor([len(row) - 1 for row in rows])
    return {
        "input_ids": ids.view(shape),
        "attention_mask": pad([[1] * len(row) for row in rows], 0).view(shape),
        "labels": pad(targets, IGNORED).view(shape),
        "mc_token_ids": last.view(shape[:2]),
        "mc_labels": torch.full((len(choices),), shape[1] - 1),
    }


def two_headed_loss(output: Any, language: float = LANGUAGE, choice: float = CHOICE) -> torch.Tensor:  # noqa: ANN401
    """Return the weighted sum of the losses of a `GPT2DoubleHeadsModel`: nats a token of the true answers, and nats a
    choice.
    """
    loss: torch.Tensor = language * output.loss + choice * output.mc_loss
    return loss
