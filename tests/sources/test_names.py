import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.sources.names import name_file, spell_out, spell_out_path, split_suffix


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a/b.SRT", ("a/b", ".srt")),
        ("a/b.xml.gz", ("a/b", ".xml.gz")),
        ("a.b/c", ("a.b/c", "")),
        ("b.gz", ("b", ".gz")),
        ("Film.2004.en.srt", ("Film.2004.en", ".srt")),
    ],
)
def test_suffix(path: str, parts: tuple[str, str]) -> None:
    assert split_suffix(path) == parts


@pytest.mark.parametrize(
    ("path", "document_id", "film", "year", "imdb_id", "language"),
    [
        ("OpenSubtitles/xml/en/2004/0123/55.xml.gz", "2004/0123/55", "imdb/123", 2004, "123", "en"),
        ("pt_br/2004/123/55.xml", "2004/123/55", "imdb/123", 2004, "123", "pt_br"),
        ("eng/2004/123/55.xml", "2004/123/55", "imdb/123", 2004, "123", "en"),
        ("xml/2004/123/55.xml", "2004/123/55", "imdb/123", 2004, "123", None),
        ("sub/2004/123/55.xml", "2004/123/55", "imdb/123", 2004, "123", None),
        ("en/1/123/55.xml", "1/123/55", "imdb/123", None, "123", "en"),
        ("en/2004/0/55.xml", "2004/0/55", "2004/0/55", 2004, None, "en"),
        (
            "raw/zh_CN/2022/15963420/17.xml",
            "2022/15963420/17",
            "imdb/15963420",
            2022,
            "15963420",
            "zh_cn",
        ),
        ("en/2022/4294967295/7.xml", "2022/4294967295/7", "2022/4294967295/7", 2022, None, "en"),
        ("en/2022/123_456/7.xml", "2022/123_456/7", "imdb/123", 2022, "123", "en"),
    ],
)
def test_opus_tree(
    path: str, document_id: str, film: str, year: int | None, imdb_id: str | None, language: str | None
) -> None:
    named = name_file(path, f"/de/2001/{path}")
    assert (named.document_id, named.film, named.year, named.imdb_id, named.language) == (
        document_id,
        film,
        year,
        imdb_id,
        language,
    )
    assert named.kind == "opus"


@pytest.mark.parametrize(
    ("path", "film", "language"),
    [
        ("subtitles/01/Episode_1.srt", "subtitles/01/Episode_1", None),
        ("s/Film.2004.en.srt", "s/Film.2004", "en"),
        ("s/Film.2004.eng.forced.srt.gz", "s/Film.2004", "en"),
        ("s/Film.2004.pt-BR.sdh.vtt", "s/Film.2004", "pt"),
        ("s/Film.2004.it.srt", "s/Film.2004", "it"),
        ("s/dr.no.srt", "s/dr.no", None),  # a title, not Norwegian
        ("s/Dr.No.1962.no.srt", "s/Dr.No.1962", "no"),
        ("s/en.srt", "s/en", None),
        ("s/.en.srt", "s/.en", None),
        ("s/friends.s02e02.720p.bluray.srt", "friends/s02e02", None),
        ("s/The_Office-US.S2E3.en.srt", "the office us/s02e03", "en"),
        ("s/Friends - S01 E05 - Title.srt", "friends/s01e05", None),
        ("s/Show.S01E01E02.srt", "show/s01e01e02", None),
        ("little_things/S01E01.Little.Things.2016.srt", "little things/s01e01", None),
        ("Friends/Season 1/S01E02.srt", "friends/s01e02", None),
        ("s/tenses01e02.srt", "s/tenses01e02", None),
        ("s/32.xml", "s/32", None),
    ],
)
def test_films_of_other_files(path: str, film: str, language: str | None) -> None:
    named = name_file(path, f"/data/{path}")
    assert (named.document_id, named.film, named.language, named.year, named.imdb_id) == (
        path,
        film,
        language,
        None,
        None,
    )


NAMES = {
    b"Film (2004) [720p] #1.srt": "Film (2004) [720p] #1.srt",
    "Café – 東京 😀.srt".encode(): "Café – 東京 😀.srt",
    b"The%20Film%2c.srt": "The%20Film%2c.srt",
    b"100%.srt": "100%.srt",
    b"caf\xe9.srt": "caf%E9.srt",
    b"caf%E9.srt": "caf%25E9.srt",  # literally so, and no other file
    b"caf%25E9.srt": "caf%2525E9.srt",
    b"%0A": "%250A",
    b"a\nb\x1b[2J.srt": "a%0Ab%1B[2J.srt",
    "exe\u202etrs.\u2028\u0085".encode(): "exe%E2%80%AEtrs.%E2%80%A8%C2%85",
    b"\xed\xa0\x80\xff": "%ED%A0%80%FF",
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name: bytes) -> None:
    assert spell_out_path(os.fsdecode(name)) == NAMES[name]


PIECES = st.lists(st.sampled_from([b"%", b"2", b"5", b"E", b"9", b"\xe9", b"%25", b"%E9", b"\n", b"\xc3\xa9"]))


@given(PIECES, PIECES)
def test_no_two_names_become_one(one: list[bytes], other: list[bytes]) -> None:
    names = [os.fsdecode(b"".join(pieces)) for pieces in (one, other)]
    spelt = [spell_out_path(name) for name in names]
    assert (names[0] == names[1]) is (spelt[0] == spelt[1])


@given(st.binary(max_size=30))
def test_any_name_is_text_on_one_line(name: bytes) -> None:
    spelt = spell_out(name.decode("utf-8", "surrogateescape"))
    assert spelt.encode().decode() == spelt
    assert len(spelt.splitlines()) <= 1
