"""A source fetched: planned and shown first, verified before it gets its name, recorded, and compared with the record
from then on.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from edos_dataset.downloads.offers import Offer
from edos_dataset.downloads.records import as_recorded, read_records, record_of, write_records
from edos_dataset.downloads.registry import RemoteFile, Source
from edos_dataset.downloads.transfer import DownloadError, Server, forget
from edos_dataset.downloads.unpacking import unpack
from edos_dataset.downloads.verifying import Record, checked, faults
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import digest

FileProgress = Callable[[str, int, int | None], None]
"""Called with a path below the target folder, the bytes that are there, and those of the whole file, where they are
known.
"""


@dataclass(frozen=True)
class Plan:
    """What a download will do.

    Attributes:
        source: what is fetched.
        out: the target folder.
        offers: the files to fetch and what their servers say of them.
        there: paths of files that are there as they were recorded, and as the registry states.
        free: bytes left on the disk of the target folder.
        partly: bytes of the files to fetch that an earlier try left.
    """

    source: Source
    out: Path
    offers: tuple[tuple[RemoteFile, Offer], ...]
    there: tuple[str, ...]
    free: int
    partly: int

    @property
    def size(self) -> int | None:
        """Bytes of the files to fetch, or None where a server does not say."""
        sizes = [offer.size for _, offer in self.offers]
        return None if None in sizes else sum(size for size in sizes if size is not None)


def download(
    source: Source,
    out: Path,
    agree: Callable[[Plan], bool],
    *,
    server: Server | None = None,
    changed: bool = False,
    progress: FileProgress = lambda *_: None,
) -> dict[str, Record] | None:
    """Fetch a source into a folder. No byte of its files moves before `agree` has said yes; files that are there as
    recorded are not fetched again.

    A file is written as `NAME.part` and gets its name when it is whole and verified: by the SHA-256 that the source's
    registry entry states, or that an earlier download recorded; where there is none, by its size and what digest the
    server states. One that fails is kept as `NAME.damaged`.

    Args:
        source: what to fetch.
        out: the target folder; it is made.
        agree: is shown the plan, unless all files are there.
        server: by default one with the usual patience.
        changed: take files that differ from those recorded; those that are there are then fetched again where their
            server says that they have changed.
        progress: called as bytes come.

    Returns:
        The records of all files of the source by path, or None where `agree` said no.

    Raises:
        DownloadError: a file can't be had, is damaged, is not the one recorded, or something else lies in its place.
        FolderError: another download is at work in the folder, or it cannot be written.
        OSError: it cannot be written; the same call goes on where it stopped.
    """
    server = server or Server()
    lock = _lock(out)
    try:
        records = read_records(out)
        known: dict[str, Record] = records.get(source.name, {}).get("files", {})
        made = _plan(source, out, known, server, changed)
        if not made.offers:
            write_records(out, records, source, known)
            return known
        if not agree(made):
            return None
        for file, offer in made.offers:
            before = None if changed else known.get(file.path)

            def keep(record: Record, path: str = file.path) -> None:
                known[path] = record
                write_records(out, records, source, known)

            _fetch(file, offer, out, server, before, progress, keep)
        return known
    finally:
        lock.release()


def _lock(out: Path) -> FileLock:
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(out / ".downloads.lock", timeout=0)
        lock.acquire()
    except Timeout as error:
        raise FolderError(f"another download is at work in {out}: wait for it, or give another --out") from error
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise FolderError(
            f"cannot write to {error.filename}: {error.strerror}; give a folder that you may write to as --out"
        ) from error
    return lock


def _plan(source: Source, out: Path, known: dict[str, Record], server: Server, changed: bool) -> Plan:
    offers, there = [], []
    for file in source.files:
        target = out / file.path
        if not target.exists():
            offers.append((file, server.ask(file.url)))
        elif file.path in known:
            if not as_recorded(target, known[file.path]):
                raise DownloadError(
                    f"{target} is not what was downloaded on {known[file.path]['date']}: move it away, and give the "
                    "same command again"
                )
            outdated = (
                known[file.path]["sha256"] != file.sha256
                if file.sha256
                else changed and _differs(server.ask(file.url), known[file.path])
            )
            if outdated:
                offers.append((file, server.ask(file.url)))
            else:
                there.append(file.path)
        elif file.sha256 and not file.unpack and digest(target) == file.sha256:
            known[file.path] = record_of(
                Offer(file.url, target.stat().st_size), file.sha256, "the SHA-256 that the registry states", {}
            )
            there.append(file.path)
        else:
            raise DownloadError(
                f"{target} is there, and no record says that `edos download` put it there: move it away, or give "
                "another --out"
            )
    partly = sum(part.stat().st_size for part in (_part(out / file.path) for file, _ in offers) if part.exists())
    plan = Plan(source, out, tuple(offers), tuple(there), shutil.disk_usage(out).free, partly)
    if plan.size is not None and plan.size - partly > plan.free:
        raise DownloadError(
            f"{source.name} has {plan.size:,} bytes, and the disk of {out} has {plan.free:,} left: make room, or give "
            "another --out"
        )
    return plan


def _differs(offer: Offer, record: Record) -> bool:
    return (offer.size, offer.etag, offer.modified) != (record["size"], record["etag"], record["modified"])


def _part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _fetch(
    file: RemoteFile,
    offer: Offer,
    out: Path,
    server: Server,
    before: Record | None,
    progress: FileProgress,
    keep: Callable[[Record], None],
) -> None:
    """Fetch, verify and place a file; its record is kept just before, so that no file is there without one."""
    target = out / file.path
    part = _part(target)
    came = server.fetch(offer, part, lambda done, total: progress(file.path, done, total))
    sha256 = digest(part)
    try:
        for fault in faults(file, came, part, sha256, before):
            raise DownloadError(fault)
        how = checked(file, came, before)
        if file.unpack:
            unpack(part, target, lambda members: keep(record_of(came, sha256, how, members)))
    except DownloadError as error:
        damaged = target.with_name(f"{target.name}.damaged")
        part.replace(damaged)
        forget(part)
        raise DownloadError(f"{error}; what came is kept as {damaged}") from error
    if file.unpack:
        part.unlink()
    else:
        keep(record_of(came, sha256, how, {}))
        part.replace(target)
    forget(part)
