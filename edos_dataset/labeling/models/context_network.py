"""The network of a `ContextClassifier` above its encoder: context layers over the vectors of turns, and two heads.

Every saved `ContextClassifier` contains this file (for `trust_remote_code=True`), so it imports nothing of this
package. It does not import transformers either, so that the shipped models load quickly.
"""

import math
from typing import Any, cast

import torch
from torch import nn


class ContextLayer(nn.Module):
    """Attention of every turn to itself and the turns before it, then a feed-forward network, both pre-normalised and
    residual.

    Args:
        width: length of a turn's vector; a multiple of `heads`.
        heads: number of attention heads.
        window: number of earlier turns attended to.
        dropout: dropout probability of both residual branches.
    """

    def __init__(self, width: int, heads: int, window: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm, self.feed_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.distance = nn.Linear(window + 1, heads, bias=False)  # its weight [heads, distances] is the learned bias
        self.mix = nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return the contextual vectors of turns, [n, width].

        Args:
            vectors: [n, width], the turns of all dialogues, concatenated.
            places: int64 [n], the position of each turn in its dialogue, from 0.
        """
        hidden = vectors + self.dropout(self.mix(self._attend(self.attention_norm(vectors), places)))
        wide = nn.functional.gelu(self.widen(self.feed_norm(hidden)))
        return cast(torch.Tensor, hidden + self.dropout(self.narrow(wide)))

    def _attend(self, vectors: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        # Turns at one distance are the same rows, shifted, so nothing is gathered and memory grows linearly with the
        # turns.
        bias = self.distance.weight
        heads, size = len(bias), len(vectors)
        query, key, value = (
            layer(vectors).view(size, heads, -1) for layer in (self.query, self.key, self.value)
        )  # [n, heads, width of a head]
        reach = range(min(bias.shape[1], size))
        scores = torch.stack([(query * _shifted(key, back)).sum(-1) for back in reach], -1)
        scores = scores / math.sqrt(query.shape[-1]) + bias[:, : len(reach)]
        absent = torch.arange(len(reach), device=places.device) > places[:, None]
        weights = scores.float().masked_fill(absent[:, None], -math.inf).softmax(-1).to(value.dtype)
        mixed = torch.zeros_like(value)
        for back in reach:
            mixed = mixed + weights[..., back, None] * _shifted(value, back)
        return mixed.view(size, -1)


class ConventionHead(nn.Module):
    """A hidden layer, logits shared by all conventions, an offset for each convention, and a gate that predicts the
    convention of a text.

    Args:
        width: length of the input vectors.
        inner: length of the hidden layer.
        labels: number of labels.
        conventions: number of conventions.
        dropout: dropout probability of the input and the hidden layer.
    """

    def __init__(self, width: int, inner: int, labels: int, conventions: int, dropout: float) -> None:
        super().__init__()
        drops = nn.Dropout(dropout), nn.Dropout(dropout)
        self.hidden = nn.Sequential(drops[0], nn.Linear(width, inner), nn.Tanh(), drops[1])
        self.shared, self.own = nn.Linear(inner, labels), nn.Linear(inner, conventions * labels, bias=False)
        self.gate = nn.Linear(inner, conventions)

    def forward(self, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the labels in each convention, [n, conventions, labels], and the logits of the
        conventions, [n, conventions].

        Args:
            vectors: [n, width].
        """
        hidden = self.hidden(vectors)
        shared = self.shared(hidden)
        own = self.own(hidden).view(len(vectors), -1, shared.shape[1])
        # Detached: the gate must not teach the encoder to recognise datasets by their spelling.
        return shared[:, None] + own, self.gate(hidden.detach())


class ContextNetwork(nn.Module):
    """The layers of a `ContextClassifier` around its encoder.

    Attributes:
        config: a `ContextClassifierConfig`, or an object with the same attributes.
        encoder: maps `input_ids` and `attention_mask` to hidden states [n, tokens, width], or to an object with these
            as `last_hidden_state`.
        project: a linear map of the vectors of turns, if `config.projected` or to `config.context_width`; else None.
    """

    config: Any
    encoder: Any
    project: nn.Linear | None

    def add_layers(self, width: int, labels: int) -> None:
        """Create the context layers and heads for an encoder's width and a number of labels.

        Raises:
            ValueError: an answer has intents that are no labels, or not as many offsets as there are labels.
        """
        config = self.config
        for name, answer in config.answers.items():
            if (offsets := answer.get("offsets")) and len(offsets) != labels:
                raise ValueError(f"the answer {name!r} has {len(offsets)} offsets for {labels} labels")
            if (most := max(answer.get("intents", {}).get("labels", [0]))) >= labels:
                raise ValueError(f"label {most} of the intents of the answer {name!r} is none of {labels} labels")
        own = getattr(config, "context_width", None) or width
        self.project = nn.Linear(width, own) if getattr(config, "projected", False) or own != width else None
        width = own
        layer = width, config.context_heads, config.window, config.dropout
        self.context_layers = nn.ModuleList(ContextLayer(*layer) for _ in range(config.context_layers))
        self.context_norm = nn.LayerNorm(width)
        shape = width, labels, len(config.conventions), config.dropout
        self.turn_head, self.dialogue_head = (ConventionHead(size * width, *shape) for size in (1, 2))

    def encode(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the vectors of turns, [n, width]: the means of their last hidden states, projected if configured.

        Args:
            input_ids: [n, tokens], one turn per row: start, its tokens, separator, padding at the right.
            attention_mask: [n, tokens], 1 for tokens and 0 for padding.
        """
        found = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        states = found if isinstance(found, torch.Tensor) else found.last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(states.dtype)
        vectors = cast(torch.Tensor, (states * weights).sum(1) / weights.sum(1))
        return vectors if self.project is None else cast(torch.Tensor, self.project(vectors))

    def see_turns(self, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output of the head for single turns; see `ConventionHead`.

        Args:
            vectors: [n, width].
        """
        return cast(tuple[torch.Tensor, torch.Tensor], self.turn_head(vectors))

    def see_dialogues(self, vectors: torch.Tensor, starts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output of the head for turns in dialogues, each computed from the turn and those before it.

        Args:
            vectors: [n, width], the turns of all dialogues, concatenated, oldest first.
            starts: int64 [n], for each turn the row of the first turn of its dialogue.
        """
        places = torch.arange(len(vectors), device=vectors.device) - starts
        context = vectors
        for layer in self.context_layers:
            context = layer(context, places)
        seen = torch.cat([vectors, self.context_norm(context)], -1)
        return cast(tuple[torch.Tensor, torch.Tensor], self.dialogue_head(seen))

    def label(self, vectors: torch.Tensor, starts: torch.Tensor, answer: str | None = None) -> torch.Tensor:
        """Return the logits of turns, [n, labels], divided by the answer's temperature.

        They are the log of the conventions' mean probabilities, weighted by the odds that a turn follows each
        convention times the answer's factors; those of intents have factors of their own, if the answer states them.
        The answer's offsets are added, if it has any.

        Args:
            vectors: as for `see_dialogues`.
            starts: as for `see_dialogues`.
            answer: one of `config.answers`; by default the configured one.
        """
        answer = answer or self.config.answer
        alone = self.config.answers[answer]["sees"] == "turn"
        return self.mix(*(self.see_turns(vectors) if alone else self.see_dialogues(vectors, starts)), answer)

    def mix(self, logits: torch.Tensor, odds: torch.Tensor, answer: str) -> torch.Tensor:
        """Return the result of `label`, given the output of the answer's head, so that several answers can share it."""
        settings = self.config.answers[answer]
        mixed = self._mix(logits, odds, settings["conventions"])
        if intents := settings.get("intents"):
            labels = torch.tensor(intents["labels"], device=odds.device)
            mixed = mixed.index_copy(1, labels, self._mix(logits, odds, intents["conventions"])[:, labels])
        if offsets := settings.get("offsets"):
            mixed = mixed + torch.tensor(offsets, device=mixed.device, dtype=mixed.dtype)
        return mixed / float(settings["temperature"])

    def _mix(self, logits: torch.Tensor, odds: torch.Tensor, factors: dict[str, float]) -> torch.Tensor:
        """Return the log of the conventions' mean probabilities, [n, labels]."""
        counted = [number for number, name in enumerate(self.config.conventions) if factors.get(name)]
        own = torch.tensor([factors[self.config.conventions[each]] for each in counted], device=odds.device)
        weights = (odds[:, counted] + own.log()).log_softmax(1)
        return (logits[:, counted].log_softmax(-1) + weights[..., None]).logsumexp(1)


def check_conventions(conventions: object) -> None:
    """Check that the conventions are a list of at least one name.

    Raises:
        ValueError: they are not.
    """
    if not isinstance(conventions, list) or not conventions or not all(isinstance(each, str) for each in conventions):
        raise ValueError(f"conventions must be names, at least one, got {conventions!r}")


def check_answers(answers: object, conventions: list[str]) -> None:
    """Check the answers of a model that has the given conventions.

    Raises:
        ValueError: a name, factor, temperature or label is not allowed.
    """
    if not isinstance(answers, dict) or not answers:
        raise ValueError(f"answers must be settings by name, at least one, got {answers!r}")
    for name, own in answers.items():
        if not isinstance(own, dict) or own.keys() - {"intents", "offsets"} != {"sees", "conventions", "temperature"}:
            raise ValueError(f"the answer {name!r} must have sees, conventions and temperature, got {own!r}")
        if own["sees"] not in ("turn", "history"):
            raise ValueError(f"the answer {name!r} must see 'turn' or 'history', got {own['sees']!r}")
        if not is_number(own["temperature"]) or own["temperature"] <= 0:
            raise ValueError(f"temperature of the answer {name!r} must be above 0, got {own['temperature']!r}")
        _check_factors(own["conventions"], conventions, f"conventions of the answer {name!r}")
        offsets = own.get("offsets", [])
        if not isinstance(offsets, list) or not all(is_number(each) for each in offsets):
            raise ValueError(f"offsets of the answer {name!r} must be numbers, got {offsets!r}")
        if "intents" in own:
            _check_intents(own["intents"], conventions, f"of the answer {name!r}")


def _check_intents(intents: object, conventions: list[str], whose: str) -> None:
    if not isinstance(intents, dict) or intents.keys() != {"labels", "conventions"}:
        raise ValueError(f"intents {whose} must have labels and conventions, got {intents!r}")
    own = intents["labels"]
    if not isinstance(own, list) or not own or not all(type(each) is int and each >= 0 for each in own):
        raise ValueError(f"labels of the intents {whose} must be whole numbers, at least one, got {own!r}")
    _check_factors(intents["conventions"], conventions, f"conventions of the intents {whose}")


def _check_factors(value: object, conventions: list[str], whose: str) -> None:
    if not _are_factors(value, conventions):
        raise ValueError(f"{whose} must be numbers above 0 for some of {', '.join(conventions)}, got {value!r}")


def _are_factors(value: object, conventions: list[str]) -> bool:
    if not isinstance(value, dict) or not value or not value.keys() <= set(conventions):
        return False
    return all(is_number(factor) and factor > 0 for factor in value.values())


def is_number(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shifted(rows: torch.Tensor, back: int) -> torch.Tensor:
    """Return the rows moved `back` places down, with zeros in the first places."""
    return torch.cat([rows.new_zeros(back, *rows.shape[1:]), rows[: len(rows) - back]]) if back else rows
