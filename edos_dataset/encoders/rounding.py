"""Matrices in 8 bits: whole numbers from -127 to 127 with one factor a row, as models that ship are kept."""

from typing import Any

import numpy as np
import numpy.typing as npt

FACTOR = ":factor"
"""Ends the name of the factors of a matrix."""


def rounded(
    matrix: npt.NDArray[Any], kind: npt.DTypeLike = np.float32, least: float = 1e-12
) -> tuple[npt.NDArray[np.int8], npt.NDArray[Any]]:
    """Return a matrix in 8 bits.

    Args:
        matrix: [rows, columns], of floats.
        kind: of the factors.
        least: smallest factor; a row of zeros has it.

    Returns:
        int8 [rows, columns] and factors [rows, 1]; their product is the matrix, up to half a factor.
    """
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    factor = np.maximum(largest / 127, least).astype(kind)
    # A factor that was itself rounded down would take the largest number of its row to 128.
    return np.rint(matrix / factor).clip(-127, 127).astype(np.int8), factor
