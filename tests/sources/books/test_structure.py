"""Who speaks in a play, in the ways that plays are printed."""

import pytest

from edos_dataset.sources.books.book import HEADING, PARAGRAPH, SPEECH
from edos_dataset.sources.books.plain import read_text
from edos_dataset.sources.books.structure import find_cues

LINES = (
    ("ANNA", "Who counts the ships tonight?"),
    ("KEEPER", "I count them, as every night, and there is one too many."),
    ("ANNA", "Then count again."),
    ("OLD SAILOR", "No man counts twice what the sea sends once."),
) * 6
FORMS = {
    "beside": "{name}. {said}",
    "beside, with a colon": "{name}: {said}",
    "above": "{name}\n{said}",
    "above, with a colon": "  {name}:\n  {said}",
    "above, with a stop and a blank line": "{name}.\n\n{said}",
    "italics": "_{title}_. {said}",
    "italics with the stop": "_{title}._ {said}",
    "italics and a direction": "_{title}_ [_aside_]. {said}",
    "a direction in brackets": "{name} (going). {said}",
    "a direction above": "     {name}\n     [_counts_]\n{said}",
    "names in small letters": "{title}: {said}",
}


def play(form):
    return "\n\n".join(
        FORMS[form].format(name=name, title=name.title(), said=said)
        for name, said in LINES[: -1 if "small" in form else None] * 2
    )


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    text = f"ACT I\n\nSCENE I\n\n{play(form)}\n\n\nACT II\n\n{play(form)}\n"
    blocks = read_text(text.encode(), "play.txt", "en").blocks
    speeches = [block for block in blocks if block.kind == SPEECH]
    known = [(name, said) for name, said in LINES[: -1 if "small" in form else None] * 4]
    assert [(block.speaker.upper(), block.text) for block in speeches] == known
    assert not [block for block in blocks if block.kind not in (SPEECH, HEADING)]
    assert max(block.chapter for block in speeches) > min(block.chapter for block in speeches)


def test_a_speech_in_verse_goes_on_over_its_stanzas():
    verse = "The wind was up, the moon was low,\nThe keeper could not sleep,\nHe heard the horses come and go"
    text = f"ACT I\n\n{play('beside')}\n\nANNA. Listen:\n\n{verse}\n\n{verse}\n\n[_They go._]\n\nKEEPER. Good night.\n"
    blocks = read_text(text.encode(), "play.txt", "en").blocks[-5:]
    assert [(block.kind, block.speaker) for block in blocks] == [
        (SPEECH, "ANNA"), (SPEECH, "ANNA"), (SPEECH, "ANNA"), (PARAGRAPH, None), (SPEECH, "KEEPER"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "paragraphs",
    [
        ["LONDON. It rained.", "CHAPTER I. The Door", "NOTE. This is one."] * 9,
        ["He said: nothing.", "She said: much."] * 30,
        [f"Chapter {number}: The {number}th" for number in range(40)],
        ["MR. Smith came in.", "I. One", "II. Two"] * 9,
        ["“ANNA. KEEPER. ANNA.”"] * 40,
        ["KEEPER. Alone he speaks."] * 40,
    ],
)
def test_no_play(paragraphs):
    assert find_cues(paragraphs) == {}
