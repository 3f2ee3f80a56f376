"""Speech that files mark up, in TEI, HTML and EPUB: what is said, who says it, and what the dialogues make of it."""

import pytest

from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.sources.books.book import Block
from edos_dataset.sources.formats import read_book

PROSE = "The keeper counted the ships again. " * 40
PEOPLE = """<teiHeader><profileDesc><particDesc><listPerson>
<person xml:id="anna"><persName>Anna Hill</persName></person><person xml:id="tom"><persName>Tom Hill</persName></person>
</listPerson></particDesc></profileDesc></teiHeader>"""


def tei(body: str) -> bytes:
    """Return a file of TEI with the people and the prose that a book needs."""
    text = f"<text><body>{body}<p>{PROSE}</p></body></text>"
    return f'<TEI xmlns="http://www.tei-c.org/ns/1.0">{PEOPLE}{text}</TEI>'.encode()


def html(body: str) -> bytes:
    """Return a page with the prose that a book needs."""
    return f"<html><body><p>{PROSE}</p>{body}<p>{PROSE}</p></body></html>".encode()


def blocks(data: bytes, name: str = "x.xml") -> list[Block]:
    """Return the blocks but the prose."""
    return [block for block in read_book(data, name, None).blocks if block.text != PROSE.strip()]


def said(data: bytes, name: str = "x.xml") -> list[tuple[str, list[tuple[str, str | None]]]]:
    """Return the text of each block, and what is said in it by whom."""
    return [(text, [(text[a:b], who) for a, b, who in spans]) for text, *_, spans in blocks(data, name)]


def spoken(data: bytes, name: str = "x.xml") -> list[list[tuple[str, str | None]]]:
    """Return text and speaker of the turns of each dialogue."""
    found = extract(read_book(data, name, None).blocks, load_rules("en"), Speech())
    return [[(turn.text, turn.speaker) for turn in turns] for turns in found.dialogues]


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<p><said who='#anna'>Who is it?</said> she cried.</p>",
         ("“Who is it?” she cried.", [("Who is it?", "Anna Hill")])),
        ("<p>She said: <said who='#anna'> “Who?” </said> and <said who='#tom'>— I.</said></p>",
         ("She said: “Who?” and — I.", [("“Who?”", "Anna Hill"), ("— I.", "Tom Hill")])),
        ("<p><said who='#anna #tom'>We!</said></p>", ("“We!”", [("We!", "Anna Hill, Tom Hill")])),
        ("<p><said who='file.xml#old_man'>I!</said></p>", ("“I!”", [("I!", "old man")])),
        ("<p><said>Who?</said></p>", ("“Who?”", [("Who?", None)])),
        ("<p><said who='#tom'>He said <said who='#anna'>no</said> to me.</said></p>",
         ("“He said ‘no’ to me.”", [("He said ‘no’ to me.", "Tom Hill")])),
        ("<p><q who='#tom'>I.</q> <q>Who?</q></p>", ("“I.” “Who?”", [("I.", "Tom Hill")])),
        ("<p><q type='spoken'>I.</q></p>", ("“I.”", [("I.", None)])),
        ("<p><said aloud='false'>Who is it?</said> she thought.</p>", ("Who is it? she thought.", [])),
        ("<p>No &#xF0001;sign&#xFFFFD; of hers.</p>", ("No sign of hers.", [])),
    ],
)  # fmt: skip
def test_tei_tells_what_is_said_and_by_whom(markup: str, found: tuple[str, list[tuple[str, str | None]]]) -> None:
    """`<said>` and `<q who>` are speech of those to whom they point, by the names that the file lists."""
    assert said(tei(markup)) == [found]


def test_speech_over_paragraphs_goes_on() -> None:
    """Paragraphs within one mark are all speech, and become one turn."""
    markup = (
        "<said who='#tom'>\n<p>The wind turned.</p> <p>I lost an oar.</p>\n</said><p><said who='#anna'>Come!</said></p>"
    )
    assert [spans for _, spans in said(tei(markup))] == [
        [("The wind turned.", "Tom Hill")],
        [("I lost an oar.", "Tom Hill")],
        [("Come!", "Anna Hill")],
    ]
    assert spoken(tei(markup)) == [[("The wind turned. I lost an oar.", "Tom Hill"), ("Come!", "Anna Hill")]]


