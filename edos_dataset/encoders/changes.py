"""Fine-tuned encoders small enough to ship: their difference from a backbone that is installed anyway, in 8 bits.

`changes` stores the difference of each matrix from the backbone's as integers from -127 to 127 with one factor per row,
and all other weights (biases, normalisations, heads) in half precision; unchanged weights are omitted. `restore`
returns the full weights.

`adapters` stores changes of low rank, as LoRA makes them, as the two narrow matrices whose product they are.

`whole` packs a model whose backbone nobody has: all matrices in 8 bits, and in 4 bits those that lose nothing by it.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

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
    packed: Tensors = {}
    for name, value, start in _changed(weights, backbone):
        if start is None or value.ndim != 2:
            packed[name] = value.astype(np.float16)
            continue
        packed[name], packed[name + FACTOR] = rounded(value.astype(np.float32) - start)
    return packed


def adapters(weights: Mapping[str, npt.NDArray[Any]], backbone: str, bits: Literal[4, 8] = 4) -> Tensors:
    """Return weights in packed form, of a model whose backbone was trained by adapters: two matrices for each that
    changed, and those that the backbone lacks.

    Args:
        weights: as for `changes`, with the adapters merged.
        backbone: as for `changes`.
        bits: of each value; with 4, matrices whose rows are no multiple of 32 have 8.

    Raises:
        ValueError: a matrix of the backbone changed in all its dimensions.
    """
    packed: Tensors = {}
    for name, value, start in _changed(weights, backbone):
        if value.ndim != 2:
            packed[name] = value.astype(np.float16)
        elif start is None:
            packed[name], packed[name + FACTOR] = _in_few_bits(value.astype(np.float32), bits)
        else:
            for suffix, narrow in zip((DOWN, UP), _narrow(name, value.astype(np.float32) - start), strict=True):
                packed[name + suffix], packed[name + suffix + FACTOR] = _in_few_bits(narrow, bits)
    return packed


def _changed(
    weights: Mapping[str, npt.NDArray[Any]], backbone: str
) -> Iterator[tuple[str, npt.NDArray[Any], npt.NDArray[Any] | None]]:
    """Yield the weights that are not those of a backbone: name, weights, and the backbone's, None if it has none."""
    base = _backbone(backbone)
    for name, value in weights.items():
        start = base.get(name)
        if start is None or not np.array_equal(start, value):
            yield name, value, start


