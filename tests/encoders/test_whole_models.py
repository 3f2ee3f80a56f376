"""Packing a whole model, whose backbone nobody has."""

import numpy as np
import pytest

from edos_dataset.encoders.changes import FACTOR, fits_backbone, restore, whole

RANDOM = np.random.default_rng(0)


def in_four_bits() -> np.ndarray:
    """A matrix as a model that was rounded to 4 bits has it: the furthest value of a block is -8 times its factor."""
    levels = RANDOM.integers(-8, 8, (5, 3, 32)).astype(np.float32)
    levels[..., 0] = -8
    factors = RANDOM.normal(0, 0.1, (5, 3, 1)).astype(np.float16).astype(np.float32)
    factors[2] = 0
    return (levels * factors).reshape(5, 96)


def test_what_was_rounded_to_four_bits_comes_back_exactly():
    matrix = in_four_bits()
    packed = whole({"words": matrix})
    assert packed["words"].dtype == np.uint8
    assert sum(each.nbytes for each in packed.values()) == 5 * 96 // 2 + 5 * 3 * 2
    assert np.array_equal(restore(packed, ["words"], None)["words"], matrix)


@pytest.mark.parametrize("columns", [96, 40])
def test_other_matrices_take_eight_bits_and_vectors_half_precision(columns):
    weights = {"layer": RANDOM.normal(0, 1, (6, columns)).astype(np.float32), "bias": np.full(7, 0.1, np.float32)}
    packed = whole(weights)
    assert packed["layer"].dtype == np.int8 and packed["bias"].dtype == np.float16
    found = restore(packed, weights.keys(), None)
    assert found.keys() == weights.keys() and {each.dtype for each in found.values()} == {np.dtype(np.float32)}
    assert (np.abs(found["layer"] - weights["layer"]) <= packed["layer" + FACTOR] * 0.51).all()
    assert np.allclose(found["bias"], 0.1, atol=1e-4)


def test_a_factor_without_its_matrix_is_refused():
    packed = whole({"words": in_four_bits()})
    del packed["words"]
    with pytest.raises(KeyError, match="words"):
        restore(packed, ["words"], None)
    with pytest.raises(KeyError, match=FACTOR):
        restore({"words": np.zeros((1, 16), np.uint8)}, ["words"], None)


def test_a_model_is_of_the_backbone_whose_tokens_it_embeds(monkeypatch):
    words = "encoder.embeddings.word_embeddings.weight"
    monkeypatch.setattr("edos_dataset.encoders.changes._backbone", lambda _: {words: np.zeros((9, 4), np.float32)})
    assert fits_backbone({words: np.ones((9, 4))})
    assert not fits_backbone({words: np.ones((8, 4))}) and not fits_backbone({})
