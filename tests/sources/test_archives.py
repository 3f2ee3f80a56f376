"""Large directories of zip archives agree with `zipfile` on every member, and take a few bytes a member."""

import io
import tracemalloc
import zipfile

import pytest

from edos_dataset.sources import archives
from edos_dataset.sources.archives import Directory, open_archive, unpack_member

NAMES = ["a.xml", "en/1999/ä ö.xml", "en/1999/ä.xml", "x" * 300, "same.srt", "same.srt"]
KINDS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


def archive_of(before=b"", comment=b"", zip64=False):
    """An archive of members of every compression, perhaps after other bytes."""
    stream = io.BytesIO()
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(stream, "w") as archive:
        for number, name in enumerate(NAMES):
            info = zipfile.ZipInfo(name)
            info.compress_type = KINDS[number % len(KINDS)]
            with archive.open(info, "w", force_zip64=zip64) as file:
                file.write(f"{number} of {name} ".encode() * 100)
        archive.comment = comment
    return before + stream.getvalue()


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(archives, "LARGE", 0)
    monkeypatch.setattr(archives, "_DIRECTORY_BLOCK", 7)  # entries lie across blocks
    monkeypatch.setattr(archives, "_LONGEST_ENTRY", 500)


@pytest.mark.parametrize("before", [b"", b"#!/bin/sh\n" * 50])
@pytest.mark.parametrize("comment", [b"", b"made by nobody"])
@pytest.mark.parametrize("zip64", [False, True])
def test_it_says_what_zipfile_says(large, before, comment, zip64, monkeypatch):
    if zip64:  # as if there were too many entries for an end of 32 bits
        monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 2)
    data = archive_of(before, comment, zip64=zip64)
    assert (b"PK\6\7" in data) == zip64
    archive, expected = open_archive(io.BytesIO(data)), zipfile.ZipFile(io.BytesIO(data))
    assert isinstance(archive, Directory) or (zip64 and before)  # which zipfile has to look for
    for name in NAMES:
        info, known = archive.getinfo(name), expected.getinfo(name)
        for field in ("filename", "header_offset", "compress_size", "file_size", "CRC", "compress_type", "flag_bits"):
            assert getattr(info, field) == getattr(known, field), (name, field)
        assert unpack_member(archive, info) == expected.read(known)
    with pytest.raises(KeyError, match="There is no item named 'b.xml'"):
        archive.getinfo("b.xml")


def test_damage_is_reported_as_by_zipfile(large):
    data = bytearray(archive_of())
    data[data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)] = 0  # the second entry
    with pytest.raises(zipfile.BadZipFile, match="central directory"):
        open_archive(io.BytesIO(data))
    data = bytearray(archive_of())
    data[data.index(b"0 of a.xml")] = ord("1")
    archive = open_archive(io.BytesIO(data))
    with pytest.raises(zipfile.BadZipFile, match="checksum"):
        unpack_member(archive, archive.getinfo("a.xml"))
    with pytest.raises(zipfile.BadZipFile, match="not a zip file"):
        open_archive(io.BytesIO(b"nothing at all" * 5))


def test_a_few_bytes_a_member():
    count = 20_000
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(count):
            archive.writestr(f"OpenSubtitles/xml/en/2000/{number}/{number}.xml", b"")
    tracemalloc.start()
    try:
        directory = open_archive(stream)
        kept, most = tracemalloc.get_traced_memory()
        assert isinstance(directory, Directory)
        assert kept < 20 * count and most < 50 * count + 3 * archives._DIRECTORY_BLOCK
        assert directory.getinfo("OpenSubtitles/xml/en/2000/777/777.xml").header_offset > 0
        zipfile.ZipFile(stream)
        assert tracemalloc.get_traced_memory()[1] > 300 * count  # what it would take
    finally:
        tracemalloc.stop()
