"""Many answers by one writer, in batches: searched for, or drawn."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from edos_dataset.generation.alike import most_different
from edos_dataset.generation.decoding import Answer, beam_search, nucleus_sample
from edos_dataset.generation.writers import Writer


@dataclass(frozen=True)
class Job:
    """A history to answer under one label.

    Attributes:
        turns: of the history, oldest first.
        history_labels: of the turns, by id; None for a writer that takes no labels.
        label: that the answer is to have, by id; None likewise.
        wanted: how many answers, at least 1.
    """

    turns: Sequence[str]
    history_labels: Sequence[int] | None
    label: int | None
    wanted: int = 1


@dataclass(frozen=True)
class Text:
    """An answer as a text, with its score (see `Answer`)."""

    text: str
    score: float


def write_answers(
    writer: Writer,
    jobs: Sequence[Job],
    *,
    beams: int = 32,
    sample: bool = False,
    seed: int = 0,
    max_tokens: int = 100,
    batch: int = 16,
) -> list[list[Text]]:
    """Return the answers to every job, different texts, best first, at most as many as wanted and at least one. Those
    that are nearly a better one come only where there are not enough others (`most_different`).

    Args:
        writer: the model.
        jobs: what to answer; histories of about equal length are worked on together.
        beams: answers that the search follows at a time; as many as are wanted, if those are more.
        sample: draw from the nucleus of 0.9 in place of the search.
        seed: of the drawing; with the history and the label it decides the answers, whatever the company.
        max_tokens: most tokens of an answer, the end included.
        batch: most answers under way at a time, each with all its beams.
    """
    most = min(max_tokens, writer.max_tokens)
    order = sorted(range(len(jobs)), key=lambda number: sum(map(len, jobs[number].turns)))
    found: list[list[Text]] = [[] for _ in jobs]
    for first in range(0, len(jobs), batch):
        part = order[first : first + batch]
        some = [jobs[number] for number in part]
        given = _read(writer, some)
        if sample:
            answers = _drawn(writer, some, given, seed, most)
        else:
            wide = max(beams, *(job.wanted for job in some))
            answers = beam_search(writer.model, given, beams=wide, max_tokens=most, never=writer.never)
        for number, job, own in zip(part, some, answers, strict=True):
            found[number] = _texts(writer, own, job.wanted)
    return found


def _read(writer: Writer, jobs: Sequence[Job]) -> dict[str, torch.Tensor]:
    labels = [job.history_labels or [] for job in jobs] if writer.takes_labels else None
    return writer.read([job.turns for job in jobs], labels, [job.label for job in jobs])


def _drawn(
    writer: Writer, jobs: Sequence[Job], given: dict[str, torch.Tensor], seed: int, max_tokens: int
) -> list[list[Answer]]:
    """Return as many drawn answers to every job as are wanted, best first."""
    rows = [number for number, job in enumerate(jobs) for _ in range(job.wanted)]
    generators = [_generator(seed, job, index) for job in jobs for index in range(job.wanted)]
    repeated = {name: tensor[torch.tensor(rows, device=tensor.device)] for name, tensor in given.items()}
    drawn = nucleus_sample(writer.model, repeated, generators, max_tokens=max_tokens, never=writer.never)
    answers: list[list[Answer]] = [[] for _ in jobs]
    for row, answer in zip(rows, drawn, strict=True):
        answers[row].append(answer)
    return [sorted(own, key=lambda answer: -answer.score) for own in answers]


def _generator(seed: int, job: Job, index: int) -> torch.Generator:
    """Return a generator that the seed, the history, the label and the number of the answer decide."""
    told = repr((seed, list(job.turns), job.label, index)).encode()
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(told).digest()[:8], "big") >> 1)


def _texts(writer: Writer, answers: Sequence[Answer], wanted: int) -> list[Text]:
    """Return as many answers as are wanted, as texts; one without a word only where there is no other."""
    texts: dict[str, float] = {}
    for answer in answers:
        text = writer.tokenizer.decode(list(answer.tokens), skip_special_tokens=True).strip()
        texts.setdefault(text, answer.score)
    found = [Text(text, score) for text, score in texts.items() if text] or [Text("", texts[""])]
    return [found[row] for row in most_different([each.text for each in found], wanted)]
