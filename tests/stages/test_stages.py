"""Steps of a user: filters and maps over dialogues and turns, what they may return, and how faults are reported."""

import dataclasses
import functools
import pickle
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset import stages
from edos_dataset.labels import LABEL_IDS
from edos_dataset.runs.pipeline import check_order, split_rejects
from edos_dataset.runs.run import run_stage
from edos_dataset.schema.tables import DIALOGUES, KEYED_TURN, LABELLED, LABELLED_TURN, TURN

TALKS = [["Is it late?", "Not yet.", "Good."], ["Come in.", "No!"], ["One.", "Two three four.", "Five.", "Six."]]


def dialogues(talks=TALKS, turn=TURN, schema=DIALOGUES, **more):
    """Return a table of dialogues of some texts; `more` are other columns."""
    number = iter(range(1, 1000))
    blank = {field.name: None for field in turn}
    turns = [[blank | {"text": text, "sentence_ids": [next(number)]} for text in talk] for talk in talks]
    columns = {
        "dialogue_id": [f"film#{row}" for row in range(len(talks))],
        "document_id": ["film"] * len(talks),
        "language": ["en"] * len(talks),
        "turns": pa.array(turns, pa.list_(turn)),
        **more,
    }
    return pa.table({field.name: columns.get(field.name, pa.nulls(len(talks), field.type)) for field in schema}).cast(
        pa.schema([field if field.name != "turns" else pa.field("turns", pa.list_(turn)) for field in schema])
    )


def texts(table):
    return [[turn["text"] for turn in turns] for turns in table["turns"].to_pylist()]


def run(step, table):
    """Return the kept texts, the rejected counts, and the kept table; `run_stage` checks that no unit is lost."""
    kept, _, count = run_stage(step, step, table)
    return texts(kept), count.rejected, kept


class NoQuestions(stages.DialogueFilter):
    def keep(self, dialogue):
        return not dialogue.turns[0].text.endswith("?") or "opens_with_question"


class Few(stages.DialogueFilter):
    """Keep short dialogues.

    Args:
        most: turns of a dialogue.
    """

    most: int = 3

    def keep(self, dialogue):
        return len(dialogue) <= self.most


class ShortTurns(stages.TurnFilter):
    most: int = 8

    def keep(self, turn, dialogue):
        assert dialogue.turns[turn.place] == turn
        return len(turn.text) <= self.most or ("first_too_long" if turn.place == 0 else False)


class DropRest(ShortTurns):
    after_removed = "drop"


class Louder(stages.TurnMap):
    def map(self, turn, dialogue):
        return turn.text.upper()


class Joined(stages.DialogueMap):
    """Join the first two turns where more than two are left."""

    def map(self, dialogue):
        first, second, *rest = dialogue.turns
        if not rest[1:]:
            return dialogue
        both = first.replace(
            text=f"{first.text} {second.text}", end=second.end, sentence_ids=[*first.sentence_ids, *second.sentence_ids]
        )
        return dialogue.replace([both, *rest])


class FewAtOnce(stages.BatchDialogueFilter):
    def keep(self, batch):
        return np.bincount(batch.rows, minlength=len(batch)) <= 3


class NoQuestionsAtOnce(stages.BatchDialogueFilter):
    def keep(self, batch):
        return [not each.turns[0].text.endswith("?") or "opens_with_question" for each in batch]


class ShortTurnsAtOnce(stages.BatchTurnFilter):
    def keep(self, batch):
        return [len(text) <= 8 or "long" for text in batch.texts]


class LouderAtOnce(stages.BatchTurnMap):
    def map(self, batch):
        return pa.array([text.upper() for text in batch.texts])


class JoinedAtOnce(stages.BatchDialogueMap):
    def map(self, batch):
        return list(map(Joined().map, batch))


@pytest.mark.parametrize("step", [NoQuestions(), NoQuestionsAtOnce()])
def test_a_filter_of_dialogues_counts_its_reasons(step):
    assert run(step, dialogues())[:2] == (TALKS[1:], {"opens_with_question": 1})


