"""The configurations of the response model and of the predictor of its label.

This file travels with every saved model (`trust_remote_code=True`), so it imports nothing of this package.
"""

from typing import Any

from transformers import AutoConfig, PreTrainedConfig
from transformers.modeling_outputs import Seq2SeqLMOutput

FIRST_POSITION = 2
"""Id of the first token's position, as in RoBERTa, whose positions begin after the padding id 1."""

IGNORED = -100
"""Target id of tokens that are not targets."""

CACHE = "cache" if "cache" in Seq2SeqLMOutput.__dataclass_fields__ else "past_key_values"
"""Name of the cached keys and values in this version of transformers: `cache` since 5.24."""

_MOST = 1 << 30  # no setting is larger


class ResponseConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """Configuration of `ResponseModel`; the defaults are those of Xie & Pu, "Generating Empathetic Responses with a
    Large Scale Dialog Dataset", Section 5, for the plain model.

    Args:
        vocab_size: number of tokens.
        hidden_size: width of all layers, a multiple of `num_heads`.
        num_layers: number of layers of the encoder, and of the decoder.
        num_heads: number of attention heads.
        intermediate_size: width of the feed-forward layers.
        max_positions: rows of the table of positions, of which the first two are unused: a sequence may have
            `max_positions - 2` tokens.
        dropout: dropout probability of embeddings, attention weights and layer outputs in training.
        num_response_labels: 0 for the plain model, 41 for one that reads and answers with labels.
        num_segments: 0 for none, 2 for alternating speakers.
        history_turns: maximum number of turns of a history, the newest ones; None for all that fit, as in the papers.
        tie_output: whether the output layer shares the table of words; that of the authors' code does not.
        layer_norm_eps: added to variances.
        initializer_range: standard deviation of initial weights.
        pad_token_id: id of the padding token.
        bos_token_id: id that begins a sequence, of the decoder too.
        eos_token_id: id that ends a turn.
        **kwargs: as for every configuration, such as `id2label`, the names of the labels.

    Raises:
        ValueError: a setting is out of range.
    """

    model_type = "edos_response"
    attribute_map = {
        "num_hidden_layers": "num_layers",
        "num_attention_heads": "num_heads",
        "max_position_embeddings": "max_positions",
    }

    def __init__(
        self,
        vocab_size: int = 50_265,
        hidden_size: int = 300,
        num_layers: int = 4,
        num_heads: int = 6,
        intermediate_size: int = 1_200,
        max_positions: int = 102,
        dropout: float = 0.1,
        num_response_labels: int = 0,
        num_segments: int = 0,
        history_turns: int | None = None,
        tie_output: bool = False,
        layer_norm_eps: float = 1e-5,
        initializer_range: float = 0.02,
        pad_token_id: int = 1,
        bos_token_id: int = 0,
        eos_token_id: int = 2,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        least = {"vocab_size": (vocab_size, 4), "hidden_size": (hidden_size, 1), "num_layers": (num_layers, 1)}
        least |= {"num_heads": (num_heads, 1), "intermediate_size": (intermediate_size, 1)}
        least |= {"max_positions": (max_positions, 4), "num_response_labels": (num_response_labels, 0)}
        least |= {"num_segments": (num_segments, 0), "pad_token_id": (pad_token_id, 0)}
        least |= {"bos_token_id": (bos_token_id, 0), "eos_token_id": (eos_token_id, 0)}
        least |= {} if history_turns is None else {"history_turns": (history_turns, 1)}
        for name, (value, lowest) in least.items():
            if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value < _MOST:
                raise ValueError(f"{name} must be a whole number from {lowest}, got {value!r}")
        if hidden_size % num_heads:
            raise ValueError(f"num_heads must divide hidden_size, got {num_heads} and {hidden_size}")
        if max(pad_token_id, bos_token_id, eos_token_id) >= vocab_size:
            raise ValueError(f"pad_token_id, bos_token_id and eos_token_id must be below vocab_size, {vocab_size}")
        if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
            raise ValueError(f"dropout must be a number, at least 0 and below 1, got {dropout!r}")
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.num_layers, self.num_heads = num_layers, num_heads
        self.intermediate_size, self.max_positions, self.dropout = intermediate_size, max_positions, dropout
        self.num_response_labels, self.num_segments, self.tie_output = num_response_labels, num_segments, tie_output
        self.history_turns = history_turns
        self.layer_norm_eps, self.initializer_range = layer_norm_eps, initializer_range
        kwargs |= {"tie_word_embeddings": tie_output}
        if self.model_type == ResponseConfig.model_type:
            kwargs |= {"is_encoder_decoder": True, "decoder_start_token_id": bos_token_id}
            pipelines = {"response-generation": {"impl": "model.ResponsePipeline", "pt": ["AutoModelForSeq2SeqLM"]}}
            kwargs.setdefault("custom_pipelines", pipelines)
        kwargs |= {"pad_token_id": pad_token_id, "bos_token_id": bos_token_id, "eos_token_id": eos_token_id}
        super().__init__(**kwargs)

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of a sequence."""
        return self.max_positions - FIRST_POSITION


class PredictorConfig(ResponseConfig):  # type: ignore[no-untyped-call]
    """Configuration of `ResponsePredictor`: that of a response model's encoder, and `num_labels`, 41 by default, for
    the label of the answer.
    """

    model_type = "edos_response_predictor"

    def __init__(self, num_response_labels: int = 41, num_segments: int = 2, **kwargs: Any) -> None:  # noqa: ANN401
        if "id2label" not in kwargs:
            kwargs.setdefault("num_labels", 41)
        super().__init__(num_response_labels=num_response_labels, num_segments=num_segments, **kwargs)


for _config in (ResponseConfig, PredictorConfig):
    AutoConfig.register(_config.model_type, _config, exist_ok=True)
    _config.register_for_auto_class()  # type: ignore[no-untyped-call]
