"""The response models of Xie & Pu, "Generating Empathetic Responses with a Large Scale Dialog Dataset": an
encoder-decoder Transformer, plain, or with the labels and speakers of all turns and conditioned on the label of the
answer (Section 4).

This file, `layers.py`, `config.py` and `response_pipeline.py` travel with every saved model (`trust_remote_code=True`).
"""

from typing import Any, cast

import torch
from torch import nn
from transformers import AutoModelForSeq2SeqLM, GenerationMixin, PreTrainedModel
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import Seq2SeqLMOutput

from .config import CACHE, IGNORED, ResponseConfig
from .layers import Decoder, Embedder, Encoder, causal, hidden, turns_before
from .response_pipeline import ResponsePipeline

__all__ = ["ResponseConfig", "ResponseModel", "ResponsePipeline"]


class ResponseModel(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]
    """An encoder-decoder Transformer that answers, with one embedder for history and answer.

    Attributes:
        encoder: reads histories; the decoder shares its embedder.
        decoder: writes answers.
        output_layer: from states to logits of tokens.
    """

    config_class = ResponseConfig
    base_model_prefix = ""
    main_input_name = "input_ids"
    accepts_loss_kwargs = False  # else Trainer multiplies the loss by the number of processes
    _supports_sdpa = True
    _tied_weights_keys = {"output_layer.weight": "encoder.embedder.words.weight"}
    _no_split_modules = ["Layer"]

    def __init__(self, config: ResponseConfig) -> None:
        super().__init__(config)
        self.encoder = Encoder(config, Embedder(config))
        self.decoder = Decoder(config)
        self.output_layer = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()  # type: ignore[no-untyped-call]

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the table of words."""
        return self.encoder.embedder.words

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the table of words."""
        self.encoder.embedder.words = cast(nn.Embedding, value)

    def get_output_embeddings(self) -> nn.Linear:
        """Return the output layer."""
        return self.output_layer

    def set_output_embeddings(self, new_embeddings: nn.Linear) -> None:
        """Replace the output layer."""
        self.output_layer = new_embeddings

    def get_encoder(self, *args: object, **kwargs: object) -> Encoder:
        """Return the encoder, for `generate`."""
        return self.encoder

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        segment_ids: torch.Tensor | None = None,
        label_ids: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        response_labels: torch.Tensor | None = None,
        response_segments: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
        encoder_outputs: Any = None,  # noqa: ANN401 - BaseModelOutput, or a tuple that begins with the states
        use_cache: bool | None = None,
        label_smoothing: float = 0.0,
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: object,
    ) -> Seq2SeqLMOutput:
        """Return the logits of the answer's next tokens, and the loss if targets are given.

        Args:
            input_ids: [batch, history], from `encode_history`; with `encoder_outputs` only needed for segments.
            attention_mask: [batch, history], 1 for tokens and 0 for padding; by default derived from the padding id.
            segment_ids: [batch, history], as for `Encoder`.
            label_ids: [batch, history], as for `Encoder`.
            decoder_input_ids: [batch, tokens], the answer from the start token on, without tokens in the cache; by
                default the shifted targets.
            decoder_attention_mask: [batch, all tokens of the answer], only needed for padding at the left.
            response_labels: [batch], the label that conditions every token of the answer; by default none is added.
            response_segments: [batch], the speaker of the answer; by default the one after the history.
            labels: [batch, tokens], the targets; -100 is ignored.
            cache: keys and values of earlier tokens.
            encoder_outputs: output of the encoder for the histories.
            use_cache: whether to return the cache; by default not in training.
            label_smoothing: fraction of each target's probability that is spread over all tokens, from 0 to below 1.
            past_key_values: the cache in transformers before 5.24.
            **kwargs: not used.

        Returns:
            `logits` [batch, tokens, vocabulary]; `loss`, the mean cross-entropy (nats) of all targets; the cache, named
            `CACHE`; `encoder_last_hidden_state` [batch, history, width].
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask, segment_ids, label_ids)
        source = cast(torch.Tensor, encoder_outputs[0])
        if attention_mask is None:
            attention_mask = self._seen(source, input_ids)
        if decoder_input_ids is None:
            decoder_input_ids = self._shifted(labels)
        if use_cache is None:
            use_cache = not self.training and labels is None
        if cache is None:
            cache = past_key_values
        if use_cache and cache is None:
            cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        past = cache.get_seq_length() if cache is not None else 0
        if response_segments is None and input_ids is not None:
            response_segments = self.next_segments(input_ids, segment_ids)
        states = self.encoder.embedder(decoder_input_ids, _column(response_segments), _column(response_labels), past)
        mask = _answer_mask(states, past, decoder_attention_mask)
        states = self.decoder(states, mask, source, attention_mask, cache)
        logits = self.output_layer(states)
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(
                logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED, label_smoothing=label_smoothing
            )
        kept: dict[str, Any] = {CACHE: cache if use_cache else None}
        return Seq2SeqLMOutput(loss=loss, logits=logits, encoder_last_hidden_state=source, **kept)

    def next_segments(self, input_ids: torch.Tensor, segment_ids: torch.Tensor | None = None) -> torch.Tensor | None:
        """Return the speaker after the histories, [batch]; None for a model without speakers."""
        if not self.config.num_segments:
            return None
        turns = turns_before(input_ids, self.config.eos_token_id) if segment_ids is None else segment_ids
        last = (input_ids != self._padding).sum(1, keepdim=True) - 1
        return cast(torch.Tensor, (turns.gather(1, last).squeeze(1) + 1) % self.config.num_segments)

    def generate(self, inputs: torch.Tensor | None = None, **kwargs: Any) -> Any:  # noqa: ANN401
        """Generate as every model of transformers; for `segment_ids`, `label_ids`, `response_labels` and
        `response_segments` see `forward`.
        """
        ids = kwargs.get("input_ids") if inputs is None else inputs
        if self.config.num_segments and kwargs.get("response_segments") is None and ids is not None:
            kwargs["response_segments"] = self.next_segments(ids, kwargs.get("segment_ids"))
        return cast(Any, super()).generate(inputs, **kwargs)

    def _seen(self, source: torch.Tensor, input_ids: torch.Tensor | None) -> torch.Tensor:
        return source.new_ones(source.shape[:2]) if input_ids is None else input_ids != self._padding

    @property
    def _padding(self) -> int:
        return cast(int, self.config.pad_token_id)

    def _shifted(self, labels: torch.Tensor | None) -> torch.Tensor:
        if labels is None:
            raise ValueError("give decoder_input_ids, the answer so far, or labels, the answer to learn")
        answers = labels.roll(1, dims=1).masked_fill(labels.roll(1, dims=1) == IGNORED, self._padding)
        answers[:, 0] = self.config.bos_token_id
        return answers


def _answer_mask(states: torch.Tensor, past: int, decoder_attention_mask: torch.Tensor | None) -> torch.Tensor | None:
    """Return a term for the scores among the answer's tokens, or None if nothing must be hidden."""
    mask = causal(states.shape[1], past + states.shape[1], states)
    if decoder_attention_mask is None or bool(decoder_attention_mask.all()):
        return mask
    unseen = hidden(decoder_attention_mask, states.dtype)
    return unseen if mask is None else torch.minimum(mask, unseen)


def _column(values: torch.Tensor | None) -> torch.Tensor | None:
    return None if values is None else values[:, None]


AutoModelForSeq2SeqLM.register(ResponseConfig, ResponseModel, exist_ok=True)
ResponseModel.register_for_auto_class("AutoModelForSeq2SeqLM")  # type: ignore[no-untyped-call]
