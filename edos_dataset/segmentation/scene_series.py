"""Values along the turns of one document: sums and largest values around each, and distances between marked ones."""

import numpy as np

from edos_dataset.arrays import Bools, Doubles, Ints


def windows(values: Doubles, before: int, after: int) -> Doubles:
    """Return the sum of the values from `before` places back up to `after` places on, that one not included; at the
    ends of what there is.
    """
    size = len(values)
    if not size:
        return values
    total = np.zeros(before + size + after)
    np.cumsum(values, out=total[before : before + size])
    total[before + size :] = total[before + size - 1]
    sums: Doubles = total[before + after - 1 :][:size].copy()
    sums[1:] -= total[: size - 1]
    return sums


def before(values: Doubles) -> Doubles:
    """Return the value of the turn before each; 0 for the first."""
    moved = np.zeros(len(values))
    moved[1:] = values[:-1]
    return moved


def after(values: Doubles) -> Doubles:
    """Return the value of the turn after each; 0 for the last."""
    moved = np.zeros(len(values))
    moved[:-1] = values[1:]
    return moved


def largest_beside(values: Doubles, reach: int) -> Doubles:
    """Return the largest value of up to `reach` on either side of each, that itself left out; 0 where none is."""
    size = len(values)
    ahead = np.zeros(size + 2 * reach)  # [i]: the largest of `reach` values that end before value i
    ahead[reach : reach + size] = values
    done = 1
    while done < reach:  # each pass doubles the values that are seen
        step = min(done, reach - done)
        ahead[: len(ahead) - step] = np.maximum(ahead[: len(ahead) - step], ahead[step:])
        done += step
    return np.maximum(ahead[:size], ahead[reach + 1 : reach + 1 + size])


def distances(marked: Bools) -> tuple[Doubles, Doubles]:
    """Return the logarithm of how many turns each is behind the last marked one before it, and ahead of the next."""
    size = len(marked)
    place = np.arange(size)
    last = np.maximum.accumulate(np.where(marked, place, 0))
    following = np.minimum.accumulate(np.where(marked, place, size)[::-1])[::-1]
    back, on = place.copy(), size - place
    back[1:] -= last[:-1]
    on[:-1] = following[1:] - place[:-1]
    return np.log1p(back), np.log1p(on)


def crossing(begin: Ints, end: Ints, weight: Doubles, size: int) -> Doubles:
    """Return the weight of the ties that go across the border before each turn."""
    steps = np.bincount(begin + 1, weight, size + 1) - np.bincount(end + 1, weight, size + 1)
    return np.cumsum(steps)[:size]


def relative(ties: Doubles, usual: Doubles) -> Doubles:
    """Return the logarithm of ties against what is usual, dampened where that is little."""
    relative: Doubles = np.log((ties + 32) / (usual + 32))
    return relative
