import gzip
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.parsed import ReadError

TEXT = b"1\n00:00:01,000 --> 00:00:02,000\nHello\n" * 50
LIMIT = 10_000


def refused(location: Path, member: str | None = None, max_bytes: int = LIMIT) -> str:
    with pytest.raises(ReadError) as caught:
        read_bytes(location, member, max_bytes)
    assert caught.value.detail
    return caught.value.reason


def test_plain_gzip_and_zip(tmp_path: Path) -> None:
    plain, packed, archive = tmp_path / "a.srt", tmp_path / "a.srt.gz", tmp_path / "a.zip"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("x/a.srt", TEXT)
        target.writestr("x/a.srt.gz", gzip.compress(TEXT))
    for location, member in [(plain, None), (packed, None), (archive, "x/a.srt"), (archive, "x/a.srt.gz")]:
        assert read_bytes(location, member, LIMIT) == TEXT


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(gzip.compress(TEXT))
    (tmp_path / "b.xml.gz").write_bytes(TEXT)
    assert read_bytes(tmp_path / "a.xml", None, LIMIT) == read_bytes(tmp_path / "b.xml.gz", None, LIMIT) == TEXT


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty_file"),
        (b" \n\t", "empty_file"),
        (gzip.compress(b"", mtime=0), "empty_file"),
        (gzip.compress(TEXT, mtime=0)[:-20], "truncated"),
        (gzip.compress(TEXT, mtime=0)[:5], "truncated"),
        (gzip.compress(TEXT, mtime=0)[:-8] + b"\0" * 8, "corrupt_member"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 50, "corrupt_member"),
        (b"x" * (LIMIT + 1), "too_large"),
        (gzip.compress(b"x" * (LIMIT + 1), mtime=0), "too_large"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a").write_bytes(content)
    assert refused(tmp_path / "a") == reason


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(b"x" * LIMIT))
    assert len(read_bytes(tmp_path / "a", None, LIMIT)) == LIMIT


def test_bombs_are_never_unpacked(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(300_000_000), compresslevel=1)
    (tmp_path / "a.srt.gz").write_bytes(bomb)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("a.srt", bytes(50_000_000))
        target.writestr("b.srt.gz", bomb)
    tracemalloc.start()
    try:
        for location, member in [("a.srt.gz", None), ("a.zip", "a.srt"), ("a.zip", "b.srt.gz")]:
            assert refused(tmp_path / location, member, 5_000_000) == "too_large"
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_a_damaged_member_costs_no_other(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("good.srt", TEXT)
        target.writestr("bad.srt", b"Q" * 1000)
    archive.write_bytes(archive.read_bytes().replace(b"Q" * 1000, b"Q" * 999 + b"R"))
    assert refused(archive, "bad.srt") == "corrupt_member"
    assert refused(archive, "gone.srt") == "changed"
    assert read_bytes(archive, "good.srt", LIMIT) == TEXT


def test_a_member_with_a_password(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("a.srt", TEXT)
    data = bytearray(archive.read_bytes())
    data[6] |= 1  # the flag of the local header, and that of the directory
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    assert refused(archive, "a.srt") == "encrypted"


def test_an_archive_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    for text in (b"one", b"another"):
        with zipfile.ZipFile(archive, "w") as target:
            target.writestr("a.srt", text)
        assert read_bytes(archive, "a.srt", LIMIT) == text


def test_no_permission_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(tmp_path / "missing.srt") == "unreadable"
    (tmp_path / "a.srt").write_bytes(TEXT)

    def deny(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", deny)  # tests may run as root, whom no mode keeps out
    assert refused(tmp_path / "a.srt") == "unreadable"
