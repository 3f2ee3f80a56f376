"""Vectors of dialogues: the weights, and what is kept on disk."""

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.augmentation.embeddings import VectorStore, decaying_means, unit
from edos_dataset.augmentation.pool import Embedding
from edos_dataset.schema import ENCODED

DIALOGUES = [["Where is my dog?"], ["I lost it.", "Oh no!", "I am so sad."]]


class CountingEncoder:
    """Gives a text its length and its first two letters' codes, and counts the texts that it was asked for."""

    def __init__(self, identity="counting@1"):
        self.identity, self.asked = identity, 0

    def encode(self, texts):
        self.asked += len(texts)
        return np.array([[len(text), ord(text[0]), ord(text[1])] for text in texts], np.float32).reshape(-1, 3)


@pytest.mark.parametrize("length", [1, 3, 63, 64, 65, 500])
def test_each_turn_weighs_half_as_much_as_the_next(length):
    weights = decaying_means(np.eye(length, dtype=np.float32), np.array([0, length]))[0]
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_array_equal(
        weights[1:], 2 * weights[:-1] if length < 127 else weights[1:]
    )  # smaller ones are no longer normal numbers of float32
    assert weights[-1] == pytest.approx(0.5 / (1 - 0.5**length)), "the newest turn is the heaviest"


def test_weights_of_the_paper():
    weights = decaying_means(np.eye(3, dtype=np.float32), np.array([0, 3]))[0]
    np.testing.assert_allclose(weights, np.array([1, 2, 4]) / 7, rtol=1e-6)


@pytest.mark.parametrize("decay", [0.5, 0.9, 1.0])
def test_ragged_dialogues_are_those_of_a_plain_loop(decay):
    generator = np.random.default_rng(0)
    lengths = [1, 64, 2, 500, 7, 1]
    offsets = np.cumsum([0, *lengths])
    embeddings = generator.normal(size=(offsets[-1], 5)).astype(np.float32)
    expected = [
        np.average(
            embeddings[start:stop].astype(np.float64),
            axis=0,
            weights=[decay**age for age in reversed(range(stop - start))],
        )
        for start, stop in zip(offsets[:-1], offsets[1:], strict=True)
    ]
    found = decaying_means(embeddings, offsets, decay)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert decaying_means(embeddings[:0], np.array([0])).shape == (0, 5)


@pytest.mark.parametrize(
    ("offsets", "decay", "message"),
    [
        ([0, 2, 2, 3], 0.5, "dialogue 1 has no turns"),
        ([0, 2], 0.5, "number of turns, 3"),
        ([0, 3], 0, "decay must be"),
        ([0, 3], 1.5, "decay must be"),
    ],
)
def test_what_has_no_mean_is_named(offsets, decay, message):
    with pytest.raises(ValueError, match=message):
        decaying_means(np.ones((3, 2), np.float32), np.array(offsets), decay)


def test_length_one_and_zeros():
    np.testing.assert_allclose(unit(np.array([[3, 4], [0, 0], [-1e-10, 0]])), [[0.6, 0.8], [0, 0], [-1, 0]], rtol=1e-6)


def test_vectors_are_kept_as_float16_and_mapped(tmp_path):
    encoder = CountingEncoder()
    vectors = VectorStore(tmp_path, encoder).dialogues(DIALOGUES)
    assert isinstance(vectors, np.memmap) and vectors.dtype == np.float16 and vectors.shape == (2, 3)
    turns = encoder.encode([turn for turns in DIALOGUES for turn in turns])
    np.testing.assert_allclose(
        vectors, unit(np.stack([turns[0], (turns[1] + 2 * turns[2] + 4 * turns[3]) / 7])), atol=1e-3
    )
    np.testing.assert_array_equal(
        VectorStore(tmp_path, encoder).turns([turn for turns in DIALOGUES for turn in turns]), turns.astype(np.float16)
    )
    assert not list(tmp_path.glob(".*")), "no temporary file is left"


