"""Formats: our own, and those that other packages add by entry points."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from edos_dataset.runs import fingerprints
from edos_dataset.schema import DETAIL, REASON
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.sources import formats
from edos_dataset.sources.formats import OURS, Format
from edos_dataset.sources.inventory import estimate_sentences, find_films
from edos_dataset.sources.read import ReadFilms
from installed_formats import READER, install

SRT = b"1\n00:00:01,000 --> 00:00:02,000\nHello, you.\n"
TEXT = b"LINES\nHello.\nWho is\nthere?\n"


def forget() -> None:
    """Forget what was found and imported, as a new process would."""
    formats.formats.cache_clear()
    formats.formats_by_suffix.cache_clear()
    fingerprints.code_hash.cache_clear()
    for name in [name for name in sys.modules if name.startswith("edos_lines")]:
        del sys.modules[name]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder on the path for packages that bring formats."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()
    yield folder
    forget()


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """Return a folder of files of two formats, one of them bad."""
    folder = tmp_path / "films"
    folder.mkdir()
    for name, content in {"a.srt": SRT, "b.lines": TEXT, "bad.lines": b"no lines"}.items():
        (folder / name).write_bytes(content)
    return folder


def test_a_format_of_another_package_is_read(site: Path, films: Path) -> None:
    """Its files are named, estimated, read and quarantined as ours are."""
    assert dict(find_films([films], "en").skipped).keys() == {"films/b.lines", "films/bad.lines"}
    install(site)
    forget()
    inventory = find_films([films], "en")
    assert inventory.skipped == []
    assert estimate_sentences(inventory.films).tolist() == [1.0, 1.0, 1.0]
    rows = {row["document_id"]: row for row in ReadFilms()(inventory.films).to_pylist()}
    assert rows["films/b.lines"]["source"]["kind"] == "lines"
    assert [line["text"] for line in rows["films/b.lines"]["lines"]] == ["Hello.", "Who is", "there?"]
    assert (rows["films/bad.lines"][REASON], rows["films/bad.lines"][DETAIL]) == (
        "not_lines",
        "films/bad.lines: begins with 'no lines'",
    )


@pytest.mark.parametrize(
    ("whole", "sentences"), [(False, ["Hello.", "Who is there?"]), (True, TEXT.decode().split("\n")[1:4])]
)
def test_the_format_decides_whether_lines_are_sentences(
    site: Path, films: Path, whole: bool, sentences: list[str]
) -> None:
    install(site, READER.replace("packing=2.0", f"packing=2.0, whole_sentences={whole}"))
    forget()
    table = ReadFilms()(find_films([films / "b.lines"], "en").films)
    (row,) = SplitSentences()(table.drop_columns([REASON, DETAIL])).to_pylist()
    assert [sentence["text"] for sentence in row["sentences"]] == sentences


def test_worker_processes_find_it(site: Path, films: Path) -> None:
    """Workers are started afresh, so the imports of this process don't matter."""
    install(site)
    forget()
    table = find_films([films / "b.lines"], "en").films
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(ReadFilms(), (table,)) == ReadFilms()(table)


def test_an_edit_of_its_code_is_noticed(site: Path) -> None:
    """Shards made by an earlier version of the reader must not be reused, wherever its code lies."""
    alone = ReadFilms().fingerprint()
    install(site, "from edos_lines_reader import LINES\n")
    (site / "edos_lines_reader.py").write_text(READER, encoding="utf-8")
    forget()
    assert list(ReadFilms().inputs()) == ["format lines"]
    before = ReadFilms().fingerprint()
    (site / "edos_lines_reader.py").write_text(READER.replace("texts[1:]", "texts[2:]"), encoding="utf-8")
    forget()
    assert len({alone, before, ReadFilms().fingerprint()}) == 3


def test_a_readers_columns_are_checked(site: Path, films: Path) -> None:
    """A bug of the reader costs one file."""
    install(site, READER.replace("texts[1:], index", "texts, index"))
    forget()
    rows = ReadFilms()(find_films([films], "en").films).to_pylist()
    assert [row[REASON] for row in rows] == [None, "reader_failed", "not_lines"]
    assert "ValueError in line " in rows[1][DETAIL] and " of parsed.py" in rows[1][DETAIL]


@pytest.mark.parametrize(
    ("module", "entry", "message"),
    [
        (READER.replace('".lines"', '".srt"'), "lines = edos_lines:LINES", "'.srt', which is taken by edos-dataset"),
        (READER.replace('"lines"', '"opus"'), "opus = edos_lines:LINES", "'opus', which is taken by edos-dataset"),
        (READER, "liens = edos_lines:LINES", "expected a Format of the kind 'liens'"),
        (READER, "lines = edos_lines:read_lines", "edos_lines:read_lines is <function"),
        (READER, "lines = edos_lines:LINE", "gives as edos_lines:LINE, cannot be imported: AttributeError"),
        ("import nothing_of_the_kind", "lines = edos_lines:LINES", "nothing_of_the_kind"),
        (READER.replace('".lines"', '".Lines"'), "lines = edos_lines:LINES", "'.Lines' is not a valid suffix"),
    ],
)  # fmt: skip
def test_a_format_that_does_not_fit_is_an_error(site: Path, films: Path, module: str, entry: str, message: str) -> None:
    """The message names the package."""
    install(site, module, entry=entry)
    forget()
    with pytest.raises(ValueError, match="edos-lines") as refused:
        find_films([films], "en")
    assert message in str(refused.value)


def test_two_packages_may_not_bring_one_suffix(site: Path, films: Path) -> None:
    install(site)
    install(site, READER.replace('"lines"', '"rows"'), "edos-lines-too", "rows = edos_lines_too:LINES")
    forget()
    with pytest.raises(ValueError, match="'rows' of edos-lines-too [^ ]+ has the suffix '.lines', which is taken"):
        find_films([films], "en")


@pytest.mark.parametrize(
    "change",
    [{"suffixes": (suffix,)} for suffix in ("lines", ".LINES", ".a.b", ".", ".zip", ".gz", "")]
    + [{"bytes_per_sentence": 0.0}, {"packing": -1.0}, {"packing": float("nan")}],
)
def test_wrong_values_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="format 'opus'"):
        replace(OURS[0], **change)


def test_every_suffix_may_be_packed() -> None:
    by_suffix = formats.formats_by_suffix()
    assert {suffix: format.kind for suffix, format in by_suffix.items() if suffix.startswith((".xml", ".srt"))} == {
        ".xml": "opus",
        ".xml.gz": "opus",
        ".srt": "subtitle",
        ".srt.gz": "subtitle",
    }
    assert all(isinstance(format, Format) for format in by_suffix.values())
