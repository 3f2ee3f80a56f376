"""Answers from a model: beam search and nucleus sampling, for many histories at once, with a cache.

Neither repeats n-grams of four tokens, as in Xie & Pu, "Generating Empathetic Responses with a Large Scale Dialog
Dataset", Section 5.2 and Appendix B: a token that would complete a repeated n-gram is not a candidate. The authors'
code only lowers the score of a beam that repeats one, and returns such beams if all do; here none is ever returned.

The rest of a batch affects only the last bits of a history's scores.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from edos_dataset.generation.steps import check_guidance, steps_of

NEVER = -torch.inf
MOST_TEMPERATURE = 100
"""From here on every token is as probable as any other."""


@dataclass(frozen=True)
class Answer:
    """An answer in tokens.

    Attributes:
        tokens: its tokens, without start and end.
        score: log-probability (nats) divided by a power of the number of tokens, the end included.
        finished: whether it ended; otherwise it was cut off because no token was allowed to follow.
    """

    tokens: tuple[int, ...]
    score: float
    finished: bool


@dataclass(frozen=True)
class Decoding:
    """How answers are searched or drawn.

    Attributes:
        beams: number of beams of the search, 1 to 1,000; None for the writer's own number.
        sample: draw each token from the most probable ones instead of searching.
        seed: seed of what is drawn.
        temperature: divisor of the logits before drawing, above 0 to 100; 0.7 in the code behind the Gutenberg Dialogue
            Dataset (Wolf et al., 2019).
        top_p: probability of the tokens to draw from, above 0 to 1.
        top_k: largest number of tokens to draw from; 0 for no limit.
        block: whether no four tokens in a row may be repeated in an answer.
        max_tokens: maximum number of tokens of an answer, the end included, 1 to 1,000.
        guidance: strength with which the label is kept to, 0 (none) to 10 (see `Guided`); None for the writer's own.

    Raises:
        ValueError: a value is out of range, or one for drawing is given to the search.
    """

    beams: int | None = None
    sample: bool = False
    seed: int = 0
    temperature: float = 1.0
    top_p: float = 0.9
    top_k: int = 0
    block: bool = True
    max_tokens: int = 100
    guidance: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        check_guidance(self.guidance or 0)
        _check(beams=1 if self.beams is None else self.beams, max_tokens=self.max_tokens)
        _check_draw(self.top_p, self.temperature, self.top_k)
        if not self.sample:
            for name in ("temperature", "top_p", "top_k"):
                value = getattr(self, name)
                if value != getattr(Decoding, name):
                    raise ValueError(f"--{name.replace('_', '-')} {value} is for drawing answers: give --sample too")

    @property
    def blocked(self) -> int | None:
        """Length of the n-grams that may not be repeated; None for no such rule."""
        return 4 if self.block else None


@torch.inference_mode()
def beam_search(
    model: Any,  # noqa: ANN401 - any model that generates
    given: Mapping[str, torch.Tensor],
    *,
    beams: int = 32,
    alpha: float = 1.0,
    max_tokens: int = 100,
    block: int | None = 4,
    never: Sequence[int] = (),
    results: int | None = None,
    against: Mapping[str, torch.Tensor] | None = None,
    guidance: float = 0.0,
) -> list[list[Answer]]:
    """Return the best answers to every history, best first.

    As in the authors' search, a finished beam keeps its place, so fewer others remain, and the search ends when all are
    finished. The score is the log-probability divided by the number of tokens, the end included, to the power of
    `alpha`.

    Args:
        model: as for `Steps`.
        given: as for `Steps`.
        beams: number of beams for each history.
        alpha: exponent of the length, 0 for none; larger values prefer longer answers.
        max_tokens: maximum number of tokens of an answer, the end included; longer answers are ended there.
        block: length of the n-grams that no answer may repeat; None for no such rule.
        never: tokens that no answer may contain, such as padding.
        results: maximum number of answers to each history; by default the number of beams.
        against: as for `Guided`; None for no guidance.
        guidance: as for `Guided`.

    Returns:
        For each history at least one answer, without repeated n-grams. If no token was allowed to follow before any
        answer was finished, these are the unfinished beginnings.

    Raises:
        ValueError: beams, max_tokens or block is below 1.
    """
    _check(beams=beams, max_tokens=max_tokens, block=1 if block is None else block)
    steps = steps_of(model, given, against, guidance)
    logits, ends = steps.first(), torch.tensor(steps.ends, device=steps.owners.device)
    tokens, scores = steps.owners.new_empty(len(logits), 0), logits.new_zeros(len(logits))
    free = torch.full_like(steps.owners, beams)
    found: list[list[Answer]] = [[] for _ in range(len(logits))]
    for length in range(1, max_tokens + 1):
        chances = _chances(logits, tokens, block, never, ends if length == max_tokens else None)
        parents, picked, totals = _best(chances, scores, steps.owners, free)
        _keep_stranded(found, steps.owners, parents, tokens, scores, alpha)
        tokens, owners = torch.cat([tokens[parents], picked[:, None]], 1), steps.owners[parents]
        ended = torch.isin(picked, ends)
        for row in ended.nonzero().flatten().tolist():
            score = float(totals[row]) / length**alpha
            found[int(owners[row])].append(Answer(tuple(tokens[row, :-1].tolist()), score, True))
        free = free - torch.bincount(owners[ended], minlength=len(free))
        live = ~ended
        if length == max_tokens or not live.any():
            break
        tokens, scores = tokens[live], totals[live]
        logits = steps.next(parents[live], picked[live])
    return [sorted(answers, key=lambda answer: -answer.score)[: results or beams] for answers in found]


def nucleus_sample(
    model: Any,  # noqa: ANN401
    given: Mapping[str, torch.Tensor],
    generators: Sequence[torch.Generator],
    **settings: Any,  # noqa: ANN401
) -> list[Answer]:
    """Return one answer to every history; arguments and errors are those of `stream_sample`."""
    drawing = stream_sample(model, given, generators, **settings)
    while True:
        try:
            next(drawing)
        except StopIteration as stop:
            found: list[Answer] = stop.value
            return found


@torch.inference_mode()
def stream_sample(
    model: Any,  # noqa: ANN401
    given: Mapping[str, torch.Tensor],
    generators: Sequence[torch.Generator],
    *,
    top_p: float = 0.9,
    temperature: float = 1.0,
    top_k: int = 0,
    alpha: float = 1.0,
    max_tokens: int = 100,
    block: int | None = 4,
    never: Sequence[int] = (),
    against: Mapping[str, torch.Tensor] | None = None,
    guidance: float = 0.0,
) -> Generator[dict[int, tuple[int, ...]], None, list[Answer]]:
    """Draw one answer to every history, with each token drawn from the most probable ones that together have the
    probability `top_p` (Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020).

    Args:
        model: as for `Steps`.
        given: as for `Steps`.
        generators: one for each history, on the CPU, so that an answer does not depend on the rest of the batch.
        top_p: probability of the nucleus, above 0, at most 1.
        temperature: divisor of the logits before sampling, above 0; scores are those of temperature 1.
        top_k: largest number of tokens in the nucleus; 0 for no limit.
        alpha: as for `beam_search`.
        max_tokens: as for `beam_search`.
        block: as for `beam_search`.
        never: as for `beam_search`.
        against: as for `beam_search`.
        guidance: as for `beam_search`.

    Yields:
        After each token, history → the tokens of its answer so far, of the answers that go on.

    Returns:
        The answers, one for each history.

    Raises:
        ValueError: a parameter is out of range, or generators and histories differ in number.
    """
    _check(max_tokens=max_tokens, block=1 if block is None else block)
    _check_draw(top_p, temperature, top_k)
    steps = steps_of(model, given, against, guidance)
    logits, ends = steps.first(), torch.tensor(steps.ends, device=steps.owners.device)
    if len(generators) != len(logits):
        raise ValueError(f"one generator for every history, got {len(generators)} for {len(logits)}")
    tokens, scores = steps.owners.new_empty(len(logits), 0), logits.new_zeros(len(logits))
    found: list[Answer | None] = [None] * len(logits)
    for length in range(1, max_tokens + 1):
        chances = _chances(logits, tokens, block, never, ends if length == max_tokens else None)
        draws = torch.tensor([float(torch.rand(1, generator=generators[owner])) for owner in steps.owners.tolist()])
        picked = _drawn(chances / temperature, draws.to(chances.device), top_p, top_k)
        totals = scores + chances.gather(1, picked[:, None]).squeeze(1)
        stuck = totals.isneginf()
        ended = torch.isin(picked, ends) & ~stuck
        for row in (ended | stuck).nonzero().flatten().tolist():
            score = (
                float(totals[row]) / length**alpha if ended[row] else float(scores[row]) / max(length - 1, 1) ** alpha
            )
            found[int(steps.owners[row])] = Answer(tuple(tokens[row].tolist()), score, bool(ended[row]))
        live = (~ended & ~stuck).nonzero().flatten()
        if not len(live):
            break
        tokens, scores = torch.cat([tokens, picked[:, None]], 1)[live], totals[live]
        yield dict(zip(steps.owners[live].tolist(), map(tuple, tokens.tolist()), strict=True))
        logits = steps.next(live, picked[live])
    return [answer for answer in found if answer is not None]


def _chances(
    logits: torch.Tensor, tokens: torch.Tensor, block: int | None, never: Sequence[int], only: torch.Tensor | None
) -> torch.Tensor:
    """Return the log-probabilities of every row's next token, [rows, vocabulary].

    They are minus infinity for tokens that may not follow: those in `never`, those that would repeat an n-gram, and,
    if `only` is given, all others.
    """
    chances = logits.log_softmax(1)
    if never:
        chances[:, list(never)] = NEVER
    length = tokens.shape[1]
    if block is not None and length >= block:
        windows = tokens.unfold(1, block, 1)
        same = (windows[..., :-1] == tokens[:, None, length - block + 1 :]).all(-1)
        rows, places = same.nonzero(as_tuple=True)
        chances[rows, windows[rows, places, -1]] = NEVER
    return chances if only is None else torch.full_like(chances, NEVER).index_copy(1, only, chances[:, only])


def _best(
    chances: torch.Tensor, scores: torch.Tensor, owners: torch.Tensor, free: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the best allowed continuations of each history's rows, as many as it has free beams: the continued rows,
    the tokens and the total scores, history by history, best first.
    """
    parts, first = [], 0
    numbers, counts = torch.unique_consecutive(owners, return_counts=True)
    for places, count in zip(free[numbers].tolist(), counts.tolist(), strict=True):
        rows = slice(first, first + count)
        parents, picked, totals = largest(chances[rows], scores[rows], places)
        parts.append(torch.stack([parents + first, picked]))
        scores = torch.cat([scores, totals])
        first += count
    totals, (parents, picked) = scores[first:], torch.cat(parts, 1)
    possible = ~totals.isneginf()
    return parents[possible], picked[possible], totals[possible]


