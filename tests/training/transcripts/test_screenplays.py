import os
from pathlib import Path
from textwrap import dedent

import pytest

from edos_dataset.sources.encodings import decode
from training.transcripts.scripts import Speech, read_script

TRANSCRIPT = dedent("""\
    [1.1]The Lighthouse

    The Lighthouse                     Written by Nobody Much
    ==========================================================
    Production Code: 1.1
    Transcript written on: 1st May 2020

    Reviews

    Some Reader: A fine evening: I laughed twice.

    Cast List

    ANN WARD.........................SOMEBODY ELSE

    ACT ONE

    THE LAMP

    Scene One - The lighthouse.
    Ann is at the window: it rains.

        Ann: [to herself] Somebody put
             the lamp out (again) and nobody said
             a word.

    A knock at the door.

        Ann: Come in.
    Barnaby: I was on the stairs when it began to


             rain. [he shakes
             his coat] I want you to cut
             to the end. Listen:
             the end is what counts.
    Ann/Barnaby: Good night!

    FADE OUT

    THE BOAT

    Scene Two - The quay.

        Ann: You came.
    Barnaby: Here I
             am.

    He leaves, as we FADE OUT.

        Ann: Gone.
    Barnaby: [v.o.] Not yet.
    Barnaby:
             Well.
        Ann: Oh.

    END OF ACT ONE

    Credits:

    Barnaby rows.

    Guest Appearances

     Guest Starring
     SOMEBODY as Barnaby

    Legal Stuff: all is invented.
    """)

CHAT = dedent("""\
    The One In The Lighthouse

    [Scene: The lighthouse, Ann is there.]

    Ann: I lost
    my hat!
    (Barnaby enters.)
    Barnaby (on the phone): Which one, the (sneezes) red?
    Ann: Yes.

    Time passes.

    Commercial Break

    DR. WEST: Good morning.
    ANN: Hello, doctor!
    DR. WEST: Have you seen my hat?
    Ann: Not since I came: it was there.
    """)

SCREENPLAY = """\
                        THE LIGHTHOUSE

                          Written by
                         Nobody Much

FADE IN:

INT. LIGHTHOUSE - NIGHT

ANN WARD (40) stands at the window. Rain.

                    ANN
          Somebody put the lamp
          out.
                    (beat)
          Again!

A PHONE RINGS.

                    BARNABY (V.O.)
          It was not me.

                    ANN (CONT'D)
          NO!
                                        12.
CONTINUED:

EXT. QUAY - DAY

                    BARNABY (CONT'D)
          Here I am.
Ann waves.

                    ANN
               (laughing)
          Already?

                                        CUT TO:
                    BARNABY
          Yes.

                         THE END
"""

PLAIN_SCREENPLAY = dedent("""\
    EXT. QUAY - DAY

    ANN
    You came.

    BARNABY (O.S.)
    Here I am.

    Ann turns.

    ANN
    Good.

    INT. BOAT - DAY

    BARNABY
    Sit down.
    """)


@pytest.mark.parametrize(
    ("text", "speeches"),
    [
        pytest.param(
            TRANSCRIPT,
            [
                Speech("Ann", "Somebody put the lamp out and nobody said a word.", 0, 23),
                Speech("Ann", "Come in.", 0, 29),
                Speech(
                    "Barnaby",
                    "I was on the stairs when it began to rain. I want you to cut to the end. Listen: the end is what "
                    "counts.",
                    0,
                    30,
                ),
                Speech("Ann & Barnaby", "Good night!", 0, 37),
                Speech("Ann", "You came.", 1, 45),
                Speech("Barnaby", "Here I am.", 1, 46),
                Speech("Ann", "Gone.", 2, 51),
                Speech("Barnaby", "Not yet.", 2, 52),
                Speech("Barnaby", "Well.", 2, 53),
                Speech("Ann", "Oh.", 2, 55),
            ],
            id="transcript with hanging lines",
        ),
        pytest.param(
            CHAT,
            [
                Speech("Ann", "I lost my hat!", 0, 5),
                Speech("Barnaby", "Which one, the red?", 0, 8),
                Speech("Ann", "Yes.", 0, 9),
                Speech("Dr. West", "Good morning.", 1, 15),
                Speech("Ann", "Hello, doctor!", 1, 16),
                Speech("Dr. West", "Have you seen my hat?", 1, 17),
                Speech("Ann", "Not since I came: it was there.", 1, 18),
            ],
            id="transcript without",
        ),
        pytest.param(
            SCREENPLAY,
            [
                Speech("Ann", "Somebody put the lamp out. Again!", 0, 12),
                Speech("Barnaby", "It was not me.", 0, 20),
                Speech("Ann", "NO!", 0, 23),
                Speech("Barnaby", "Here I am.", 1, 30),
                Speech("Ann", "Already?", 1, 34),
            ],
            id="screenplay",
        ),
        pytest.param(
            PLAIN_SCREENPLAY,
            [
                Speech("Ann", "You came.", 0, 3),
                Speech("Barnaby", "Here I am.", 0, 6),
                Speech("Ann", "Good.", 0, 11),
                Speech("Barnaby", "Sit down.", 1, 16),
            ],
            id="screenplay without indents",
        ),
    ],
)
def test_speeches(text: str, speeches: list[Speech]) -> None:
    assert read_script(text) == speeches
    assert read_script(text.replace("\n", "\r\n")) == speeches


@pytest.mark.parametrize(
    ("written", "speaker"),
    [
        ("ANN", "Ann"),
        ("Ann", "Ann"),
        ("Ann (CONT'D)", "Ann"),
        ("ANN [v.o.]", "Ann"),
        ("ANN and BOB", "Ann & Bob"),
        ("Ann/Bob", "Ann & Bob"),
        ("Ann & Bob", "Ann & Bob"),
        ("McAllister", "McAllister"),
        ("Mrs. O'Hara", "Mrs. O'Hara"),
        ("ANN'S MOTHER", "Ann's Mother"),
        ("Man on the Quay", "Man on the Quay"),
        ("Sailor #2", "Sailor #2"),
        ("Zoë", "Zoë"),
    ],
)
def test_names(written: str, speaker: str) -> None:
    assert read_script(f"{written}: Is it far?\nCarl: Yes.\n{written}: Too far.\nCarl: Yes.")[0] == Speech(
        speaker, "Is it far?", 0, 1
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "It rained all day.\nNobody came, and the lamp was out.",
        "1\n00:00:01,000 --> 00:00:02,000\nHello there.\n",
    ],
)
def test_a_text_without_speeches(text: str) -> None:
    with pytest.raises(ValueError, match=r"no speech found in \d+ lines: expected a transcript"):
        read_script(text)


def test_transcripts_of_a_show() -> None:
    folder = Path(os.environ.get("EDOS_DATA_DIR", "/nowhere")) / "frasier" / "scripts"
    if not folder.is_dir():
        pytest.skip("EDOS_DATA_DIR is not set")
    for path in sorted(folder.glob("*.txt")):
        speeches = read_script(decode(path.read_bytes())[0])
        names = {speech.speaker for speech in speeches}
        assert len(speeches) > 150, path
        assert len(names) < 40, path
        assert 1 <= speeches[-1].scene < 20, path
        assert not any(mark in speech.text for speech in speeches for mark in "[]()"), path
        assert not any(
            mark in speech.text for speech in speeches for mark in ("Legal Stuff", "Airdate", "episode capsule")
        ), path
