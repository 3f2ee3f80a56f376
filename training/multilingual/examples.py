"""What the student learns from: turns with their teacher's vectors, and the labels of XED's sentences."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labels import LABELS
from edos_dataset.sources.encodings import decode
from training.fast_labels import read_unlabelled
from training.held_out import held_out
from training.labels.targets import Kind, target_of, whole_set
from training.multilingual.recipe import MultilingualRecipe
from training.multilingual.translations import ENGLISH, NEUTRAL, Translation, distinct, projections, read_sentences

ENGLISH_TURNS = ("extended", "conversations")
"""Sources of English turns, in `fast_labels.UNLABELLED`."""


_TAG, _ONE_IN = re.compile(r"<[^<>]*>"), 10  # one in this many lines of a book is read for its word pieces


class Example(NamedTuple):
    """A turn.

    Attributes:
        language: code.
        text: what the student reads.
        english: what the teacher reads; empty for a translation whose original is not certain.
        labels: names of XED's emotions; none if nobody labelled it.
    """

    language: str
    text: str
    english: str
    labels: frozenset[str]


@dataclass(frozen=True)
class Lessons:
    """Examples in the form that the training loop takes.

    Attributes:
        vectors: the teacher's, float16 [n, width]; zeros where it was not asked.
        taught: whether it was asked.
        values: targets of labelled examples, float32 [n, 41].
        wide: see `whole_set`.
        kinds: int64 [n], `Kind`.
        labelled: which examples have labels.
        translated: which examples are translations.
    """

    vectors: npt.NDArray[np.float16]
    taught: Bools
    values: torch.Tensor
    wide: torch.Tensor
    kinds: torch.Tensor
    labelled: Bools
    translated: Bools


def words_of(folder: Path, recipe: MultilingualRecipe) -> Iterator[str]:
    """Yield the texts whose word pieces the student knows: XED, books, and English turns."""
    for name in (ENGLISH, NEUTRAL, *map(projections, recipe.languages)):
        yield from (each.text for each in read_sentences(folder / name))
    for language in recipe.books:
        for path in sorted((folder / "gutenberg" / language).iterdir()):
            yield from _TAG.sub(" ", decode(path.read_bytes(), None, language)[0]).splitlines()[::_ONE_IN]
    yield from read_unlabelled(ENGLISH_TURNS[0], folder)[0]


def examples_of(
    folder: Path, recipe: MultilingualRecipe, translations: Sequence[Translation]
) -> tuple[list[Example], list[Example]]:
    """Return the examples to learn from and those that are held out: a fifth of XED's English sentences, and their
    translations.

    A sentence with the words of a held-out one is not learned from, in any language, nor one whose most likely original
    is held out.
    """
    english = [*distinct(read_sentences(folder / ENGLISH))]
    english += distinct(read_sentences(folder / NEUTRAL))[: recipe.neutral]
    every = [(Example("en", each.text, each.text, each.labels), held_out("xed", each.text)) for each in english]
    every += [(_translated(each), each.held_out) for each in sorted(translations, key=lambda each: not each.certain)]
    held = [example for example, apart in every if apart and example.english]
    words = {plain_text(each.text) for each in held}
    learned = [example for example, apart in every if not apart and plain_text(example.text) not in words]
    known = words | {plain_text(each.text) for each in learned}
    return learned + [Example("en", text, text, frozenset()) for text in _turns(folder, recipe, known)], held


def _translated(each: Translation) -> Example:
    return Example(each.language, each.text, each.english if each.certain else "", each.labels)


def _turns(folder: Path, recipe: MultilingualRecipe, known: set[str]) -> list[str]:
    """Return random English turns without labels, with other words than the known ones."""
    turns = chain.from_iterable(read_unlabelled(name, folder)[0] for name in ENGLISH_TURNS)
    others = {plain_text(text): text for text in turns}
    left = [text for said, text in others.items() if said and said not in known]
    return Random(recipe.seed).sample(left, min(recipe.english, len(left)))


def lessons_of(examples: Sequence[Example], teach: Callable[[Sequence[str]], Floats]) -> Lessons:
    """Return the lessons of examples.

    Args:
        examples: the turns.
        teach: the teacher: maps English turns to vectors [n, width].
    """
    english = list(dict.fromkeys(each.english for each in examples if each.english))
    row = {text: number for number, text in enumerate(english)}
    values = np.zeros((len(examples), len(LABELS)), np.float32)
    kinds = np.full(len(examples), int(Kind.EMOTION))
    for number, each in enumerate(examples):
        target = target_of("xed", sorted(each.labels)) if each.labels else None
        if target is not None:
            values[number], kinds[number] = target.values, int(target.kind)
    taught: Bools = np.array([bool(each.english) for each in examples])
    whole = torch.from_numpy(whole_set(values))
    known = teach(english).astype(np.float16)
    vectors = np.zeros((len(examples), known.shape[1]), np.float16)
    vectors[taught] = known[[row[each.english] for each in examples if each.english]]
    labelled: Bools = np.any(values, axis=1)
    translated = np.array([each.language != "en" for each in examples])
    return Lessons(vectors, taught, torch.from_numpy(values), whole, torch.from_numpy(kinds), labelled, translated)


def updates_of(lessons: Lessons, recipe: MultilingualRecipe) -> list[Ints]:
    """Return the examples of every update: a fixed number of translations whose original is known, of others, and of
    English turns.

    All of a kind are used once before one is used again. A kind without examples leaves its place to the English turns;
    without those, all are one kind.

    Args:
        lessons: which examples are translations, and which the teacher read.
        recipe: the fractions of the translations, and the size and number of the updates.
    """
    generator = np.random.default_rng(recipe.seed)
    kinds = [lessons.translated & lessons.taught, lessons.translated & ~lessons.taught, ~lessons.translated]
    sizes = [round(recipe.translated * recipe.batch), round(recipe.unaligned * recipe.batch)]
    sizes = [size if kind.any() else 0 for size, kind in zip(sizes, kinds, strict=False)]
    sizes.append(recipe.batch - sum(sizes))
    if not kinds[-1].any():
        kinds, sizes = [np.ones(len(lessons.translated), bool)], [recipe.batch]
    parts = []
    for kind, size in zip(kinds, sizes, strict=True):
        needed = recipe.updates * size
        rounds = [generator.permutation(np.flatnonzero(kind)) for _ in range(-(-needed // max(int(kind.sum()), 1)))]
        if rounds:
            parts.append(np.concatenate(rounds)[:needed].reshape(recipe.updates, size))
    return list(np.concatenate(parts, axis=1))
