"""What responses mean, by models that are given: nearness of sentence embeddings, and labels."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edos_dataset.arrays import Doubles
from edos_dataset.metrics.responses.embedding import cosines


def ses(
    responses: Sequence[str],
    references: Sequence[str],
    encode: Callable[[Sequence[str]], npt.NDArray[np.floating[Any]]],
) -> Doubles:
    """Return the semantic similarity of Xie and Pu: the cosine of the sentence embeddings of response and truth.

    Args:
        responses: texts.
        references: as many.
        encode: texts → [texts, dimensions], such as `edos_dataset.encoders.encoder.Encoder().encode`.

    Returns:
        -1 to 1, [responses]; NaN where an embedding is zeros.

    Raises:
        ValueError: references are not as many as responses.
    """
    if len(responses) != len(references):
        raise ValueError(f"{len(responses)} responses but {len(references)} references: give one for each response")
    vectors = np.asarray(encode([*responses, *references]), dtype=np.float64)
    return cosines(vectors[: len(responses)], vectors[len(responses) :])


def label_accuracy(labels: Sequence[int] | npt.NDArray[Any], wanted: Sequence[int] | npt.NDArray[Any]) -> Doubles:
    """Tell which responses have the label that they were conditioned on.

    Args:
        labels: [responses], ids that a labeler gives.
        wanted: [responses], ids; below 0 where none was wanted.

    Returns:
        1 or 0, [responses]; NaN where none was wanted.

    Raises:
        ValueError: there are not as many of both.
    """
    found, expected = np.asarray(labels), np.asarray(wanted)
    if found.shape != expected.shape:
        raise ValueError(f"{len(found)} labels but {len(expected)} wanted ones: give one of each for each response")
    return np.where(expected < 0, np.nan, (found == expected).astype(np.float64))
