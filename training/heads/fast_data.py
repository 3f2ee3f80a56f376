"""What the fast labeler learns from: the distinct turns of many sources, people's labels of some, and a teacher's
answers for all.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labeling.models.labelers import Labeler
from edos_dataset.labels import LABELS
from training.caches import kept, key_of
from training.examples import report
from training.heads.fast_sources import UNLABELLED, read_unlabelled
from training.labels.copies import near_copies
from training.labels.sources import ACTED, COMMON, NAMES, Corpus, load_corpus
from training.labels.targets import Kind, Target

_BLOCK = 10_000  # texts that the teacher answers before they are kept


@dataclass
class Texts:
    """Distinct turns, one row each.

    Attributes:
        texts: as first read.
        weights: in the loss.
        parts: of people's labels in the targets, 0 to 1; the rest is the teacher's.
        people: row → float32 [41], the sum of people's labels of the turn.
        counts: how often a turn was read.
        sources: source → how many turns it has (`turns`), how many of them came first from it (`texts`), have labels of
            people that count (`labelled`), or were left out because a held-out text has the same words (`held_out`).
    """

    texts: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    parts: list[float] = field(default_factory=list)
    people: dict[int, Floats] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    sources: dict[str, dict[str, int]] = field(default_factory=dict)


def read_sources(
    sources: Mapping[str, float], folder: Path, cache: Path | None, short: int
) -> tuple[Corpus, dict[str, list[tuple[str, Target | None]]]]:
    """Read sources of labelled turns (`labels.sources.NAMES`) and of others (`UNLABELLED`).

    Args:
        sources: by name.
        folder: of the data.
        cache: keeps embeddings for the next training.
        short: words up to which a held-out text may stand in training.

    Returns:
        The corpus of the labelled ones, with the files of all; and source → turns with what people said of them.

    Raises:
        ValueError: a source is none, or its files are not there.
    """
    if strange := sorted(set(sources) - {*NAMES, *UNLABELLED}):
        raise ValueError(f"sources: {strange[0]!r} is none; there are {', '.join([*NAMES, *UNLABELLED])}")
    corpus = load_corpus({name: 1.0 for name in sources if name in NAMES}, folder, cache, short)
    turns: dict[str, list[tuple[str, Target | None]]] = {}
    for name in sources:
        if name in UNLABELLED:
            texts, files = read_unlabelled(name, folder)
            turns[name] = [(text, None) for text in _unseen(texts, corpus, short)]
            corpus.files.update({path.relative_to(folder).as_posix(): path for path in files})
        else:
            turns[name] = [pair for each in corpus.train[name] for pair in zip(each.turns, each.targets, strict=True)]
        report(f"{name}: {len(turns[name])} turns")
    return corpus, turns


def _unseen(texts: Sequence[str], corpus: Corpus, short: int) -> list[str]:
    """Return texts without near-copies of held-out ones: their films may be those of held-out turns, cut elsewhere."""
    held = [text for texts in corpus.apart.values() for text in texts]
    cut = [text for name in ACTED for text in corpus.apart.get(name, ())]
    distinct = list(dict.fromkeys(texts))
    copies = set(itertools.compress(distinct, near_copies(distinct, held, short, cut=cut)))
    return [text for text in texts if text not in copies]


def gather(
    turns: Mapping[str, Sequence[tuple[str, Target | None]]],
    sources: Mapping[str, float],
    labels: Mapping[str, float],
    held: set[str],
) -> Texts:
    """Return the distinct turns of sources, in their order. Turns are equal if capitals and spaces alone differ: marks
    count.

    Args:
        turns: source → turns, each with what people said of it; of this only shares of our labels count.
        sources: source → weight of a turn; the highest one counts.
        labels: source → part of people's labels in the targets; the highest one counts.
        held: words (as of `plain_text`) that no turn may have, but those of the hand-labelled frequent turns.
    """
    found = Texts()
    rows: dict[str, int] = {}
    for name, given in turns.items():
        counts = found.sources[name] = dict.fromkeys(("turns", "texts", "labelled", "held_out"), 0)
        for text, target in given:
            words = plain_text(text)
            counts["turns"] += 1
            if not words or (words in held and name != COMMON):
                counts["held_out"] += bool(words)
                continue
            row = rows.setdefault(" ".join(text.lower().split()), len(rows))
            if row == len(found.texts):
                _append(found, text)
                counts["texts"] += 1
            found.counts[row] += 1
            found.weights[row] = max(found.weights[row], sources[name])
            if target is not None and target.kind == Kind.SHARES and labels.get(name):
                counts["labelled"] += 1
                found.parts[row] = max(found.parts[row], labels[name])
                found.people[row] = found.people.get(row, 0) + target.values
    return found


def _append(found: Texts, text: str) -> None:
    found.texts.append(text)
    found.weights.append(0.0)
    found.parts.append(0.0)
    found.counts.append(0)


def words_held_out(corpus: Corpus, short: int) -> set[str]:
    """Return the words of all held-out texts of more than `short` words."""
    texts = (plain_text(text) for part in corpus.apart.values() for text in part)
    return {words for words in texts if len(words.split()) > short}


def sampled(found: Texts, most: int, seed: int) -> Texts:
    """Return the texts that people labelled and at most `most` of the others, drawn by `seed`."""
    bare = np.array([row for row in range(len(found.texts)) if row not in found.people], np.int64)
    drawn = np.random.default_rng(seed).permutation(bare)[:most]
    rows = sorted([*found.people, *drawn.tolist()])
    return Texts(
        [found.texts[row] for row in rows],
        [found.weights[row] for row in rows],
        [found.parts[row] for row in rows],
        {place: found.people[row] for place, row in enumerate(rows) if row in found.people},
        [found.counts[row] for row in rows],
        found.sources,
    )


def targets_of(found: Texts, answers: Floats, frequency: float) -> Floats:
    """Return what is fitted: float32 [n, 41], rows that sum to the weights of the texts.

    Args:
        found: the texts.
        answers: float32 [n, 41], the teacher's.
        frequency: a turn that was read n times weighs 1 + frequency * log(n) times as much as one read once.
    """
    weights = np.array(found.weights) * (1 + frequency * np.log(found.counts))
    targets = answers.astype(np.float32)
    for row, values in found.people.items():
        targets[row] = (1 - found.parts[row]) * targets[row] + found.parts[row] * values / values.sum()
    fitted: Floats = targets * weights[:, None].astype(np.float32)
    return fitted


def ask(teacher: Labeler, texts: Sequence[str], cache: Path | None) -> Floats:
    """Return the teacher's probabilities of texts, each seen alone, float32 [n, 41], from the cache if they are there;
    one that was killed goes on where it was.
    """
    parts = [np.zeros((0, len(LABELS)), np.float32)]
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        path = cache and cache / f"{key_of([teacher.identity, *block])}.npy"
        parts.append(kept(path, len(block), partial(teacher.predict_proba, [[text] for text in block])))
        report(f"{teacher.identity} has labelled {start + len(block)} of {len(texts)} texts")
    return np.concatenate(parts)
