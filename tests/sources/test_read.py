import gzip
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pytest

from edos_dataset.runs.pipeline import count_units
from edos_dataset.schema import LINES, REASON
from edos_dataset.schema.tables import DETAIL, KEPT_FILE
from edos_dataset.sources import formats
from edos_dataset.sources import read as reading
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.parsed import Facts, Parsed
from edos_dataset.sources.read import ReadFilms
from edos_dataset.sources.subtitles.text import parse_subtitles


def opus(
    sentences: int = 3,
    timed: int | None = None,
    cds: str = "1/1",
    unknown: int = 0,
    confidence: float = 1.0,
    language: str = "English",
) -> bytes:
    timed = sentences if timed is None else timed
    body = "".join(
        f'<s id="{n}">'
        + (f'<time id="T{n}S" value="00:00:{n:02d},000" />' if n <= timed else "")
        + f'<w id="{n}.1">Line</w><w id="{n}.2">{n}</w><w id="{n}.3">.</w>'
        + (f'<time id="T{n}E" value="00:00:{n:02d},500" />' if n <= timed else "")
        + "</s>"
        for n in range(1, sentences + 1)
    )
    meta = (
        "<source><genre>Drama, "
        "Comedy</genre><year>1999</year><original>French</original></source><conversion><tokens>100</tokens>"
        f"<unknown_words>{unknown}</unknown_words></conversion><subtitle><cds>{cds}</cds><confidence>{confidence}</confidence><language>{language}</language></subtitle>"
    )
    return f'<?xml version="1.0" encoding="utf-8"?><document id="1">{body}<meta>{meta}</meta></document>'.encode()


SRT = b"1\n00:00:01,000 --> 00:00:02,000\nHello,\nyou.\n"


def read(folder: Path, contents: dict[str, bytes], stage: ReadFilms | None = None) -> list[dict]:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    table = (stage or ReadFilms())(find_films([folder], "en").films)
    table.validate(full=True)
    assert table.schema.names == [*LINES.names, REASON, DETAIL, KEPT_FILE]
    assert table.select(LINES.names).schema == LINES
    assert count_units(table, "files") == len(contents)
    return table.to_pylist()


def test_a_document_of_each_kind(tmp_path: Path) -> None:
    rows = read(tmp_path / "s", {"en/2004/0012/7.xml.gz": gzip.compress(opus(2, 1), mtime=0), "a.srt": SRT})
    first, second = rows
    assert (first["document_id"], first["film"], first["language"]) == ("2004/0012/7", "imdb/12", "en")
    assert first["source"] == {
        "kind": "opus",
        "path": "s/en/2004/0012/7.xml.gz",
        "imdb_id": "12",
        "year": 2004,
        "genres": ["Drama", "Comedy"],
    }
    assert first["reading"] == {
        "encoding": "utf-8",
        "encoding_confidence": 1.0,
        "original_language": "French",
        "bad_times": 2,
        "left_out": None,
        "faults": None,
    }
    assert first["lines"][1] == {
        "id": 2,
        "text": "Line 2.",
        "start": None,
        "end": None,
        "first_block": 1,
        "last_block": 1,
        "dash": False,
        **dict.fromkeys(("speaker", "scene", "manner", "voice")),
    }
    assert (second["document_id"], second["film"], second["source"]["genres"], second["source"]["year"]) == (
        "s/a.srt",
        "s/a",
        [],
        None,
    )
    assert [(line["id"], line["text"], line["start"]) for line in second["lines"]] == [
        (1, "Hello,", 1.0),
        (2, "you.", 1.0),
    ]
    assert all(row[REASON] is row[DETAIL] is None for row in rows)


def test_the_year_of_the_meta_completes_the_path(tmp_path: Path) -> None:
    assert read(tmp_path / "s", {"a.xml": opus()})[0]["source"]["year"] == 1999


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (opus(3), opus(9, cds="1/2")),
        (opus(3), opus(9, timed=8)),
        (opus(3), opus(9, unknown=5)),
        (opus(3), opus(9, confidence=0.5)),
        (opus(9), opus(8)),
        (opus(9, unknown=0), opus(9, unknown=9)),
        (opus(3), b"<document>"),
    ],
)
def test_the_best_file_of_a_film(tmp_path: Path, better: bytes, worse: bytes) -> None:
    for first, second in ((better, worse), (worse, better)):
        folder = tmp_path / ("a" if first is better else "b") / "en"
        rows = {row["document_id"]: row for row in read(folder, {"2004/1/1.xml": first, "2004/1/2.xml": second})}
        kept, left = (rows["2004/1/1"], rows["2004/1/2"]) if first is better else (rows["2004/1/2"], rows["2004/1/1"])
        assert kept[REASON] is None
        assert len(kept["lines"]) > 0
        assert left[REASON] in {"other_file_of_film", "truncated"}
        assert left["lines"] == []


ODD_NUMBERS = ["1e-308", "1e308", "1e400", "-1e400", "nan", "-5", "0", "inf", "9" * 400, "١٢", "", "1_0", "0x10"]


