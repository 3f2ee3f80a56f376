"""What is counted of dialogues against quotations that people have marked."""

import csv

import pytest

from evaluation.novels import Figures, Novel, lay, measure, published

TEXT = """“Will you come with us?” asked Tom.

“I will,” said Ann, “if you wait for me.”

The street was empty, and they walked for an hour without meeting anybody whom they knew. It
had rained in the night, and the lamps stood in the puddles like other lamps that somebody had lost.

“Here is the old inn,” said Tom. “Shall we go in?”

“Yes,” said Ann.
"""
QUOTES = [
    (("Will you come with us?",), "Tom Hill", "Explicit"),
    (("I will,", "if you wait for me."), "Ann", "Explicit"),
    (("Here is the old inn,", "Shall we go in?"), "Tom Hill", "Explicit"),
    (("Yes,",), "Ann", "Explicit"),
]


@pytest.fixture
def novel(tmp_path):
    """A novel in the files of the corpus, spans in bytes."""
    folder = tmp_path / "Inn"
    folder.mkdir()
    (folder / "novel_text.txt").write_text(TEXT)
    data = TEXT.encode()
    with (folder / "quotation_info.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["quoteByteSpans", "speaker", "quoteType"])
        for parts, speaker, kind in QUOTES:
            spans = [[data.index(part.encode()), data.index(part.encode()) + len(part.encode())] for part in parts]
            rows.writerow([spans, speaker, kind])
    with (folder / "character_info.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerows([["Main Name", "Aliases"], ["Tom Hill", {"Tom", "Mr. Hill"}], ["Ann", {"Ann"}]])
    return Novel.load(folder)


def percent(novel, *dialogues):
    figures = Figures()
    measure(novel, [[{"text": text, "speaker": speaker} for text, speaker in turns] for turns in dialogues], figures)
    return figures.row()


FIRST = [("Will you come with us?", "Tom"), ("I will, if you wait for me.", "Ann")]
SECOND = [("Here is the old inn, Shall we go in?", "Mr. Hill"), ("Yes,", None)]


def test_all_is_found_and_right(novel):
    row = percent(novel, FIRST, SECOND)
    assert {row[name] for name in ("found", "exchanges", "right", "correct", "correct, explicit")} == {100}
    assert {row[name] for name in ("two speakers", "no speech", "false boundaries")} == {0}
    assert row["named"] == 75


def test_what_is_left_out_is_no_error_but_not_found(novel):
    row = percent(novel, SECOND)
    assert (row["found"], row["exchanges"], row["right"]) == (33.3, 50, 100)


def test_each_error_is_counted(novel):
    merged = [("Will you come with us? I will, if you wait for me.", "Ann"), SECOND[0]]
    parted = [("Here is the old inn,", "Ann"), ("Shall we go in?", None)]
    told = [FIRST[0], ("The street was empty, and they walked for an hour", None)]
    assert (percent(novel, merged)["two speakers"], percent(novel, merged)["right"]) == (50, 0)
    assert (percent(novel, parted)["false boundaries"], percent(novel, parted)["correct"]) == (100, 0)
    assert (percent(novel, told)["no speech"], percent(novel, told)["right"]) == (50, 0)
    assert percent(novel, merged)["exchanges"] == 0


def test_words_are_laid_in_order(novel):
    words = [["will", "you", "come", "with", "us"], ["i", "will", "if", "you"], ["nowhere"], ["yes"]]
    places = lay(novel, words)
    assert places[0] == [0, 1, 2, 3, 4] and places[2] == []
    assert [novel.words[place] for place in places[1]] == words[1] and places[1][0] > 4
    assert places[3] == [len(novel.words) - 3]


def test_recipes_publish_what_is_measured(novel):
    walked = "\n\n".join(
        f"They walked past {number} houses, and nobody looked out of a window." for number in range(90)
    )
    novel.path.write_text(f"{TEXT}\n{walked}\n")
    found = published([novel], "default", ["books.divergence=null", "rare_words.share=null"])
    texts = [[turn["text"] for turn in turns] for turns in found["Inn"]]
    assert texts == [[text for text, _ in FIRST] + ["Here is the old inn. Shall we go in?", "Yes,"]]
