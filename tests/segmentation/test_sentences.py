"""Lines become the sentences that a reader would see."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edos_dataset.arrays import nest
from edos_dataset.runs.pipeline import count_units
from edos_dataset.schema import LINE, LINES, SENTENCES
from edos_dataset.segmentation.sentences import SplitSentences

Block = tuple[float, float, str]


NO_SCRIPT = dict.fromkeys(("scene", "manner", "voice"))
"""What only screenplays tell."""


def lines_table(*documents: list[Block], kind: str = "subtitle", language: str = "en") -> pa.Table:
    """Make documents of (start, end, text) blocks; lines are parted by a line feed, "- " is a dash and "@NAME " a
    speaker.
    """
    rows = []
    lengths = []
    for blocks in documents:
        before = len(rows)
        for number, (start, end, text) in enumerate(blocks):
            for line in text.split("\n"):
                speaker, _, spoken = line[1:].partition(" ") if line.startswith("@") else (None, "", line)
                rows.append(
                    (
                        len(rows) - before + 1,
                        spoken.removeprefix("- "),
                        start,
                        end,
                        number,
                        number,
                        spoken.startswith("- "),
                        speaker,
                    )
                )
        lengths.append(len(rows) - before)
    offsets = [sum(lengths[:stop]) for stop in range(len(lengths) + 1)]
    names = [field.name for field in LINE][: len(rows[0]) if rows else None]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    base = {
        "document_id": [f"d{index}" for index in range(len(documents))],
        "film": ["f"] * len(documents),
        "language": [language] * len(documents),
        "source": [{"kind": kind, "path": "p", "genres": []}] * len(documents),
        "reading": [{}] * len(documents),
    }
    return pa.table({**base, "lines": nest(offsets, LINE, columns)}, schema=LINES)


def split(*texts: str, language: str = "en", pause: float = 0.1, max_words: int = 60) -> list[str]:
    """Return the sentences of a document with these blocks."""
    blocks = [(number * (2 + pause), number * (2 + pause) + 2, text) for number, text in enumerate(texts)]
    return [
        sentence["text"]
        for sentence in SplitSentences(max_words)(lines_table(blocks, language=language))["sentences"].to_pylist()[0]
    ]


@pytest.mark.parametrize(
    ("blocks", "sentences"),
    [
        (["I never thought", "that you would come."], ["I never thought that you would come."]),
        (["I never thought\nthat you would come."], ["I never thought that you would come."]),
        (["Wait here. I'll be", "right back. Promise."], ["Wait here.", "I'll be right back.", "Promise."]),
        (["Sit down! Why? Because."], ["Sit down!", "Why?", "Because."]),
        (["If you go...", "...I go too."], ["If you go I go too."]),
        (["If you go…", "… I go too."], ["If you go I go too."]),
        (["If you go...", "I go too."], ["If you go...", "I go too."]),
        (["If you go...", "then I go too."], ["If you go... then I go too."]),
        (["I thought--", "No, you didn't."], ["I thought--", "No, you didn't."]),
        (["That's what", "Monica said to me."], ["That's what Monica said to me."]),
        (["That's what", "I said to her."], ["That's what I said to her."]),
        (["I met Dr.", "Crane today."], ["I met Dr. Crane today."]),
        (["I met Mr. Ray and Mrs. Ray. They left."], ["I met Mr. Ray and Mrs. Ray.", "They left."]),
        (["...Mrs. Potter fires people."], ["...Mrs. Potter fires people."]),
        (["The U.S. Army called at 5 a.m. today."], ["The U.S. Army called at 5 a.m. today."]),
        (["He lives in the U.S.", "She does not."], ["He lives in the U.S.", "She does not."]),
        (["J. R. Smith wrote it. I read it."], ["J. R. Smith wrote it.", "I read it."]),
        (["No. 5 is alive. No. He isn't."], ["No. 5 is alive.", "No.", "He isn't."]),
        (["I'm 25. She's 30."], ["I'm 25.", "She's 30."]),
        (["What?! You said what?!"], ["What?!", "You said what?!"]),
        (['He said "Stop." I did.'], ['He said "Stop."', "I did."]),
        (['"Stop!" he said.'], ['"Stop!" he said.']),
        (["Well... maybe not... You see?"], ["Well... maybe not...", "You see?"]),
        (["Hello. - Who's there?"], ["Hello.", "Who's there?"]),
        (["¿Qué? ¡No! Está bien."], ["¿Qué?", "¡No!", "Está bien."]),
        (["Ég veit. Það er gott. Þú líka."], ["Ég veit.", "Það er gott.", "Þú líka."]),
        (["- Hello there\n- Goodbye"], ["Hello there", "Goodbye"]),
        (["I never thought\n- Thought what?"], ["I never thought", "Thought what?"]),
        (["I never thought", "@TOM that I would"], ["I never thought", "that I would"]),
        (["@TOM I never thought", "@TOM that I would."], ["I never thought that I would."]),
    ],
)
def test_blocks_become_sentences(blocks: list[str], sentences: list[str]) -> None:
    """Over blocks, within blocks, with marks of continuation and short forms."""
    padding = ["This one ends.", "So does this one."]  # most blocks of a usual file end with a mark
    assert split(*padding, *blocks)[len(padding) :] == sentences


def test_a_pause_speaks_against_going_on() -> None:
    """More than a second before a capital, more than three before anything that is not clearly taken up."""
    assert len(split("That's what", "Monica said.", pause=0.5)) == 1
    assert len(split("That's what", "Monica said.", pause=1.5)) == 2
    assert len(split("That's what", "she said.", "And so it is.", pause=4)) == 2


def test_capitals_say_nothing_in_german() -> None:
    """Every noun has one: only the marks count."""
    blocks = ["Ich sah gestern...", "Hunde und Katzen.", "Das war alles."]
    assert split(*blocks, language="de", pause=0.5) == ["Ich sah gestern... Hunde und Katzen.", "Das war alles."]
    assert split(*blocks, language="hu", pause=0.5) == ["Ich sah gestern...", "Hunde und Katzen.", "Das war alles."]


def test_a_file_without_full_stops_goes_on_only_before_small_letters() -> None:
    """Where no block ends with a mark, its absence says nothing."""
    assert split("We left early", "Nobody saw us", "and nobody cared", "Then it rained") == [
        "We left early",
        "Nobody saw us and nobody cared",
        "Then it rained",
    ]


def test_long_sentences_end_with_their_line() -> None:
    """The guard counts the words of the sentence, not those of the ones before it."""
    assert split("One two. Three", "four five. Six", "seven eight. Nine", "ten.", max_words=4)[-1] == "Nine ten."
    assert split("one two\nthree four\nfive.", max_words=4) == ["one two three four", "five."]
    assert split("one two three", "four five six", "seven eight.", "Nine.", max_words=6) == [
        "one two three four five six",
        "seven eight.",
        "Nine.",
    ]
    with pytest.raises(ValueError, match="max_words must be from 1 to 100,000, got 0"):
        SplitSentences(0)


def test_fields_come_from_the_first_and_the_last_line() -> None:
    """Times, blocks, dash and speaker; ids run from 1 in each document."""
    blocks = [(1.0, 2.0, "@TOM Wait here. I'll be"), (2.5, 3.5, "right back."), (4.0, 5.0, "- Why?\n- Because.")]
    table = SplitSentences()(lines_table(blocks, blocks[:1]))
    assert table.schema.equals(SENTENCES)
    first, second = table["sentences"].to_pylist()
    assert first == [
        {
            "id": 1,
            "text": "Wait here.",
            "start": 1.0,
            "end": 2.0,
            "first_block": 0,
            "last_block": 0,
            "dash": False,
            "speaker": "TOM",
            **NO_SCRIPT,
        },
        {
            "id": 2,
            "text": "I'll be right back.",
            "start": 1.0,
            "end": 3.5,
            "first_block": 0,
            "last_block": 1,
            "dash": False,
            "speaker": None,
            **NO_SCRIPT,
        },
        {
            "id": 3,
            "text": "Why?",
            "start": 4.0,
            "end": 5.0,
            "first_block": 2,
            "last_block": 2,
            "dash": True,
            "speaker": None,
            **NO_SCRIPT,
        },
        {
            "id": 4,
            "text": "Because.",
            "start": 4.0,
            "end": 5.0,
            "first_block": 2,
            "last_block": 2,
            "dash": True,
            "speaker": None,
            **NO_SCRIPT,
        },
    ]
    assert [sentence["id"] for sentence in second] == [1, 2]


def test_sentences_of_opus_pass() -> None:
    """They are sentences already, whatever they look like, and keep their ids."""
    table = lines_table([(0, 1, "One. Two"), (1, 2, "three.")], kind="opus")
    assert SplitSentences()(table)["sentences"].to_pylist() == table["lines"].to_pylist()


def test_unknown_times_are_no_pause() -> None:
    """A null beside a boundary neither helps nor harms."""
    table = lines_table([(0, 1, "I never thought"), (9, 10, "that you would come.")])
    lines = table["lines"].to_pylist()
    lines[0][0]["end"] = None
    table = table.set_column(
        table.column_names.index("lines"),
        table.schema.field("lines"),
        pa.array(lines, table.schema.field("lines").type),
    )
    assert len(SplitSentences()(table)["sentences"].to_pylist()[0]) == 1


def test_no_documents() -> None:
    """An empty batch passes."""
    assert SplitSentences()(lines_table()).num_rows == 0


PIECES = ["I thought", "you left.", "- No!\n- Yes.", "...and so?", "@TOM Hm. Well", "But", "Mr.", "Ray came? Then"]


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(0, 5),
    st.sampled_from(["opus", "subtitle"]),
)
def test_no_word_is_lost_and_batches_do_not_matter(documents: list[list[str]], cut: int, kind: str) -> None:
    """Every document stays with all its words in order; any split of the rows gives the same table."""
    table = lines_table(
        *[[(float(n), n + 0.9, text) for n, text in enumerate(texts)] for texts in documents], kind=kind
    )
    whole = SplitSentences()(table)
    assert count_units(whole, "files") == count_units(table, "files")
    for before, after in zip(table["lines"].to_pylist(), whole["sentences"].to_pylist(), strict=True):
        words = [word for line in before for word in line["text"].replace("...", " ").split()]
        assert [word for sentence in after for word in sentence["text"].replace("...", " ").split()] == words
    parts = pa.concat_tables([SplitSentences()(table.slice(0, cut)), SplitSentences()(table.slice(cut))])
    assert parts.to_pylist() == whole.to_pylist()


PADDING = ["We went for the last time.", "- She told us so.\n- We know that they did.", "But you go if you want to."]


def sentences(*texts: str, stage: SplitSentences | None = None, language: str = "en") -> list[tuple[str, bool]]:
    """Return text and dash of the sentences of a document with these blocks behind some usual ones."""
    blocks = [(number * 2.1, number * 2.1 + 2, text) for number, text in enumerate([*PADDING, *texts])]
    table: pa.Table = (stage or SplitSentences())(lines_table(blocks, language=language))
    return [(row["text"], row["dash"]) for row in table["sentences"].to_pylist()[0]][4:]


@pytest.mark.parametrize(
    ("blocks", "texts"),
    [
        (["It was late and so", "- we left.\n- Really?"], [("It was late and so we left.", False), ("Really?", True)]),
        (["If you come,", "- I stay.\n- No."], [("If you come, I stay.", False), ("No.", True)]),
        (["And then we...", "- ...left.\n- Oh."], [("And then we left.", False), ("Oh.", True)]),
        (["- Why?\n- It is so", "- now.\n- Ah."], [("Why?", True), ("It is so now.", True), ("Ah.", True)]),
        (["It is so", "- now. Oh.\n- Ah."], [("It is so now.", False), ("Oh.", False), ("Ah.", True)]),
        (["It was late.", "- we left.\n- Really?"], [("It was late.", False), ("we left.", True), ("Really?", True)]),
        (["It is so", "- We left.\n- Ah."], [("It is so", False), ("We left.", True), ("Ah.", True)]),
        (["It was--", "- you mean it is.\n- Ah."], [("It was--", False), ("you mean it is.", True), ("Ah.", True)]),
        (["It was late and\n- so what?"], [("It was late and", False), ("so what?", True)]),
        (["It was late and", "@TOM so what?"], [("It was late and", False), ("so what?", False)]),
    ],
)  # fmt: skip
def test_a_sentence_goes_on_behind_the_first_dash_of_a_block(blocks: list[str], texts: list[tuple[str, bool]]) -> None:
    """Where marks and letters of both sides say so, and never behind an inner dash or a name."""
    assert sentences(*blocks) == texts


def test_a_dash_begins_a_sentence_where_it_is_asked_to() -> None:
    """The parameter; and documents that open everything behind a dash by a small letter."""
    blocks = ["It was late and so", "- we left.\n- Really?"]
    parted = [("It was late and so", False), ("we left.", True), ("Really?", True)]
    assert sentences(*blocks, stage=SplitSentences(go_on_at_dash=False)) == parted
    assert sentences("- yes.\n- no.", *blocks)[2:] == parted


@pytest.mark.parametrize(
    ("blocks", "texts"),
    [
        (["It is the same to me", "But you are late."], ["It is the same to me", "But you are late."]),
        (["It was what", "Monica said."], ["It was what Monica said."]),  # never small: a name
        (["I want to see", "The Last Leaf."], ["I want to see The Last Leaf."]),  # a title
        (["I want to see\nBut it is late."], ["I want to see But it is late."]),  # lines of a block are no evidence
        (["It was what", "I said."], ["It was what I said."]),
    ],
)
def test_a_capital_begins_a_sentence_where_the_word_is_usually_small(blocks: list[str], texts: list[str]) -> None:
    """The document itself says which words have no capital of their own."""
    lines = ["I go if", "but he says", "that you", "and that we", "who know", "the same."]
    assert [text for text, _ in sentences(*lines, *blocks)][1:] == texts


def test_a_document_that_capitalises_lines_says_nothing_by_it() -> None:
    """Verses, and files of one line a block; nor does any document if the parameter says so."""
    verses = ["I see the moon", "The moon sees me", "But what the moon", "And you see is", "She knows."]
    assert len(sentences("But if you see the moon and she knows it.", *verses)) == 2
    blocks = [
        "I go if",
        "but he says",
        "that you",
        "and that we",
        "who know",
        "the same.",
        "I see it",
        "But you don't.",
    ]
    assert len(sentences(*blocks)) == 3
    assert len(sentences(*blocks, stage=SplitSentences(end_at_capital=False))) == 2
