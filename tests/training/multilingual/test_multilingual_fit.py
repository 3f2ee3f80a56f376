"""Updates, states and the start of the projection of the multilingual student."""

import numpy as np
import pytest
import torch

from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labels import LABELS
from training.multilingual.examples import Example, Lessons, lessons_of, updates_of
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


def lessons(translated, taught):
    rows = len(translated)
    return Lessons(np.zeros((rows, 4), np.float16), taught, *[torch.zeros(rows)] * 3, taught, translated)


def test_every_update_has_as_many_of_each_kind_and_all_are_used_before_one_again():
    translated, taught = np.arange(40) < 20, np.arange(40) >= 8
    settings = MultilingualRecipe(updates=5, batch=10, translated=0.4, unaligned=0.3)
    plan = updates_of(lessons(translated, taught), settings)
    assert [int((translated & taught)[rows].sum()) for rows in plan] == [4] * 5
    assert [int((translated & ~taught)[rows].sum()) for rows in plan] == [3] * 5
    flat = np.concatenate(plan)
    assert len(set(flat[~translated[flat]].tolist())) == 15
    assert len(set(flat[~taught[flat]].tolist())) == 8, "fewer than there are places: each comes again"
    alone = updates_of(lessons(np.zeros(7, bool), np.ones(7, bool)), MultilingualRecipe(updates=3, batch=5))
    assert [len(rows) for rows in alone] == [5] * 3, "no translations at all"
    only = updates_of(lessons(np.ones(7, bool), np.ones(7, bool)), MultilingualRecipe(updates=3, batch=5))
    assert [len(rows) for rows in only] == [5] * 3, "nothing else"


def test_an_original_that_is_not_certain_teaches_labels_only():
    joy, english = frozenset({"joy"}), "How nice!"
    made = lessons_of(
        [
            Example("de", "Wie schön!", english, joy),
            Example("de", "Ach!", "", joy),
            Example("en", english, english, joy),
        ],
        lambda texts: np.array([[len(text), 1] for text in texts], np.float32),
    )
    assert made.vectors.tolist() == [[9, 1], [0, 0], [9, 1]]
    assert made.taught.tolist() == [True, False, True] and made.labelled.all()


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
