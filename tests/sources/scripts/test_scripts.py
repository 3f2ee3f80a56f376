"""Screenplays in every form: who speaks, in which scene, and how; and texts that are none."""

import html

import pytest

from edos_dataset.sources.parsed import Parsed, ReadError
from edos_dataset.sources.scripts import NotAScriptError, may_be_script, read_fdx, read_fountain, read_script
from edos_dataset.sources.scripts.lines import lines_of

ROWS = list[tuple[int, str, str | None, str]]

COLUMNS = """
                              THE KITCHEN

                              Written by
                              Somebody

     FADE IN:

     INT. KITCHEN - NIGHT

     Anna waits at the table, which is laid for two, while the
     clock in the hall strikes nine and the soup gets cold.

                         ANNA
                    (furious)
               Where have you been? I have called
               you three times.

                         BEN (O.S.)
               At the station.

     He comes in. His coat drips on the floor that she has just
     cleaned, and he does not notice.

                         ANNA (CONT'D)
               At the station. With
                                                   (MORE)

                                                            2.

                         ANNA (CONT'D)
               whom?
                    (beat; she looks
                    away)
               Never mind.

                         BEN
               Anna...

                                             CUT TO:

     EXT. STREET - DAY

     Rain on the pavement, and nobody about but a dog.

                         ANNA (V.O.)
               He never told me.

                         BEN
               I never could.
"""
READ: ROWS = [
    (1, "ANNA", "furious", "Where have you been? I have called you three times."),
    (1, "BEN", None, "At the station."),
    (1, "ANNA", None, "At the station. With"),
    (1, "ANNA", None, "whom?"),
    (1, "ANNA", "beat; she looks away", "Never mind."),
    (1, "BEN", None, "Anna..."),
    (2, "ANNA", None, "He never told me."),
    (2, "BEN", None, "I never could."),
]


def rows(parsed: Parsed) -> ROWS:
    assert parsed.scenes is not None and parsed.speakers is not None and parsed.manners is not None
    return list(zip(parsed.scenes, map(str, parsed.speakers), parsed.manners, parsed.texts, strict=True))


def read(text: str) -> ROWS:
    return rows(read_script(text.encode()))


def test_columns_are_those_of_the_document() -> None:
    assert read(COLUMNS) == READ
    assert read_script(COLUMNS.encode()).voices == [None, "off-screen", None, None, None, None, "voice-over", None]
    assert read(COLUMNS.replace("     ", "\t")) == READ
    assert read(COLUMNS.replace("\n", "\r\n")) == READ


def test_a_saved_page_is_read_by_its_preformatted_text() -> None:
    body = html.escape(COLUMNS).replace("INT. KITCHEN - NIGHT", "<b>INT. KITCHEN - NIGHT</b>")
    page = f"<html><head><title>A: b</title><script>x()</script></head><body><pre>{body}</pre></body></html>"
    assert read(page) == READ
    assert read(page.replace("<pre>", "<p>Menu: home</p><pre>")) == READ


def test_flat_text_has_blank_lines_instead_of_columns() -> None:
    flat = "\n".join(line.strip() for line in COLUMNS.split("\n"))
    assert read(flat) == READ


def test_single_blank_lines_mean_nothing_in_double_spaced_text() -> None:
    assert read(COLUMNS.replace("\n", "\n\n")) == READ


def test_speech_may_stand_a_blank_line_below_the_name() -> None:
    lines = COLUMNS.split("\n")
    names = [f"{line}\n" if line.strip().split(" ")[0] in ("ANNA", "BEN") else line for line in lines]
    loose = "\n".join(names).replace("(furious)\n", "(furious)\n\n")
    assert [row[1:] for row in read(loose)] == [row[1:] for row in READ]


DENSE = """
          INT. PLANT - DAY

                         JOEL
          What are you doing down there? Get
          off the line before it starts up.
          Mary shrugs and climbs over the belt, past Step and Rory, who
          have stopped to watch.

                         MARY
          What are YOU doing?
          (pointing at Step)
          What is he doing?
          They all look at Step, who grins and points at the ceiling as
          if something had happened there.

                         JOEL
          No.
          He leaves, and the belt starts with a noise that makes all of
          them jump.

                         MARY
          I only wanted to ask you whether we
          can go home at four today.
          Joel is gone. Step turns the radio on, and they go on sorting
          bottles as if nobody had come.
"""


