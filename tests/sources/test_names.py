import pytest

from edos_dataset.sources.names import name_file, split_suffix


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
