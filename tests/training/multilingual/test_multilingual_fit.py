"""Updates, states and the start of the projection of the multilingual student."""

import numpy as np
import pytest
import torch

from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labels import LABELS
from training.multilingual.examples import updates_of
from training.multilingual.recipe import MultilingualRecipe
from training.multilingual.student import Plain, start_projection, states_of


@pytest.fixture
def model():
    encoder = {"model_type": "bert", "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4}
    encoder |= {"intermediate_size": 48, "vocab_size": 50, "pad_token_id": 1, "max_position_embeddings": 64}
    torch.manual_seed(0)
    config = ContextClassifierConfig(
        {**encoder, "type_vocab_size": 1, "layer_norm_eps": 1e-12},
        context_heads=4,
        separator_id=2,
        start_id=0,
        padding_id=1,
        projected=True,
        id2label=dict(enumerate(LABELS)),
    )
    return ContextClassifier(config).eval()


def turns(count):
    random = np.random.default_rng(0)
    return [[0, *random.integers(5, 50, length).tolist(), 2] for length in random.integers(1, 9, count)]


def test_every_update_has_as_many_translations_and_all_are_used_before_one_again():
    translated = np.arange(30) < 10
    plan = updates_of(translated, MultilingualRecipe(updates=5, batch=10, translated=0.4))
    assert [int(translated[rows].sum()) for rows in plan] == [4] * 5
    flat = np.concatenate(plan)
    assert len(set(flat[~translated[flat]][:20].tolist())) == 20
    assert len(updates_of(np.zeros(7, bool), MultilingualRecipe(updates=3, batch=5))) == 3, "no translations at all"


def test_the_frozen_layers_and_those_above_are_the_whole_encoder(model):
    inputs = turns(12)
    plain = Plain(model, 2)
    states = states_of(plain, inputs, lambda _: None)
    with torch.inference_mode():
        found = plain.upper(*states.padded(range(12)))
        expected = [model.encode(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.int64))[0] for ids in inputs]
    assert torch.allclose(found, torch.stack(expected), atol=5e-3), "the states are in half precision"
    trained = {name.split(".")[0] for name, each in plain.named_parameters() if each.requires_grad}
    assert trained == {"encoder", "project"}
    assert np.allclose(states.means()[3], states.padded([3])[0][0].mean(0), atol=1e-3)


def test_the_projection_starts_where_a_regression_puts_it(model):
    plain = Plain(model, 2)
    states = states_of(plain, turns(200), lambda _: None)
    with torch.inference_mode():
        vectors = plain.upper(*states.padded(range(200)), projected=False).numpy()
    wanted = (vectors @ np.random.default_rng(1).normal(0, 1, (24, 24)) + 3).astype(np.float16)
    assert start_projection(plain, states, range(200), wanted, 1e-3) > 0.99
    with torch.inference_mode():
        assert np.abs(plain.upper(*states.padded(range(200))).numpy() - wanted).mean() < 0.1