def test_action_without_a_blank_line_is_told_by_its_width() -> None:
    assert [row[1:] for row in read(DENSE)] == [
        ("JOEL", None, "What are you doing down there? Get off the line before it starts up."),
        ("MARY", None, "What are YOU doing?"),
        ("MARY", "pointing at Step", "What is he doing?"),
        ("JOEL", None, "No."),
        ("MARY", None, "I only wanted to ask you whether we can go home at four today."),
    ]


SIDE_BY_SIDE = (
    COLUMNS
    + """
                    ANNA                          BEN
               I hate you.                   I love you.
               You know it.                  You know that.
"""
)


def test_two_speeches_side_by_side_are_two() -> None:
    assert read(SIDE_BY_SIDE)[-2:] == [
        (2, "ANNA", None, "I hate you. You know it."),
        (2, "BEN", None, "I love you. You know that."),
    ]


@pytest.mark.parametrize(
    ("line", "speaker", "voice", "manner"),
    [
        ("ANNA'S VOICE", "ANNA", "off-screen", None),
        ("ANNA (V.O.) (CONT'D)", "ANNA", "voice-over", None),
        ("ANNA (V/O)", "ANNA", "voice-over", None),
        ("ANNA (V.0.)", "ANNA", "voice-over", None),
        ("ANNA (on the phone)", "ANNA", None, "on the phone"),
        ("ANNA (CONTINUING)", "ANNA", None, None),
        ("McCLANE", "McCLANE", None, None),
        ("SID 6.7", "SID 6.7", None, None),
    ],
)
def test_what_stands_beside_a_name_is_not_part_of_it(
    line: str, speaker: str, voice: str | None, manner: str | None
) -> None:
    parsed = read_script(COLUMNS.replace("ANNA (V.O.)", line).encode())
    place = parsed.texts.index("He never told me.")
    assert parsed.speakers and parsed.voices and parsed.manners
    assert (parsed.speakers[place], parsed.voices[place], parsed.manners[place]) == (speaker, voice, manner)


def test_numbers_are_pages_except_right_below_a_name() -> None:
    assert (1, "BEN", None, "450") in read(COLUMNS.replace("At the station.\n\n", "450\n\n"))
    assert not any("2." in row[3] for row in read(COLUMNS))


def test_capitals_that_a_program_put_in_a_line_of_their_own_are_not_a_name() -> None:
    broken = COLUMNS.replace(
        "(beat; she looks\n                    away)", "(beat; she looks\n\n                         AWAY)"
    )
    assert (1, "ANNA", "beat; she looks AWAY", "Never mind.") in read(broken)


def test_headings_need_no_int_and_transitions_cut_where_there_are_none() -> None:
    bare = COLUMNS.replace("INT. KITCHEN - NIGHT", "ANNA'S KITCHEN--NIGHT").replace("EXT. STREET - DAY", "12 STREET 12")
    assert [row[0] for row in read(bare)][0] < [row[0] for row in read(bare)][-1]


TRANSCRIPT = """[Scene: a kitchen. Anna waits.]

Anna: (angry) Where have you been?
Ben: At the station.
  It was late.

[Cut to the street.]

Anna:  Never mind. (She turns.) Good night.
Ben: Good night!
"""


def test_transcripts_name_the_speaker_before_a_colon() -> None:
    expected: ROWS = [
        (1, "Anna", "angry", "Where have you been?"),
        (1, "Ben", None, "At the station. It was late."),
        (2, "Anna", None, "Never mind."),
        (2, "Anna", "She turns.", "Good night."),
        (2, "Ben", None, "Good night!"),
    ]
    assert read(TRANSCRIPT) == expected
    apart = TRANSCRIPT.replace("Anna:  ", "Anna:\n\n").replace("Ben: ", "Ben:\n")
    assert read(apart) == expected
    assert [row[1:] for row in read(TRANSCRIPT.replace("Anna: ", "ANNA     ").replace("Ben: ", "BEN      "))] == [
        (who.upper(), *rest) for _, who, *rest in expected
    ]


FOUNTAIN = """Title: _A title_
Credit: written by
\tSOMEBODY

INT. HOUSE - DAY #1#

ANNA
(whispering)
[[why?]] Come *here*.
Now. /* cut
this */

!BANG
Not a speech.

.SNIPER SCOPE POV

@McCLANE
Hello\\*.
  
Again.

ANNA ^
~Sing, sing

> FADE OUT.

SMASH CUT TO:

R2D2
(on the radio)
Beep.
"""


