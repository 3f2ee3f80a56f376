"""Which dialogues and pairs are drawn, and what is around them."""

from collections import Counter

import pytest

from audited import BOOK_ROWS, book_row, film_row, films, write_config
from edos_dataset.audits.documents import draw_items
from edos_dataset.audits.judgements import BOOKS, DIALOGUES, PAIRS, SUBTITLES
from edos_dataset.runs.folder import FolderError


def test_all_of_a_small_folder_come_once_each(tmp_path):
    config, kind, items = draw_items(films(tmp_path), None, DIALOGUES, 100, 0, 0)
    assert (config, kind, len(items), len({item.item for item in items})) == ("os", SUBTITLES, 20, 20)
    assert all([line.judged for line in item.lines] == [True] * len(item.lines) for item in items)
    assert Counter(item.split for item in items) == {"train": 10, "test": 10}
    _, _, pairs = draw_items(tmp_path, "os", PAIRS, 100, 0, 0)
    assert len({pair.item for pair in pairs}) == 4 * (1 + 2 + 3 + 1 + 2), "a dialogue of n turns has n - 1 pairs"
    longest = next(pair for pair in pairs if pair.item == "show0/film2.srt#21@3")
    assert [line.text for line in longest.judged] == ["film 2 dialogue 2 turn 2", "film 2 dialogue 2 turn 3"]


def test_every_pair_is_as_likely_as_any_other(tmp_path):
    rows = [film_row("long.srt", [str(number) for number in range(31)]), film_row("short.srt", ["a", "b"])]
    write_config(tmp_path, "os", {"train": rows})
    drawn = Counter(draw_items(tmp_path, "os", PAIRS, 1, seed, 0)[2][0].facts["document_id"] for seed in range(300))
    assert 0 < drawn["short.srt"] < 30, "one pair in 31 is there, not one dialogue in two"


def test_the_neighbours_in_the_film_are_around_and_those_of_other_films_are_not(tmp_path):
    items = {item.item: item for item in draw_items(films(tmp_path), "os", PAIRS, 100, 0, 3)[2]}
    lines = items["show1/film1.srt#11@2"].lines
    assert [(line.text, line.judged) for line in lines] == [
        ("film 1 dialogue 0 turn 0", False),
        ("film 1 dialogue 0 turn 1", False),
        ("film 1 dialogue 1 turn 0", False),
        ("film 1 dialogue 1 turn 1", True),
        ("film 1 dialogue 1 turn 2", True),
        ("film 1 dialogue 2 turn 0", False),
        ("film 1 dialogue 2 turn 1", False),
        ("film 1 dialogue 2 turn 2", False),
    ]
    assert not items["show0/film0.srt#1@1"].lines[0].text.startswith("film 0 dialogue 4"), "nothing before the first"


def test_rows_of_a_document_may_stand_anywhere(tmp_path):
    rows = [film_row("a.srt", ["c", "d"], 5), film_row("b.srt", ["x", "y"]), film_row("a.srt", ["a", "b"], 1)]
    write_config(tmp_path, "os", {"train": rows})
    items = {item.item: item for item in draw_items(tmp_path, "os", DIALOGUES, 9, 0, 9)[2]}
    assert [line.text for line in items["a.srt#5"].lines] == ["a", "b", "c", "d"]


def test_the_seed_decides(tmp_path):
    films(tmp_path)
    first = draw_items(tmp_path, "os", DIALOGUES, 5, 1, 2)
    assert draw_items(tmp_path, "os", DIALOGUES, 5, 1, 2) == first != draw_items(tmp_path, "os", DIALOGUES, 5, 2, 2)
    assert draw_items(tmp_path, "os", DIALOGUES, 3, 1, 2)[2] == first[2][:3], "the first of more are a sample, too"


def test_books_are_known_by_their_columns(tmp_path):
    rows = [book_row("b.txt", [("Hm?", [4], "Ann", "said Ann."), ("Oh.", [6])])]
    write_config(tmp_path, "gutenberg_en", {"train": rows}, BOOK_ROWS)
    config, kind, (item,) = draw_items(tmp_path, "gutenberg_en", DIALOGUES, 5, 0, 2)
    assert (config, kind) == ("gutenberg_en", BOOKS)
    assert (item.lines[0].speaker, item.lines[0].narration, item.lines[1].speaker) == ("Ann", "said Ann.", None)


def test_what_cannot_be_drawn(tmp_path):
    folder = films(tmp_path / "films")
    for values, message in (
        ((folder, "edos", DIALOGUES, 5, 0, 2), "has no config 'edos'; it has os"),
        ((tmp_path / "none", None, DIALOGUES, 5, 0, 2), "has no dataset of this package; it has none"),
        ((folder, "os", "turns", 5, 0, 2), "unit is 'turns', expected one of dialogues, pairs"),
        ((folder, "os", PAIRS, 0, 0, 2), "number of pairs must be at least 1, got 0"),
        ((folder, "os", PAIRS, 1, 0, -1), "around of pairs must be at least 0, got -1"),
    ):
        with pytest.raises(ValueError, match=message):
            draw_items(*values)
    write_config(tmp_path / "single", "os", {"train": [film_row("a.srt", ["alone"])]})
    with pytest.raises(ValueError, match="has no dialogue of 2 turns"):
        draw_items(tmp_path / "single", None, DIALOGUES, 5, 0, 2)
    write_config(tmp_path / "seed", "amt_seed", {"train": []})
    with pytest.raises(ValueError, match="has no column 'document_id'"):
        draw_items(tmp_path / "seed", None, DIALOGUES, 5, 0, 2)
    path = folder / "os" / "train-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FolderError, match="cannot read config 'os'"):
        draw_items(folder, "os", DIALOGUES, 5, 0, 2)
