"""`pipeline("response-generation", model=..., trust_remote_code=True)`: an answer to a text or a dialogue.

This file travels with every saved model, beside `model.py`, `inputs.py`, `layers.py` and `config.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from transformers import Pipeline

from .inputs import batch_histories, encode_history

_WANTED = (
    "expected a text, or a dialogue: {'turns': [text, ...], 'labels': [label of each turn, if known], 'label': label "
    "of the answer}, or a list of these"
)


class ResponsePipeline(Pipeline):
    """Answers texts and dialogues, each with the best of the beam: 32 beams, no repeated 4-gram, as the papers.

    A model with labels should be told that of the answer and those of the turns, by id or name: this pipeline predicts
    none. `Responder` of edos-dataset does, and knows more forms of decoding; here every setting of `generate` may be
    given to the call.
    """

    _load_tokenizer: Any = True
    _load_processor: Any = False
    _load_feature_extractor: Any = False
    _load_image_processor: Any = False

    def _sanitize_parameters(self, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the parameters of the three steps."""
        return {}, kwargs, {}

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return `{"generated_text": answer}` for a text or dialogue, a list of them for a list.

        Raises:
            ValueError: an input is neither, or empty; a label is none.
        """
        single = isinstance(inputs, str | Mapping)
        given = [_dialogue(each) for each in ([inputs] if single else inputs)]
        found = list(cast(Any, super()).__call__(given, *args, **kwargs))
        return found[0] if single else found

    def preprocess(self, input_: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the tensors that the model reads, of one dialogue."""
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
        """Return the answer as a text; a list of several where `num_return_sequences` asked for them."""
        decode = cast(Any, self.tokenizer).decode
        texts = [{"generated_text": decode(ids, skip_special_tokens=True).strip()} for ids in model_outputs["ids"]]
        return texts if len(texts) > 1 else texts[0]

    def _id(self, label: Any) -> int:  # noqa: ANN401
        """Return the id of a label that is given by id or name."""
        config = self.model.config
        names = {name: number for number, name in (config.id2label or {}).items()}
        number = names.get(label.strip().lower()) if isinstance(label, str) else label
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < config.num_response_labels:
            raise ValueError(f"{label!r} is no label of this model, which has {config.num_response_labels}")
        return number


def _dialogue(given: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a user gives
    """Return a text or dialogue as a dialogue."""
    found = {"turns": [given]} if isinstance(given, str) else given
    turns = found.get("turns") if isinstance(found, Mapping) else None
    if isinstance(turns, str) or not isinstance(turns, Sequence) or not turns:
        raise ValueError(f"the input is {given!r:.80}: {_WANTED}")
    if not all(isinstance(turn, str) for turn in turns):
        raise ValueError(f"the input is {given!r:.80}, which has a turn that is no text: {_WANTED}")
    return dict(found)