@pytest.mark.parametrize("tag", ["tokens", "unknown_words", "corrected_words", "confidence", "year", "cds", "duration"])
def test_no_number_in_the_meta_stops_a_run(tag: str, tmp_path: Path) -> None:
    odd = {
        f"2004/1/{place}.xml": opus(3, unknown=10**308).replace(
            b"</conversion>", f"<{tag}>{number}</{tag}></conversion><source><{tag}>{number}</{tag}></source>".encode()
        ).replace(b"<cds>", f"<{tag}>{number}</{tag}><cds>".encode())
        for place, number in enumerate(ODD_NUMBERS)
    }  # fmt: skip
    rows = read(tmp_path / "en", {**odd, "2004/1/99.xml": opus(4)})
    assert Counter(row[REASON] for row in rows) == {None: 1, "other_file_of_film": len(ODD_NUMBERS)}


def test_two_files_of_absurd_shares(tmp_path: Path) -> None:
    """Most words of the one are unknown, whatever number it states; the other states none."""
    meta = b"<tokens>1e-308</tokens>\n<unknown_words>1e308</unknown_words>"
    absurd = opus(3).replace(b"<tokens>100</tokens><unknown_words>0</unknown_words>", meta)
    worse = opus(3).replace(b"<unknown_words>0", b"<unknown_words>1000")
    rows = read(tmp_path / "en", {"2004/1/1.xml": absurd, "2004/1/2.xml": worse, "2004/1/3.xml": absurd})
    assert [row[REASON] for row in rows] == [None, "other_file_of_film", "other_file_of_film"]


def test_equal_files_go_by_their_id(tmp_path: Path) -> None:
    rows = read(tmp_path / "en", {"2004/1/2.xml": opus(), "2004/1/10.xml": opus(), "2004/1/3.xml": opus()})
    assert {row["document_id"]: row[REASON] for row in rows} == {
        "2004/1/10": None,
        "2004/1/2": "other_file_of_film",
        "2004/1/3": "other_file_of_film",
    }
    kept = {row["document_id"]: row[KEPT_FILE] for row in rows}
    assert kept["2004/1/10"] is None and kept["2004/1/2"] == kept["2004/1/3"] == "en/2004/1/10.xml"


def test_the_papers_read_all_files_of_a_film(tmp_path: Path) -> None:
    files = {"2004/1/2.xml": opus(3), "2004/1/10.xml": opus(4), "2004/1/3.xml": b"<document>"}
    rows = {row["document_id"]: row for row in read(tmp_path / "en", files, ReadFilms(all_files=True))}
    lines = {name: (row[REASON], row[KEPT_FILE], len(row["lines"])) for name, row in rows.items()}
    assert lines.pop("2004/1/3") == ("truncated", None, 0)
    assert lines == {"2004/1/2": (None, None, 3), "2004/1/10": (None, None, 4)}
    assert len({row["film"] for row in rows.values()}) == 1


LAUGHS = b'<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><document><s id="1">&b;</s></document>'
BAD: dict[str, tuple[bytes, str]] = {
    "empty.srt": (b"", "empty_file"),
    "cut.xml.gz": (gzip.compress(opus(50), mtime=0)[:-30], "truncated"),
    "cut.xml": (opus()[:200], "truncated"),
    "bomb.srt.gz": (gzip.compress(bytes(5_000_000), mtime=0), "too_large"),
    "laughs.xml": (LAUGHS, "forbidden_xml"),
    "external.xml": (
        b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><document><s id="1">&x;</s></document>',
        "forbidden_xml",
    ),
    "odd.xml": (b"<document><s></document>", "malformed_xml"),
    "junk.srt": (bytes(range(256)) * 10, "not_subtitles"),
    "line.srt": (b"1\n00:00:01,000 --> 00:00:02,000\n" + b"word " * 100_000, "not_subtitles"),
    "page.srt": (b"<html>404</html>", "not_subtitles"),
    "german.xml": (opus(language="German"), "other_language"),
}


def test_bad_files_cost_nothing_but_themselves(tmp_path: Path) -> None:
    contents = {name: content for name, (content, _) in BAD.items()}
    rows = {
        row["document_id"]: row
        for row in read(tmp_path / "s", {**contents, "good.srt": SRT}, ReadFilms(max_bytes=1_000_000))
    }
    for name, (_, reason) in BAD.items():
        row = rows[f"s/{name}"]
        assert (row[REASON], row["lines"]) == (reason, []), name
        assert row[DETAIL].startswith(f"s/{name}: "), name
    assert rows["s/good.srt"][REASON] is None
    assert len(rows["s/good.srt"]["lines"]) == 2


def test_a_damaged_member_of_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "o.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("en/2004/1/1.xml", opus())
        target.writestr("en/2004/2/2.xml", opus(4))
    archive.write_bytes(archive.read_bytes().replace(b'Line</w><w id="4.2">4', b'Line</w><w id="4.2">5'))
    table = ReadFilms()(find_films([archive], "en").films)
    assert dict(zip(table["film"].to_pylist(), table[REASON].to_pylist(), strict=True)) == {
        "imdb/1": None,
        "imdb/2": "corrupt_member",
    }