def test_false_is_a_reason_named_as_the_step():
    assert run(Few(), dialogues())[:2] == (TALKS[:2], {"few": 1})
    assert run(Few(most=2), dialogues())[:2] == (TALKS[1:2], {"few": 2})
    assert run(FewAtOnce(), dialogues())[:2] == (TALKS[:2], {"few_at_once": 1})


def test_a_rejected_turn_ends_its_dialogue():
    kept, rejected, table = run(ShortTurns(), dialogues())
    assert kept == [["Not yet.", "Good."], ["Come in.", "No!"], ["Five.", "Six."]]
    assert rejected == {"first_too_long": 1, "short_turns": 1, "single_turn": 1}
    assert table["dialogue_id"].to_pylist() == ["film#2", "film#1", "film#8"]
    assert table.schema == dialogues().schema


def test_what_follows_a_rejected_turn_may_be_dropped():
    assert run(DropRest(), dialogues())[:2] == (
        [["Come in.", "No!"]],
        {"after_removed_turn": 4, "first_too_long": 1, "drop_rest": 1, "single_turn": 1},
    )


def test_a_batch_of_turns():
    assert run(ShortTurnsAtOnce(), dialogues())[1] == {"long": 2, "single_turn": 1}


def test_dialogues_of_one_paragraph_of_a_book_get_ids_of_their_own():
    talk = ["a", "b", "much too long", "c", "d"]
    table = dialogues([talk, talk])
    turns = [[turn | {"sentence_ids": [7]} for turn in row] for row in table["turns"].to_pylist()]
    table = table.set_column(table.column_names.index("turns"), "turns", pa.array(turns, pa.list_(TURN)))
    assert run(ShortTurns(), table)[2]["dialogue_id"].to_pylist() == ["film#0", "film#7", "film#1", "film#7+1"]


def test_scores_of_a_dialogue_that_was_cut_are_not_known():
    table = dialogues(certainty=pa.array([0.9, 0.8, 0.7], pa.float32()))
    assert run(ShortTurns(), table)[2]["certainty"].to_pylist() == [None, pytest.approx(0.8), None]


@pytest.mark.parametrize("step", [Louder(), LouderAtOnce()])
def test_a_map_of_turns(step):
    kept, rejected, table = run(step, dialogues())
    assert kept == [[text.upper() for text in talk] for talk in TALKS] and rejected == {}
    assert table.schema == dialogues().schema


def test_a_changed_text_has_no_key_and_no_embedding():
    table = dialogues([["A.", "b."], ["A.", "B."]], KEYED_TURN)
    table = table.append_column("embeddings", pa.array([b"1", b"2"], pa.large_binary()))
    changed = run(Louder(), table)[2]
    assert changed.schema.field("turns").type == pa.list_(TURN)
    assert changed["embeddings"].to_pylist() == [None, b"2"]


@pytest.mark.parametrize("step", [Joined(), JoinedAtOnce()])
def test_a_map_of_dialogues(step):
    table = dialogues(certainty=pa.array([0.9, 0.8, 0.7], pa.float32()))
    kept, rejected, changed = run(step, table)
    assert kept == [*TALKS[:2], ["One. Two three four.", *TALKS[2][2:]]] and rejected == {}
    assert changed["turns"].to_pylist()[2][0]["sentence_ids"] == [6, 7]
    assert changed["certainty"].to_pylist()[1:] == [pytest.approx(0.8), None]
    assert changed.schema == table.schema


def test_what_a_step_sees():
    facts = {"label": LABEL_IDS["sad"], "confidence": 0.5, "start": 1.0, "text": "Oh.", "sentence_ids": [4]}
    turns = pa.array([[dict.fromkeys(LABELLED_TURN.names) | facts] * 2], pa.list_(LABELLED_TURN))
    source = pa.array([{"kind": "subtitle", "year": 1999, "genres": ["Drama"]}], LABELLED.field("source").type)
    columns = {"turns": turns, "source": source, "film": ["f"], "emotionality": pa.array([0.25], pa.float32())}
    [dialogue] = stages.Batch(dialogues([["Oh.", "Oh."]], LABELLED_TURN, LABELLED, **columns))
    assert dialogue.turns[1] == stages.Turn("Oh.", 1, 1.0, label="sad", confidence=0.5, sentence_ids=[4])
    assert (dialogue.film, dialogue.book, dialogue.language, dialogue.emotionality) == ("f", None, "en", 0.25)
    assert dialogue.source["year"] == 1999 and dialogue.source["genres"] == ["Drama"]
    assert dialogue.text == "Oh.\nOh." and len(dialogue) == 2


