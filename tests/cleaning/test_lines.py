"""Markup, sounds, songs, credits, dashes and names leave the lines; what people say stays."""

import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.arrays import nest
from edos_dataset.cleaning.captions import is_credit, repair_letters, split_speaker, strip_markup
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.runs.pipeline import count_units, split_rejects
from edos_dataset.schema import LINE, LINES


def lines_table(*documents: list[str], kind: str = "subtitle", language: str | None = "en") -> pa.Table:
    """Make documents of blocks; the lines of a block are parted by a line feed."""
    rows = [(number, text) for blocks in documents for number, block in enumerate(blocks) for text in block.split("\n")]
    lengths = [sum(block.count("\n") + 1 for block in blocks) for blocks in documents]
    offsets = [sum(lengths[:end]) for end in range(len(lengths) + 1)]
    block = [number for number, _ in rows]
    columns = {
        "id": range(1, len(rows) + 1),
        "text": [text for _, text in rows],
        "start": [float(number) for number in block],
        "end": [number + 0.9 for number in block],
        "first_block": block,
        "last_block": block,
        "dash": [False] * len(rows),
        "speaker": [None] * len(rows),
    }
    base = {
        "document_id": [f"d{index}" for index in range(len(documents))],
        "film": ["f"] * len(documents),
        "language": [language] * len(documents),
        "source": [{"kind": kind, "path": "p", "genres": []}] * len(documents),
        "reading": [{}] * len(documents),
    }
    return pa.table({**base, "lines": nest(offsets, LINE, columns)}, schema=LINES)


def clean(block: str, language: str | None = "en") -> tuple[list[tuple[str, bool, str | None]], dict[str, str]]:
    """Return text, dash and speaker of the lines of one block that stay, and the reason of each that leaves."""
    kept, rejected = split_rejects(CleanLines()(lines_table([block], language=language)))
    stay = [(line["text"], line["dash"], line["speaker"]) for lines in kept["lines"].to_pylist() for line in lines]
    leave = {line["text"]: row["reason"] for row in (rejected.to_pylist() if rejected else []) for line in row["lines"]}
    return stay, leave