def test_the_same_content_and_encoder_are_not_embedded_again(tmp_path):
    first, again = CountingEncoder(), CountingEncoder()
    vectors = VectorStore(tmp_path, first).dialogues(DIALOGUES)
    np.testing.assert_array_equal(VectorStore(tmp_path, again).dialogues(DIALOGUES), vectors)
    assert (first.asked, again.asked) == (4, 0)
    VectorStore(tmp_path, again).dialogues([DIALOGUES[0] + DIALOGUES[1]])
    assert again.asked == 0, "the same turns as one dialogue: another vector, of the embeddings that are there"


@pytest.mark.parametrize(
    ("identity", "dialogues"),
    [("counting@2", DIALOGUES), ("counting@1", [["Where is my dog!"], DIALOGUES[1]]), ("counting@1", DIALOGUES[::-1])],
    ids=["another encoder", "another text", "another order"],
)
def test_a_foreign_shard_is_not_taken(tmp_path, identity, dialogues):
    VectorStore(tmp_path, CountingEncoder()).dialogues(DIALOGUES)
    encoder = CountingEncoder(identity)
    VectorStore(tmp_path, encoder).dialogues(dialogues)
    assert encoder.asked == 4


@pytest.mark.parametrize("damage", ["a bit", "cut off", "record gone", "record of another"])
def test_a_damaged_shard_is_made_again(tmp_path, damage):
    store = VectorStore(tmp_path, CountingEncoder())
    vectors = np.array(store.dialogues(DIALOGUES))
    (path,) = tmp_path.glob("dialogues-*.npy")
    whole = path.read_bytes()
    if damage == "a bit":
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif damage == "cut off":
        path.write_bytes(whole[:-2])
    elif damage == "record gone":
        path.with_suffix(".json").unlink()
    else:
        (other,) = tmp_path.glob("turns-*.npy")
        path.write_bytes(other.read_bytes())
        path.with_suffix(".json").write_bytes(other.with_suffix(".json").read_bytes())
    np.testing.assert_array_equal(VectorStore(tmp_path, CountingEncoder()).dialogues(DIALOGUES), vectors)
    assert path.read_bytes() == whole


def test_two_processes_may_fill_one_folder(tmp_path):
    pieces = [[[f"Text {number} of piece {piece}"] for number in range(3)] for piece in range(4)]
    for rank in range(2):
        for piece in pieces[rank::2]:
            VectorStore(tmp_path, CountingEncoder()).dialogues(piece)
    encoder = CountingEncoder()
    assert [len(VectorStore(tmp_path, encoder).dialogues(piece)) for piece in pieces] == [3] * 4 and encoder.asked == 0


def test_no_dialogues_have_no_vectors(tmp_path):
    assert VectorStore(tmp_path, CountingEncoder()).dialogues([]).shape == (0, 3)


@pytest.mark.parametrize(("embedded_by", "asked"), [("counting@1", 0), ("counting@2", 4), (None, 4)])
def test_embeddings_of_a_run_are_taken_where_they_are_of_this_encoder(tmp_path, embedded_by, asked):
    encoder = CountingEncoder()
    shards = [encoder.encode(turns).astype("<f2").tobytes() for turns in DIALOGUES]
    rows = [
        {
            "dialogue_id": str(row),
            "turns": [{"text": text, "start": None, "end": None, "sentence_ids": [1]} for text in turns],
            "embeddings": shard,
            "embedded_by": embedded_by,
        }
        for row, (turns, shard) in enumerate(zip(DIALOGUES, shards, strict=True))
    ]
    table = pa.Table.from_pylist(rows, schema=ENCODED)
    fresh = CountingEncoder()
    vectors = Embedding(VectorStore(tmp_path, fresh), None, False).piece(table).vectors
    assert fresh.asked == asked
    np.testing.assert_array_equal(vectors, VectorStore(tmp_path / "plain", CountingEncoder()).dialogues(DIALOGUES))
    nulls = table.set_column(
        table.column_names.index("embeddings"), ENCODED.field("embeddings"), pa.nulls(2, pa.large_binary())
    )
    fresh = CountingEncoder()
    Embedding(VectorStore(tmp_path / "nulls", fresh), None, False).piece(nulls)
    assert fresh.asked == 4
