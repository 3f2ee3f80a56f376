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
        english: what the teacher reads.
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
        vectors: the teacher's, float16 [n, width].
        values: targets of labelled examples, float32 [n, 41].
        wide: see `whole_set`.
        kinds: int64 [n], `Kind`.
        labelled: which examples have labels.
        translated: which examples are translations.
    """

    vectors: npt.NDArray[np.float16]
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

    A sentence with the words of a held-out one is not learned from, in any language.
    """
    english = [*distinct(read_sentences(folder / ENGLISH))]
    english += distinct(read_sentences(folder / NEUTRAL))[: recipe.neutral]
    every = [Example("en", each.text, each.text, each.labels) for each in english]
    every += [Example(each.language, each.text, each.english, each.labels) for each in translations]
    held = [each for each in every if held_out("xed", each.english)]
    words = {plain_text(each.text) for each in held}
    learned = [each for each in every if not held_out("xed", each.english) and plain_text(each.text) not in words]
    known = words | {plain_text(each.text) for each in learned}
    return learned + [Example("en", text, text, frozenset()) for text in _turns(folder, recipe, known)], held


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
    english = list(dict.fromkeys(each.english for each in examples))
    row = {text: number for number, text in enumerate(english)}
    values = np.zeros((len(examples), len(LABELS)), np.float32)
    kinds = np.full(len(examples), int(Kind.EMOTION))
    for number, each in enumerate(examples):
        target = target_of("xed", sorted(each.labels)) if each.labels else None
        if target is not None:
            values[number], kinds[number] = target.values, int(target.kind)
    rows: Ints = np.array([row[each.english] for each in examples])
    whole = torch.from_numpy(whole_set(values))
    vectors = teach(english).astype(np.float16)[rows]
    labelled: Bools = np.any(values, axis=1)
    translated = np.array([each.language != "en" for each in examples])
    return Lessons(vectors, torch.from_numpy(values), whole, torch.from_numpy(kinds), labelled, translated)


def updates_of(translated: Bools, recipe: MultilingualRecipe) -> list[Ints]:
    """Return the examples of every update: of the translations and of the others a fixed number each, all of which are
    used once before one is used again.

    Args:
        translated: which examples are translations.
        recipe: the fraction of translations, and the size and number of the updates.
    """
    generator = np.random.default_rng(recipe.seed)
    some = round(recipe.translated * recipe.batch) if translated.any() and not translated.all() else 0
    groups = [(np.flatnonzero(translated), some), (np.flatnonzero(~translated), recipe.batch - some)]
    if not some:
        groups = [(np.arange(len(translated)), recipe.batch)]
    parts = []
    for rows, size in groups:
        needed = recipe.updates * size
        rounds = [generator.permutation(rows) for _ in range(-(-needed // len(rows)))]
        parts.append(np.concatenate(rounds)[:needed].reshape(recipe.updates, size))
    return list(np.concatenate(parts, axis=1))
