"""The pool: which turns may get a label, with what history and vector."""

import json

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.augmentation.embeddings import CuratedEmbeddings, VectorStore, decaying_means, means_in_context, unit
from edos_dataset.augmentation.pool import PIECE_TURNS, Embedding, Pool, read_pool
from edos_dataset.releases.dialogues import read_sources
from edos_dataset.runs.engines import engine_of
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.shards import ShardRecord, write_record, write_shard

DIALOGUES = {"a": ["one", "two", "three", "four"], "none": [], "b": ["five"], "c": ["six", "seven"]}


class LetterEncoder:
    """Gives a text the counts of some letters."""

    identity = "letters@1"

    def encode(self, texts):
        return np.array([[text.count(letter) + 0.1 for letter in "eotvn"] for text in texts], np.float32).reshape(-1, 5)


@pytest.fixture
def store(tmp_path):
    return VectorStore(tmp_path / "vectors", LetterEncoder())


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "pool.jsonl"
    path.write_text(
        "".join(json.dumps({"dialogue_id": name, "turns": turns}) + "\n" for name, turns in DIALOGUES.items())
    )
    return path


def pool_of(sources, store, turns=PIECE_TURNS, **options):
    return read_pool(read_sources(sources, None, turns), Embedding(store, **options), LocalEngine())


def test_every_turn_with_at_most_so_much_history(source, store):
    pool = pool_of([source], store, history=2)
    candidates = pool.candidates
    assert list(candidates.ids) == ["a@1", "a@2", "a@3", "a@4", "b@1", "c@1", "c@2"]
    assert (
        candidates.turns[0] == ["one"]
        and candidates.turns[3] == ["two", "three", "four"]
        and candidates.turns[4] == ["five"]
        and candidates.turns[-1] == ["six", "seven"]
    )
    assert candidates.turns[2:4] == [["one", "two", "three"], ["two", "three", "four"]]
    for row, turns in enumerate(candidates.turns):
        expected = unit(decaying_means(LetterEncoder().encode(turns).astype(np.float16), np.array([0, len(turns)])))[0]
        np.testing.assert_allclose(candidates.vectors[0][row], expected, atol=1e-3)
    with pytest.raises(IndexError):
        candidates.ids[7]


def test_last_turns_alone(source, store):
    candidates = pool_of([source], store, history=None, every_turn=False).candidates
    assert (
        list(candidates.ids) == ["a@4", "b@1", "c@2"]
        and candidates.turns[0] == DIALOGUES["a"]
        and len(candidates.vectors[0]) == 3
    )


def test_pieces_change_nothing(source, store):
    whole = pool_of([source, source], store)
    parts = pool_of([source, source], store, turns=2)
    assert (
        len(parts.pieces) == 4
        and list(parts.candidates.ids) == list(whole.candidates.ids)
        and list(parts.candidates.turns) == list(whole.candidates.turns)
    )
    np.testing.assert_array_equal(np.concatenate(parts.candidates.vectors), np.concatenate(whole.candidates.vectors))


def test_identity_is_of_texts_candidates_and_history(source, store, tmp_path):
    def identity(**options):
        return pool_of([source], store, **options).identity

    first = identity()
    assert first == identity() != identity(history=1) and first != identity(every_turn=False)
    source.write_text(source.read_text().replace("seven", "eight"))
    assert identity() != first


def test_what_cannot_be_read_is_named(source, store, tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        pool_of([tmp_path / "nothing"], store)
    source.write_text('{"dialogue_id": "a", "turns": []}\n')
    assert pool_of([source], store) == Pool([], 4)
    with pytest.raises(ValueError, match="history must be 0 or more"):
        pool_of([source], store, history=-1)


@pytest.mark.parametrize("history", [0, 1, 3, None])
def test_means_in_context_are_those_of_the_dialogues_that_end_there(history):
    generator = np.random.default_rng(0)
    offsets = np.cumsum([0, 1, 7, 2, 70])
    embeddings = generator.normal(size=(offsets[-1], 4)).astype(np.float32)
    found = means_in_context(embeddings, offsets, history)
    for start, stop in zip(offsets[:-1], offsets[1:], strict=True):
        for turn in range(start, stop):
            first = start if history is None else max(start, turn - history)
            expected = decaying_means(embeddings[first : turn + 1], np.array([0, turn + 1 - first]))[0]
            np.testing.assert_allclose(found[turn], expected, atol=1e-6)
    assert means_in_context(embeddings[:0], np.array([0])).shape == (0, 4)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "datasets"])
def test_workers_leave_the_vectors_of_one_process(source, tmp_path, engine):
    stores = [VectorStore(tmp_path / name, LetterEncoder()) for name in ("one", "two")]
    one = pool_of([source, source], stores[0], turns=2)
    with engine_of(engine, 2) as crew:
        two = read_pool(read_sources([source, source], None, 2), Embedding(stores[1]), crew)
    assert two.identity == one.identity
    files = [{path.name: path.read_bytes() for path in store.folder.rglob("*.npy")} for store in stores]
    assert files[0] == files[1] and len(files[0]) >= 4
    assert not (tmp_path / "two" / "pool").exists()


def test_embeddings_of_a_curated_folder_are_taken_from_its_run(tmp_path, monkeypatch):
    """As long as they are of the encoder and of the same words; where one of a piece is missing, all are made."""
    texts = [["one", "two"], ["three"], ["four", "five"]]
    turns = [[{"text": text} for text in said] for said in texts]
    vectors = [LetterEncoder().encode(said).astype("<f2").tobytes() for said in texts]
    columns = {"dialogue_id": ["a", "b", "c"], "turns": turns, "embeddings": vectors}
    for identity, run in (("letters@1", "ours"), ("other@1", "other")):
        shard = tmp_path / run / ".run" / "08-label" / "0.parquet"
        table = pa.table({**columns, "embedded_by": [identity] * 3})
        write_record(shard, ShardRecord("key", write_shard(shard, table), shard.stat().st_size, 3, []))
    asked = []
    encode = LetterEncoder.encode
    monkeypatch.setattr(LetterEncoder, "encode", lambda self, said: asked.append(said) or encode(self, said))

    def pool(folder, ids, said, **options):
        asked.clear()
        table = pa.table({"dialogue_id": ids, "turns": [[{"text": text} for text in each] for each in said]})
        known = CuratedEmbeddings.find([tmp_path / folder, tmp_path / "nowhere"], "letters@1")
        store = VectorStore(tmp_path / f"{folder} {len(list(tmp_path.iterdir()))}", LetterEncoder())
        pool = read_pool(known.added([table]), Embedding(store, **options), LocalEngine())
        return [np.array(piece.vectors) for piece in pool.pieces], list(asked)

    back = ["c", "a"], [texts[2], texts[0]]
    for options in ({}, {"every_turn": False, "history": 0}):
        made, texts_read = pool("other", *back, **options)
        taken, none = pool("ours", *back, **options)
        assert texts_read and not none
        np.testing.assert_array_equal(made[0], taken[0])
    assert pool("ours", ["c", "a"], [["four", "FIVE"], texts[0]])[1] == [["four", "FIVE", "one", "two"]]
    assert pool("ours", ["c", "d"], [texts[2], ["six"]])[1] == [["four", "five", "six"]]
