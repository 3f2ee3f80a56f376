"""Corpus steps: the decision depends on the dialogues alone, not on their order, their shards or the passes."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edos_dataset.cleaning import duplicates
from edos_dataset.cleaning.duplicates import CapUtterances, DropDuplicates, KeyTurns
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.partitions import decide_in_parts
from edos_dataset.runs.pipeline import REMOVALS, split_rejects
from edos_dataset.runs.run import run_stage
from edos_dataset.runs.shards import read_shard, write_shard
from edos_dataset.schema import DIALOGUES, TURN
from edos_dataset.text import normalise

# Two spellings of the same utterance each, and enough repetitions to reach the limits below.
TURNS = st.sampled_from(["Yes.", "yes", "No!", "No", "Really?", "Go away.", "I see you."])
CORPUS = st.lists(st.lists(TURNS, min_size=2, max_size=5), max_size=25)
SMALL = 1_500  # bytes of memory: a few keys a pass


def table_of(dialogues):
    """Build DIALOGUES out of (id, texts) pairs."""
    turns = [
        [
            {"text": text, "start": None, "end": None, "sentence_ids": [place]}
            for place, text in enumerate(texts, start=1)
        ]
        for _, texts in dialogues
    ]
    ids = [dialogue_id for dialogue_id, _ in dialogues]
    columns = {"dialogue_id": ids, "document_id": ids, "turns": pa.array(turns, pa.list_(TURN))}
    return KeyTurns()(
        pa.table(
            [columns.get(field.name, pa.nulls(len(dialogues), field.type)) for field in DIALOGUES], schema=DIALOGUES
        )
    )


def numbered(corpus):
    return [(f"film{number % 3}#{number}", texts) for number, texts in enumerate(corpus)]


def decide(step, shards):
    """Return the tables of removals over shards, each a list of (id, texts)."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.parquet" for number in range(len(shards))]
        for path, dialogues in zip(paths, shards, strict=True):
            write_shard(path, table_of(dialogues))
        return list(step.decide(paths))


def removed(step, shards):
    """Return what leaves as a set of (dialogue id, turn or None)."""
    tables = decide(step, shards)
    assert len(tables) == len(shards)
    assert all(table.schema == REMOVALS for table in tables)
    rows = [
        (dialogues[row["row"]][0], row["turn"])
        for dialogues, table in zip(shards, tables, strict=True)
        for row in table.to_pylist()
    ]
    assert len(rows) == len(set(rows))
    return set(rows)


def result(step, shards):
    """Carry the step out: return the dialogues that stay, as (id, texts)."""
    stay = []
    for dialogues, removals in zip(shards, decide(step, shards), strict=True):
        kept, _, _ = run_stage(step, lambda table, removals=removals: step.apply(table, removals), table_of(dialogues))
        stay += [(row["dialogue_id"], [turn["text"] for turn in row["turns"]]) for row in kept.to_pylist()]
    return stay


def utterances(dialogues):
    return Counter(normalise(text) for _, texts in dialogues for text in texts)


@given(CORPUS, st.integers(1, 4))
def test_cap_leaves_exactly_the_limit(corpus, limit):
    dialogues = numbered(corpus)
    said = {(dialogue_id, turn): normalise(text) for dialogue_id, texts in dialogues for turn, text in enumerate(texts)}
    surplus = removed(CapUtterances(limit), [dialogues])
    left = Counter(said[place] for place in said.keys() - surplus)
    assert left == {text: min(count, limit) for text, count in utterances(dialogues).items()}


@settings(max_examples=20)
@given(
    CORPUS, st.integers(1, 4), st.randoms(use_true_random=False), st.integers(1, 6), st.sampled_from([SMALL, 1 << 30])
)
@pytest.mark.parametrize("kind", [CapUtterances, DropDuplicates])
def test_order_shards_and_passes_do_not_matter(kind, corpus, limit, random, shards, memory):
    parameters = {"limit": limit} if kind is CapUtterances else {"share": None}
    dialogues = numbered(corpus)
    expected = removed(kind(**parameters), [dialogues])
    shuffled = random.sample(dialogues, len(dialogues))
    assert removed(kind(**parameters, memory=memory), [shuffled[start::shards] for start in range(shards)]) == expected


