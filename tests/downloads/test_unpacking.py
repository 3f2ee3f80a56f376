"""Archives: what is inside comes out, whole; what would lead outside, or is damaged, leaves nothing."""

import hashlib
import io
import os
import stat
import tarfile
import zipfile

import pytest

from edos_dataset.downloads.transfer import DownloadError
from edos_dataset.downloads.unpacking import unpack
from edos_dataset.runs.shards import temporary_beside
from processes import in_another_process

FILES = {
    "top/train.csv": b"a,b\n",
    "top/deep/er.csv": b"c",
    "top/._train.csv": b"macOS",
    "__MACOSX/top/train.csv": b"macOS",
}


def make_tar(path, files, mode="w:gz", **changes):
    with tarfile.open(path, mode) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in changes.items():
                setattr(info, field, value)
            tar.addfile(info, io.BytesIO(content))
    return path


def make_zip(path, files, mode=stat.S_IFREG | 0o644):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return path


def test_what_killed_processes_left_goes_and_nothing_else(tmp_path):
    folder = tmp_path / "[1]"
    ended = in_another_process("import os; print(os.getpid())").stdout.strip()
    litter = [
        path.with_name(path.name.replace(str(os.getpid()), ended))
        for path in (temporary_beside(folder), temporary_beside(tmp_path / "[1].old"))
    ]
    mine = [tmp_path / name for name in (".[1].mine.tmp", ".[1].12.tmp", ".1.12.tmp")]
    for path in (*litter, *mine):
        path.mkdir()
    unpack(make_tar(tmp_path / "a", FILES), folder)
    assert [path.exists() for path in (*litter, *mine)] == [False, False, True, True, True]


def left(tmp_path):
    return sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize("make", [make_tar, make_zip])
def test_content(tmp_path, make):
    folder = tmp_path / "original"
    digests = unpack(make(tmp_path / "a", FILES), folder)
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()} == {
        "train.csv": b"a,b\n",
        "deep/er.csv": b"c",
    }
    assert digests == {
        "deep/er.csv": hashlib.sha256(b"c").hexdigest(),
        "train.csv": hashlib.sha256(b"a,b\n").hexdigest(),
    }
    unpack(make(tmp_path / "b", {"train.json": b"1", "valid.json": b"2"}), folder)
    assert left(folder) == [
        "train.json",
        "valid.json",
    ]  # what lay there is replaced, and without a common folder none is left out
    assert left(tmp_path) == ["a", "b", "original"]


@pytest.mark.parametrize("make", [make_tar, make_zip])
@pytest.mark.parametrize("name", ["../evil", "/evil", "top/../../evil", "C:\\evil", "top\\..\\evil", "C:evil"])
def test_nothing_leads_outside(tmp_path, make, name):
    with pytest.raises(DownloadError, match="may lead outside: it is not unpacked"):
        unpack(make(tmp_path / "a", {"top/good": b"1", name: b"2"}), tmp_path / "folder")
    assert left(tmp_path) == ["a"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_no_links_and_devices(tmp_path, kind):
    with pytest.raises(DownloadError, match="a link or a device"):
        unpack(make_tar(tmp_path / "a", {"top/link": b""}, type=kind, linkname="/etc/passwd"), tmp_path / "folder")
    with pytest.raises(DownloadError, match="a link or a device"):
        unpack(make_zip(tmp_path / "b", {"top/link": b"/etc/passwd"}, stat.S_IFLNK | 0o777), tmp_path / "folder")
    assert left(tmp_path) == ["a", "b"]


def damaged(path, change):
    path.write_bytes(change(path.read_bytes()))
    return path


@pytest.mark.parametrize(
    "archive",
    [
        lambda folder: damaged(
            make_tar(folder / "a", {"top/a": bytes(100_000), "top/b": b"1" * 5000}), lambda data: data[: len(data) // 2]
        ),
        lambda folder: damaged(
            make_tar(folder / "a", {"top/a": b"1" * 5000, "top/b": b"1"}, "w"), lambda data: data[:3000]
        ),
        lambda folder: damaged(
            make_zip(folder / "a", {"top/a": b"1" * 5000}), lambda data: data.replace(b"11111111", b"11112111", 1)
        ),
        lambda folder: damaged(make_zip(folder / "a", {"top/a": b"1"}), lambda data: b"<html>"),
    ],
)
def test_damaged_archives_leave_nothing(tmp_path, archive):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "kept").write_text("what lay there")
    with pytest.raises(DownloadError, match="is damaged"):
        unpack(archive(tmp_path), folder)
    assert left(tmp_path) == ["a", "folder"] and left(folder) == ["kept"]


def test_twice_and_too_much(tmp_path, monkeypatch):
    path = tmp_path / "a"
    with tarfile.open(path, "w") as tar:
        for content in (b"1", b"2"):
            info = tarfile.TarInfo("top/a")
            info.size = 1
            tar.addfile(info, io.BytesIO(content))
    with pytest.raises(DownloadError, match="holds 'top/a' twice"):
        unpack(path, tmp_path / "folder")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(OSError, match="no space for 11 unpacked bytes, the disk has 10 left"):
        unpack(make_tar(tmp_path / "b", {"a": b"12345678901"}), tmp_path / "folder")
    assert left(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_checksums_of_compressed_tars_are_read(tmp_path, mode):
    """tarfile stops where the tar ends, before the checksum of what packed it."""
    archive = make_tar(tmp_path / "a.tar", {"talk.csv": bytes(range(256)) * 400}, mode)
    data = bytearray(archive.read_bytes())
    data[-6] ^= 1
    archive.write_bytes(data)
    with pytest.raises(DownloadError, match="damaged"):
        unpack(archive, tmp_path / "talk")
    assert left(tmp_path) == ["a.tar"]


def test_what_goes_on_behind_its_end(tmp_path):
    archive = make_tar(tmp_path / "a.tar", {"talk.csv": b"a"}, "w")
    with archive.open("ab") as file:
        file.truncate(11 * 2**20)
    with pytest.raises(DownloadError, match="continues after its end"):
        unpack(archive, tmp_path / "talk")
    assert left(tmp_path) == ["a.tar"]


def test_names_that_no_record_can_hold(tmp_path):
    with pytest.raises(DownloadError, match=r"'caf\\udce9.csv', a name that is not UTF-8"):
        unpack(make_tar(tmp_path / "a.tar", {"caf\udce9.csv": b"a"}), tmp_path / "talk")
    assert left(tmp_path) == ["a.tar"]