def test_a_bug_of_a_reader_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(data: bytes, language: str) -> None:
        raise RuntimeError("no idea")

    broken = {**formats.formats(), "opus": replace(formats.formats()["opus"], reader=fail)}
    monkeypatch.setattr(reading, "formats", lambda: broken)
    rows = read(tmp_path / "s", {"a.xml": opus(), "b.srt": SRT})
    assert [row[REASON] for row in rows] == ["reader_failed", None]
    assert "RuntimeError in line " in rows[0][DETAIL] and " of test_read.py" in rows[0][DETAIL]
    assert "no idea" not in rows[0][DETAIL]  # an error's message may quote the file, and the manifest is published


PARSED = parse_subtitles(SRT, "en")
HALF = "half a \ud83d"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: replace(PARSED, texts=["Hello,", HALF]),
        lambda: replace(PARSED, texts=["Hello,", None]),
        lambda: replace(PARSED, speakers=["Ann", 5]),
        lambda: replace(PARSED, starts=["now", "then"]),
        lambda: replace(PARSED, encoding=HALF),
        lambda: replace(PARSED, bad_times=2**40),
        lambda: replace(PARSED, facts=Facts(year=10**30)),
        lambda: replace(PARSED, facts=Facts(genres=[7])),
        lambda: replace(PARSED, facts=Facts(confidence=float("nan"))),
        lambda: replace(PARSED, facts=Facts(doubtful=1e308)),
        lambda: replace(PARSED, facts=Facts(original_language=HALF)),
        lambda: replace(PARSED, texts=[], ids=[], starts=[], ends=[], first_blocks=[], last_blocks=[]),
        lambda: None,
    ],
)
def test_what_a_reader_gives_costs_one_file(wrong: Callable[[], Parsed], monkeypatch, tmp_path: Path) -> None:
    broken = {**formats.formats(), "opus": replace(formats.formats()["opus"], reader=lambda *_: wrong())}
    monkeypatch.setattr(reading, "formats", lambda: broken)
    rows = read(tmp_path / "s", {"a.xml": opus(), "b.srt": SRT})
    assert [row[REASON] for row in rows] == ["reader_failed", None]


def test_a_file_that_takes_too_long_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(data: bytes, language: str) -> None:
        while True:
            with suppress(Exception):
                re.fullmatch("(x+x+)+y", "x" * 40)

    broken = {**formats.formats(), "opus": replace(formats.formats()["opus"], reader=never)}
    monkeypatch.setattr(reading, "formats", lambda: broken)
    rows = read(tmp_path / "s", {"a.xml": opus(), "b.srt": SRT}, ReadFilms(max_seconds=0.2))
    assert [row[REASON] for row in rows] == ["too_slow", None]
    assert "read.max_seconds" in rows[0][DETAIL]


@pytest.mark.parametrize(
    "bounds",
    [
        {"max_seconds": 0.0},
        {"max_seconds": float("nan")},
        {"max_seconds": 1e9},
        {"max_bytes": 0},
        {"max_bytes": 2**63 - 1},
    ],
)
def test_bounds_must_be_positive(bounds: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"max_(seconds|bytes) must be from"):
        ReadFilms(**bounds)


def test_speakers_beside_documents_without_any(tmp_path: Path) -> None:
    vtt = b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hi</v>\n"
    rows = read(tmp_path / "s", {"a.srt": SRT, "b.vtt": vtt})
    assert [[line["speaker"] for line in row["lines"]] for row in rows] == [[None, None], ["Ann"]]


def test_the_batch_does_not_matter(tmp_path: Path) -> None:
    read(tmp_path / "s", {f"{n}.srt": SRT for n in range(5)} | {"x.srt": b""})
    table = find_films([tmp_path / "s"], "en").films
    whole = ReadFilms()(table)
    parts = [row for index in range(table.num_rows) for row in ReadFilms()(table.slice(index, 1)).to_pylist()]
    assert whole.to_pylist() == parts
    assert ReadFilms()(table.slice(0, 0)).num_rows == 0


def test_tally(tmp_path: Path) -> None:
    for name, content in {
        "a.srt": SRT,
        "b.srt": SRT.replace(b"you", "you, J\xf6rg".encode("cp1252")),
        "c.xml": opus(2, 1),
        "d.srt": b"",
    }.items():
        (tmp_path / name).write_bytes(content)
    stage = ReadFilms()
    assert stage.tally(stage(find_films([tmp_path], "en").films)) == {
        "encoding: utf-8": 2,
        "encoding: cp1252": 1,
        "bad times": 2,
    }


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs the real files")
def test_real_files() -> None:
    folders = [
        Path(os.environ["EDOS_DATA_DIR"], name) for name in ("frasier/subtitles", "noisy_srt", "opensubtitles_xml")
    ]
    table = ReadFilms()(find_films(folders, "en").films)
    assert Counter(table[REASON].to_pylist()) == {None: table.num_rows}
    texts = pc.struct_field(pc.list_flatten(table["lines"]), "text")
    assert len(texts) > 150_000
    assert pc.sum(pc.match_substring_regex(texts, "Ã.|â€|\ufffd|-->|^\\d+$")).as_py() < 20