@pytest.mark.parametrize("kind", [NoQuestions, ShortTurns, Louder, Joined, FewAtOnce, ShortTurnsAtOnce, LouderAtOnce])
def test_nothing_comes_of_nothing(kind):
    assert run(kind(), dialogues([]))[:2] == ([], {})


def returning(base, value):
    """Return a step whose method returns a value."""
    method = "keep" if "Filter" in base.__name__ else "map"
    return type("Odd", (base,), {method: lambda self, *_: value})()


@pytest.mark.parametrize(
    ("base", "value", "message"),
    [
        (stages.DialogueFilter, 3, "'odd' returned 3 at dialogue 'film#0': return True, False or a reason"),
        (stages.DialogueFilter, None, "returned None at dialogue 'film#0'"),
        (stages.DialogueFilter, "Too loud!", "returned 'Too loud!' at .* lower-case words joined by _"),
        (stages.TurnFilter, [], r"returned \[\] at dialogue 'film#0'"),
        (stages.BatchDialogueFilter, [True], "returned 1 item for 3 dialogues at a batch of 3 dialogues, 'film#0' to"),
        (stages.BatchTurnFilter, [True] * 3, "returned 3 items for 9 turns .* return one for each turn"),
        (stages.BatchTurnFilter, [True] * 8 + [2], "returned 2 at dialogue 'film#2'"),
        (stages.BatchTurnFilter, True, "returned True: return a list, one item for each turn"),
        (stages.BatchDialogueFilter, "yes", "returned 'yes': return a list"),
        (stages.TurnMap, " ", "returned ' ' at dialogue 'film#0': return a text that is not empty; a TurnFilter"),
        (stages.TurnMap, 1, "returned 1 at dialogue 'film#0': return a text"),
        (stages.BatchTurnMap, ["a"] * 8 + [None], "returned None at dialogue 'film#2'"),
        (stages.DialogueMap, "x", r"returned 'x' at dialogue 'film#0': return dialogue.replace\(turns=...\)"),
        (stages.BatchDialogueMap, [None] * 3, "returned None at dialogue 'film#0'"),
    ],
)
def test_a_wrong_value_is_reported_with_the_step_and_the_dialogue(base, value, message):
    step = returning(base, value)
    with pytest.raises(stages.StepError, match=message):
        step(dialogues())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: it.replace(it.turns[:1]), "left 1 turn at dialogue 'film#0': a dialogue has two or more"),
        (lambda it: dataclasses.replace(it, language="de"), "changed more than the turns at dialogue 'film#0'"),
        (
            lambda it: it.replace([it.turns[0].replace(label="sad")] * 2),
            "changed 'label' of a turn .* only text",
        ),
        (lambda it: it.replace([stages.Turn("new", 9), *it.turns]), "make turns from those of the dialogue"),
        (lambda it: it.replace(["new", *it.turns]), "returned the turn 'new'"),
        (lambda it: it.replace([it.turns[0].replace(text=""), *it.turns]), "returned '' at dialogue"),
    ],
)
def test_a_map_of_dialogues_may_change_turns_alone(change, message):
    step = type("Odd", (stages.DialogueMap,), {"map": lambda self, dialogue: change(dialogue)})()
    with pytest.raises(stages.StepError, match=message):
        step(dialogues())


class Fails(stages.TurnFilter):
    def keep(self, turn, dialogue):
        return turn.confidence > 0.5 if dialogue.dialogue_id == "film#1" else True


class FailsAtOnce(stages.BatchTurnMap):
    def map(self, batch):
        return batch.words