def test_songs_sounds_and_credits_stay_for_the_papers_which_know_only_names_dashes_and_markup():
    block = "<i>- ♪ La la ♪</i>\n(sighs) l know.\nSubtitles by Bob\nANN:\nYes.\n<i></i>"
    papers = CleanLines(mend=False, only_speech=False)
    kept, rejected = split_rejects(papers(lines_table([block])))
    stay = [(line["text"], line["dash"], line["speaker"]) for lines in kept["lines"].to_pylist() for line in lines]
    assert stay == [
        ("♪ La la ♪", True, None),
        ("(sighs) l know.", False, None),
        ("Subtitles by Bob", False, None),
        ("Yes.", False, "ANN"),
    ]
    assert rejected is not None and rejected["reason"].to_pylist() == ["empty"]
    assert [text for text, *_ in clean(block)[0]] == ["Yes."]
    with pytest.raises(ValueError, match="give mend false too"):
        CleanLines(only_speech=False)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<i>Come <b>in</b>.</i>", "Come in."),
        ('<font color="#ffff00" size=14>Hello</font>', "Hello"),
        ("{\\an8}{\\i1}Up here!{\\i0}", "Up here!"),
        ("{\\p1}m 0 0 l 100 0 100 100{\\p0}Look.", "Look."),
        ("{Y:i}Old style", "Old style"),
        ("One\\Ntwo\\hthree", "One two three"),
        ("Tom &amp; Ann", "Tom & Ann"),
        ("''So do you,'' Ann'' said.", '"So do you," Ann" said.'),
        ("Tom &amp;amp; Ann &amp;quot;", 'Tom & Ann "'),
        ("AT&T; R&D", "AT&T; R&D"),
        ("soft\u00adhyphen\u200b and\ufeff space", "softhyphen and space"),
        ("not\u00a0broken\u2009here", "not broken here"),
        ("<00:01:02.000>now <c.yellow>this</c>", "now this"),
        ("<v Ann Lee>Hello", "Ann Lee: Hello"),
        ("1 < 2, and 3 > 2", "1 < 2, and 3 > 2"),
        ("I <3 you", "I <3 you"),
        ("end of file<SYNC Start=230580", "end of file"),
    ],
)
def test_markup_goes_and_text_stays(raw: str, text: str) -> None:
    """Tags, overrides, entities and invisible characters are no text."""
    assert strip_markup(raw) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("l'm sure l can.", "I'm sure I can."),
        ("'l looked down,' and 'l've seen lrene and he'll go.", "'I looked down,' and 'I've seen Irene and he'll go."),
        ("lmagine that: 5 lbs, ltd, llama, lynx.", "Imagine that: 5 lbs, ltd, llama, lynx."),
        ("i'm sure i can, i.e. i will. so do i.", "I'm sure I can, i.e. I will. so do I."),
        ("lt's late. ls it? ln fact, lf only...", "It's late. Is it? In fact, If only..."),
        ("Yes, l...", "Yes, I..."),
        ("l've, l'll, l'd, 1'm", "I've, I'll, I'd, I'm"),
        ("lsn't he?", "Isn't he?"),
        ("I Iike it, he wiII teII aII.", "I like it, he will tell all."),
        ("World War ll", "World War II"),
        ("Al is ill, and Ill. McIntyre said I'll.", "Al is ill, and Ill. McIntyre said I'll."),
        ("It takes 5 l of milk, we'll see.", "It takes 5 l of milk, we'll see."),
        ("Ian and Iris in Iowa", "Ian and Iris in Iowa"),
    ],
)
def test_confused_letters_are_repaired_only_where_a_common_word_results(raw: str, text: str) -> None:
    """l, I and 1."""
    assert repair_letters(raw) == text


def test_only_english_letters_are_repaired() -> None:
    """In other languages the same letters may be words."""
    assert clean("l'm", language="fr")[0] == [("l'm", False, None)]


@pytest.mark.parametrize(
    ("raw", "text", "dash"),
    [
        ("- Hello.", "Hello.", True),
        ("-Hello.", "Hello.", True),
        ("– Hello.", "Hello.", True),
        ("—Hola.", "Hola.", True),
        ("- - Hello.", "Hello.", True),
        (">> Hello.", "Hello.", True),
        ("&gt;&gt; Hello.", "Hello.", True),
        ("- (SIGHS) Hello.", "Hello.", True),
        ("(SIGHS) - Hello.", "Hello.", True),
        ("--and then he left.", "and then he left.", False),
        ("—and then he left.", "and then he left.", False),
        ("Well-known.", "Well-known.", False),
        ("...and so on", "...and so on", False),
    ],
)
def test_dashes_become_a_field(raw: str, text: str, dash: bool) -> None:
    """A dash announces somebody; a double or long one before a small letter takes a sentence up."""
    assert clean(raw)[0] == [(text, dash, None)]


@pytest.mark.parametrize(
    ("raw", "text", "speaker"),
    [
        ("NORA: Hello.", "Hello.", "NORA"),
        ("Nora: Hello.", "Hello.", "Nora"),
        ("Mr. Smith: Sit down.", "Sit down.", "Mr. Smith"),
        ("MAN #2: Move!", "Move!", "MAN #2"),
        ("[NORA]: Hello.", "Hello.", "NORA"),
        ("(Nora): Hello.", "Hello.", "Nora"),
        ("NORA (V.O.): It was late.", "It was late.", "NORA"),
        ("WOMAN ON TV: And now the news.", "And now the news.", "WOMAN ON TV"),
        ("NORA & TOM: Surprise!", "Surprise!", "NORA & TOM"),
        ("THE KING: Silence!", "Silence!", "THE KING"),
        ("ZOË: Hi.", "Hi.", "ZOË"),
        ("- TOM: No.", "No.", "TOM"),
        ("MAN: 350 dollars.", "350 dollars.", "MAN"),
    ],
)
def test_names_of_speakers_become_a_field(raw: str, text: str, speaker: str) -> None:
    """NAME: in its forms."""
    ((cleaned, _, name),) = clean(raw)[0]
    assert (cleaned, name) == (text, speaker)