def _keep_stranded(
    found: list[list[Answer]],
    owners: torch.Tensor,
    parents: torch.Tensor,
    tokens: torch.Tensor,
    scores: torch.Tensor,
    alpha: float,
) -> None:
    """Keep the rows of histories without a continuation or a finished answer, as unfinished answers."""
    continued = set(owners[parents].tolist())
    for row, owner in enumerate(owners.tolist()):
        if owner not in continued and not any(answer.finished for answer in found[owner]):
            score = float(scores[row]) / max(tokens.shape[1], 1) ** alpha
            found[owner].append(Answer(tuple(tokens[row].tolist()), score, False))


def _drawn(logits: torch.Tensor, draws: torch.Tensor, top_p: float, top_k: int) -> torch.Tensor:
    """Return a token for each row, [rows], chosen from its nucleus by a random number from 0 to 1."""
    chances, order = logits.softmax(1).nan_to_num(0).sort(descending=True, stable=True)
    sums = chances.cumsum(1)
    nucleus = sums - chances < top_p
    if top_k:
        nucleus[:, top_k:] = False
    whole = sums.masked_fill(~nucleus, 0).max(1).values
    place = (sums <= (draws * whole)[:, None]).sum(1).minimum(nucleus.sum(1) - 1)
    return order.gather(1, place[:, None]).squeeze(1)


