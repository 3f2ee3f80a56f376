"""Histories and answers as the response models read them, and `pipeline("response-generation", model=...,
trust_remote_code=True)`, which answers a text or a dialogue.

This file travels with every saved model, beside `model.py`, `layers.py` and `config.py`, so it imports nothing else of
this package.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import torch
from transformers import Pipeline


class EncodedHistory(NamedTuple):
    """An encoded history: three lists of equal length.

    Attributes:
        input_ids: token ids.
        segment_ids: parity of the token's turn, 0 or 1, counted from the first turn of the dialogue.
        label_ids: label of the token's turn; 0 if labels are unknown.
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
    """Concatenate the turns of a history, "<s> u1 </s></s> u2 </s>", as RoBERTa joins texts.

    A turn includes the separators around it. A history that is too long loses its oldest turns, whole, so that the
    newest are kept (the papers' code drops such a pair); if the newest turn alone is too long, it loses its first
    tokens. Segments count from the first given turn, even if it is dropped, so that the answer's segment is that of its
    speaker in the whole dialogue.

    Args:
        tokenizer: with a start (`bos_token_id`) and an end token (`eos_token_id`).
        turns: oldest first, at least one.
        labels: label of each turn, 0 to 40, if known.
        max_tokens: maximum number of tokens of the result, at least 3.
        most_turns: maximum number of turns of the result, at least 1; None for all that fit.

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
    """Return the targets of an answer: its tokens, truncated to `max_tokens - 1`, and the end token."""
    ids = tokenizer([text], add_special_tokens=False, split_special_tokens=True)["input_ids"][0]
    return [*ids[: max_tokens - 1], tokenizer.eos_token_id]


def pad(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    """Return the rows as one int64 tensor, [rows, longest row], padded with `value` at the right."""
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], dtype=torch.long)


def batch_histories(histories: Sequence[EncodedHistory], padding: int) -> dict[str, torch.Tensor]:
    """Return the inputs of the models: `input_ids`, `attention_mask`, `segment_ids` and `label_ids`, each [histories,
    longest], padded at the right.
    """
    return {
        "input_ids": pad([history.input_ids for history in histories], padding),
        "attention_mask": pad([[1] * len(history.input_ids) for history in histories], 0),
        "segment_ids": pad([history.segment_ids for history in histories], 0),
        "label_ids": pad([history.label_ids for history in histories], 0),
    }


_WANTED = (
    "expected a text, or a dialogue: {'turns': [text, ...], 'labels': [label of each turn, if known], 'label': label "
    "of the answer}, or a list of these"
)


class ResponsePipeline(Pipeline):
    """Answers texts and dialogues by beam search, with 32 beams and without repeated 4-grams, as in the papers.

    A model with labels should be given those of the answer and the turns, by id or name: this pipeline predicts none.
    `Responder` of edos-dataset does, and has more forms of decoding; here every setting of `generate` can be given to
    the call.
    """

    _load_tokenizer: Any = True
    _load_processor: Any = False
    _load_feature_extractor: Any = False
    _load_image_processor: Any = False

    def _sanitize_parameters(self, **kwargs: Any) -> Any:  # noqa: ANN401
        return {}, kwargs, {}

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return `{"generated_text": answer}` for a text or dialogue, a list of them for a list.

        Raises:
            ValueError: an input is neither, or empty; or a label is unknown.
        """
        single = isinstance(inputs, str | Mapping)
        given = [_dialogue(each) for each in ([inputs] if single else inputs)]
        found = list(cast(Any, super()).__call__(given, *args, **kwargs))
        return found[0] if single else found

    def preprocess(self, input_: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the model's inputs for one dialogue."""
        config = self.model.config
        labels = input_.get("labels")
        known = None if labels is None else [self._id(label) for label in labels]
        history = encode_history(self.tokenizer, input_["turns"], known, config.max_tokens, config.history_turns)
        given = batch_histories([history], config.pad_token_id)
        if known is None:
            del given["label_ids"]
        if input_.get("label") is not None:
            given["response_labels"] = torch.tensor([self._id(input_["label"])])
        return given

    def _forward(self, input_tensors: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        settings = {"num_beams": 32, "no_repeat_ngram_size": 4, "do_sample": False}
        settings["max_new_tokens"] = self.model.config.max_tokens - 1
        return {"ids": cast(Any, self.model).generate(**input_tensors, **(settings | kwargs))}

    def postprocess(self, model_outputs: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the answer as a text, or a list of several if `num_return_sequences` asks for them."""
        decode = cast(Any, self.tokenizer).decode
        texts = [{"generated_text": decode(ids, skip_special_tokens=True).strip()} for ids in model_outputs["ids"]]
        return texts if len(texts) > 1 else texts[0]

    def _id(self, label: Any) -> int:  # noqa: ANN401
        config = self.model.config
        names = {name: number for number, name in (config.id2label or {}).items()}
        number = names.get(label.strip().lower()) if isinstance(label, str) else label
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < config.num_response_labels:
            raise ValueError(f"{label!r} is not a label of this model, which has {config.num_response_labels}")
        return number


def _dialogue(given: Any) -> dict[str, Any]:  # noqa: ANN401 - any input of a user
    found = {"turns": [given]} if isinstance(given, str) else given
    turns = found.get("turns") if isinstance(found, Mapping) else None
    if isinstance(turns, str) or not isinstance(turns, Sequence) or not turns:
        raise ValueError(f"the input is {given!r:.80}: {_WANTED}")
    if not all(isinstance(turn, str) for turn in turns):
        raise ValueError(f"the input is {given!r:.80}, which has a turn that is not a text: {_WANTED}")
    return dict(found)