@pytest.mark.parametrize(
    "text",
    [
        "Note: this is important.",
        "Look: we have a problem.",
        "One thing: never lie.",
        "It's 12:30 now.",
        "12:30 is too late.",
        "Here's the thing: I love you.",
        "I have one rule: no shoes.",
        "Worst case scenario: we die.",
        "Distance: 350.",
        "P.S.: I love you.",
        "WARNING: wet floor.",
        "You know what they say: never again.",
        "Previously on the show: a wedding.",
    ],
)
def test_other_colons_are_no_speakers(text: str) -> None:
    """Words that commonly stand before a colon stay in the text."""
    assert clean(text)[0] == [(text, False, None)]


def test_capitalised_nouns_of_other_languages_are_no_names() -> None:
    """German writes every noun with a capital: only capitals throughout or a title make a name."""
    assert split_speaker("Ergebnis: nichts.", english=False) == ("Ergebnis: nichts.", None)
    assert split_speaker("ANNA: Nichts.", english=False) == ("Nichts.", "ANNA")
    assert split_speaker("Ergebnisse Meier: nichts.", english=True) == ("nichts.", "Ergebnisse Meier")


def test_a_name_on_its_own_line_speaks_on_the_next() -> None:
    """The name is no line of speech, but it is not lost."""
    assert clean("NORA:\nI waited.") == ([("I waited.", False, "NORA")], {"NORA:": "empty"})


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("I'm [sighs] so tired.", "I'm so tired."),
        ("[ Groans ] Not again.", "Not again."),
        ("Go on (whispers), quick.", "Go on, quick."),
        ("*laughs* You are funny.", "You are funny."),
        ("**LOL** You are funny.", "You are funny."),
        ("(door (left) slams) Hey!", "Hey!"),
        ("What a day! [", "What a day!"),
        ("That's what I call luck :)", "That's what I call luck"),
        ("What the f*** is that?", "What the f*** is that?"),
    ],
)
def test_sounds_inside_a_line_go_and_the_rest_stays(raw: str, text: str) -> None:
    """Brackets and asterisks describe sounds."""
    assert clean(raw) == ([(text, False, None)], {})


@pytest.mark.parametrize(
    "raw", ["(DOOR SLAMS)", "[sighs]", "*laughs*", "**LOL**", "- [PHONE RINGS]", "(sighs):", "(gasps)..."]
)
def test_lines_of_sounds_alone_leave(raw: str) -> None:
    """Reason: sound."""
    assert clean(raw) == ([], {raw: "sound"})


def test_a_bracket_may_close_on_a_later_line_of_the_block() -> None:
    """What is before and behind it stays; in another block it cannot close."""
    assert clean("Wait. [DISTANT\nSIRENS] Hear that?")[0] == [("Wait.", False, None), ("Hear that?", False, None)]
    assert clean('[PLAYING\n"MOONLIGHT"]')[1] == {"[PLAYING": "sound", '"MOONLIGHT"]': "sound"}


@pytest.mark.parametrize(
    "raw",
    [
        "♪ La la la ♪",
        "♫ Moon river",
        "La la la ♪",
        "# La la la #",
        "# Moon river",
        "#Moon river#",
        "¶ MOON RIVER ¶",
        "♪♪",
        "- ♪ La la",
    ],
)
def test_songs_leave(raw: str) -> None:
    """Reason: music; # is the note of OPUS and older captions."""
    assert clean(raw) == ([], {raw: "music"})


