"""The network learns what is to be learned, the same from the same; numpy carries out what torch learned."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch

from edos_dataset.segmentation.turns.evidence import UNKNOWN, read
from edos_dataset.segmentation.turns.net import BINS, CASES, EVIDENCE, PLACES, SPECIAL, NetScorer, read_inputs
from edos_dataset.segmentation.turns.tokens import NAME, OTHER_CASE
from edos_dataset.text import hash64
from labelled_films import flat, labelled
from training.train_turn_segmenter import enciphered
from training.turns import boundaries as passes
from training.turns import net_fit as training

SMALL = training.NetSettings(
    wide=True,
    product=True,
    piece=50,
    embedding=8,
    filters=12,
    evidence=4,
    hidden=16,
    unknown_words=0.05,
    epochs=30,
    sentences=120,
    rate=1e-2,
)
FEW = replace(SMALL, epochs=2)

pytestmark = pytest.mark.usefixtures("one_thread")


def films(count, corpus="mill"):
    return [(corpus, f"d{number}", f"f{number}") for number in range(count)]


def everything(table):
    return np.ones(len(flat(table, "same_turn")), bool)


def with_labels(table, values):
    lists = pa.ListArray.from_arrays(table["same_turn"].combine_chunks().offsets, pa.array(values, pa.int8()))
    return table.set_column(table.schema.get_field_index("same_turn"), "same_turn", lists)


def odd_documents():
    """Return documents of all lengths, with sentences of no and of many words, blocks of two,
    times that are not known.
    """
    rows = labelled(films(8), sentences=9).to_pylist()
    for number, row in enumerate(rows):
        row["sentences"] = row["sentences"][: number + 1]
    for line, text in zip(
        rows[5]["sentences"],
        ["", "Oh.", "", "", "Rivers and boats and stones, and Anna: and all the rest of it?", "But..."],
        strict=True,
    ):
        line |= {"text": text, "first_block": 0, "last_block": 0, "dash": True}
    for line in rows[7]["sentences"]:
        line |= {"start": None, "end": None, "first_block": None, "last_block": None}
    return pa.Table.from_pylist(rows, schema=labelled(films(1)).schema)


def random_network(table):
    vocabulary = training._vocabulary(read(table, "en"), replace(SMALL, least=2))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net = training.Net(len(vocabulary), SMALL).eval()
        with torch.no_grad():
            for values in net.parameters():
                values *= 2  # so that scores differ
    return net, vocabulary


def torch_scores(net, inputs):
    with torch.no_grad():
        return torch.sigmoid(net(inputs)).numpy()


def test_numpy_scores_as_torch_does():
    table = odd_documents()
    net, vocabulary = random_network(table)
    scorer, inputs = training.export(net, vocabulary), list(read_inputs(read(table, "en"), vocabulary))
    numpy = scorer.same_turn(table)
    boundaries = ~np.isnan(numpy)
    assert boundaries.sum() == sum(range(8))
    assert np.ptp(numpy[boundaries]) > 0.1
    full = torch_scores(net, inputs)[boundaries]
    assert 0 < np.abs(numpy[boundaries] - full).max() < 1e-2, "weights are rounded"
    with torch.no_grad():
        steps_of = {"filter": 3, "edge": 1, "first": 5, "product": 1, "second": 3, "third": 3, "out": 1}
        for name, steps in steps_of.items():
            weight, layer = torch.from_numpy(scorer.weights[f"{name}.weight"].astype(np.float32)), getattr(net, name)
            layer.weight.copy_(torch.cat(weight.chunk(steps, dim=1)).T)
            if layer.bias is not None:
                layer.bias.copy_(torch.from_numpy(scorer.weights[f"{name}.bias"]))
        net.words.weight.copy_(torch.from_numpy(scorer.weights["words"] * scorer.weights["words_scale"]))
        net.cases.weight.copy_(torch.from_numpy(scorer.weights["cases"]))
        net.evidence.weight.copy_(torch.from_numpy(scorer.weights["evidence"]))
    np.testing.assert_allclose(numpy[boundaries], torch_scores(net, inputs)[boundaries], atol=1e-5)


def test_rounding_is_to_8_and_16_bits():
    net, vocabulary = random_network(odd_documents())
    weights = training.export(net, vocabulary).weights
    words = net.words.weight.detach().numpy()
    assert (weights["words"].dtype, weights["evidence"].dtype, weights["first.weight"].dtype) == (
        np.int8,
        np.float16,
        np.float16,
    )
    assert np.abs(weights["words"]).max(axis=0).tolist() == [127] * SMALL.embedding
    assert (np.abs(weights["words"] * weights["words_scale"] - words) <= weights["words_scale"] / 2 * 1.001).all()
    assert not weights["words"][0].any()


def test_learns_a_rule_from_few_documents():
    table, unseen = labelled(films(24)), labelled(films(12), seed=1)
    scorer = training.fit_net(table, everything(table), SMALL)
    labels, scores = flat(unseen, "same_turn"), scorer.same_turn(unseen)
    known = labels >= 0
    assert ((scores >= 0.5) == (labels == 1))[known].mean() > 0.99
    assert scores[labels == 1].mean() > 0.9 > 0.1 > scores[labels == 0].mean()


def test_the_same_data_give_the_same_scorer_and_nobody_elses_dice_are_touched():
    table = labelled(films(6))
    torch.manual_seed(1)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002 - to see that nobody uses it
    first = training.fit_net(table, everything(table), FEW)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    torch.manual_seed(2)
    assert training.fit_net(table, everything(table), FEW).identity == first.identity
    assert training.fit_net(table, everything(table), replace(FEW, seed=1)).identity != first.identity


def test_seams_that_are_not_chosen_or_not_labelled_teach_nothing():
    table = labelled(films(6))
    labels = flat(table, "same_turn").copy()
    chosen = np.random.default_rng(0).random(len(labels)) < 0.7
    spoilt = with_labels(table, np.where(chosen, labels, 1 - np.abs(labels)))
    unknown = with_labels(table, np.where(chosen, labels, -1))
    identities = {
        training.fit_net(spoilt, chosen, FEW).identity,
        training.fit_net(unknown, everything(table), FEW).identity,
    }
    assert identities == {training.fit_net(table, chosen, FEW).identity}
    assert training.fit_net(table, everything(table), FEW).identity not in identities


@pytest.mark.parametrize("label", [-1, 0, 1])
def test_one_class_is_too_few(label):
    table = labelled(films(3))
    with pytest.raises(ValueError, match="the turn continues and some where a new one begins"):
        training.fit_net(table, flat(table, "same_turn") == label, FEW)


def test_vocabulary_is_of_frequent_words_that_are_no_names():
    texts = ["Then Anna came.", "Then Anna left.", "Rain then."]
    rows = labelled(films(1), sentences=3).to_pylist()
    for line, text in zip(rows[0]["sentences"], texts, strict=True):
        line["text"] = text
    reading = read(pa.Table.from_pylist(rows, schema=labelled(films(1)).schema), "en")
    found = training._vocabulary(reading, replace(SMALL, least=2))
    assert {hash64("then"), hash64(".")} < set(found.tolist())
    assert hash64("anna") not in found and len(found) == 3, "the third stands for all names"
    assert (np.diff(found) > 0).all()


def test_a_scorer_of_marks_reads_no_words(tmp_path):
    table = labelled(films(6))
    learned = training.fit_net(table, everything(table), replace(FEW, marks_only=True, least=1))
    assert learned.languages is None and len(learned.vocabulary) < 10 and hash64(".") in learned.vocabulary
    table = odd_documents()
    scores = learned.same_turn(table)
    assert np.array_equal(learned.same_turn(enciphered(table)), scores, equal_nan=True)
    assert np.nanstd(scores) > 0
    learned.save(tmp_path)
    assert NetScorer.load(tmp_path).languages is None and NetScorer.load(tmp_path).identity == learned.identity


def test_a_script_without_capitals_has_no_names():
    table = odd_documents()
    vocabulary = training._vocabulary(read(table, "en"), replace(SMALL, least=1, marks_only=True))
    name = int(np.searchsorted(vocabulary, NAME)) + SPECIAL
    for document in read_inputs(read(table, "en"), vocabulary):
        bare = training._without_capitals(document, name)
        assert not (bare.words == name).any() and np.array_equal(bare.words == 0, document.words == 0)
        assert {int(case) for case in bare.cases} <= {0, 1 + OTHER_CASE, 1 + CASES + OTHER_CASE}
        assert np.array_equal(bare.cases > CASES, document.cases > CASES), "where sentences begin is still seen"


def test_hidden_words_are_unknown_ones():
    table = odd_documents()
    net, vocabulary = random_network(table)
    inputs = list(read_inputs(read(table, "en"), vocabulary))
    unknown = [replace(document, words=np.minimum(document.words, 1)) for document in inputs]
    with torch.no_grad():
        assert torch.equal(net(inputs, 1.0, torch.Generator()), net(unknown))
        assert not torch.equal(net(inputs), net(unknown))


def test_hidden_evidence_is_unknown():
    (inputs,) = read_inputs(read(labelled(films(1), sentences=9), "en"), np.zeros(0, np.uint64))
    groups = np.array([name.split(".")[0] for name in EVIDENCE])
    unknown = PLACES[UNKNOWN] + BINS * np.arange(len(EVIDENCE))
    rng, kinds = np.random.default_rng(0), set()
    for _ in range(30):
        found = passes.hide(inputs.evidence, 1.0, rng)
        hidden = (found == unknown).all(axis=0)
        assert (found[:, ~hidden] == inputs.evidence[:, ~hidden]).all()
        kinds.add(frozenset(groups[hidden]))
    assert kinds == {frozenset({"block"}), frozenset({"timing", "density"})}
    assert not (inputs.evidence[:, groups != "dash"] == unknown[groups != "dash"]).all(axis=0).any(), (
        "what was given is as it was"
    )
    assert sum(passes.hide(inputs.evidence, 0.1, rng) is not inputs.evidence for _ in range(1000)) == pytest.approx(
        100, abs=40
    )


FORMS = [
    *films(4, "mill"),
    *films(3, "mill_dashes"),
    *films(1, "mill_plain"),
    *films(20, "harbour"),
]


def test_a_document_in_several_forms_is_one():
    forms = passes.forms_of(labelled(FORMS, sentences=2))
    assert forms == {"mill": [[0, 4, 7], [1, 5], [2, 6], [3]], "harbour": [[row] for row in range(8, 28)]}


def test_a_pass_takes_one_form_of_each_document_and_a_share_of_a_corpus():
    forms = passes.forms_of(labelled(FORMS, sentences=2))
    rng = np.random.default_rng(0)
    drawn = [passes.draw_pass(forms, {"harbour": 0.25}, rng) for _ in range(60)]
    for rows in drawn:
        mill = [row for row in rows if row < 8]
        assert sorted(number for row in mill for number, same in enumerate(forms["mill"]) if row in same) == [
            0,
            1,
            2,
            3,
        ]
        assert len(rows) == len(set(rows)) == 4 + 5
    assert {row for rows in drawn for row in rows} == set(range(28)), "in time every form has its turn"
    assert drawn[0] != sorted(drawn[0])


def test_batches_hold_all_pieces():
    examples = [training.Example(None, np.full(size, size), None) for size in (5, 30, 12, 1, 9, 40)]
    batches = list(training._batches(examples, 25))
    assert [int(example.target[0]) for batch in batches for example in batch] == [5, 30, 12, 1, 9, 40]
    assert all(sum(len(example.target) for example in batch[1:]) < 25 for batch in batches)


def test_what_is_exported_is_what_is_saved(tmp_path):
    """The exported weights are transposed views in memory, which a file does not know of."""
    table = odd_documents()
    net, vocabulary = random_network(table)
    scorer = training.export(net, vocabulary)
    scorer.save(tmp_path)
    again = NetScorer.load(tmp_path)
    np.testing.assert_array_equal(again.same_turn(table), scorer.same_turn(table))
    assert again.identity == scorer.identity


def test_pieces_of_a_document_are_all_of_it():
    """Nothing is lost or doubled, and each piece ends with the empty word at which the next one begins."""
    (inputs,) = read_inputs(read(labelled(films(1)), "en"), np.zeros(0, np.uint64))
    count = len(inputs.evidence)
    numbers = np.arange(count, dtype=np.float32)
    pieces = list(training.Example(inputs, numbers, -numbers, True).pieces(7))
    assert [len(piece.target) for piece in pieces] == [7] * (count // 7) + [count % 7] * (count % 7 > 0)
    assert np.concatenate([piece.target for piece in pieces]).tolist() == numbers.tolist()
    assert np.concatenate([piece.inputs.evidence for piece in pieces]).tolist() == inputs.evidence.tolist()
    words = [piece.inputs.words[:-1] for piece in pieces] + [pieces[-1].inputs.words[-1:]]
    assert np.concatenate(words).tolist() == inputs.words.tolist()
    assert all(piece.laid_out and not piece.inputs.words[piece.inputs.starts].any() for piece in pieces)
