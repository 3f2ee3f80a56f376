"""Archives and names of every bad kind: each file is listed once, as read, skipped or bad, and the walk continues."""

import io
import os
import stat
import struct
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from edos_dataset.schema import DETAIL, REASON
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.inventory import Inventory, find_films
from edos_dataset.sources.names import spell_out_path
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.read import ReadFilms

SRT = b"1\n00:00:01,000 --> 00:00:02,000\nHello, you.\n"
DEFLATED, BZIP2, LZMA = zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA


def pack(members: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_STORED) -> bytearray:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return bytearray(data.getvalue())


def member(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def edited(data: bytearray, start: bytes, offset: int, value: bytes, nth: int = 0) -> bytearray:
    """Change the bytes at an offset after the nth place that begins with `start`."""
    place = -1
    for _ in range(nth + 1):
        place = data.index(start, place + 1)
    data[place + offset : place + offset + len(value)] = value
    return data


LOCAL, DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"


def bomb(method: int) -> bytes:
    return bytes(pack([("bomb.srt", bytes(8_000_000)), ("good.srt", SRT)], method))


def lying(method: int, size: int, compressed: int | None = None) -> bytearray:
    """An archive whose directory states another size than a member has."""
    data = edited(pack([("lies.srt", SRT * 100)], method), DIRECTORY, 24, struct.pack("<I", size))
    return data if compressed is None else edited(data, DIRECTORY, 20, struct.pack("<I", compressed))


def without_a_name() -> bytearray:
    data = pack([("x", b"1"), ("good.srt", SRT)])
    place = data.index(DIRECTORY)
    data[place + 28 : place + 30] = bytes(2)
    del data[place + 46]
    return edited(data, b"PK\x05\x06", 12, struct.pack("<I", len(data) - 22 - place))


def overlapping() -> bytearray:
    data = pack([(f"{name}.srt", SRT) for name in "abc"])
    size = struct.pack("<I", 3 * len(SRT))
    return edited(edited(data, DIRECTORY, 20, size), DIRECTORY, 24, size)


def zip64() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive, archive.open("good.srt", "w", force_zip64=True) as file:
        file.write(SRT)
    return data.getvalue()


def duplicates() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate"):
        return bytes(pack([("a.srt", b"x"), ("a.srt", SRT * 2), ("a.srt", SRT)]))


def read(inventory: Inventory) -> dict[str, list[str | None]]:
    """Return what happened to each path of an inventory: null if its lines were read, else a reason."""
    table = ReadFilms(max_bytes=1_000_000)(inventory.films)
    found = [(row["source"]["path"], row[REASON]) for row in table.to_pylist()]
    found += [(note["path"], note["reason"]) for note in inventory.quarantined]
    found += [(path, reason.partition(":")[0]) for path, reason in inventory.skipped]
    outcomes: dict[str, list[str | None]] = {}
    for path, reason in found:
        outcomes.setdefault(path.partition(".zip/")[2] or path, []).append(reason)
    return outcomes


G = {"good.srt": [None]}
ZIPS: dict[str, tuple[bytes | bytearray | Callable[[], bytes | bytearray], dict[str, list[str | None]]]] = {
    "bzip2": (pack([("good.srt", SRT)], BZIP2), G),
    "lzma": (pack([("good.srt", SRT)], LZMA), G),
    "zip64": (zip64, G),
    "a deflate bomb": (lambda: bomb(DEFLATED), {"bomb.srt": ["too_large"], **G}),
    "a bzip2 bomb": (lambda: bomb(BZIP2), {"bomb.srt": ["too_large"], **G}),
    "an LZMA bomb": (lambda: bomb(LZMA), {"bomb.srt": ["too_large"], **G}),
    "a bomb that lies": (
        lambda: edited(bytearray(bomb(BZIP2)), DIRECTORY, 24, struct.pack("<I", 900_000)),
        {"bomb.srt": ["corrupt_member"], **G},
    ),
    "corrupt LZMA": (edited(pack([("a.srt", SRT)], LZMA), b"a.srt", 20, b"\xff" * 9), {"a.srt": ["corrupt_member"]}),
    "a corrupt LZMA header": (
        edited(pack([("a.srt", SRT)], LZMA), b"a.srt", 9, b"\xff"),
        {"a.srt": ["corrupt_member"]},
    ),
    "an LZMA dictionary of 4 GB": (edited(pack([("good.srt", SRT)], LZMA), b"good.srt", 13, b"\xff" * 4), G),
    "corrupt bzip2": (edited(pack([("a.srt", SRT)], BZIP2), b"a.srt", 9, b"\xff" * 9), {"a.srt": ["corrupt_member"]}),
    "corrupt deflate": (
        edited(pack([("a.srt", SRT)], DEFLATED), b"a.srt", 5, b"\xff" * 9),
        {"a.srt": ["corrupt_member"]},
    ),
    "a size too small": (lying(DEFLATED, 100), {"lies.srt": ["corrupt_member"]}),
    "a size too large": (lying(DEFLATED, 900_000), {"lies.srt": ["corrupt_member"]}),
    "a size of nothing": (lying(DEFLATED, 0), {"lies.srt": ["corrupt_member"]}),
    "a size of 4 GB": (lying(DEFLATED, 2**32 - 2), {"lies.srt": ["too_large"]}),
    "stored in less": (lying(zipfile.ZIP_STORED, 100, 50), {"lies.srt": ["corrupt_member"]}),
    "stored beyond the end": (lying(zipfile.ZIP_STORED, 900_000, 900_000), {"lies.srt": ["truncated"]}),
    "an unknown method": (edited(pack([("a.srt", SRT)]), DIRECTORY, 10, b"\x63"), {"a.srt": ["unreadable"]}),
    "a password": (
        edited(edited(pack([("a.srt", SRT)]), LOCAL, 6, b"\x01"), DIRECTORY, 8, b"\x01"),
        {"a.srt": ["encrypted"]},
    ),
    "no name": (without_a_name, {"s/z.zip/": ["not_subtitles"], "good.srt": [None]}),
    "bad UTF-8 in a local header": (
        edited(
            edited(pack([("é.srt", SRT), ("good.srt", SRT)]), "é".encode(), 0, b"\xe9\xe9"), DIRECTORY, 8, b"\0\x08"
        ),
        {"é.srt": ["corrupt_member"], **G},
    ),
    "bad UTF-8 in the directory": (
        edited(pack([("é.srt", SRT)]), "é".encode(), 0, b"\xe9\xe9", nth=1),
        {"s/z.zip": ["unreadable_zip"]},
    ),
    "one name three times": (
        duplicates,
        {"a.srt (entry 1)": ["replaced"], "a.srt (entry 2)": ["replaced"], "a.srt": [None]},
    ),
    "names that lead out": (
        pack(
            [
                (name, SRT)
                for name in ("/etc/a.srt", "../../b.srt", "x/../c.srt", "D:\\d.srt", "..\\e.srt", "g..h/i..srt")
            ]
        ),
        {
            "/etc/a.srt": ["unsafe_name"],
            "../../b.srt": ["unsafe_name"],
            "x/../c.srt": ["unsafe_name"],
            "D:\\d.srt": ["unsafe_name"],
            "..\\e.srt": ["unsafe_name"],
            "g..h/i..srt": [None],
        },
    ),
    "a name of 60,000 characters": (pack([(f"{'x' * 60_000}.srt", SRT)]), {"x" * 192 + "...": ["unsafe_name"]}),
    "odd names": (
        pack([("a\nb.srt", SRT), ("c\u202ed.srt", SRT), ("e%0Af.srt", SRT), ("g\0h.srt", SRT), ("%", b"")]),
        {
            "a%0Ab.srt": [None],
            "c%E2%80%AEd.srt": [None],
            "e%250Af.srt": [None],
            "g": ["not_subtitles"],
            "%": ["not_subtitles"],
        },
    ),
    "a folder with data": (
        pack([("plain/", b""), ("full.srt/", SRT), ("good.srt", SRT)]),
        {"full.srt/": ["not_a_file"], **G},
    ),
    "a link": (pack([(member("a.srt", stat.S_IFLNK | 0o777), b"/etc/passwd")]), {"a.srt": ["not_a_file"]}),
    "nested": (pack([("in.zip", bytes(pack([("a.srt", SRT)])))]), {"in.zip": ["nested_zip"]}),
    "members that overlap": (overlapping, {"a.srt": ["corrupt_member"], "b.srt": [None], "c.srt": [None]}),
    "cut off": (pack([("a.srt", SRT)])[:-5], {"s/z.zip": ["unreadable_zip"]}),
    "no zip": (b"<html>404</html>", {"s/z.zip": ["unreadable_zip"]}),
    "nothing": (b"", {"s/z.zip": ["unreadable_zip"]}),
    "a comment before": (b"#!/bin/sh\n" + pack([("good.srt", SRT)]), G),
}


@pytest.mark.parametrize("name", ZIPS)
def test_archives(name: str, tmp_path: Path) -> None:
    content, expected = ZIPS[name]
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "z.zip").write_bytes(content() if callable(content) else content)
    (folder / "other.srt").write_bytes(SRT)
    outcomes = read(find_films([folder], "en"))
    assert outcomes.pop("s/other.srt") == [None]
    assert {path: Counter(reasons) for path, reasons in outcomes.items()} == {
        path: Counter(reasons) for path, reasons in expected.items()
    }