def _narrow(name: str, change: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return two matrices [rank, columns] and [rank, rows], the product of the second's transpose and the first being a
    change [rows, columns] but for its weakest dimensions.
    """
    left, strengths, right = np.linalg.svd(change.astype(np.float64), full_matrices=False)
    kept = np.cumsum(strengths**2) / np.sum(strengths**2)
    rank = int(np.searchsorted(kept, _KEPT)) + 1
    if rank * sum(change.shape) > change.size // 2:
        raise ValueError(f"{name} was changed in {rank} dimensions, which adapters do not: pack it whole")
    roots = np.sqrt(strengths[:rank, None])
    return (right[:rank] * roots).astype(np.float32), (left.T[:rank] * roots).astype(np.float32)


def fits_backbone(weights: Mapping[str, npt.NDArray[Any]], backbone: str = DEFAULT_MODEL) -> bool:
    """Return whether weights may have come from a backbone: whether they embed as many tokens."""
    words = f"{_ENCODER}embeddings.word_embeddings.weight"
    return words in weights and weights[words].shape == _backbone(backbone)[words].shape


def whole(weights: Mapping[str, npt.NDArray[Any]]) -> Tensors:
    """Return weights in packed form without a backbone: matrices in 8 bits, or in 4 where that changes nothing, as in
    the layers of a model that was rounded to 4 bits and then left as it was; all others in half precision.
    """
    packed: Tensors = {}
    for name, value in weights.items():
        if value.ndim != 2:
            packed[name] = value.astype(np.float16)
        elif (found := _in_four_bits(value)) is not None:
            packed[name], packed[name + FACTOR] = found
        else:
            packed[name], packed[name + FACTOR] = rounded(value.astype(np.float32))
    return packed


def restore(packed: Tensors, names: Collection[str], backbone: str | None = DEFAULT_MODEL) -> Tensors:
    """Return float32 weights: the packed ones, and those of the backbone that are in `names`, since a model need not
    use all of them.

    Args:
        packed: from `changes` or `adapters`; without a backbone, from `whole`.
        names: the weights of the model.
        backbone: as for `changes`; None for none.

    Raises:
        KeyError: a difference lacks its factors, factors lack their difference, or the backbone lacks a weight.
    """
    base = {} if backbone is None else _backbone(backbone)
    weights: Tensors = {name: value for name, value in base.items() if name in names}
    for name, value in packed.items():
        if name.endswith(FACTOR):
            packed[name.removesuffix(FACTOR)]  # else the backbone's weight would silently stay unchanged
        elif name.endswith(UP):
            packed[name.removesuffix(UP) + DOWN]
        elif name.endswith(DOWN):
            changed = name.removesuffix(DOWN)
            up, down = (_of_few_bits(packed[each], packed[each + FACTOR]) for each in (changed + UP, name))
            weights[changed] = weights[changed] + up.T @ down
        elif value.dtype in (np.uint8, np.int8):
            found = _of_few_bits(value, packed[name + FACTOR])
            is_change = backbone is not None and name.startswith(_ENCODER)
            weights[name] = weights[name] + found if is_change else found
        else:
            weights[name] = value.astype(np.float32)
    return weights


def _backbone(name: str) -> Tensors:
    weights = load_file(model_folder(name) / "model.safetensors")
    return {
        _ENCODER + name: value.astype(np.float32, copy=False)
        for name, value in weights.items()
        if "position_ids" not in name
    }


FACTOR = ":factor"
"""Suffix of the name of a matrix's factors."""

DOWN, UP = ":down", ":up"
"""Suffixes of the two narrow matrices of an adapter, [rank, columns] and [rank, rows]."""

_ENCODER = "encoder."
_KEPT = 0.98  # fraction of the squares of a change that an adapter keeps; 4 bits change more


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


_BLOCK = 32  # consecutive values of a row that share a factor in 4 bits


def _in_few_bits(matrix: npt.NDArray[np.float32], bits: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the nearest matrix in 8 bits and its factors, or in 4 if these are asked for and its rows whole blocks."""
    return (_in_four_bits(matrix, exactly=False) if bits == 4 else None) or rounded(matrix)


def _of_few_bits(packed: npt.NDArray[Any], factors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return the matrix that `_in_few_bits` packed."""
    if packed.dtype == np.uint8:
        return _of_four_bits(packed, factors)
    matrix: npt.NDArray[np.float32] = packed.astype(np.float32) * factors
    return matrix


def _in_four_bits(
    matrix: npt.NDArray[Any], exactly: bool = True
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float16]] | None:
    """Return a matrix as integers from -8 to 7, two a byte, and their factors, a half-precision number for each block
    of a row; None unless its rows are whole blocks and, if `exactly`, these give the matrix back exactly.
    """
    rows, columns = matrix.shape
    if columns % _BLOCK:
        return None
    blocks = matrix.astype(np.float32).reshape(rows, -1, _BLOCK)
    furthest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=2)[..., None], axis=2)
    factors = (furthest / -8).astype(np.float16)  # the furthest value of a block was given the -8
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = np.nan_to_num(np.rint(blocks / factors.astype(np.float32))).clip(-8, 7).astype(np.int8)
    pairs = (levels + 8).astype(np.uint8).reshape(rows, -1, 2)
    packed, flat = (pairs[..., 0] | pairs[..., 1] << 4).astype(np.uint8), factors[..., 0]
    return (packed, flat) if not exactly or np.array_equal(_of_four_bits(packed, flat), matrix) else None


def _of_four_bits(packed: npt.NDArray[np.uint8], factors: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]:
    """Return the matrix that `_in_four_bits` packed."""
    levels = np.stack([packed & 15, packed >> 4], axis=-1).astype(np.float32).reshape(len(packed), -1, _BLOCK) - 8
    matrix: npt.NDArray[np.float32] = (levels * factors.astype(np.float32)[..., None]).reshape(len(packed), -1)
    return matrix
