import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from edos_dataset.schema import FILMS
from edos_dataset.sources import inventory
from edos_dataset.sources.inventory import (
    Inventory,
    SourceError,
    contents_of,
    estimate_sentences,
    find_films,
    with_contents,
)


def make(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * len(name))
    return folder


def pack(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"x" * 1000)
    return path


def files(inventory: Inventory) -> dict[str, list[str]]:
    return {row["film"]: [file["document_id"] for file in row["files"]] for row in inventory.films.to_pylist()}


def reasons(inventory: Inventory) -> dict[str, str]:
    return {path: reason.partition(":")[0] for path, reason in inventory.skipped}


def bad(inventory: Inventory) -> dict[str, str]:
    assert all(note["detail"].startswith(f"{note['path']}: ") for note in inventory.quarantined)
    return {note["path"]: note["reason"] for note in inventory.quarantined}


def test_folders_files_and_archives(tmp_path: Path) -> None:
    make(
        tmp_path / "subs",
        "b.srt",
        "a/Film.en.srt",
        "a/Film.ass",
        "readme.txt",
        "en/2004/0012/7.xml.gz",
        "en/2004/12/8.xml",
    )
    pack(
        tmp_path / "subs/opus.zip",
        "OpenSubtitles/xml/en/2004/12/9.xml",
        "OpenSubtitles/LICENSE",
        "inner.zip",
        "__MACOSX/._x.srt",
    )
    make(tmp_path, "single.vtt")
    inventory = find_films([tmp_path / "subs", tmp_path / "single.vtt"], "en")
    assert files(inventory) == {
        "imdb/12": ["2004/0012/7", "2004/12/8", "2004/12/9"],
        "single": ["single.vtt"],
        "subs/a/Film": ["subs/a/Film.ass", "subs/a/Film.en.srt"],
        "subs/b": ["subs/b.srt"],
    }
    assert inventory.films.schema == FILMS
    assert (inventory.files, inventory.bytes) == (
        7,
        sum(file["size"] for row in inventory.films.to_pylist() for file in row["files"]),
    )
    assert set(reasons(inventory).values()) == {"not_subtitles", "nested_zip"}
    assert len(inventory.skipped) == 4
    assert reasons(inventory)["subs/opus.zip/inner.zip"] == "nested_zip"
    zipped = inventory.films.to_pylist()[0]["files"][2]
    assert (zipped["path"], zipped["member"]) == (
        "subs/opus.zip/OpenSubtitles/xml/en/2004/12/9.xml",
        "OpenSubtitles/xml/en/2004/12/9.xml",
    )
    assert (zipped["location"], zipped["kind"], zipped["year"], zipped["imdb_id"]) == (
        bytes(tmp_path / "subs/opus.zip"),
        "opus",
        2004,
        "12",
    )


def test_no_order_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "one", "c.srt", "a.srt", "x/b.srt", "x/y/d.srt")
    make(tmp_path / "two", "c.srt", "z.srt")
    (tmp_path / "one/link").symlink_to(tmp_path / "two")
    (tmp_path / "two/again").symlink_to(tmp_path / "one/x")
    sources = [tmp_path / "one", tmp_path / "two", tmp_path / "one/x", tmp_path / "one/x/b.srt"]
    expected = find_films(sources, "en")
    assert "one/x/b" in files(expected)
    scandir, shuffle = os.scandir, random.Random(0).shuffle

    class Shuffled:
        def __init__(self, path: str) -> None:
            self.inner = scandir(path)

        def __enter__(self) -> list[os.DirEntry[str]]:
            entries = list(self.inner)
            shuffle(entries)
            return entries

        def __exit__(self, *args: object) -> None:
            self.inner.close()

    monkeypatch.setattr(os, "scandir", Shuffled)
    for _ in range(10):
        shuffle(sources)
        again = find_films(sources, "en")
        assert again.films.equals(expected.films)
        assert again.skipped == expected.skipped


def test_folders_of_one_tree_give_the_ids_of_the_tree(tmp_path: Path) -> None:
    make(tmp_path / "en", "2004/12/8.xml")
    ids = [files(find_films([tmp_path / part], "en")) for part in ("en", "en/2004", "en/2004/12", "en/2004/12/8.xml")]
    assert ids == [{"imdb/12": ["2004/12/8"]}] * 4