@pytest.mark.parametrize("method", [DEFLATED, BZIP2, LZMA])
def test_a_bomb_takes_no_memory(method: int, tmp_path: Path) -> None:
    """Even if its directory states a size that is allowed."""
    lies = edited(bytearray(bomb(method)), DIRECTORY, 24, struct.pack("<I", 900_000))
    (tmp_path / "z.zip").write_bytes(lies)
    tracemalloc.start()
    try:
        with pytest.raises(ReadError, match="corrupt_member: the checksum"):
            read_bytes(tmp_path / "z.zip", "bomb.srt", 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """They are read like others, under different ids that are text; also as sources themselves."""
    folder = os.fsencode(tmp_path) + b"/s\xff"
    os.mkdir(folder)
    names = {b"caf\xe9.srt": "caf%E9.srt", b"caf%E9.srt": "caf%25E9.srt", b"a\n\x1b[2J.srt": "a%0A%1B[2J.srt"}
    names[b"x" * 250 + b".srt"] = "x" * 250 + ".srt"
    for name in names:
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(SRT)
    Path(os.fsdecode(folder + b"/caf\xe9.txt")).write_bytes(SRT)
    Path(os.fsdecode(folder + b"/bad\xe9.zip")).write_bytes(SRT)
    inventory = find_films([Path(os.fsdecode(folder))], "en")
    assert read(inventory) == {
        **{f"s%FF/{name}": [None] for name in names.values()},
        "s%FF/caf%E9.txt": ["not_subtitles"],
        "s%FF/bad%E9.zip": ["unreadable_zip"],
    }
    alone = find_films([Path(os.fsdecode(folder + b"/caf\xe9.srt"))], "en")
    assert read(alone) == {"caf%E9.srt": [None]}


def test_the_locale_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "café.srt").write_bytes(SRT)
    expected = find_films([tmp_path], "en").films.to_pylist()
    monkeypatch.setattr(os, "fsencode", lambda name: str(name).encode("latin-1"))  # as where that is the encoding
    scandir = os.scandir(tmp_path)
    real = [entry.path.encode().decode("latin-1") for entry in scandir]
    assert os.fsencode(real[0]) == str(tmp_path / "café.srt").encode()
    assert spell_out_path(os.path.basename(real[0])) == expected[0]["files"][0]["document_id"].partition("/")[2]


