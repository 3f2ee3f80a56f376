"""Answers from a model: beam search and nucleus sampling, for many histories at once, with a cache.

Both refuse to repeat n-grams of four tokens, as Xie & Pu, "Generating Empathetic Responses with a Large Scale Dialog
Dataset", Section 5.2 and Appendix B: a token that would complete one is no candidate. The authors' code lowers the
score of a beam that repeats one, keeps it, and returns such beams where all are so; here none is ever returned.

Nothing depends on the company of a history but the last bits of its scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from edos_dataset.generation.stepping import Steps, largest

NEVER = -torch.inf


@dataclass(frozen=True)
class Answer:
    """An answer in tokens.

    Attributes:
        tokens: without start and end.
        score: log-probability (nats) divided by a power of the number of tokens, the end included.
        finished: whether it ended; if not, it was cut off, since every way on was barred.
    """

    tokens: tuple[int, ...]
    score: float
    finished: bool


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
) -> list[list[Answer]]:
    """Return the best answers to every history, best first.

    As in the peer's search a beam that ends keeps its place, so that the others become fewer, and the search is over
    when all have ended. A score is the log-probability over (tokens, the end included) to the power of `alpha`.

    Args:
        model: as for `Steps`.
        given: likewise.
        beams: answers that are followed at a time, for each history.
        alpha: power of the length, 0 for none; the greater, the longer answers are preferred.
        max_tokens: most tokens of an answer, the end included: what has not ended before ends there.
        block: length of the n-grams that no answer may repeat; None for no such rule.
        never: tokens that no answer may have, such as padding.
        results: answers wanted of each history, at most; by default as many as beams.

    Returns:
        For each history at least one answer, without repeated n-grams. Where every way to go on was barred before any
        answer had ended, they are the beginnings that had come so far, marked as not finished.

    Raises:
        ValueError: beams, max_tokens or block is below 1.
    """
    _check(beams=beams, max_tokens=max_tokens, block=1 if block is None else block)
    steps = Steps(model, given)
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


@torch.inference_mode()
def nucleus_sample(
    model: Any,  # noqa: ANN401
    given: Mapping[str, torch.Tensor],
    generators: Sequence[torch.Generator],
    *,
    top_p: float = 0.9,
    temperature: float = 1.0,
    alpha: float = 1.0,
    max_tokens: int = 100,
    block: int | None = 4,
    never: Sequence[int] = (),
) -> list[Answer]:
    """Return one answer to every history, each token drawn from the most probable ones that together have `top_p`
    (Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020).

    Args:
        model: as for `Steps`.
        given: likewise.
        generators: one for each history, on the CPU: so an answer doesn't depend on the company of its history.
        top_p: probability of the nucleus, above 0, at most 1.
        temperature: what logits are divided by before, above 0; scores are those of temperature 1.
        alpha: as for `beam_search`.
        max_tokens: likewise.
        block: likewise.
        never: likewise.

    Raises:
        ValueError: a parameter is out of its range, or there is not one generator for every history.
    """
    _check(max_tokens=max_tokens, block=1 if block is None else block)
    if not 0 < top_p <= 1 or not temperature > 0:
        raise ValueError(f"top_p must be above 0 and at most 1, temperature above 0, got {top_p} and {temperature}")
    steps = Steps(model, given)
    logits, ends = steps.first(), torch.tensor(steps.ends, device=steps.owners.device)
    if len(generators) != len(logits):
        raise ValueError(f"one generator for every history, got {len(generators)} for {len(logits)}")
    tokens, scores = steps.owners.new_empty(len(logits), 0), logits.new_zeros(len(logits))
    found: list[Answer | None] = [None] * len(logits)
    for length in range(1, max_tokens + 1):
        chances = _chances(logits, tokens, block, never, ends if length == max_tokens else None)
        draws = torch.tensor([float(torch.rand(1, generator=generators[owner])) for owner in steps.owners.tolist()])
        picked = _drawn(chances / temperature, draws.to(chances.device), top_p)
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
        logits = steps.next(live, picked[live])
    return [answer for answer in found if answer is not None]


def _chances(
    logits: torch.Tensor, tokens: torch.Tensor, block: int | None, never: Sequence[int], only: torch.Tensor | None
) -> torch.Tensor:
    """Return the log-probabilities of every row's next token, [rows, vocabulary]; minus infinity for what may not
    follow: `never`, what would repeat an n-gram of the row, and, where `only` names some, all other tokens.
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
    """Return, for each history, the best continuations of its rows, as many as it has places free: the rows that are
    continued, the tokens and the totals, history after history, best first. What is barred is never among them.
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
    """Keep the rows of histories that have none to go on with, nor any answer, as answers that are not finished."""
    going = set(owners[parents].tolist())
    for row, owner in enumerate(owners.tolist()):
        if owner not in going and not any(answer.finished for answer in found[owner]):
            score = float(scores[row]) / max(tokens.shape[1], 1) ** alpha
            found[owner].append(Answer(tuple(tokens[row].tolist()), score, False))


def _drawn(logits: torch.Tensor, draws: torch.Tensor, top_p: float) -> torch.Tensor:
    """Return a token for each row, [rows], drawn from its nucleus by a number from 0 to 1."""
    chances, order = logits.softmax(1).nan_to_num(0).sort(descending=True, stable=True)
    sums = chances.cumsum(1)
    nucleus = sums - chances < top_p
    whole = sums.masked_fill(~nucleus, 0).max(1).values
    place = (sums <= (draws * whole)[:, None]).sum(1).minimum(nucleus.sum(1) - 1)
    return order.gather(1, place[:, None]).squeeze(1)


def _check(**numbers: int) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number from 1, got {value!r}")
