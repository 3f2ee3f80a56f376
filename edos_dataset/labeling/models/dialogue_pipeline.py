"""The transformers pipeline for dialogues: the input forms that it accepts, and the order in which a model reads turns.

Every saved model contains this file (for `trust_remote_code=True`), so it imports nothing of this package.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, cast

import torch
from torch.utils.data import Dataset
from transformers import TextClassificationPipeline

_WANTED = (
    "expected a text, or a dialogue: {'turns': [text, ...]}, or a list of messages such as {'speaker': ..., 'text': "
    "...} or {'role': ..., 'content': ...}, oldest first"
)


def sequence(turns: Sequence[list[int]], start: int, separator: int, separators: int, max_length: int) -> list[int]:
    """Return the token ids of a dialogue, newest turn first: start, newest turn, separators, previous turn, ...,
    separator.

    Args:
        turns: token ids of the turns without special tokens, oldest first; at least one turn.
        start: id of the token that begins the sequence.
        separator: id of the token that ends a turn.
        separators: number of separators between two turns.
        max_length: maximum number of tokens of the result, at least 3; older tokens are cut off, and the last token is
            always a separator.
    """
    ids = [start]
    for age, turn in enumerate(reversed(turns)):
        if len(ids) + separators >= max_length and age:
            break
        ids += [separator] * (separators - 1 if age else 0) + turn[:max_length] + [separator]
    if len(ids) > max_length:
        ids = [*ids[: max_length - 1], separator]
    return ids


def split_turns(
    ids: torch.Tensor,
    mask: torch.Tensor,
    *,
    start: int,
    separator: int,
    separators: int,
    padding: int,
    turn_tokens: int,
    newest: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Undo `sequence`: return every turn of a batch as a separate sequence of start, tokens, separator.

    Args:
        ids: [batch, tokens], results of `sequence`, padded at the right.
        mask: [batch, tokens], 1 for tokens and 0 for padding.
        start: as for `sequence`.
        separator: as for `sequence`.
        separators: as for `sequence`.
        padding: id of the padding token.
        turn_tokens: maximum number of tokens of a turn, start and separator included; the rest is cut off.
        newest: number of turns of each dialogue to return; None for all.

    Returns:
        The ids [turns, tokens] and the mask of the turns of all dialogues, oldest first within each, and the number of
        turns of each dialogue, int64 [batch], at least 1.
    """
    ends = (ids == separator) & (mask > 0)
    ages = (ends.cumsum(1) + separators - 1) // separators  # defined within turns; those of separators are not used
    counts = ((ends.sum(1) + separators - 1) // separators).clamp(1, newest)
    words = (mask > 0) & ~ends & (ages < counts[:, None])
    words[:, 0] = False  # the start token
    rows = (counts.cumsum(0)[:, None] - 1 - ages)[words]  # the newest turn is the last of its dialogue
    lengths = rows.bincount(minlength=int(counts.sum()))
    # The tokens of a turn are contiguous: a token's position is its index minus that of its turn's first token.
    places = torch.arange(len(rows), device=ids.device)
    places = places - places.new_full(lengths.shape, len(rows)).scatter_reduce(0, rows, places, "amin")[rows]
    fits, kept = places < turn_tokens - 2, lengths.clamp(max=turn_tokens - 2)
    columns = torch.arange(int(kept.max()) + 2, device=ids.device)
    turns = torch.where(columns == kept[:, None] + 1, separator, ids.new_full((len(kept), len(columns)), padding))
    turns[:, 0] = start
    turns[rows[fits], places[fits] + 1] = ids[words][fits]
    return turns, (columns < kept[:, None] + 2).long(), counts


class DialoguePipeline(TextClassificationPipeline):
    """The pipeline for `pipeline("text-classification", model=..., trust_remote_code=True)`: predicts the label of a
    text, or of the last turn of a dialogue.

    As in every transformers pipeline, a string is one text, and a list of strings is a batch of unrelated texts. A
    dialogue is a dictionary `{"turns": [text, ...]}`, or a list of messages `{"speaker", "text"}` or `{"role",
    "content"}`, oldest first. A list of dialogues, or of lists of turns, is a batch. Datasets (`KeyDataset`) and
    generators of texts and dialogues are streamed. `top_k=3` returns the three most probable labels, `top_k=None` all
    of them.
    """

    def _sanitize_parameters(self, function_to_apply: Any = None, top_k: Any = "", **kwargs: Any) -> Any:  # noqa: ANN401
        if top_k not in ("", None) and (not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1):
            raise ValueError(f"top_k is {top_k!r}: give the number of labels, at least 1, or None for all")
        return cast(Any, super())._sanitize_parameters(function_to_apply, top_k, **kwargs)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the labels with their scores.

        For one text or dialogue, a list of `top_k` (by default 1) dictionaries `{"label", "score"}`; for a list of
        inputs, a list with one dictionary each, or with one such list each if `top_k` is given; for a dataset or a
        generator, an iterator over the same.

        Raises:
            ValueError: an input is not a text or dialogue, or is empty. A dataset or generator raises it when it
                reaches that input.
        """
        call = cast(Any, super().__call__)
        if isinstance(inputs, str | Mapping) or _is_dialogue(inputs):
            result = call({"turns": turns_of(inputs, "the input")}, *args, **kwargs)
            return result if isinstance(result, list) else [result]
        if isinstance(inputs, list | tuple):
            if not inputs:
                raise ValueError(f"the input is empty: {_WANTED}, or several of these")
            return call(list(_each(inputs)), *args, **kwargs)
        if not isinstance(inputs, bytes):
            if isinstance(inputs, Sized) and hasattr(inputs, "__getitem__"):
                return call(_Rows(inputs), *args, **kwargs)
            if isinstance(inputs, Iterable):
                return call(_each(inputs), *args, **kwargs)
        raise ValueError(f"the input is {_shown(inputs)}: {_WANTED}, or several of these")

    def preprocess(self, inputs: dict[str, list[str]], **tokenizer_kwargs: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Return `input_ids` and `attention_mask`, [1, tokens], of one dialogue, with as many turns as the model was
        trained on.
        """
        tokenizer, config = cast(Any, self.tokenizer), self.model.config
        turns = inputs["turns"] if config.context is None else inputs["turns"][-config.context - 1 :]
        read = tokenizer(turns, add_special_tokens=False, split_special_tokens=True)["input_ids"]  # "[SEP]" is text
        if limit := getattr(
            config, "turn_tokens", None
        ):  # the limit of a model that encodes single turns includes start and separator
            read = [turn[: limit - 2] for turn in read]
        ids = torch.tensor(
            [sequence(read, tokenizer.cls_token_id, config.separator_id, config.separators, config.max_tokens)]
        )
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def turns_of(given: Any, where: str) -> list[str]:  # noqa: ANN401 - any input of a user
    """Return the turns of a text or dialogue, oldest first. Error messages call it `where`.

    Raises:
        ValueError: it is neither, or empty.
    """
    turns = given
    if isinstance(given, str):
        turns = [given]
    elif isinstance(given, Mapping):
        alone = [] if {"role", "speaker"} & given.keys() else [given.get("text")]  # a message is not a dialogue
        turns = given.get("turns", given.get("messages", alone))
    if isinstance(turns, str | bytes | Mapping) or not isinstance(turns, Sequence):
        raise ValueError(f"{where} is {_shown(given)}: {_WANTED}")
    texts = [turn.get("text", turn.get("content")) if isinstance(turn, Mapping) else turn for turn in turns]
    if not texts:
        raise ValueError(f"{where} is {_shown(given)}, which has no turn: {_WANTED}")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"{where} is {_shown(given)}, whose turn {number} is not a text: {_WANTED}")
    return texts


def _is_dialogue(inputs: Any) -> bool:  # noqa: ANN401
    """Return whether the input is a list of messages, rather than a list of dialogues and texts."""
    return (
        isinstance(inputs, list | tuple)
        and bool(inputs)
        and all(isinstance(each, Mapping) and not {"turns", "messages"} & each.keys() for each in inputs)
    )


def _each(inputs: Iterable[Any]) -> Iterator[dict[str, list[str]]]:
    for number, each in enumerate(inputs):
        yield {"turns": turns_of(each, f"input {number}")}


class _Rows(Dataset[Any]):
    """The rows of a dataset as dialogues, converted on access."""

    def __init__(self, rows: Any) -> None:  # noqa: ANN401
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> dict[str, list[str]]:
        return {"turns": turns_of(self.rows[number], f"input {number}")}


def _shown(value: Any) -> str:  # noqa: ANN401
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
