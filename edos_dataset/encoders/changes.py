"""Fine-tuned encoders small enough to ship: their difference from a backbone that is installed anyway, in 8 bits.

`changes` stores the difference of each matrix from the backbone's as integers from -127 to 127 with one factor per row,
and all other weights (biases, normalisations, heads) in half precision; unchanged weights are omitted. `restore`
returns the full weights.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from edos_dataset.encoders.encoder import DEFAULT_MODEL, model_folder

Tensors = dict[str, npt.NDArray[Any]]


def changes(weights: Mapping[str, npt.NDArray[Any]], backbone: str = DEFAULT_MODEL) -> Tensors:
    """Return weights in the packed form.

    Args:
        weights: weights by name; those of the backbone begin with "encoder.".
        backbone: the encoder from which training started, by a name that `model_folder` accepts.
    """
    base = _backbone(backbone)
    packed: Tensors = {}
    for name, value in weights.items():
        start = base.get(name)
        if start is not None and np.array_equal(start, value):
            continue
        if start is None or value.ndim != 2:
            packed[name] = value.astype(np.float16)
            continue
        packed[name], packed[name + FACTOR] = rounded(value.astype(np.float32) - start)
    return packed


def restore(packed: Tensors, names: Collection[str], backbone: str = DEFAULT_MODEL) -> Tensors:
    """Return float32 weights: the packed ones, and those of the backbone that are in `names`, since a model need not
    use all of them.

    Raises:
        KeyError: a difference lacks its factors, factors lack their difference, or the backbone lacks a weight.
    """
    weights: Tensors = {name: value for name, value in _backbone(backbone).items() if name in names}
    for name, value in packed.items():
        if name.endswith(FACTOR):
            packed[name.removesuffix(FACTOR)]  # else the backbone's weight would silently stay unchanged
        elif value.dtype == np.int8:
            weights[name] = weights[name] + value.astype(np.float32) * packed[name + FACTOR]
        else:
            weights[name] = value.astype(np.float32)
    return weights


def _backbone(name: str) -> Tensors:
    weights = load_file(model_folder(name) / "model.safetensors")
    return {
        f"encoder.{name}": value.astype(np.float32, copy=False)
        for name, value in weights.items()
        if "position_ids" not in name
    }


FACTOR = ":factor"
"""Suffix of the name of a matrix's factors."""


def rounded(
    matrix: npt.NDArray[Any], kind: npt.DTypeLike = np.float32, least: float = 1e-12
) -> tuple[npt.NDArray[np.int8], npt.NDArray[Any]]:
    """Quantise a matrix to 8 bits, integers from -127 to 127 with one factor per row.

    Args:
        matrix: [rows, columns], of floats.
        kind: type of the factors.
        least: minimum factor, used for a row of zeros.

    Returns:
        int8 [rows, columns] and factors [rows, 1]. Their product differs from the matrix by at most half a factor.
    """
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    factor = np.maximum(largest / 127, least).astype(kind)
    # If the factor was itself rounded down, the largest value of its row would become 128.
    return np.rint(matrix / factor).clip(-127, 127).astype(np.int8), factor