def test_an_exception_is_reported_with_the_step_the_dialogue_and_the_line():
    message = r"step 'fails' failed at dialogue 'film#1': TypeError: '>' not supported .* \(test_stages.py, line \d+\)"
    with pytest.raises(stages.StepError, match=message) as caught:
        Fails()(dialogues())
    assert isinstance(caught.value.__cause__, TypeError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(stages.StepError, match="failed at a batch of 3 dialogues, .*: AttributeError"):
        FailsAtOnce()(dialogues())


def test_a_class_needs_no_decorator_but_may_have_one():
    assert Few() == Few(3) != Few(most=4)
    assert dataclass(frozen=True)(Few)(5).most == 5
    assert repr(Few(2)) == "Few(most=2)" and hash(Few()) == hash(Few(3))
    assert pickle.loads(pickle.dumps(Few(2))) == Few(2)
    assert (Few.name, Few.unit, ShortTurnsAtOnce.name) == ("few", "dialogues", "short_turns_at_once")


def test_a_step_never_changes_but_may_compute_once():
    class Slow(stages.DialogueFilter):
        name = "slowly"

        @functools.cached_property
        def words(self):
            return {"No!"}

        def keep(self, dialogue):
            return not self.words & {turn.text for turn in dialogue}

    step = Slow()
    assert run(step, dialogues())[:2] == ([TALKS[0], TALKS[2]], {"slowly": 1})
    with pytest.raises(dataclasses.FrozenInstanceError, match="use functools.cached_property"):
        step.words_too = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        del step.words


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"__init__": lambda self: None}, "Odd: declare parameters as annotated attributes with defaults"),
        ({"__annotations__": {"name": str}, "name": "odd"}, "'name' cannot be a parameter"),
        ({"__annotations__": {"check": bool}, "check": True}, "'check' cannot be a parameter"),
        ({"name": "Odd one"}, "the name 'Odd one' cannot be that of a step"),
    ],
)
def test_a_class_that_cannot_be_a_step(members, message):
    with pytest.raises(TypeError, match=message):
        type("Odd", (stages.DialogueFilter,), {"keep": lambda self, dialogue: True, **members})


@pytest.mark.parametrize("name", [name for name in stages.__all__ if name.endswith(("Filter", "Map"))])
def test_the_method_that_a_step_lacks_is_named(name):
    with pytest.raises(TypeError, match="keep" if name.endswith("Filter") else "map"):
        type("Odd", (getattr(stages, name),), {})()


def test_a_step_may_ask_for_labels_and_says_what_it_ends():
    class Sure(stages.DialogueFilter):
        needs = ("turns.label",)

        def keep(self, dialogue):
            return all(turn.confidence > 0.5 for turn in dialogue)

    from edos_dataset.recipes import recipe

    assert Sure.needs == ("dialogue_id", "turns", "turns.label")
    pipeline = recipe()
    pipeline.insert_after("weak_label", Sure()).check()
    with pytest.raises(ValueError, match="'sure', needs 'turns.label', .* put 'weak_label' before it|'annotate'"):
        pipeline.insert_after("clean", Sure()).check()
    with pytest.raises(ValueError, match="'select', needs 'emotionality', which 'short_turns' ends: put 'short_turns'"):
        pipeline.insert_after("weak_label", ShortTurns()).check()
    with pytest.raises(ValueError, match="'cap', needs 'turns.key', which 'louder' ends: put .* before 'keys'"):
        pipeline.insert_after("keys", Louder()).check()
    check_order(pipeline.insert_after("clean", ShortTurns(), Louder(), Joined(), Few()))


def test_a_parameter_that_no_recipe_could_hold():
    class Odd(stages.DialogueFilter):
        words: frozenset = frozenset({"a"})

        def keep(self, dialogue):
            return True

    with pytest.raises(ValueError, match="stage 'odd': a parameter is no plain data"):
        Odd().fingerprint()


def test_rejects_keep_their_columns():
    _, rejected = split_rejects(NoQuestions()(dialogues()))
    assert texts(rejected) == TALKS[:1] and rejected["reason"].to_pylist() == ["opens_with_question"]