def test_fountain() -> None:
    assert rows(read_fountain(FOUNTAIN.encode())) == [
        (1, "ANNA", "whispering", "Come here. Now."),
        (2, "McCLANE", None, "Hello*. Again."),
        (2, "ANNA", None, "Sing, sing"),
        (2, "R2D2", "on the radio", "Beep."),
    ]


FDX = """<?xml version="1.0" encoding="UTF-8" standalone="no" ?>
<FinalDraft DocumentType="Script" Template="No" Version="5"><Content>
<Paragraph Number="1" Type="Scene Heading"><SceneProperties><Summary><Paragraph Type="Dialogue"><Text>No</Text>
</Paragraph></Summary></SceneProperties><Text>INT. HOUSE - DAY</Text></Paragraph>
<Paragraph Type="Character"><Text>AN</Text><Text Style="Bold">NA</Text><Text> (V.O.)</Text></Paragraph>
<Paragraph Type="Parenthetical"><Text>(low)</Text></Paragraph>
<Paragraph Type="Dialogue"><ScriptNote><Paragraph><Text>mine</Text></Paragraph></ScriptNote><Text>Come </Text>
<Text Style="Italic">here</Text><Text>.</Text></Paragraph>
<Paragraph Type="Action"><Text>She goes.</Text></Paragraph>
<Paragraph Type="Dialogue"><Text>Nobody's.</Text></Paragraph>
<Paragraph><DualDialogue>
<Paragraph Type="Character"><Text>ANNA</Text></Paragraph><Paragraph Type="Dialogue"><Text>Yes!</Text></Paragraph>
<Paragraph Type="Character"><Text>BEN</Text></Paragraph><Paragraph Type="Dialogue"><Text>No!</Text></Paragraph>
</DualDialogue></Paragraph>
</Content></FinalDraft>
"""


def test_final_draft() -> None:
    parsed = read_fdx(FDX.encode())
    assert rows(parsed) == [(1, "ANNA", "low", "Come here."), (1, "ANNA", None, "Yes!"), (1, "BEN", None, "No!")]
    assert parsed.kind == "fdx" and parsed.voices == ["voice-over", None, None]
    assert rows(read_script(FDX.encode())) == rows(parsed)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (FDX[:700], "truncated"),
        ("<html><body>no</body></html>", "malformed_xml"),
        (FDX.replace("<FinalDraft", '<!DOCTYPE x [<!ENTITY a "b">]><FinalDraft', 1), "forbidden_xml"),
        (FDX.replace("Content", "Contents"), "not_a_script"),
    ],
)
def test_broken_final_draft_leaves_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(ReadError) as error:
        read_fdx(text.encode())
    assert error.value.reason == ("not_a_script" if "html" in text else reason)


PROSE = "It was late. She had waited for an hour, and nobody came.\n\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        PROSE * 40,
        f"CHAPTER ONE\n\n{PROSE * 9}CHAPTER TWO\n\n{PROSE * 9}",
        "TODO LIST\nBuy milk.\n\nTHE END\nof it.\n",
        "Name: foo\nVersion: 1.\nDepends: bar\n\nName: baz\nVersion: 2.\nDepends: foo\n" * 9,
        "Args:\n    name: the name.\n    value: the value.\n\nReturns:\n    It.\n" * 9,
        "WARRANTY DISCLAIMER\nTHE SOFTWARE IS PROVIDED AS IS, WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED.\n" * 3,
    ],
)
def test_a_text_that_is_no_screenplay_is_refused(text: str) -> None:
    with pytest.raises(NotAScriptError, match=r"not_a_script: (?:no|a) screenplay"):
        read_script(text.encode())


def test_only_sure_screenplays_are_taken_for_such_among_dialogues() -> None:
    assert may_be_script(COLUMNS.encode())
    assert not may_be_script(TRANSCRIPT.replace("Scene", "Place").encode())
    assert not may_be_script(b"Hello.\nHow are you?\n\nFINE\nAnd you?\n")


def test_a_raised_digit_is_no_page_number():
    """It is a digit to Python, but no number."""
    assert [line.text for line in lines_of("The area is x².\n\nJOE\nIt is x².\n")][-1] == "It is x²."
