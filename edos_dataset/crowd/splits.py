"""Splits without leaks: related examples are linked first, then whole groups are distributed."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.sources.detokenize import detokenize

_ROWS = 2048  # rows of the cosine matrix in memory


def split_turns(dialogue: str) -> list[str]:
    """Return a dialogue's turns, one per line, detokenised and without leading dashes, as in our own sources."""
    lines = [re.sub(r"^(?:-(?:\s+|$))+", "", " ".join(line.split())) for line in dialogue.splitlines()]
    return [turn for turn in detokenize([line for line in lines if line]) if turn]


def plain_text(text: str) -> str:
    """Return the words of a text, in lower case, separated by single blanks."""
    return " ".join(re.findall(r"\w+", text.lower()))


def link(keys: Sequence[Sequence[str]], vectors: Floats, near: float) -> Ints:
    """Group examples that share a key or have near vectors, directly or through others.

    Args:
        keys: [n], each with any number of texts.
        vectors: float32 [n, dim] of length 1.
        near: vectors with at least this cosine are near.

    Returns:
        [n] the number of each example's group, from 0. Memory: 2,048 rows of the cosine matrix, and the pairs found.
    """
    from scipy.sparse import coo_array  # imported here, as reading dialogues needs no scipy
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
    """Return each example's split, 0, 1 or 2 (train, validation, test); groups stay whole, and labels are stratified.

    Args:
        groups: [n], see `link`.
        labels: [n]; a group counts for its most frequent label.
        shares: fractions of the three splits; they sum to 1.
        seed: seed of the order in which groups are distributed.
        pinned: [n], examples that must be in the training split, with their whole group.
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
