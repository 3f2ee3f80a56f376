"""Downloading a source: planned and confirmed first, verified before files get their names, recorded, and compared with
the record from then on.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from edos_dataset.downloads.records import Record, as_recorded, checked, faults, read_records, record_of, write_records
from edos_dataset.downloads.registry import RemoteFile, Source
from edos_dataset.downloads.transfer import DownloadError, Offer, Server, forget
from edos_dataset.downloads.unpacking import unpack
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import digest
from edos_dataset.wording import counted

FileProgress = Callable[[str, int, int | None], None]
"""Called with a path below the target folder, its bytes so far, and the size of the file, if known."""


@dataclass(frozen=True)
class Plan:
    """What a download will do.

    Attributes:
        source: the source.
        out: the target folder.
        offers: the files to fetch, with the offers of their servers.
        there: paths of files that already match the record and the registry.
        free: bytes left on the disk of the target folder.
        partly: bytes of these files that earlier attempts have downloaded.
    """

    source: Source
    out: Path
    offers: tuple[tuple[RemoteFile, Offer], ...]
    there: tuple[str, ...]
    free: int
    partly: int

    @property
    def size(self) -> int | None:
        """Bytes of the files to fetch, or None if a server does not state one."""
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
    """Download a source into a folder, after `agree` has returned True; files that exist as recorded are skipped.

    A file is written as `NAME.part` and gets its name once it is complete and verified: by the SHA-256 in the registry
    or of an earlier download, else by the size and digest that the server states. A file that fails is kept as
    `NAME.damaged`.

    Args:
        source: what to fetch.
        out: the target folder, created if missing.
        agree: called with the plan, unless all files exist.
        server: by default one with the default timeouts.
        changed: accept files that differ from the recorded ones, and download again those that changed on their
            server.
        progress: called as bytes arrive.

    Returns:
        The records of all files of the source by path, or None where `agree` said no.

    Raises:
        DownloadError: a file is unavailable, damaged or not the recorded one, or another file is in its place.
        FolderError: another download is running in the folder, or it cannot be written.
        OSError: it cannot be written; the same call resumes.
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
            if _is_outdated(file, target, known[file.path], server, changed):
                _keep_others(target, known[file.path])
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
            f"{source.name} has {counted(plan.size, 'bytes')}, and the disk of {out} has {plan.free:,} left: "
            "free some, or give "
            "another --out"
        )
    return plan


def _is_outdated(file: RemoteFile, target: Path, record: Record, server: Server, changed: bool) -> bool:
    """Return whether a recorded file must be downloaded again: the registry states other content or, with `changed`,
    the server another version.
    """
    if not as_recorded(target, record):
        raise DownloadError(
            f"{target} is not what was downloaded on {record['date']}: move it away, and give the same command again"
        )
    if file.sha256:
        return bool(record["sha256"] != file.sha256)
    return changed and _differs(server.ask(file.url), record)


def _differs(offer: Offer, record: Record) -> bool:
    return (offer.size, offer.etag, offer.modified) != (record["size"], record["etag"], record["modified"])


def _keep_others(target: Path, record: Record) -> None:
    """Refuse to replace an unpacked folder that contains other files."""
    for path in sorted(target.rglob("*")) if record["members"] else []:
        if not path.is_dir() and path.relative_to(target).as_posix() not in record["members"]:
            raise DownloadError(
                f"{path} was not downloaded and would be lost with what {target} holds: move it away, and give the "
                "same command again"
            )


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
    """Download, verify and place a file; its record is written just before, so that no file lacks one."""
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
