"""Histories and labels as the text that any language model reads: what a model of the Hub is trained on and asked by.

A turn is a line, "A: I lost my job.", the answer what follows the last line, "B:". Labels stand as words,
"B (consoling):", or as special tokens, "B<|consoling|>:", which a tokenizer must have (`add_label_tokens`).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edos_dataset.encoders.folders import read_json, usable
from edos_dataset.generation.config import IGNORED
from edos_dataset.labels import LABELS
from edos_dataset.runs.shards import write_text

FILE = "prompt.json"
"""Name of the file beside a model that holds its `PromptFormat`."""

STYLES = ("none", "words", "tokens")
SPEAKERS = ("A", "B")


@dataclass(frozen=True)
class PromptFormat:
    """How a model is told histories and labels.

    Attributes:
        labels: "none", "words" or "tokens".
        turns: most turns of a history that are told, the newest; None for all that fit.

    Raises:
        ValueError: `labels` is no such word, or `turns` below 1.
    """

    labels: str = "none"
    turns: int | None = None

    def __post_init__(self) -> None:
        """Check the attributes."""
        if self.labels not in STYLES:
            raise ValueError(f"labels is one of {', '.join(STYLES)}, got {self.labels!r}")
        if self.turns is not None and (
            isinstance(self.turns, bool) or not isinstance(self.turns, int) or self.turns < 1
        ):
            raise ValueError(f"turns is a whole number from 1, or null for all, got {self.turns!r}")

    @classmethod
    def load(cls, folder: Path) -> "PromptFormat":
        """Return the format that a model was trained with; that of any language model where nothing is said.

        Raises:
            ValueError: the file is damaged.
        """
        if not (folder / FILE).is_file():
            return cls()
        with usable(folder / FILE):
            return cls(**read_json(folder / FILE))

    def save(self, folder: Path) -> None:
        """Write the format beside a model."""
        write_text(folder / FILE, json.dumps(asdict(self)) + "\n")

    def lines(self, turns: Sequence[str], labels: Sequence[int] | None = None, answer: int | None = None) -> list[str]:
        """Return the lines of a history, oldest first, and the beginning of the answer's.

        Args:
            turns: of the history, oldest first.
            labels: of the turns, by id; left out where the style has none, or none are known.
            answer: label of the answer, by id; likewise.
        """
        count = len(turns) if self.turns is None else min(self.turns, len(turns))
        known: Sequence[int | None] = [None] * len(turns) if labels is None else labels
        # The one who answers is always B, so that the newest turn is always A's.
        lines = []
        for age in range(count, 0, -1):
            speaker = SPEAKERS[(age - 1) % 2]
            lines.append(f"{speaker}{self._told(known[-age])}: {' '.join(turns[-age].split())}\n")
        return [*lines, f"{SPEAKERS[1]}{self._told(answer)}:"]

    def _told(self, label: int | None) -> str:
        if label is None or self.labels == "none":
            return ""
        return f" ({LABELS[label]})" if self.labels == "words" else label_token(label)


def label_token(label: int) -> str:
    """Return the special token of a label."""
    return f"<|{LABELS[label]}|>"


def add_label_tokens(model: Any, tokenizer: Any) -> int:  # noqa: ANN401
    """Give a tokenizer the 41 special tokens, and a model rows for them; return how many were new."""
    tokens = [label_token(label) for label in range(len(LABELS))]
    added = int(tokenizer.add_special_tokens({"additional_special_tokens": tokens}))
    if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(len(tokenizer))
    return added


def encode_prompt(tokenizer: Any, lines: Sequence[str], max_tokens: int) -> list[int]:  # noqa: ANN401
    """Return the token ids of a prompt; it loses its oldest lines where it is too long, then the first tokens of the
    newest turn.

    Args:
        tokenizer: any of transformers; what it puts before and behind a text by itself is kept.
        lines: as `PromptFormat.lines` returns them.
        max_tokens: most tokens of the result.
    """
    for first in range(len(lines)):
        ids: list[int] = tokenizer("".join(lines[first:]))["input_ids"]
        if len(ids) <= max_tokens or first >= len(lines) - 2:
            break
    return ids[-max_tokens:]


def encode_pair(
    tokenizer: Any,  # noqa: ANN401
    lines: Sequence[str],
    response: str,
    *,
    causal: bool,
    max_tokens: int = 512,
    response_tokens: int = 100,
) -> tuple[list[int], list[int]]:
    """Return what a model learns an answer from: `input_ids` and `labels`, -100 where nothing is to be said.

    Args:
        tokenizer: that of the model.
        lines: the prompt, as `PromptFormat.lines` returns them.
        response: the answer.
        causal: whether the model is a decoder alone: then prompt and answer are one sequence, and both results are of
            one length; else the first is the prompt and the second the answer.
        max_tokens: most tokens of a sequence.
        response_tokens: most of them that are of the answer, the end included.
    """
    words = tokenizer([f" {' '.join(response.split())}"], add_special_tokens=False)["input_ids"][0]
    answer = [*words[: response_tokens - 1], tokenizer.eos_token_id]
    if not causal:
        return encode_prompt(tokenizer, lines, max_tokens), answer
    prompt = encode_prompt(tokenizer, lines, max_tokens - len(answer))
    return [*prompt, *answer], [*[IGNORED] * len(prompt), *answer]