def test_songs_and_speech_in_one_block() -> None:
    """An open song goes on over the lines of its block, but not into a line marked as speech, and a closed one not at
    all.
    """
    assert clean("♪ Hey, baby,\nI hear the blues")[1] == {"♪ Hey, baby,": "music", "I hear the blues": "music"}
    assert clean("♪ Hey, baby\n- Stop it!")[0] == [("Stop it!", True, None)]
    assert clean("# Oh dear #\nStop it!")[0] == [("Stop it!", False, None)]
    assert clean("♪ Hey, baby ♪ Stop it!")[0] == [("Stop it!", False, None)]
    assert clean("#1 in the world, #blessed")[0] == [("#1 in the world, #blessed", False, None)]


@pytest.mark.parametrize(
    "text",
    [
        "Subtitles by Jane Doe",
        "English subtitles by Jane Doe",
        "-= Subtitles by jdoe =-",
        "Corrections: jdoe",
        "Translated and timed by:",
        "Edited by Jane Doe & J. Roe",
        "SUBTITLES BY: jdoe",
        "Sync and corrections by jdoe",
        "Sync & corrections: jdoe",
        "Re-synced by jdoe",
        "Ripped by jdoe",
        "Translated by Jane Doe",
        "Subtitle translation by Jane Doe",
        "Translation: Jane Doe",
        "Downloaded From www.example.org",
        "Visit www.example.org",
        "https://example.org/help",
        "Support us and become a member",
        "Advertise your product or brand here",
        "Please rate this subtitle",
        "Captioned by the Captioning Institute",
        "Captions copyright 1999",
        "© 2003 Example Pictures",
        "All rights reserved.",
        "write to jane@example.org",
        "Untertitel von Jane Doe",
        "Felirat: Jane Doe",
    ],
)
def test_credits_leave(text: str) -> None:
    """Reason: credit."""
    assert clean(text) == ([], {text: "credit"})


@pytest.mark.parametrize(
    "text",
    [
        "I translated it by hand.",
        "Translated by hand, it took me years.",
        "No subtitles this time!",
        "I told you there'd be subtitles.",
        "That's correct.",
        "- Correct.",
        "I feel so in sync with you.",
        "He tripped by the pool.",
        "Made by hand, every one.",
        "My heart was ripped out by him.",
        "Edited by someone who hates me.",
        "She'd better copyright that.",
        "Touch\u00c3\u00a9. And on that subject...",
        "Download this game.",
        "Correction: it was a Tuesday.",
        "Translation: you're fired.",
        "Translation: No.",
        "Subtitle it for me, will you?",
    ],
)
def test_dialogue_about_such_things_is_no_credit(text: str) -> None:
    """Neither the words alone nor a broken accent make a credit."""
    assert not is_credit(text)
    assert clean(text)[1] == {}


def test_a_credit_takes_the_name_on_the_next_line() -> None:
    """It breaks off after "by"."""
    assert clean("Subtitle translation by\nJane Doe")[1] == {"Subtitle translation by": "credit", "Jane Doe": "credit"}


@pytest.mark.parametrize("raw", ["", "...", "-", "?!", "<i></i>", "\u200b", "♭"])
def test_lines_without_speech_are_empty(raw: str) -> None:
    """Neither a letter nor a digit."""
    assert set(clean(raw)[1].values()) == {"empty"}


