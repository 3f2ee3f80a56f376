"""How many responses could stand anywhere.

Texts are compared by their words, without case and marks; a text of marks alone by these.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from edos_dataset.arrays import Doubles
from edos_dataset.text import normalise

SHARE, LEAST = 0.001, 3
FREQUENT = 100


def generic(
    responses: Sequence[str], contexts: Sequence[str] | None = None, share: float = SHARE, least: int = LEAST
) -> Doubles:
    """Tell which responses are generic: those given to `least` different contexts or more, and to at least the share
    `share` of all that there are.

    Args:
        responses: one a context.
        contexts: as many; where they are not given, each response has one of its own.
        share: 0 to 1, so that answers don't grow generic with the size of the set.
        least: so that the share means something in small sets.

    Returns:
        1 or 0, [responses].

    Raises:
        ValueError: contexts are not as many as responses.
    """
    asked: Sequence[object] = range(len(responses)) if contexts is None else [_key(context) for context in contexts]
    answers = [_key(response) for response in responses]
    given = Counter(answer for answer, _ in set(zip(answers, asked, strict=True)))
    most = max(least, share * len(set(asked)))
    return np.array([float(given[answer] >= most) for answer in answers])


def frequent(responses: Sequence[str], train: Sequence[str], most: int = FREQUENT) -> Doubles:
    """Tell which responses are among the most frequent ones of the training set.

    Args:
        responses: any number.
        train: the responses of the training set.
        most: how many texts count as frequent; one that comes only once never does, of equally frequent ones the first
            in the alphabet do.

    Returns:
        1 or 0, [responses].
    """
    counts = Counter(map(_key, train))
    ranked = sorted((-count, text) for text, count in counts.items() if count > 1)
    frequent_ones = {text for _, text in ranked[:most]}
    return np.array([float(_key(response) in frequent_ones) for response in responses])


def _key(text: str) -> str:
    return normalise(text) or " ".join(text.split())
