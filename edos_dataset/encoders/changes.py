"""Fine-tuned encoders small enough to ship: what training changed of a backbone that is there anyway, in 8 bits.

`changes` keeps, of weights around all-MiniLM-L6-v2 or another backbone, the difference of every matrix to the
backbone's as whole numbers from -127 to 127 with one factor a row, and everything else (biases, normalisations, heads)
in half precision; what is equal is left out. `restore` puts the weights together again.
"""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from edos_dataset.encoders.encoder import DEFAULT_MODEL, model_folder
from edos_dataset.encoders.rounding import FACTOR, rounded

Tensors = dict[str, npt.NDArray[Any]]


def changes(weights: Mapping[str, npt.NDArray[Any]], backbone: str = DEFAULT_MODEL) -> Tensors:
    """Return weights in the packed form.

    Args:
        weights: by name; those of the backbone begin with "encoder.".
        backbone: the name of an encoder that training began with, as `model_folder` knows it.
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
    """Return all weights, float32, of the packed ones, and of the backbone's those that have one of some names: a model
    need not use all of it.

    Raises:
        KeyError: a change is there without its factors or the other way round, or is of what the backbone lacks.
    """
    weights: Tensors = {name: value for name, value in _backbone(backbone).items() if name in names}
    for name, value in packed.items():
        if name.endswith(FACTOR):
            packed[name.removesuffix(FACTOR)]  # without it the backbone's own would pass for what was learned
        elif value.dtype == np.int8:
            weights[name] = weights[name] + value.astype(np.float32) * packed[name + FACTOR]
        else:
            weights[name] = value.astype(np.float32)
    return weights


@cache
def _backbone(name: str) -> Tensors:
    """Return a backbone's weights by the names they have in a model around it."""
    weights = load_file(model_folder(name) / "model.safetensors")
    return {
        f"encoder.{name}": value.astype(np.float32) for name, value in weights.items() if "position_ids" not in name
    }
