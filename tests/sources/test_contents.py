"""What is in the files counts, not their size and dates."""

import os

import pyarrow as pa

from edos_dataset.schema import FILMS
from edos_dataset.sources.contents import contents_of, with_contents
from edos_dataset.sources.inventory import find_films

LINE = "1\n00:00:01,000 --> 00:00:03,000\n{}\n"


def found(folder):
    return with_contents(find_films([folder], "en").films)


def test_an_edit_that_keeps_size_and_dates_is_noticed(tmp_path):
    for name, word in (("a", "early"), ("b", "late"), ("c", "now")):
        (tmp_path / "subs" / name).mkdir(parents=True)
        (tmp_path / "subs" / name / "film.srt").write_text(LINE.format(word))
    first, edited = found(tmp_path / "subs"), tmp_path / "subs" / "a" / "film.srt"
    assert first.schema.equals(FILMS) and found(tmp_path / "subs").equals(first)
    status = edited.stat()
    edited.write_text(LINE.format("often"))
    os.utime(edited, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert find_films([tmp_path / "subs"], "en").films.equals(find_films([tmp_path / "subs"], "en").films)
    second = found(tmp_path / "subs")
    assert [one == other for one, other in zip(first.to_pylist(), second.to_pylist(), strict=True)] == [
        False,
        True,
        True,
    ]
    assert contents_of(first).keys() == contents_of(second).keys()
    one_film = [table.set_column(0, "film", pa.array(["film"] * 3)) for table in (first, second)]
    assert len({*map(str, map(contents_of, one_film))}) == 2, "a film in several rows is all of them"


def test_a_copy_elsewhere_is_the_same_input(tmp_path):
    for place, date in (("one", 1), ("two", 2)):
        (tmp_path / place / "subs").mkdir(parents=True)
        (tmp_path / place / "subs" / "film.srt").write_text(LINE.format("now"))
        os.utime(tmp_path / place / "subs" / "film.srt", (date, date))
    one, two = (contents_of(found(tmp_path / place / "subs")) for place in ("one", "two"))
    assert one == two and len(one) == 1


def test_what_cannot_be_read_keeps_its_date_and_nothing_waits(tmp_path):
    film = tmp_path / "subs" / "film.srt"
    film.parent.mkdir()
    film.write_text(LINE.format("now"))
    films = find_films([film.parent], "en").films
    film.unlink()
    assert with_contents(films).equals(films)
    os.mkfifo(film)  # nobody writes to it: who opened it to read would wait for ever
    assert with_contents(films).equals(films)
    assert with_contents(films.slice(0, 0)).equals(films.slice(0, 0)) and isinstance(films, pa.Table)
