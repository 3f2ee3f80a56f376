"""Packing a whole model, whose backbone nobody has, and adapters of one that the Hub has."""

import numpy as np
import pytest

from edos_dataset.encoders.changes import DOWN, FACTOR, UP, adapters, fits_backbone, restore, whole

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


@pytest.fixture
def backbone(monkeypatch):
    """The weights of an encoder, as the Hub would give them."""
    weights = {
        f"encoder.{name}": RANDOM.normal(0, 1, shape).astype(np.float32)
        for name, shape in {"tall": (48, 24), "wide": (64, 96), "still": (24, 48), "bias": (24,)}.items()
    }
    monkeypatch.setattr("edos_dataset.encoders.changes._backbone", lambda _: weights)
    return weights


def test_adapters_are_two_narrow_matrices_for_each_that_changed(backbone):
    change = RANDOM.normal(0, 0.1, (48, 2)) @ RANDOM.normal(0, 0.1, (2, 24))
    wide = RANDOM.normal(0, 0.1, (64, 3)) @ RANDOM.normal(0, 0.1, (3, 96))
    weights = backbone | {
        "encoder.tall": backbone["encoder.tall"] + change.astype(np.float32),
        "encoder.wide": backbone["encoder.wide"] + wide.astype(np.float32),
        "head.weight": RANDOM.normal(0, 1, (5, 24)).astype(np.float32),
        "layer.weight": RANDOM.normal(0, 1, (5, 64)).astype(np.float32),
        "head.bias": np.ones(5, np.float32),
    }
    packed = adapters(weights, "any/encoder")
    assert packed["encoder.tall" + DOWN].shape == (2, 24) and packed["encoder.tall" + UP].shape == (2, 48)
    assert packed["encoder.wide" + DOWN].dtype == packed["encoder.wide" + UP].dtype == np.uint8, "in 4 bits"
    assert not any(name.startswith(("encoder.still", "encoder.bias")) for name in packed)
    assert packed["layer.weight"].dtype == np.uint8 and packed["layer.weight"].nbytes == 5 * 64 // 2
    assert packed["head.weight"].dtype == np.int8 and packed["head.bias"].dtype == np.float16
    found = restore(packed, weights.keys(), "any/encoder")
    assert found.keys() == weights.keys()
    assert np.array_equal(found["encoder.still"], weights["encoder.still"])
    assert np.abs(found["encoder.tall"] - weights["encoder.tall"]).max() < 0.02 * np.abs(change).max()
    assert np.abs(found["encoder.wide"] - weights["encoder.wide"]).std() < 0.2 * wide.std()
    assert np.abs(found["head.weight"] - weights["head.weight"]).max() < 0.02
    assert np.abs(found["layer.weight"] - weights["layer.weight"]).mean() < 0.12


def test_what_is_no_adapter_is_not_packed_as_one(backbone):
    moved = backbone["encoder.tall"] + RANDOM.normal(0, 0.1, (48, 24)).astype(np.float32)
    with pytest.raises(ValueError, match=r"encoder\.tall was changed in 2\d dimensions"):
        adapters(backbone | {"encoder.tall": moved}, "any/encoder")


@pytest.mark.parametrize("lost", [DOWN, UP, DOWN + FACTOR, UP + FACTOR])
def test_half_an_adapter_is_refused(backbone, lost):
    change = np.outer(RANDOM.normal(0, 1, 48), RANDOM.normal(0, 1, 24)).astype(np.float32)
    packed = adapters({"encoder.tall": backbone["encoder.tall"] + change}, "any/encoder")
    del packed["encoder.tall" + lost]
    with pytest.raises(KeyError, match=r"encoder\.tall"):
        restore(packed, backbone.keys(), "any/encoder")