def _check_draw(top_p: float, temperature: float, top_k: int) -> None:
    if not 0 < top_p <= 1 or not 0 < temperature <= MOST_TEMPERATURE:
        raise ValueError(
            f"top_p must be above 0 and at most 1, temperature above 0 and at most {MOST_TEMPERATURE}, got {top_p} and "
            f"{temperature}"
        )
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 0:
        raise ValueError(f"top_k must be a whole number from 0, got {top_k!r}")


def _check(**numbers: int) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number from 1, got {value!r}")


_BLOCK = 64  # columns whose maximum is compared first


def largest(
    chances: torch.Tensor, scores: torch.Tensor, number: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the largest sums of a row's score and one of its log-probabilities: rows, columns and sums, largest first.

    The largest values lie in the blocks with the largest maxima, which one pass finds. This is several times as fast as
    `topk` for a large vocabulary.

    Args:
        chances: log-probabilities, [rows, vocabulary].
        scores: [rows].
        number: number of sums; fewer are returned if there are not as many.
    """
    count, words = chances.shape
    whole = words // _BLOCK * _BLOCK
    if count * whole // _BLOCK < 2 * number:
        sums, at = (chances + scores[:, None]).flatten().topk(min(number, chances.numel()))
        return at // words, at % words, sums
    blocks = chances[:, :whole].reshape(count, -1, _BLOCK)
    per_row = blocks.shape[1]
    picked = (blocks.amax(2) + scores[:, None]).flatten().topk(number).indices
    near = blocks[picked // per_row, picked % per_row] + scores[picked // per_row, None]
    rest = chances[:, whole:] + scores[:, None]
    sums, at = torch.cat([near.flatten(), rest.flatten()]).topk(number)
    block, behind = picked[(at // _BLOCK).clamp(max=number - 1)], (at - near.numel()).clamp(min=0)
    inside, left = at < near.numel(), max(words - whole, 1)
    rows = torch.where(inside, block // per_row, behind // left)
    columns = torch.where(inside, block % per_row * _BLOCK + at % _BLOCK, whole + behind % left)
    return rows, columns, sums