def test_small_memory_takes_several_partitions(tmp_path):
    path = tmp_path / "0.parquet"
    write_shard(path, table_of(numbered([["Yes.", "No."]] * 10)))
    for memory, parts in ((1 << 30, 1), (5 * CapUtterances.bytes_a_unit, 4)):
        work = tmp_path / str(memory)
        decide_in_parts(CapUtterances(3, memory=memory), [path], [work / "removals.parquet"], work, LocalEngine())
        assert len(list(work.glob("surplus-*"))) == parts
        assert len(read_shard(work / "removals.parquet")) == 2 * (10 - 3)


def test_processes_share_the_work(tmp_path):
    dialogues = numbered([[f"Yes {number % 5}.", "No."] for number in range(40)])
    paths = [tmp_path / f"{start}.parquet" for start in range(4)]
    for start, path in enumerate(paths):
        write_shard(path, table_of(dialogues[start::4]))
    with LocalEngine(2) as two:
        for step in (CapUtterances(3, memory=20 * CapUtterances.bytes_a_unit), DropDuplicates(share=None)):
            decisions = []
            for name, engine in (("one", LocalEngine()), ("two", two)):
                work = tmp_path / f"{step.name}-{name}"
                removals = [work / path.name for path in paths]
                decide_in_parts(step, paths, removals, work, engine)
                decisions.append([path.read_bytes() for path in removals])
            assert decisions[0] == decisions[1]
            assert any(len(read_shard(path)) for path in removals)


@settings(max_examples=20)
@given(CORPUS)
def test_of_equal_dialogues_the_first_by_id_stays(corpus):
    dialogues = numbered(corpus)
    groups = {}
    for dialogue_id, texts in dialogues:
        groups.setdefault(tuple(map(normalise, texts)), []).append(dialogue_id)
    expected = {(dialogue_id, None) for ids in groups.values() for dialogue_id in sorted(ids)[1:]}
    assert removed(DropDuplicates(share=None), [dialogues[::2], dialogues[1::2]]) == expected


@pytest.mark.slow
@settings(max_examples=30)
@given(CORPUS, st.integers(1, 4))
def test_both_hold_on_the_result(corpus, limit):
    dialogues = numbered(corpus)
    capped = result(CapUtterances(limit), [dialogues[:7], dialogues[7:]])
    stay = result(DropDuplicates(share=None), [capped[:3], capped[3:]])
    assert all(count <= limit for count in utterances(stay).values())
    texts = [tuple(map(normalise, texts)) for _, texts in stay]
    assert len(texts) == len(set(texts))
    assert all(len(dialogue) > 1 for dialogue in texts)


@pytest.mark.parametrize(
    ("dialogues", "expected"),
    [
        ([("b", ["Yes", "No"]), ("a", ["yes!", "no."])], {("b", None)}),
        ([("a", ["Yes", "No"]), ("b", ["Yes No", "Yes"])], set()),  # the same words, other turns
        ([("a", ["Yes", "No", "Yes"]), ("b", ["Yes", "No"])], set()),
        ([("a10", ["Yes", "No"]), ("a2", ["Yes", "No"]), ("a1", ["Yes", "No"])], {("a10", None), ("a2", None)}),
        ([], set()),
    ],
)
def test_duplicates(dialogues, expected):
    assert removed(DropDuplicates(share=None), [dialogues]) == expected


def test_equal_hashes_are_not_equal_texts(monkeypatch):
    monkeypatch.setattr(duplicates, "_dialogue_keys", lambda table: np.full(table.num_rows, 7, np.uint64))
    assert removed(
        DropDuplicates(share=None), [[("a", ["Yes", "No"]), ("b", ["Go", "No"])], [("c", ["yes", "no"])]]
    ) == {("c", None)}


def test_a_removed_turn_ends_its_dialogue():
    """What follows leaves too, or is a dialogue of its own."""
    table = table_of([("a", ["One one", "Two two", "Three three", "Four four"]), ("b", ["One one", "Two two"])])
    removals = pa.table({"row": [0, 1], "turn": [2, 1], "reason": ["too_frequent"] * 2}, REMOVALS)
    kept, rejected = split_rejects(CapUtterances(after_removed="drop").apply(table, removals))
    assert [(row["dialogue_id"], len(row["turns"])) for row in kept.to_pylist()] == [("a", 2)]
    left = {(row["dialogue_id"], row["reason"], row["turns"][0]["text"]) for row in rejected.to_pylist()}
    assert left == {
        ("a", "too_frequent", "Three three"),
        ("a", "after_removed_turn", "Four four"),
        ("b", "too_frequent", "Two two"),
        ("b", "single_turn", "One one"),
    }
    assert CapUtterances().apply(table, REMOVALS.empty_table())["reason"].null_count == 2


