"""Unpacking archives safely: nothing outside the folder, no links, and the folder appears atomically."""

import errno
import gzip
import hashlib
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from edos_dataset.downloads.transfer import DownloadError
from edos_dataset.runs.shards import left_by_killed, temporary_beside
from edos_dataset.wording import counted

_DAMAGED = (
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    UnicodeDecodeError,
    NotImplementedError,
    RuntimeError,
)
_PADDING = 10 * 2**20  # most bytes that tar programs write after an archive's end


class _Member(NamedTuple):
    name: str
    size: int
    is_file: bool
    open: Callable[[], IO[bytes]]


def unpack(archive: Path, folder: Path, keep: Callable[[dict[str, str]], None] = lambda _: None) -> dict[str, str]:
    """Unpack a tar (plain or compressed) or zip archive, without a single top folder and without macOS resource files.

    Args:
        archive: the file.
        folder: the target, replaced if it exists.
        keep: called with the result just before the folder gets its name, so that no folder lacks a record.

    Returns:
        Path below the folder, "/" between parts, and SHA-256 of each file.

    Raises:
        DownloadError: the archive is damaged, or contains a link, a device, a path outside the folder, or a path twice.
        OSError: it cannot be written.
    """
    temporary = temporary_beside(folder)
    for left in (*left_by_killed(folder.parent, folder.name), *left_by_killed(folder.parent, _old(folder).name)):
        shutil.rmtree(left)
    try:
        with _members(archive) as members:
            digests = _write(archive, members, temporary)
        keep(digests)
        _put(temporary, folder)
    except (*_DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # a disk error; the errors of bz2 have no errno
            raise
        raise DownloadError(f"{archive} is damaged: {error or type(error).__name__}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return digests


@contextmanager
def _members(archive: Path) -> Iterator[list[_Member]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            yield [_of_zip(opened, info) for info in opened.infolist() if not info.is_dir()]
    else:
        with tarfile.open(archive) as tar:
            yield [_of_tar(tar, info) for info in tar.getmembers() if not info.isdir()]
            _read_to_the_end(tar)


def _read_to_the_end(tar: tarfile.TarFile) -> None:
    """Read past a tar's end, where a compressed one has its checksum, which tarfile does not verify."""
    left = _PADDING
    stream = tar.fileobj
    assert stream is not None
    while block := stream.read(1 << 20):
        left -= len(block)
        if left < 0:
            raise tarfile.ReadError("it continues after its end")


def _of_zip(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    kind = stat.S_IFMT(info.external_attr >> 16)
    return _Member(info.filename, info.file_size, kind in (0, stat.S_IFREG), lambda: opened.open(info))


def _of_tar(tar: tarfile.TarFile, info: tarfile.TarInfo) -> _Member:
    def content() -> IO[bytes]:
        file = tar.extractfile(info)
        assert file is not None  # never None for a regular file
        return file

    return _Member(info.name, info.size, info.isreg(), content)


def _write(archive: Path, members: list[_Member], folder: Path) -> dict[str, str]:
    """Write the members to a new folder, after checking the whole archive."""
    paths = {}
    for member in members:
        path = _inside(archive, member)
        if "__MACOSX" in path.parts or path.name.startswith("._"):
            continue
        if path in paths:
            raise DownloadError(f"{archive} holds {member.name!r} twice: it is not unpacked")
        paths[path] = member
    tops = {path.parts[0] for path in paths}
    skip = 1 if len(tops) == 1 and all(len(path.parts) > 1 for path in paths) else 0
    folder.mkdir(parents=True)
    size, free = sum(member.size for member in paths.values()), shutil.disk_usage(folder).free
    if size > free:
        raise OSError(
            errno.ENOSPC,
            f"no space for {counted(size, 'unpacked bytes')}, the disk has {free:,} left",
            str(folder.parent),
        )
    return {
        "/".join(path.parts[skip:]): _copy(member, folder.joinpath(*path.parts[skip:]))
        for path, member in sorted(paths.items())
    }


def _inside(archive: Path, member: _Member) -> PurePosixPath:
    path = PurePosixPath(member.name)
    try:
        member.name.encode()
    except UnicodeEncodeError as error:
        raise DownloadError(f"{archive} holds {member.name!a}, a name that is not UTF-8: it is not unpacked") from error
    if not member.is_file:
        raise DownloadError(f"{archive} holds {member.name!r}, a link or a device: it is not unpacked")
    if path.is_absolute() or ".." in path.parts or not path.parts or any(sign in member.name for sign in "\\:\0"):
        raise DownloadError(f"{archive} holds {member.name!r}, a path that may lead outside: it is not unpacked")
    return path


def _copy(member: _Member, target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    sha256, left = hashlib.sha256(), member.size
    with member.open() as source, target.open("xb") as file:
        while block := source.read(1 << 20):
            left -= len(block)
            sha256.update(block)
            file.write(block)
    if left:
        raise EOFError(f"{member.name} has {member.size - left:,} instead of {counted(member.size, 'bytes')}")
    return sha256.hexdigest()


def _old(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.old")


def _put(temporary: Path, folder: Path) -> None:
    """Rename a folder to its place; what is there is removed only once the new one replaces it."""
    old = temporary_beside(_old(folder))
    if folder.exists():
        folder.rename(old)
    temporary.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
