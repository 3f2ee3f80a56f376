"""Who speaks, by the marks of a whole file."""

import pytest

from edos_dataset.sources.subtitles.speakers import name_speakers, one_spelling
from edos_dataset.sources.subtitles.text import parse_subtitles


def lines(cues: list[str]) -> list[tuple[str | None, str]]:
    """Return speaker and text of each line of a file with these cues, one after the other."""
    blocks = [f"{n + 1}\n00:00:{n:02},000 --> 00:00:{n:02},900\n{cue}" for n, cue in enumerate(cues)]
    parsed = name_speakers(parse_subtitles("\n\n".join(blocks).encode()))
    assert len(set(parsed.ids)) == len(parsed.texts)
    return list(zip(parsed.speakers or [None] * len(parsed.texts), parsed.texts, strict=True))


CAST = ["[Anna] You came home.", "[Ben] I know.", "[Anna] So late, Ben.", "[Ben] The train stood still."]


@pytest.mark.parametrize(
    ("cue", "expected"),
    [
        ("[Ben] Hello there.", [("Ben", "Hello there.")]),
        ("(BEN) Hello there.", [("BEN", "Hello there.")]),
        ("(Ben): Hello there.", [("Ben", "Hello there.")]),
        ("<i>[Ben]</i> Hello there.", [("Ben", "<i></i>Hello there.")]),
        ("[Ben, whispering] Hello there.", [("Ben", "Hello there.")]),
        ("[Ben sighs] Hello there.", [("Ben", "Hello there.")]),
        ("[Ben laughing] Hello there.", [("Ben", "Hello there.")]),
        ("[Ben on phone] Hello there.", [("Ben", "Hello there.")]),
        ("(Ben)\nHello there.\nIt is late.", [("Ben", "Hello there."), ("Ben", "It is late.")]),
        ("- [Ben] Hello.\n- [Anna] Hi.", [("Ben", "- Hello."), ("Anna", "- Hi.")]),
        ("- [Ben] Hello.\n- Hi.", [("Ben", "- Hello."), (None, "- Hi.")]),
        ("Okay. [Ben] Hello there.", [(None, "Okay."), ("Ben", "Hello there.")]),
        ("[Anna] Okay. BEN: Hello there.", [("Anna", "Okay."), ("BEN", "Hello there.")]),
        ("ben: Hello there.", [("ben", "Hello there.")]),
        ("2ND MAN: Hello there.", [("2ND MAN", "Hello there.")]),
        ("(speaker 1) Hello there.", [("speaker 1", "Hello there.")]),
        ("[SPEAKER_01]: Hello there.", [("SPEAKER_01", "Hello there.")]),
        ("[Old man] Hello there.", [("Old man", "Hello there.")]),
        ("Anna's mother: Hello there.", [("Anna's mother", "Hello there.")]),
        ("[Cara] Hello there.", [("Cara", "Hello there.")]),
    ],
)
def test_a_name_in_any_mark_is_the_speaker(cue: str, expected: list[tuple[str | None, str]]) -> None:
    assert lines([*CAST, cue])[4:] == expected


@pytest.mark.parametrize(
    "cue",
    [
        "[door slams]",
        "[Door slams] Who is there?",
        "(laughs) I know.",
        "(Laughs) I know.",
        "[Applause] Thank you.",
        "[Sighs]",
        "[All laughing]\nI know.",
        "- [Anna sighs]\n- [All cheering]",
        "[Dog barks] Who is there?",
        "(Softly) I know.",
        "[Speaking Spanish] Hola.",
        "[Spanish] Hola.",
        "[Music playing]\nI know.",
        "Listen: we have to go.",
        "Note: bring an umbrella.",
        "Time: 5:30",
        "It is 5:30 now. Let us go.",
        "There are two kinds of\nchildren: those who eat.",
        "(I never said that.) Come.",
        "She said it. Remember: never look back.",
        "Anna's right: we must go.",
        "http://example.org",
        "[Ben]",
    ],
)
def test_sounds_and_ordinary_colons_name_nobody(cue: str) -> None:
    film = ["Where are you, Anna?", "I am here.", "Listen: it rains.", *["It still rains."] * 6]
    assert lines([*film, cue])[9:] == [(None, line) for line in cue.split("\n")]


def test_applause_that_comes_back_is_no_cast() -> None:
    show = ["[Applause] Thank you.", "[Music] Good evening.", "[Applause] Thanks.", "[Music] Bye."]
    assert {speaker for speaker, _ in lines(show)} == {None}


def test_a_name_by_which_people_call_each_other_is_one_in_brackets() -> None:
    film = ["Come here, Ben!", *["It rains."] * 20, "[Ben] No."]
    assert lines(film)[-1] == ("Ben", "No.")


def test_what_stands_before_most_cues_of_a_meeting_is_a_name_whatever_it_looks_like() -> None:
    names = ["anna.devries", "Ben's iPhone", "Cara (she/her)", "Dan O'Neil | Support", "+49 170 123", "李娜"]
    meeting = [f"{name}: Sentence {number}." for number in (1, 2) for name in names]
    found = lines([*meeting, "Ben's iPhone: Note: it is 5:30.", "Listen: it is late."])
    wanted = [*names[:2], "Cara", *names[3:]]
    assert found[:6] == [(name, "Sentence 1.") for name in wanted]
    assert found[-2:] == [("Ben's iPhone", "Note: it is 5:30."), (None, "Listen: it is late.")]


def test_a_file_of_questions_and_answers() -> None:
    found = lines(["Q: Where were you?", "A: At home.", "Q: Alone?", "A: Yes."])
    assert [speaker for speaker, _ in found] == ["Q", "A", "Q", "A"]


def test_a_numbered_speaker_may_stand_on_a_line_of_its_own() -> None:
    found = lines(["Speaker 1\nWhere were you?", "Speaker 2\nAt home.", "Speaker\nOf the house."])
    assert found == [
        ("Speaker 1", "Where were you?"),
        ("Speaker 2", "At home."),
        (None, "Speaker"),
        (None, "Of the house."),
    ]


def test_voices_of_one_cue_are_lines_of_their_own() -> None:
    parsed = parse_subtitles(
        b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Ann &amp; Bo>Hi</v> <v Cy>Ho\nthere</v>\n", "en"
    )
    assert (parsed.texts, parsed.speakers) == (["Hi", "Ho", "there"], ["Ann & Bo", "Cy", "Cy"])


def test_a_speaker_has_one_spelling_in_a_document() -> None:
    assert one_spelling(["BEN", None, "Ben", "ANNA", "ben "]) == ["Ben", None, "Ben", "ANNA", "Ben"]


def test_files_without_marks_stay_as_they_are() -> None:
    parsed = parse_subtitles(b"1\n00:00:01,000 --> 00:00:02,000\n(laughs) Anna: hi\n")
    assert name_speakers(parsed) is parsed