def test_no_shards():
    assert list(CapUtterances().decide([])) == list(DropDuplicates(share=None).decide([])) == []


def test_empty_shards_between_others():
    same = ["Yes", "No"]
    assert removed(DropDuplicates(share=None), [[], [("b", same)], [], [("a", same)], []]) == {("b", None)}
    assert len(removed(CapUtterances(1), [[], [("b", same)], [], [("a", same)], []])) == 2


def test_the_choice_is_the_same_on_every_machine():
    dialogues = [(f"1994/111161/1#{number}", ["Yes", f"Word {number}"]) for number in range(1, 9)]
    stay = {dialogue_id for dialogue_id, _ in dialogues} - {
        dialogue_id for dialogue_id, _ in removed(CapUtterances(3), [dialogues])
    }
    assert stay == {"1994/111161/1#2", "1994/111161/1#4", "1994/111161/1#5"}


LONG = [
    "Where have you been all this time, my dear?",
    "At the bank, and then I had to wait for the bus.",
    "You might have called me from there.",
    "I lost my telephone on the way, so how should I?",
]
JOINED = [f"{LONG[0]} {LONG[1]}", LONG[2], LONG[3]]
FIRST_HALF, OTHERS = LONG[:2], ["Nobody told me that you would sell the old house.", "Well, now you know about it."]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (LONG, JOINED, True),  # other boundaries between turns
        (LONG, [text.upper() for text in LONG], True),
        (LONG, [*LONG[:3], "I lost my telephone on the way, so how could I?"], True),  # one word
        (LONG, FIRST_HALF, True),
        (LONG, [LONG[3], *OTHERS], False),  # less than half of the shorter one
        (LONG, [*OTHERS, "At the bank, I had to wait."], False),
        (["Yes", "No"], ["Yes no"], True),
        (["Yes", "No"], ["Yes", "No", "Yes"], False),
        (["Where are you?", "I am here."], ["Where are you?", "I am here now."], False),  # too short to tell
        (OTHERS, LONG, False),
    ],
)
def test_dialogues_that_say_nearly_the_same(one, other, same):
    gone = removed(
        DropDuplicates(),
        [[("a", one)], [("b", ["Pass me the salt, will you?", "It is on the table behind the jar."])], [("c", other)]],
    )
    assert len(gone) == same and gone <= {("a", None), ("c", None)}


def test_of_nearly_equal_dialogues_the_longer_one_stays():
    longer = [*LONG, "You should have asked the man at the bank, or the man at the bus."]
    for names in ("ab", "ba"):
        assert removed(DropDuplicates(), [[(names[0], longer), (names[1], LONG)]]) == {(names[1], None)}


@settings(max_examples=20)
@given(CORPUS, st.randoms(use_true_random=False), st.integers(1, 6), st.sampled_from([200_000, 1 << 30]))
def test_near_duplicates_do_not_depend_on_order_shards_and_partitions(corpus, random, shards, memory):
    dialogues = numbered([*corpus, LONG, JOINED, FIRST_HALF])
    expected = removed(DropDuplicates(), [dialogues])
    assert len(expected) >= 2
    shuffled = random.sample(dialogues, len(dialogues))
    assert removed(DropDuplicates(memory=memory), [shuffled[start::shards] for start in range(shards)]) == expected


@settings(max_examples=20)
@given(CORPUS)
def test_of_dialogues_with_the_same_words_one_stays(corpus):
    """At least of those with the same words in the same order; their short runs may be the same otherwise, too."""
    stay = result(DropDuplicates(), [numbered(corpus)])
    texts = [" ".join(map(normalise, texts)) for _, texts in stay]
    assert len(texts) == len(set(texts)) and bool(stay) == bool(corpus)
    assert len({" ".join(map(normalise, texts)) for texts in corpus}) >= len(stay)