def swap_for(kind: str, path: Path) -> None:
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        os.symlink("/dev/zero", path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "grown":
        path.write_bytes(SRT * 3)
    elif kind == "shrunk":
        path.write_bytes(SRT[:9])


@pytest.mark.parametrize("name", ["a.srt", "z.zip"])
@pytest.mark.parametrize(
    ("kind", "reason"),
    [("pipe", "not_a_file"), ("device", "not_a_file"), ("folder", "unreadable"), ("gone", "unreadable"),
     ("grown", "changed"), ("shrunk", "changed")],
)  # fmt: skip
def test_what_changes_after_the_inventory(name: str, kind: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_bytes(SRT)
    (tmp_path / "z.zip").write_bytes(pack([("b.srt", SRT)]))
    films = find_films([tmp_path], "en").films
    assert ReadFilms()(films)[REASON].to_pylist() == [None, None]
    swap_for(kind, tmp_path / name)
    if name == "z.zip" and reason == "changed":
        reason = "corrupt_member"  # it is no archive any more
    rows = ReadFilms()(films)
    assert sorted(map(str, rows[REASON].to_pylist())) == ["None", reason]
    assert (kind == "gone") is ("No such file" in str(rows[DETAIL].to_pylist()))


def test_an_archive_that_was_packed_anew(tmp_path: Path) -> None:
    (tmp_path / "z.zip").write_bytes(pack([("a.srt", SRT), ("b.srt", SRT), ("c.srt", SRT)]))
    films = find_films([tmp_path], "en").films
    (tmp_path / "z.zip").write_bytes(pack([("a.srt", SRT), ("b.srt", SRT * 2)]))
    assert ReadFilms()(films)[REASON].to_pylist() == [None, "changed", "changed"]


def test_a_permission_given_back_is_noticed(tmp_path: Path) -> None:
    """A file quarantined for lack of it is read when the same command is given again."""
    (tmp_path / "a.srt").write_bytes(SRT)
    before = find_films([tmp_path], "en").films
    (tmp_path / "a.srt").chmod(0o600)
    assert not before.equals(find_films([tmp_path], "en").films)
