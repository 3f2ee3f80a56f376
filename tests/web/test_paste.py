"""What is read from pasted text, and what requests the pages take."""

import asyncio

import pytest

from edos_dataset.web.pasted import lines_of
from edos_dataset.web.spaces import (
    MAX_CHARACTERS,
    MAX_REQUEST,
    MAX_TURNS,
    NoUploads,
    Turn,
    read_line,
    read_paste,
    whole_number,
)

DIALOGUE = "A: They let me go today.\n\nB: Oh no, I'm so sorry to hear that.\nA: Thank you."


@pytest.mark.parametrize(
    ("line", "turn"),
    [
        ("I lost my job.", Turn("I lost my job.")),
        ("A: I lost my job.", Turn("I lost my job.", "A")),
        ("b2 :  What?", Turn("What?", "b2")),
        ("Speaker 1: Hello", Turn("Hello", "Speaker 1")),
        ("MRS. HILL: Come in.", Turn("Come in.", "MRS. HILL")),
        ("[ANNA]: Come in.", Turn("Come in.", "ANNA")),
        ("  – Hello\tthere ", Turn("Hello there")),
        ("- A: - Hello", Turn("Hello", "A")),
        ("Listen: it rings.", Turn("Listen: it rings.")),
        (r"C:\temp is full", Turn(r"C:\temp is full")),
        ("We meet at 5:30.", Turn("We meet at 5:30.")),
        ("\ufeffI\u200b know\x00.", Turn("I know.")),
        ("A:", Turn("", "A")),
        ("---", Turn("")),
    ],
)
def test_a_line_gives_its_turn_and_its_speaker(line, turn):
    assert read_line(line) == turn


def test_blank_lines_are_no_turns_and_the_limits_are_inclusive():
    assert [turn.text for turn in read_paste(DIALOGUE).turns] == [
        "They let me go today.",
        "Oh no, I'm so sorry to hear that.",
        "Thank you.",
    ]
    longest = "\r\n\r\n".join(["A: " + "x" * MAX_CHARACTERS] * MAX_TURNS)
    assert len(read_paste(longest).turns) == MAX_TURNS


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("- Did you hear that? - Hear what? – No", ["- Did you hear that?", "- Hear what? – No"]),
        ("– I was – you know – sad. – Oh.", ["– I was – you know – sad.", "– Oh."]),
        ("well-known. - no dash first", ["well-known. - no dash first"]),
        (
            "WEBVTT\n\n00:01.000 --> 00:02.000\nIt is late,\n\n"
            "00:03.000 --> 00:04.000\nand <i>cold</i>.\n- Is it? - Yes.",
            ["It is late, and cold.", "- Is it?", "- Yes."],
        ),
        (
            "1\n00:00:01,000 --> 00:00:02,000\nBEN: Come in.\nSit down.\n\n"
            "2\n00:00:03,000 --> 00:00:04,000\nANNA: Thank you.",
            ["BEN: Come in. Sit down.", "ANNA: Thank you."],
        ),
    ],
)
def test_subtitles_and_dialogues_in_one_line_are_read_as_what_they_are(text, lines):
    assert lines_of(text) == lines


def test_what_is_too_long_is_cut_where_that_is_wanted():
    cut = read_paste("hi there\n" * 60, most=52, cut=True)
    assert len(cut.turns) == 52 and "first 52 of 60 turns" in cut.warnings[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nothing to read yet"),
        (" \n- \nA:\n", "nothing to read yet"),
        ("hi\n" * 51, "has 51 turns, and at most 50"),
        ("hi\n" + "x" * 1001, "Turn 2 has 1,001 characters, and at most 1,000"),
        ("x" * 1_000_000, "1,000,000 characters"),
        ("12 34\n...", "no letters"),
        ("oh \ud83d", "Character 4 is half of a character"),
        (None, "must be one text, a turn a line; this was a NoneType"),
    ],
)
def test_bad_input_is_explained_in_a_sentence(text, said):
    with pytest.raises(ValueError, match=said) as error:
        read_paste(text)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("I lost my job.\nOh no, what happened to you?", []),
        ("Hm.", []),
        ("Das ist nicht gut, ich habe es dir gesagt und du hast nicht gehört.", ["rather like “de”"]),
        ("Привет, как дела?\nOK", ["not Latin"]),
        ("Well...\n...\n?!", ["No letters in turns 2, 3"]),
    ],
)
def test_what_can_be_labelled_but_not_trusted_is_warned_about(text, warnings):
    given = read_paste(text).warnings
    assert len(given) == len(warnings)
    assert all(part in warning for part, warning in zip(warnings, given, strict=True))


def asgi(path, pieces):
    """Return the status and the body that `NoUploads` answers, and what its application got."""
    got, sent, waiting = [], [], list(pieces)

    async def inner(scope, receive, send):
        got.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"fine"})

    async def receive():
        piece = waiting.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(waiting)}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    asyncio.run(NoUploads(inner)(scope, receive, send))
    return sent[0]["status"], got


@pytest.mark.parametrize("path", ["/gradio_api/upload", "/upload/", "/x/gradio_api/upload_progress"])
def test_the_pages_take_no_files(path):
    pytest.importorskip("starlette")
    assert asgi(path, [b"file"]) == (404, [])


def test_requests_to_the_pages_are_bounded():
    pytest.importorskip("starlette")
    assert asgi("/gradio_api/call/label", [b"abc", b"def"]) == (200, [b"abcdef"])
    assert asgi("/gradio_api/call/label", [b"x" * MAX_REQUEST, b"y"]) == (413, [])


@pytest.mark.parametrize("value", ["3", None, [1], True, 2.5, float("nan"), float("inf"), 0, 10**400])
def test_a_number_of_a_request_is_one(value):
    with pytest.raises(ValueError, match="n must be a whole number from 1 to 5"):
        whole_number(value, "n", 1, 5)
    assert whole_number(3.0, "n", 1, 5) == 3