def test_copies_of_one_opus_file_are_skipped(tmp_path: Path) -> None:
    make(tmp_path / "o", "xml/en/2004/1/2.xml", "xml/en/2004/1/2.xml.gz", "raw/en/2004/1/2.xml")
    inventory = find_films([tmp_path / "o"], "en")
    assert [file["path"] for film in inventory.films.to_pylist() for file in film["files"]] == ["o/raw/en/2004/1/2.xml"]
    assert reasons(inventory) == {"o/xml/en/2004/1/2.xml": "same_id", "o/xml/en/2004/1/2.xml.gz": "same_id"}


def test_where_a_source_lies_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders above decide no title of a show, no language and no split."""
    names = ("S01E02.srt", "Season 2/S02E01.srt", "Season 2/S02E01.en.sdh.srt", "Show/s01e01.srt", "film.srt",
             "2004/12/8.xml", "2004/0/9.xml")  # fmt: skip
    found = []
    for above in ("aa", "de", "Friends", "Lost/Season 1", "sub"):
        source = make(tmp_path / above / "subs", *names)
        monkeypatch.chdir(source.parent)
        for given in (source, Path("subs"), Path("subs/"), Path("../") / source.parent.name / "subs/."):
            inventory = find_films([given], "en")
            languages = [file["language"] for film in inventory.films.to_pylist() for file in film["files"]]
            found.append((files(inventory), languages, reasons(inventory)))
    assert all(one == found[0] for one in found)
    assert list(found[0][0]) == [
        "2004/0/9", "imdb/12", "show/s01e01", "subs/Season 2/s02e01", "subs/film", "subs/s01e02",
    ]  # fmt: skip
    # The tree of OPUS alone counts above a source: its ids are the same wherever in it a source begins.
    assert [
        files(find_films([tmp_path / "de/subs" / part], "en")) for part in ("2004/0", "2004/12", "2004/12/8.xml")
    ] == [{"2004/0/9": ["2004/0/9"]}, {"imdb/12": ["2004/12/8"]}, {"imdb/12": ["2004/12/8"]}]


def test_episodes_without_a_title_are_not_mixed_up(tmp_path: Path) -> None:
    """Each may be of another show."""
    sources = [make(tmp_path / folder, "S01E01.srt", "S01E01.en.srt") for folder in ("1", "2")]
    for folder in sources:
        pack(folder / "Season 1.zip", "S01E01.srt")
    sources.append(make(tmp_path, "S01E01.720p.srt") / "S01E01.720p.srt")
    assert files(find_films(sources, "en")) == {
        "1/Season 1.zip/s01e01": ["1/Season 1.zip/S01E01.srt"],
        "1/s01e01": ["1/S01E01.en.srt", "1/S01E01.srt"],
        "2/Season 1.zip/s01e01": ["2/Season 1.zip/S01E01.srt"],
        "2/s01e01": ["2/S01E01.en.srt", "2/S01E01.srt"],
        "S01E01.720p/s01e01": ["S01E01.720p.srt"],
    }


def test_directory_loops_end(tmp_path: Path) -> None:
    make(tmp_path / "subs", "a/a.srt")
    (tmp_path / "subs/a/loop").symlink_to(tmp_path / "subs")
    (tmp_path / "subs/self").symlink_to(tmp_path / "subs/self")
    (tmp_path / "subs/copy.srt").symlink_to(tmp_path / "subs/a/a.srt")
    (tmp_path / "subs/gone.srt").symlink_to(tmp_path / "nowhere")
    inventory = find_films([tmp_path / "subs"], "en")
    assert files(inventory) == {"subs/a/a": ["subs/a/a.srt"]}
    assert reasons(inventory) == {
        "subs/a/loop": "seen_before",
        "subs/copy.srt": "seen_before",
        "subs/self": "unreadable",
    }
    assert bad(inventory) == {"subs/gone.srt": "unreadable"}


def test_links_that_lead_to_something_new_are_followed(tmp_path: Path) -> None:
    make(tmp_path / "disk", "b/b.srt")
    make(tmp_path / "subs", "a.srt")
    (tmp_path / "subs/more").symlink_to(tmp_path / "disk")
    assert files(find_films([tmp_path / "subs"], "en")) == {
        "subs/a": ["subs/a.srt"],
        "subs/more/b/b": ["subs/more/b/b.srt"],
    }


def test_what_cannot_be_opened_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "subs", "a.srt", "locked/b.srt", "bad.zip")
    os.mkfifo(tmp_path / "subs/pipe.srt")
    scandir = os.scandir

    def deny(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", deny)
    inventory = find_films([tmp_path / "subs"], "en")
    assert files(inventory) == {"subs/a": ["subs/a.srt"]}
    assert reasons(inventory) == {"subs/pipe.srt": "not_a_file"}
    assert bad(inventory) == {"subs/bad.zip": "unreadable_zip", "subs/locked": "unreadable_folder"}
    assert inventory.facts()["unopened"] == 2


def test_other_languages_are_skipped(tmp_path: Path) -> None:
    make(tmp_path / "xml", "en/2004/12/8.xml", "de/2004/12/9.xml", "f/Film.2004.de.srt", "f/Film.2004.srt")
    inventory = find_films([tmp_path / "xml"], "en")
    assert files(inventory) == {"imdb/12": ["2004/12/8"], "xml/f/Film.2004": ["xml/f/Film.2004.srt"]}
    assert reasons(inventory) == {"xml/de/2004/12/9.xml": "other_language", "xml/f/Film.2004.de.srt": "other_language"}


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda folder: [], ["no source given"]),
        (lambda folder: [folder / "missing"], ["missing", "No such file"]),
        (lambda folder: [make(folder / "x", "a.txt")], ["no subtitles", "x/a.txt", ".srt", ".xml.gz", ".zip"]),
        (lambda folder: [make(folder, "x.zip") / "x.zip"], ["no subtitles", "unreadable_zip"]),
        (
            lambda folder: [make(folder / "1/s", "a.srt"), make(folder / "2/s", "a.srt")],
            ["'s/a.srt'", "1/s/a.srt", "2/s/a.srt", "rename"],
        ),
    ],
)
def test_errors_say_what_to_do(tmp_path: Path, build: Callable[[Path], list[Path]], words: list[str]) -> None:
    with pytest.raises(SourceError) as caught:
        find_films(build(tmp_path), "en")
    for word in words:
        assert word in str(caught.value)


def test_sources_of_equal_paths_inside(tmp_path: Path) -> None:
    """Their names distinguish them, so that another source renames nothing."""
    first, second = make(tmp_path / "aa", "01.srt", "x/01.srt"), make(tmp_path / "bb", "01.srt")
    alone = files(find_films([first], "en"))
    assert alone == {"aa/01": ["aa/01.srt"], "aa/x/01": ["aa/x/01.srt"]}
    assert files(find_films([second, first], "en")) == {**alone, "bb/01": ["bb/01.srt"]}


def test_sentences_are_estimated_by_size_and_kind(tmp_path: Path) -> None:
    make(tmp_path / "s", "small.srt")
    (tmp_path / "s/a.xml").write_bytes(b"x" * 300_000)
    (tmp_path / "s/b.xml.gz").write_bytes(b"x" * 100_000)
    (tmp_path / "s/c.srt").write_bytes(b"x" * 50_000)
    estimates = estimate_sentences(find_films([tmp_path / "s"], "en").films)
    assert estimates.tolist() == pytest.approx([1000, 100_000 * 5.5 / 300, 1000, 1])
    assert (
        estimate_sentences(
            pa.table({"film": pa.array([], pa.string()), "files": pa.array([], FILMS.field("files").type)})
        ).tolist()
        == []
    )


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


def test_files_of_no_known_format_are_counted_by_suffix(tmp_path):
    (tmp_path / "en").mkdir()
    good = {"a.srt": "1\n00:00:01,000 --> 00:00:02,000\nHi.\n", "talk.json": '[{"start": 1, "end": 2, "text": "Hi."}]'}
    for name, text in {
        **good,
        "info.json": '{"name": "x"}',
        "b.idx": "",
        "c.IDX": "",
        "d.sup.gz": "",
        "README": "",
    }.items():
        (tmp_path / "en" / name).write_text(text)
    inventory = find_films([tmp_path / "en"], "en")
    assert inventory.facts()["not_taken"] == {".idx": 2, ".json": 1, ".sup.gz": 1, "no suffix": 1}
    assert inventory.films["film"].to_pylist() == ["en/a", "en/talk"]
    reasons = {path: reason.partition(":")[0] for path, reason in inventory.skipped}
    assert (reasons["en/b.idx"], reasons["en/d.sup.gz"], reasons["en/info.json"]) == (
        "pictures",
        "pictures",
        "not_subtitles",
    )


def test_a_large_text_is_known_by_its_beginning(tmp_path, monkeypatch):
    chat = "".join(f"04.01.26, 19:{minute:02} - Anna: Where are you?\n" for minute in range(60)) * 50
    for name, text in (("chat.txt", chat), ("novel.txt", "Call me Ishmael.\n" * 8_000)):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(inventory, "read_bytes", lambda *_: pytest.fail("it is read whole"))
    found = find_films([tmp_path], "en")
    assert [Path(path).name for path, _ in found.skipped] == ["novel.txt"] and found.files == 1
    assert "looks like a plain text" in found.skipped[0][1]
