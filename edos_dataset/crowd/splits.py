"""Splits without leaks: what belongs together is linked first, then whole groups are shared out."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.sources.detokenize import detokenize

_ROWS = 2048  # rows of the matrix of cosines that are held at once


def split_turns(dialogue: str) -> list[str]:
    """Return a dialogue's turns as our own sources would give them: one a line, without the leading dashes,
    detokenised.
    """
    lines = [re.sub(r"^(?:-(?:\s+|$))+", "", " ".join(line.split())) for line in dialogue.splitlines()]
    return [turn for turn in detokenize([line for line in lines if line]) if turn]


def plain_text(text: str) -> str:
    """Return the words of a text, lower-cased, one blank between them."""
    return " ".join(re.findall(r"\w+", text.lower()))


def link(keys: Sequence[Sequence[str]], vectors: Floats, near: float) -> Ints:
    """Number examples by what belongs together: those that share a key or have near vectors, directly or through
    others.

    Args:
        keys: [n], any number of texts for each example.
        vectors: float32 [n, dim] of length 1.
        near: vectors with at least this cosine are near.

    Returns:
        [n] the number of each example's group, from 0. Memory: 2,048 rows of the matrix of cosines, and the pairs
        found.
    """
    from scipy.sparse import coo_array  # here, because whoever only reads dialogues needs no scipy
    from scipy.sparse.csgraph import connected_components

    first: dict[str, int] = {}
    links = [(row, first.setdefault(key, row)) for row, own in enumerate(keys) for key in own]
    for start in range(0, len(vectors), _ROWS):
        rows, others = np.nonzero(vectors[start : start + _ROWS] @ vectors.T >= near)
        links += zip((rows + start).tolist(), others.tolist(), strict=True)
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(keys), len(keys)))
    groups: Ints = connected_components(graph)[1].astype(np.int64)
    return groups


def share_out(groups: Ints, labels: Ints, shares: Sequence[float], seed: int, pinned: Bools | None = None) -> Ints:
    """Return 0, 1 or 2 (train, validation, test) for every example: whole groups, and the same shares of every label.

    Args:
        groups: [n], as of `link`.
        labels: [n]; a group counts for its most frequent label.
        shares: of the three parts; they sum to 1.
        seed: of the order in which groups are dealt.
        pinned: [n], examples that must be in the training part, with all of their group.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for row, group in enumerate(groups.tolist()):
        members[group].append(row)
    by_label: dict[int, list[list[int]]] = defaultdict(list)
    for rows in members.values():
        if pinned is None or not pinned[rows].any():
            by_label[Counter(labels[rows].tolist()).most_common(1)[0][0]].append(rows)
    generator = np.random.default_rng(seed)
    ends = np.cumsum(shares)
    parts = np.zeros(len(groups), dtype=np.int64)
    for label in sorted(by_label):
        total, done = sum(map(len, by_label[label])), 0
        for choice in generator.permutation(len(by_label[label])):
            rows = by_label[label][choice]
            parts[rows] = min(int(np.searchsorted(ends, done / total, side="right")), 2)
            done += len(rows)
    return parts