def test_a_play_names_its_people_by_the_list() -> None:
    """`<sp who>` is the speech of somebody whom the file lists; elsewhere `<speaker>` names them."""
    markup = "<sp who='#anna'><speaker>AN.</speaker><p>Who?</p></sp><sp who='#x'><speaker>BOB.</speaker><p>I.</p></sp>"
    assert [(block.text, block.speaker) for block in blocks(tei(markup))] == [("Who?", "Anna Hill"), ("I.", "BOB")]


TALK = (
    "<p><said who='#anna'>Will you come?</said> asked his sister.</p>"
    "<p><said who='#tom'>I will,</said> he said, and rose. <said who='#tom'>But not far.</said></p>"
    "<p>He read “No entry” on the gate. <said who='#tom'>Here?</said> <said who='#anna'>Here.</said></p>"
)


def test_turns_are_what_is_marked() -> None:
    """Two people with one last name are two; quotes without a mark are no speech in a book that marks it."""
    letter = "<p>“Come at once,” the sign said.</p><p>“Go away,” said another.</p>"
    talk = [("Will you come?", "Anna Hill"), ("I will. But not far. Here?", "Tom Hill"), ("Here.", "Anna Hill")]
    assert spoken(tei(TALK + letter)) == [talk]


def test_marks_are_certain() -> None:
    """A speaker whom the file states is the speaker; neither a paragraph of two people nor a quote in the narration
    makes it less certain.
    """
    more = "<p>The “Blue Boar” was open.</p><p><said who='#tom'>Shall we?</said></p>"
    found = extract(read_book(tei(TALK + more), "x.xml", None).blocks, load_rules("en"), Speech())
    assert len(found.dialogues[0]) == 4 and {turn.certainty for turn in found.dialogues[0]} == {0.985}
    first, second, third, _ = (turn.character for turn in found.dialogues[0])
    assert first == third != second is not None
    assert found.dialogues[0][1].narration == "he said, and rose.\nHe read “No entry” on the gate."


def test_a_few_marks_do_not_silence_the_others() -> None:
    """Where most speech is only in quotes, these are heard as well."""
    quoted = "<p>“Who is there?” asked Bob.</p><p>“It is I,” said Carl.</p><p>“Come in!”</p>"
    (talk,) = spoken(tei(f"{quoted}<p><said who='#tom'>Thanks.</said></p>"))
    assert [text for text, _ in talk] == ["Who is there?", "It is I,", "Come in!", "Thanks."]


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<p><span class='said'>“Who is it?”</span> she cried.</p>",
         ("“Who is it?” she cried.", [("“Who is it?”", None)])),
        ("<p><q class='Said' data-who='Anna'>Who?</q></p>", ("“Who?”", [("Who?", "Anna")])),
        ("<p><i epub:type='z3998:speech' data-speaker='Tom'>I.</i></p>", ("“I.”", [("I.", "Tom")])),
        ("<p><said who='Tom'>I.</said></p>", ("“I.”", [("I.", "Tom")])),
        ("<p><q>Who?</q> <span class='unsaid'>No.</span></p>", ("“Who?” No.", [])),
        ("<p><span class='said'></span></p><p><span class='said'> </span><br>Then?</p>", ("Then?", [])),
    ],
)  # fmt: skip
def test_html_tells_what_is_said(markup: str, found: tuple[str, list[tuple[str, str | None]]]) -> None:
    """Inline elements whose class or `epub:type` is speech are speech."""
    assert said(html(markup), "x.html") == [found]


def test_speakers_of_html_are_found_where_only_speech_is_marked() -> None:
    """Without a name in the mark, tags name who speaks."""
    page = "<p><span class='said'>“Who is it?”</span> asked Tom.</p><p><span class='said'>“I,”</span> said Ann.</p>" * 4
    (talk,) = spoken(html(page), "x.html")
    assert talk[:2] == [("Who is it?", "Tom"), ("I,", "Ann")]