@pytest.mark.parametrize("piece", [".", "#", "(", "*a", "- ", "A: ", "a. ", "&amp;", "<i", "l'm ", "♪", "Sub and "])
def test_a_line_of_megabytes_leaves_at_once(piece: str) -> None:
    """Whatever it is made of, no pattern may hang on it; what just passes takes no time either."""
    long = piece * (2_000_000 // len(piece))
    clean("Hullo there.")  # what reads the dictionary, once in a process
    started = time.process_time()
    assert clean(f"{long}\nHello.") == ([("Hello.", False, None)], {long: "too_long"})
    clean(long[:2000])
    assert time.process_time() - started < 2


def test_a_document_without_any_speech_gives_only_rejects() -> None:
    """No row without lines."""
    kept, rejected = split_rejects(CleanLines()(lines_table(["[SIGHS]", "♪ la ♪"], ["Hello."])))
    assert kept["document_id"].to_pylist() == ["d1"]
    assert rejected is not None
    assert [(row["document_id"], row["reason"]) for row in rejected.to_pylist()] == [("d0", "music"), ("d0", "sound")]


def test_no_documents() -> None:
    """An empty batch passes."""
    assert CleanLines()(lines_table()).num_rows == 0


PIECES = [
    "Hello.",
    "- No!",
    "[SIGHS]",
    "(door\nslams) What?",
    "♪ la la",
    "TOM:\nYes.",
    "Subtitles by X",
    "l'm",
    "<i>so</i>",
    "...",
    "Na ja.",
]


@given(
    st.lists(st.lists(st.sampled_from(PIECES), max_size=6), min_size=1, max_size=5),
    st.integers(0, 5),
    st.sampled_from(["opus", "subtitle"]),
)
def test_no_line_is_lost_and_batches_do_not_matter(documents: list[list[str]], cut: int, kind: str) -> None:
    """Kept and rejected lines are all lines; any split of the rows gives the same table."""
    table = lines_table(*documents, kind=kind)
    whole = CleanLines()(table)
    assert count_units(whole, "lines") == count_units(table, "lines")
    parts = pa.concat_tables([CleanLines()(table.slice(0, cut)), CleanLines()(table.slice(cut))])
    assert parts.to_pylist() == whole.to_pylist()


def clean_blocks(*blocks: tuple[float, float, str]) -> tuple[list[str], dict[str, str]]:
    """Return the lines of a document's blocks that stay, and the reason of each that leaves."""
    table = lines_table([text for _, _, text in blocks])
    times = [(start, end) for start, end, text in blocks for _ in text.split("\n")]
    lines = table["lines"].combine_chunks().flatten()
    columns = {field.name: lines.field(field.name) for field in LINE}
    columns |= {"start": [start for start, _ in times], "end": [end for _, end in times]}
    table = table.set_column(table.column_names.index("lines"), "lines", nest([0, len(lines)], LINE, columns))
    kept, rejected = split_rejects(CleanLines()(table))
    leave = {line["text"]: row["reason"] for row in (rejected.to_pylist() if rejected else []) for line in row["lines"]}
    return [line["text"] for row in kept["lines"].to_pylist() for line in row], leave


@pytest.mark.parametrize("number", [3, 10])
@pytest.mark.parametrize("seconds", [2.0, 30.0])
def test_a_loop_of_a_speech_recogniser_leaves(number: int, seconds: float) -> None:
    loop = [(10 + place * seconds, 10 + (place + 1) * seconds, "Drink from the well.") for place in range(number)]
    assert clean_blocks((0, 2, "Come in."), *loop, (400, 402, "Thank you.")) == (
        ["Come in.", "Thank you."],
        {"Drink from the well.": "loop"},
    )


@pytest.mark.parametrize(
    "text",
    ["Thank you for watching!", "Thanks so much for watching.", "Please like and subscribe.", "Yes. " * 5 + "Yes."],
)
def test_what_is_heard_in_silence_leaves(text: str) -> None:
    assert clean_blocks((0, 2, "Come in."), (10, 40, text)) == (["Come in."], {text: "loop"})


def test_people_repeat_themselves_and_speak_slowly() -> None:
    blocks = [(0, 1, "No."), (1, 2, "No."), (2, 3, "No."), (5, 7, "Get out of here!"), (7, 9, "Get out of here!"),
              (20, 22, "Thank you for listening."), (30, 45, "Well...")]  # fmt: skip
    assert clean_blocks(*blocks) == ([text for _, _, text in blocks], {})


@pytest.mark.parametrize("raw", ["* Walk with me *", "~ I will wait ~", "~ I will wait", "¶ So young ¶", "the rain *"])
def test_other_marks_of_songs(raw: str) -> None:
    assert clean(raw) == ([], {raw: "music"})


def test_a_song_goes_on_in_later_blocks() -> None:
    assert clean_blocks((0, 1, "♪ I'll wait"), (1, 2, "until the morning"), (2, 3, "Who is there?")) == (
        ["Who is there?"],
        {"♪ I'll wait": "music", "until the morning": "music"},
    )
    assert clean_blocks((0, 1, "♪ Oh"), (1, 2, "Take me"), (2, 3, "Home ♪"), (3, 4, "Lovely."))[0] == ["Lovely."]
    assert clean_blocks((0, 1, "♪ Oh"), (1, 2, "- Stop it!"), (2, 3, "and leave."))[0] == ["Stop it!", "and leave."]
    assert clean_blocks((0, 1, "♪ Oh ♪"), (1, 2, "and leave."))[0] == ["and leave."]


@pytest.mark.parametrize(
    "block",
    [
        "Stream all films now\n-> WWW.SHOW9.APP", "Wear what they wear,\nfind it on FitLook.com",
        "Official site: BIG.MX", "Want more?\n=[ ai.SubsHouse.com ]=-",
        "Rate these subs at osxb.link/4fk2a\nso that others find them", "Telegram: @SubsOfTheNight\nJoin now",
        "A word opens it:\nSAIL on\nwww.playboats.eu", "ALL CHANNELS IN ONE @ 4TVBOX.TV",
    ],
)  # fmt: skip
def test_all_of_an_advertisement_leaves(block: str) -> None:
    stay, leave = clean(block)
    assert stay == []
    assert set(leave.values()) == {"credit"}


@pytest.mark.parametrize("text", ["I work at Amazon.com.", "Is it dot com or dot org?", "Wait.No.", "We go ~ 5 miles."])
def test_speech_that_resembles_an_address_or_a_song_stays(text: str) -> None:
    assert clean(text)[1] == {}


SAID = [f"I walked home at {hour} again." for hour in ("one", "two", "three", "four", "five", "six")] * 8


@pytest.mark.parametrize(
    "block",
    [
        "A film by Marta Oliveira",
        "Written and directed by\nMarta Oliveira",
        "Executive Producer\nHugo Stein",
        "based on the novel by Ida Berg",
        "Subtitles by Anna\nVisit our page for more",
    ],
)
def test_credits_at_the_edges_leave_by_block(block: str) -> None:
    for blocks in ([block, *SAID], [*SAID, block]):
        kept, rejected = split_rejects(CleanLines()(lines_table(blocks)))
        assert [line["text"] for line in kept["lines"].to_pylist()[0]] == SAID
        assert rejected["reason"].to_pylist() == ["credit"] * len(set(rejected["reason"].to_pylist()))
    kept, _ = split_rejects(CleanLines()(lines_table([*SAID, block, *SAID])))
    assert "subtitle" in block.lower() or len(kept["lines"].to_pylist()[0]) == 2 * len(SAID) + block.count("\n") + 1


@pytest.mark.parametrize(
    "block",
    [
        "It's a film by Marta Oliveira.",
        "Directed by whom?",
        "- A film by Marta Oliveira",
        "A film by my sister.",
        "BEN: A film by Marta",
    ],
)
def test_speech_about_films_at_the_edges_stays(block: str) -> None:
    kept, rejected = split_rejects(CleanLines()(lines_table([block, *SAID])))
    assert len(kept["lines"].to_pylist()[0]) == len(SAID) + 1 and not (rejected and rejected.num_rows)
