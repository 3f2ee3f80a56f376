"""Translated sentences beside their English originals: the projections of XED, which name neither.

A projection has the labels of its original, so the candidates are the English sentences with equal labels. Of these the
nearest by a multilingual encoder is taken; the pair is certain if the two choose each other and no other one is nearly
as near. The certain ones turn the vectors of the language towards the English ones, and with these all are looked for
again.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.crowd.splits import plain_text
from edos_dataset.releases.labelled_sets.readers import read_xed
from edos_dataset.releases.raw import Reject
from training.held_out import held_out

ENGLISH, NEUTRAL = "xed/en-annotated.tsv", "xed/neu_en.txt"


class Sentence(NamedTuple):
    """A labelled sentence.

    Attributes:
        text: the sentence.
        labels: names of XED's emotions.
    """

    text: str
    labels: frozenset[str]


class Translation(NamedTuple):
    """A sentence in another language, and its original.

    Attributes:
        language: code, as XED writes it: `br` is Portuguese of Brazil.
        text: the sentence.
        labels: names of XED's emotions.
        english: the original, or the sentence that is most likely to be it.
        certain: whether it is the original.
    """

    language: str
    text: str
    labels: frozenset[str]
    english: str
    certain: bool

    @property
    def held_out(self) -> bool:
        """Whether its original is held out from training."""
        return held_out("xed", self.english)


def projections(language: str) -> str:
    """Return the name of a language's file below the data folder."""
    return f"xed/{language}-projections.tsv"


def read_sentences(path: Path) -> list[Sentence]:
    """Return the sentences of a file of XED."""
    return [
        Sentence(each.turns[0], frozenset(each.labels[0])) for each in read_xed(path) if not isinstance(each, Reject)
    ]


def translations_of(
    folder: Path,
    languages: Sequence[str],
    embed: Callable[[Sequence[str]], Floats],
    least: float,
    lead: float,
    most: int,
) -> list[Translation]:
    """Return the projections, each with its most likely original; without one if none has its labels.

    Args:
        folder: the data folder.
        languages: codes, as XED writes them.
        embed: maps sentences of a language to vectors [n, width].
        least: the least cosine of a certain pair.
        lead: by how much it must be above that of the next candidate.
        most: sentences of a language that are looked at, spread evenly.
    """
    english = distinct(read_sentences(folder / ENGLISH))
    originals = _centred(embed([each.text for each in english]))
    found: list[Translation] = []
    for language in languages:
        others = distinct(read_sentences(folder / projections(language)))
        others = others[:: -(-len(others) // most)]
        vectors = _centred(embed([each.text for each in others]))
        pairs = _matched(vectors, originals, others, english)
        known = [pair for pair in pairs if _is_certain(pair, least, lead)]
        pairs = _matched(_turned(vectors, originals, known), originals, others, english)
        found += [
            Translation(
                language,
                others[pair.row].text,
                others[pair.row].labels,
                english[pair.place].text,
                _is_certain(pair, least, lead),
            )
            for pair in pairs
        ]
    return found


class Pair(NamedTuple):
    """A sentence and its most likely original, by their rows, with their cosine and by how much that leads, which is
    negative if the two don't choose each other.
    """

    row: int
    place: int
    nearness: float
    lead: float


def _is_certain(pair: Pair, least: float, lead: float) -> bool:
    return pair.nearness >= least and pair.lead >= lead


def _matched(vectors: Floats, originals: Floats, others: Sequence[Sentence], english: Sequence[Sentence]) -> list[Pair]:
    found = []
    for labels in sorted({each.labels for each in others}, key=sorted):
        ours, theirs = _rows(english, labels), _rows(others, labels)
        pairs = _pairs(vectors[theirs] @ originals[ours].T)
        found += [pair._replace(row=theirs[pair.row], place=ours[pair.place]) for pair in pairs]
    return found


def _turned(vectors: Floats, originals: Floats, pairs: Sequence[Pair]) -> Floats:
    """Return vectors after the linear map, near the identity, that brings those of the pairs to their originals."""
    if not pairs:
        return vectors
    rows, places = [pair.row for pair in pairs], [pair.place for pair in pairs]
    known, wanted = vectors[rows].astype(np.float64), originals[places].astype(np.float64)
    width = known.shape[1]
    scale = _STIFFNESS * len(pairs) / width
    turn = np.linalg.solve(known.T @ known + scale * np.eye(width), known.T @ wanted + scale * np.eye(width))
    return _unit((vectors @ turn).astype(np.float32))


_STIFFNESS = 0.3  # how much the identity weighs, relative to the pairs


def distinct(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Return the sentences without repeated words, the first of each."""
    return list({plain_text(each.text): each for each in reversed(list(sentences))}.values())[::-1]


def _rows(sentences: Sequence[Sentence], labels: frozenset[str]) -> list[int]:
    return [row for row, each in enumerate(sentences) if each.labels == labels]


def _centred(vectors: Floats) -> Floats:
    """Return the vectors around the mean of their language, which says nothing of a sentence, in length 1."""
    return _unit(vectors.astype(np.float32) - vectors.mean(axis=0, dtype=np.float32))


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


def _pairs(nearness: Floats) -> list[Pair]:
    """Return the nearest column of every row, with its lead over all others in that row and column."""
    if not nearness.size:
        return []
    pairs = []
    for row, column in enumerate(nearness.argmax(axis=1).tolist()):
        near = float(nearness[row, column])
        rest = np.concatenate([np.delete(nearness[row], column), np.delete(nearness[:, column], row)])
        pairs.append(Pair(row, column, near, near - float(rest.max(initial=-1.0))))
    return pairs
