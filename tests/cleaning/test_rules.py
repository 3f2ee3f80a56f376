"""Each rule of the papers removes what it should, for its own reason, and ends the dialogue there."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.cleaning.rejects import cut_turns
from edos_dataset.cleaning.rules import CleanTurns
from edos_dataset.runs.pipeline import count_units, split_rejects
from edos_dataset.schema import DIALOGUES

GOOD = ["Where have you been?", "I was at the lake.", "Alone, in this weather?"]


def dialogues(*turns: list[str], genres: list[str] | None = None, language: str = "en") -> pa.Table:
    """Make one dialogue of each list of texts."""
    rows = [
        {
            "dialogue_id": f"d#{row}",
            "document_id": "d",
            "film": "f",
            "language": language,
            "source": {"kind": "opus", "path": "p", "genres": genres},
            "reading": {},
            "turns": [
                {"text": text, "start": place, "end": place + 0.5, "sentence_ids": [place + 1]}
                for place, text in enumerate(texts)
            ],
        }
        for row, texts in enumerate(turns)
    ]
    return pa.Table.from_pylist(rows, schema=DIALOGUES)


def outcome(table: pa.Table) -> tuple[list[str], dict[str, str]]:
    """Return the texts that stay, and the reason of each that leaves."""
    kept, rejected = split_rejects(table)
    stay = [turn["text"] for turns in kept["turns"].to_pylist() for turn in turns]
    leave = {turn["text"]: row["reason"] for row in (rejected.to_pylist() if rejected else []) for turn in row["turns"]}
    return stay, leave


def reason(text: str, **parameters: Any) -> str | None:
    """Return why a turn leaves that stands between good ones."""
    return outcome(CleanTurns(**parameters)(dialogues([*GOOD[:2], text, GOOD[2]])))[1].get(text)


@pytest.mark.parametrize(
    "text", ["You piece of shit!", "What the FUCKING hell?", "Goddamn, you motherfucker.", "Bullshit."]
)
def test_profanity_leaves_only_if_that_is_wanted(text):
    assert reason(text) is None
    assert reason(text, drop_profanity=True) == "profanity"


@pytest.mark.parametrize("text", ["Moby Dickens wrote it.", "The Scunthorpe shipment.", "A dictionary, please."])
def test_words_that_hold_a_vulgar_one_stay(text):
    assert reason(text, drop_profanity=True) is None


def test_the_papers_count_tokens_and_see_opening_dots():
    assert reason("Oh, no, no, Niles.") is None
    assert reason("Oh, no, no, no, Niles, no.", distinct="tokens") == "repetitive"
    assert reason("Well, here, there, too, we go.") is None
    assert reason("Well, here, there, too, we, go, on.", distinct="tokens", min_distinct=0.7) == "repetitive"
    assert reason("... and then we left.", opening_dots=False) == "bad_start"
    assert outcome(CleanTurns()(dialogues([*GOOD, "... and then we left."])))[0][-1] == "and then we left."
    with pytest.raises(ValueError, match="distinct is 'letters'; give 'words' or 'tokens'"):
        CleanTurns(distinct="letters")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Previously on the show...", "previously_on"),
        ("PREVIOUS ON the show", "previously_on"),
        ('"Previously on Lost Souls"', "previously_on"),
        ("I was previously on holiday.", None),
        ("i WAS at the lake!!", "repeats_previous"),
        ("I was at the lake, though.", None),
        ("#$%! you know what", "bad_start"),
        (", and so it went", "bad_start"),
        ("$5 for a coffee?", "bad_start"),
        ("(quietly) Come", "bad_start"),
        ("5 for a coffee?", None),
        ("'Cause I said so.", None),
        ('"Go," he said to me.', None),
        ("“Go,” he said to me.", None),
        ("„Geh“, hat er gesagt.", None),
        ("«Va», disait-il.", None),
        ("‘Go,’ he said to me.", None),
        ("¿Dónde estabas ayer?", None),
        ("¡Qué sorpresa tan grande!", None),
        ("Éljen a szabadság!", None),
        ("Über den Wolken", None),
        ("Что ты делаешь?", None),
        ("A", "too_short"),
        ("Hello", "too_short"),
        ("Hello.", None),
        ("Why?", None),
        (" ".join(f"word{number}" for number in range(101)), "too_long"),
        (" ".join(f"word{'abcdefghij'[number // 10]}{'abcdefghij'[number % 10]}" for number in range(100)), None),
        ("It's 11:53.", "few_letters"),
        ("So...", "few_letters"),
        ("Ääh, öh, über!", None),
        ("No, no, no!", "repetitive"),
        ("No, no.", "repetitive"),
        ("Oh, no, no, Niles.", None),
        ("Good night, good night.", "repetitive"),
        ("Hi. Hi, Ben, it is good to see you.", None),
        ("Nein, nein, NEIN!", "repetitive"),
    ],
)
def test_each_rule_has_its_reason(text: str, expected: str | None) -> None:
    """The first rule in the order of RULES that a turn breaks."""
    assert reason(text) == expected


def test_lengths_may_count_characters_as_in_edos() -> None:
    """EDOS: fewer than 2 or more than 100 characters."""
    assert reason("Hello", unit_of_length="characters") is None
    assert reason("A", unit_of_length="characters") == "too_short"
    assert reason("We were " + "really " * 14 + "there.", unit_of_length="characters", min_distinct=0.1) == "too_long"
    assert reason("We were really there, you know.", max_length=7) == "too_long"
    assert reason("We were really there, you know.", max_length=8) is None
    assert reason("So...", min_letters=0.4) is None
    assert reason("No, no, no!", min_distinct=1 / 3) is None


def test_good_long_turns_are_not_repetitive_for_their_punctuation() -> None:
    """Eleven commas are not a repetition."""
    text = (
        "He came, he saw, I left, you cried, they sang, we ate, it rained, nobody slept, all hoped, some prayed, "
        "few knew, then morning broke."
    )
    assert reason(text) is None


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("  two   spaces\tand\u00a0one ", "two spaces and one"),
        ("...and then it rained.", "and then it rained."),
        ("… and then it rained.", "and then it rained."),
        ("NORA: Over here!", "Over here!"),
        ("Mr. Smith: Over here!", "Over here!"),
        ("Note: it rained.", "Note: it rained."),
        ("It's the cafe\u0301 that I know.", "It's the caf\u00e9 that I know."),
    ],
)
def test_texts_are_tidied(raw: str, text: str) -> None:
    """Spaces, the marks of a sentence that goes on, and names."""
    assert outcome(CleanTurns()(dialogues([raw, *GOOD])))[0] == [text, *GOOD]


def kept_dialogues(table: pa.Table) -> dict[str, list[str]]:
    """Return the texts of each dialogue that stays, by its id."""
    return {row["dialogue_id"]: [turn["text"] for turn in row["turns"]] for row in split_rejects(table)[0].to_pylist()}


def test_what_follows_a_removed_turn_is_a_dialogue_of_its_own() -> None:
    """It is named by its first sentence; before and after, a turn that is left alone leaves."""
    table = dialogues([*GOOD, "...", "Never mind.", "I do mind."], [GOOD[0], "No, no.", "No, no, no!", *GOOD[1:]], GOOD)
    cleaned = CleanTurns()(table)
    assert kept_dialogues(cleaned) == {
        "d#0": GOOD,
        "d#5": ["Never mind.", "I do mind."],
        "d#4": GOOD[1:],
        "d#2": GOOD,
    }
    leave = {"": "bad_start", GOOD[0]: "single_turn", "No, no.": "repetitive", "No, no, no!": "repetitive"}
    assert outcome(cleaned)[1] == leave
    assert count_units(cleaned, "turns") == count_units(table, "turns")


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=8), max_size=5))
def test_only_removed_turns_and_lonely_ones_leave(removed: list[list[bool]]) -> None:
    """What stays are the stretches of two turns and more between those that leave, each whole and in order."""
    texts = [[f"{row} {place}" for place in range(len(each))] for row, each in enumerate(removed)]
    reasons = ["gone" if flag else None for each in removed for flag in each]
    stretches = []
    for row, each in enumerate(removed):
        marks = "".join("x" if flag else str(place) for place, flag in enumerate(each))
        stretches += [[f"{row} {place}" for place in piece] for piece in marks.split("x") if len(piece) > 1]
    kept, _ = split_rejects(cut_turns(dialogues(*texts), reasons))
    assert [[turn["text"] for turn in turns] for turns in kept["turns"].to_pylist()] == stretches


def test_what_follows_a_removed_turn_may_go_too() -> None:
    """Xie & Pu: the context of later turns is broken."""
    clean = CleanTurns(after_removed="drop")
    stay, leave = outcome(clean(dialogues([*GOOD, "...", "Never mind.", "I do mind."])))
    assert stay == GOOD
    assert leave == {"": "bad_start", "Never mind.": "after_removed_turn", "I do mind.": "after_removed_turn"}
    stay, leave = outcome(clean(dialogues(["#1 fan here", *GOOD], GOOD)))
    assert stay == GOOD
    assert leave == {"#1 fan here": "bad_start", **dict.fromkeys(GOOD, "after_removed_turn")}
    stay, leave = outcome(clean(dialogues([GOOD[0], "No, no, no!", GOOD[1]])))
    assert (stay, leave) == ([], {GOOD[0]: "single_turn", "No, no, no!": "repetitive", GOOD[1]: "after_removed_turn"})


def test_a_single_turn_is_no_dialogue() -> None:
    """From the start, or where turns beside it leave."""
    assert outcome(CleanTurns()(dialogues(["I am alone here."]))) == ([], {"I am alone here.": "single_turn"})
    stay, leave = outcome(CleanTurns()(dialogues([GOOD[0], "No, no, no!", GOOD[1]])))
    assert (stay, leave) == ([], {GOOD[0]: "single_turn", "No, no, no!": "repetitive", GOOD[1]: "single_turn"})


def test_a_short_repetition_is_speech_where_it_is_told() -> None:
    """From a number of words on."""
    stay, leave = outcome(CleanTurns(repetitive_from=4)(dialogues([GOOD[0], "No, no, no!", "No, no, no, no."])))
    assert (stay, leave) == ([GOOD[0], "No, no, no!"], {"No, no, no, no.": "repetitive"})


def test_the_first_turn_repeats_nothing() -> None:
    """The dialogue before is another conversation."""
    assert outcome(CleanTurns()(dialogues(GOOD, [GOOD[2], GOOD[0]])))[1] == {}


@pytest.mark.parametrize(
    ("genres", "gone"),
    [(["Drama", "documentary"], True), (["DOCUMENTARY"], True), (["Drama"], False), ([], False), (None, False)],
)
def test_documentaries_leave_whole(genres: list[str] | None, gone: bool) -> None:
    """All turns for this reason, whatever else they break; the rule can be turned off."""
    table = dialogues([*GOOD, "No, no, no!"], genres=genres)
    leave = outcome(CleanTurns()(table))[1]
    assert leave == (dict.fromkeys([*GOOD, "No, no, no!"], "documentary") if gone else {"No, no, no!": "repetitive"})
    assert outcome(CleanTurns(drop_documentaries=False)(table))[1] == {"No, no, no!": "repetitive"}


def test_other_columns_of_a_turn_stay_with_it() -> None:
    """Times and sentence ids are those of the turn."""
    kept, rejected = split_rejects(CleanTurns()(dialogues([*GOOD, "No, no, no!"])))
    unknown = dict.fromkeys(
        ("speaker", "new_speaker", "one_speaker", "same_scene", "certainty", "scene", "manner", "voice")
    )
    turn = {"text": GOOD[2], "start": 2.0, "end": 2.5, "sentence_ids": [3], **unknown}
    assert kept["turns"].to_pylist()[0][2] == turn
    assert rejected is not None
    assert rejected["turns"].to_pylist()[0][0]["sentence_ids"] == [4]
    assert kept.schema.equals(DIALOGUES)


def test_dialogues_are_cut_at_given_turns() -> None:
    """The tail leaves as after_removed_turn, a rest of one turn as single_turn; any reason may be given."""
    table = dialogues(["a", "b", "c", "d"], ["e", "f"], ["g", "h"])
    reasons = [None, None, "too_frequent", None, None, "too_frequent", None, None]
    stay, leave = outcome(cut_turns(table, reasons, after_removed="drop"))
    assert stay == ["a", "b", "g", "h"]
    assert leave == {"c": "too_frequent", "d": "after_removed_turn", "e": "single_turn", "f": "too_frequent"}
    assert outcome(cut_turns(table))[1] == {}
    with pytest.raises(ValueError, match="2 reasons for 8 turns"):
        cut_turns(table, [None, None])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"unit_of_length": "words"}, "'words'"),
        ({"after_removed": "keep"}, "'keep'; give 'split' or 'drop'"),
        ({"min_length": 5, "max_length": 4}, "min_length 5 and max_length 4"),
        ({"min_letters": 60}, "min_letters is 60"),
        ({"min_distinct": -0.1}, "min_distinct is -0.1"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    """The message names the value."""
    with pytest.raises(ValueError, match=message):
        CleanTurns(**parameters)


def test_no_dialogues() -> None:
    """An empty batch passes."""
    assert CleanTurns()(dialogues()).num_rows == 0


TEXTS = [*GOOD, "No, no, no!", "#1", "Hello", "So...", "Previously on", "", "NORA: Yes, I do.", "Jó napot!"]


@given(st.lists(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=7), min_size=1, max_size=6), st.integers(0, 6))
def test_no_turn_is_lost_and_batches_do_not_matter(texts: list[list[str]], cut: int) -> None:
    """Kept and rejected turns are all turns, kept dialogues have two or more; any split of the rows gives the same
    table.
    """
    table = dialogues(*texts)
    whole = CleanTurns()(table)
    assert count_units(whole, "turns") == count_units(table, "turns")
    kept, _ = split_rejects(whole)
    assert all(len(turns) > 1 for turns in kept["turns"].to_pylist())
    parts = pa.concat_tables([CleanTurns()(table.slice(0, cut)), CleanTurns()(table.slice(cut))])
    assert parts.to_pylist() == whole.to_pylist()


@pytest.mark.parametrize(
    ("question", "answer", "stays"),
    [
        ("How many brothers have you got?", "4", True),
        ("When were you born?", "1998.", True),
        ("What does it cost?", "3.50!", True),
        ("Which one, left or right?", "3 4 5 6 7", False),
        ("I have brothers.", "4", False),
        ("Well?", "!!!", False),
    ],
)
def test_a_number_alone_is_an_answer(question, answer, stays):
    table = dialogues([question, answer, GOOD[0]])
    assert (answer in outcome(CleanTurns()(table))[0]) == stays
    assert answer not in outcome(CleanTurns(numbers=False)(table))[0]


def test_a_number_that_begins_a_dialogue_answers_nothing():
    assert outcome(CleanTurns()(dialogues([GOOD[0], "Who is it?"], ["1998.", *GOOD])))[1] == {"1998.": "few_letters"}
