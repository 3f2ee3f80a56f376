"""Answers many histories with one writer, in batches, by search or by sampling, and selects distinct candidates."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from edos_dataset.generation.decoding import Answer, Decoding, beam_search, nucleus_sample, stream_sample
from edos_dataset.generation.writers import Writer
from edos_dataset.labels import LABEL_IDS, NEUTRAL
from edos_dataset.text import normalise

_INCOMPLETE = "\ufffd"  # of a character of which not all tokens have come

_PLAIN = LABEL_IDS[NEUTRAL]
"""The label from which guidance leads away."""


@dataclass(frozen=True)
class Job:
    """A history to answer under one label.

    Attributes:
        turns: turns of the history, oldest first.
        history_labels: ids of the turns' labels; None for a writer without labels.
        label: id of the answer's label; None for a writer without labels.
        wanted: number of answers, at least 1.
    """

    turns: Sequence[str]
    history_labels: Sequence[int] | None
    label: int | None
    wanted: int = 1


@dataclass(frozen=True)
class Text:
    """An answer as text, with its score (see `Answer`)."""

    text: str
    score: float


def write_answers(
    writer: Writer, jobs: Sequence[Job], decoding: Decoding | None = None, batch: int = 16
) -> list[list[Text]]:
    """Return distinct answers to every job, best first: at least one, at most as many as wanted.

    Answers that say almost the same as a better one are used only if there are not enough others (`most_different`).

    Args:
        writer: the model.
        jobs: histories to answer; those of similar length are batched together.
        decoding: how they are searched or drawn, with at least as many beams as wanted answers. What is drawn depends
            on seed, history and label, whatever else is in the batch.
        batch: maximum number of histories answered at once, each with all its beams.
    """
    decoding = decoding or Decoding()
    most = min(decoding.max_tokens, writer.max_tokens)
    order = sorted(range(len(jobs)), key=lambda number: sum(map(len, jobs[number].turns)))
    found: list[list[Text]] = [[] for _ in jobs]
    for first in range(0, len(jobs), batch):
        part = order[first : first + batch]
        some = [jobs[number] for number in part]
        if decoding.sample:
            answers = _drawn(writer, some, decoding, most)
        else:
            wide = max(decoding.beams or writer.beams, *(job.wanted for job in some))
            answers = beam_search(writer.model, beams=wide, **_settings(writer, some, decoding, most))
        for number, job, own in zip(part, some, answers, strict=True):
            found[number] = _texts(writer, own, job.wanted)
    return found


def stream_answer(writer: Writer, job: Job, decoding: Decoding) -> Iterator[Text]:
    """Draw the first answer to a job that `write_answers` would draw, and yield it as it grows, the whole answer last.

    Args:
        writer: the model.
        job: the history to answer.
        decoding: how it is drawn.
    """
    most = min(decoding.max_tokens, writer.max_tokens)
    one = replace(job, wanted=1)
    drawing = stream_sample(
        writer.model,
        generators=[_generator(decoding.seed, one, 0)],
        **_sampling(decoding),
        **_settings(writer, [one], decoding, most),
    )
    while True:
        try:
            tokens = next(drawing)[0]
        except StopIteration as stop:
            yield _texts(writer, stop.value, 1)[0]
            return
        text = writer.tokenizer.decode(list(tokens), skip_special_tokens=True)
        yield Text(text.strip().rstrip(_INCOMPLETE), 0.0)


def _settings(writer: Writer, jobs: Sequence[Job], decoding: Decoding, max_tokens: int) -> dict[str, Any]:
    """Return the arguments that `beam_search` and `nucleus_sample` share."""
    turns, labels = [job.turns for job in jobs], None
    if writer.takes_labels:
        labels = [job.history_labels or [] for job in jobs]
    guidance = writer.guidance if decoding.guidance is None else decoding.guidance
    against = writer.read(turns, labels, [_PLAIN] * len(jobs)) if guidance else None
    given = writer.read(turns, labels, [job.label for job in jobs])
    shared: dict[str, Any] = {"given": given, "against": against, "guidance": guidance}
    return shared | {"max_tokens": max_tokens, "block": decoding.blocked, "never": writer.never}


def _sampling(decoding: Decoding) -> dict[str, Any]:
    """Return the arguments that `nucleus_sample` and `stream_sample` share, but for the generators."""
    return {"top_p": decoding.top_p, "temperature": decoding.temperature, "top_k": decoding.top_k}


def _drawn(writer: Writer, jobs: Sequence[Job], decoding: Decoding, max_tokens: int) -> list[list[Answer]]:
    generators = [_generator(decoding.seed, job, index) for job in jobs for index in range(job.wanted)]
    drawn = nucleus_sample(
        writer.model,
        generators=generators,
        **_sampling(decoding),
        **_settings(writer, [job for job in jobs for _ in range(job.wanted)], decoding, max_tokens),
    )
    rows = [number for number, job in enumerate(jobs) for _ in range(job.wanted)]
    answers: list[list[Answer]] = [[] for _ in jobs]
    for row, answer in zip(rows, drawn, strict=True):
        answers[row].append(answer)
    return [sorted(own, key=lambda answer: -answer.score) for own in answers]


def _generator(seed: int, job: Job, index: int) -> torch.Generator:
    decides = repr((seed, list(job.turns), job.label, index)).encode()
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(decides).digest()[:8], "big") >> 1)


def _texts(writer: Writer, answers: Sequence[Answer], wanted: int) -> list[Text]:
    """Return the wanted number of answers as texts; an empty text only if there is no other."""
    texts: dict[str, float] = {}
    for answer in answers:
        text = writer.tokenizer.decode(list(answer.tokens), skip_special_tokens=True).strip()
        texts.setdefault(text, answer.score)
    found = [Text(text, score) for text, score in texts.items() if text] or [Text("", texts[""])]
    return [found[row] for row in most_different([each.text for each in found], wanted)]


_WORDS = """
a an the this that these those it its there here
am is are was were be been being do does did done have has had having will would shall should
m s re ve ll d
and but or so then than as if of in on at to for with about from by
oh ah um uh well just really very quite too also now anyway
"""
_SAY_LITTLE = frozenset(_WORDS.split())
"""English words that hardly change what an answer says. They exclude pronouns for persons, question words and
negations: an answer about someone else, with another question or a negation is a different answer.
"""


def gist(text: str) -> str:
    """Return the words by which answers are compared, without case, punctuation and words that say little.

    These are all words if an answer has no others, and the text itself if it has no words.

    The list is English; answers in other languages are compared by nearly all their words.
    """
    words = normalise(text).split()
    telling = [word for word in words if word not in _SAY_LITTLE]
    return " ".join(telling or words) or text


def most_different(texts: Sequence[str], wanted: int) -> list[int]:
    """Return the indices of the texts to offer, ascending: the first `wanted` with distinct `gist`s, filled up with the
    first of the others if there are fewer.

    Args:
        texts: best first.
        wanted: number of texts, at least 1.
    """
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(gist(text), row)
    own = list(first.values())
    others = [row for row in range(len(texts)) if row not in set(own)]
    return sorted([*own, *others][:wanted])
