"""What users give as sources: paths, `~`, patterns and lists; which ids their files get."""

import io
import os
import sys

import pytest

from edos_dataset.commands.curate import places
from edos_dataset.commands.options import UsageError
from edos_dataset.runs.stores.paths import local_place, place_of
from edos_dataset.runs.stores.store import StoreError
from edos_dataset.sources.given import SourceError, sources_of
from edos_dataset.sources.inventory import find_films

CUE = "1\n00:00:01,000 --> 00:00:02,000\nHello there.\n"
FILES = ("films/a.srt", "films/one/x.srt", "films/one/.hidden.srt", "films/two/x.srt", "films/two/deep/y.srt", "b.txt")


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(CUE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def ids(sources):
    found = find_films(sources, "en")
    assert not found.quarantined
    return [file["document_id"] for files in found.films["files"].to_pylist() for file in files]


BOTH = ["films/one/x.srt", "films/two/x.srt"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["films/a.srt"], ["a.srt"]),
        (["~/films/a.srt"], ["a.srt"]),
        (BOTH, BOTH),  # as a shell gives films/*/x.srt
        (BOTH[::-1], BOTH),
        (["films/*/x.srt"], BOTH),
        (["./films/*/x.srt"], BOTH),
        (["~/films/*/x.srt"], BOTH),
        (["{here}/films/*/x.srt"], BOTH),
        (["*/*/x.srt"], BOTH),
        (["films/**/x.sr?"], BOTH),
        (["films/[!t]*/*"], BOTH[:1]),
        (["films/**/*.srt"], ["films/a.srt", BOTH[0], "films/two/deep/y.srt", BOTH[1]]),
        (["films/**", "films/one/x.srt"], [".hidden.srt", "films/a.srt", "films/two/deep/y.srt", BOTH[1], "x.srt"]),
    ],
)
def test_ids_of_what_is_given(here, given, expected):
    got = ids([each.format(here=here) for each in given])
    if "films/**" not in given:
        assert got == sorted(expected)
    else:  # a folder that is matched holds its hidden files, and no file is read twice
        assert sorted(got) == ["films/a.srt", "films/one/.hidden.srt", *BOTH[:1], "films/two/deep/y.srt", BOTH[1]]


def test_a_pattern_gives_the_ids_of_its_folder_and_each_file_once(here):
    found = find_films(["films/**"], "en")
    assert found.films.equals(find_films(["films"], "en").films) and not found.skipped


def test_a_file_whose_name_looks_like_a_pattern(here):
    (here / "Film [1998].srt").write_text(CUE, encoding="utf-8")
    assert ids(["Film [1998].srt"]) == ["Film [1998].srt"]
    with pytest.raises(SourceError, match=r"films/zz\*: no such file or folder, and as a pattern it matches none"):
        sources_of("films/zz*")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\0"])
@pytest.mark.parametrize("source", ["file", "-"])
def test_a_list_of_files(here, monkeypatch, end, source):
    absolute = str(here / "films" / "a.srt")
    lines = ["\ufefffilms/two/x.srt", "films//one/x.srt", "./films/two/x.srt", absolute]
    data = (end.join(lines) + end).encode()
    (here / "list").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    given = sources_of([], here / "list" if source == "file" else "-")
    assert ids(given) == sorted([*BOTH, absolute.lstrip(os.sep)])
    full = {file["path"] for files in find_films(given, "en").films["files"].to_pylist() for file in files}
    assert full == {*BOTH, absolute.lstrip(os.sep)}


def test_a_missing_file_of_a_list_is_counted_and_stops_nothing(here):
    (here / "list").write_text("films/a.srt\nfilms/gone.srt\n", encoding="utf-8")
    found = find_films(sources_of([], "list"), "en")
    assert found.files == 1
    [note] = found.quarantined
    assert (note["path"], note["reason"]) == ("films/gone.srt", "unreadable")


def test_lists_that_are_none(here):
    (here / "empty").write_text("\n\n", encoding="utf-8")
    with pytest.raises(SourceError, match="empty names no file"):
        sources_of([], "empty")
    with pytest.raises(SourceError, match="cannot read the list of files gone: No such file"):
        sources_of([], "gone")
    with pytest.raises(UsageError, match="no source given"):
        places(None)
    with pytest.raises(UsageError, match="each task of an array job reads the list"):
        places([], "-", "1/2")


def test_home_and_what_must_be_here(here, monkeypatch):
    assert place_of("~/films") == here / "films" and str(place_of("~nobody-here/x")) == "~nobody-here/x"
    with pytest.raises(StoreError, match="s3://bucket/out: --out must be on this machine"):
        local_place("s3://bucket/out", "--out")
