"""The peer's weights (PEERS.md 6) in our models: arrays of TensorFlow by their names, kernels turned round."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

FOLDER = Path(os.environ.get("EDOS_DATA_DIR", "/nowhere")) / ".." / "peers" / "meed2"
needs_peer = pytest.mark.skipif(not FOLDER.is_dir(), reason="the peer's arrays lie beside EDOS_DATA_DIR")


def arrays(name):
    """Return the weights in their order, each with its name, and the other arrays."""
    kept = np.load(FOLDER / f"{name}.npz")
    weights = [(key.split("|", 1)[1], kept[key]) for key in kept.files if key[0] == "w" and "|" in key]
    return weights, {key: kept[key] for key in kept.files if "|" not in key}


def names(config, *, decodes):
    """Return the names of our parameters in the order of the peer's."""
    embedder = ["words.weight", "positions.weight", "segments.weight", "labels.weight", "norm.weight", "norm.bias"]
    attention = [f"{part}.{kind}" for part in ("query", "key", "value", "output") for kind in ("weight", "bias")]
    feed = [f"{part}.{kind}" for part in ("inner", "outer") for kind in ("weight", "bias")]
    found = [f"encoder.embedder.{name}" for name in embedder]
    for where in ("encoder", "decoder") if decodes else ("encoder",):
        kinds = ["attention", "cross"] if where == "decoder" else ["attention"]
        norms = [*(f"{kind}_norm" for kind in kinds), "outer_norm"]
        for layer in range(config.num_layers):
            parts = [f"{kind}.{name}" for kind in kinds for name in attention] + feed
            parts += [f"{norm}.{kind}" for norm in norms for kind in ("weight", "bias")]
            found += [f"{where}.layers.{layer}.{part}" for part in parts]
    return found


def fill(model, weights, ours):
    """Put the peer's weights into a model of ours."""
    state = model.state_dict()
    assert len(weights) == len(ours)
    for (theirs, array), name in zip(weights, ours, strict=True):
        tensor = torch.from_numpy(array)
        tensor = tensor.T if theirs.endswith("kernel:0") else tensor
        assert state[name].shape == tensor.shape, (theirs, name)
        state[name].copy_(tensor)
    model.load_state_dict(state)
    return model.eval()
