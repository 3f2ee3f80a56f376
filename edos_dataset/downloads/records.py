"""The record of downloaded files, kept with them, which later downloads use to recognise and check them."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from edos_dataset.downloads.registry import RemoteFile, Source
from edos_dataset.downloads.transfer import Offer
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import digest, write_text
from edos_dataset.runs.untrusted import json_of
from edos_dataset.wording import counted

Record = dict[str, Any]
"""The record of a downloaded file; see `RECORDS`."""


def faults(file: RemoteFile, came: Offer, part: Path, sha256: str, before: Record | None) -> Iterator[str]:
    """Yield what is wrong with a downloaded file, given its SHA-256."""
    if came.size not in (None, size := part.stat().st_size):
        yield f"{file.url} gave {counted(size, 'bytes')} instead of {came.size:,}"
    if file.sha256 and sha256 != file.sha256:
        yield (
            f"{file.url} gave a file with the SHA-256 {sha256} instead of {file.sha256}: it is damaged, or its "
            "owners have changed it"
        )
    if came.sha256 not in ("", sha256):
        yield (
            f"{file.url} gave a file with the SHA-256 {sha256}, and its server states {came.sha256}: it was damaged "
            "on the way"
        )
    if came.md5 and _md5(part) != came.md5:
        yield f"{file.url} gave a file with another MD5 than its server states: it was damaged on the way"
    if file.path.endswith(".zip") and not zipfile.is_zipfile(part):
        yield f"{file.url} gave something that is no zip archive"
    if before and not file.sha256 and sha256 != before["sha256"]:
        differ = f"the SHA-256 is {sha256}, recorded is {before['sha256']}"
        yield (
            f"{file.url} gave another file than on {before['date']} ({differ}): if that is as it should be, give "
            "--changed"
        )


def checked(file: RemoteFile, came: Offer, before: Record | None) -> str:
    """Return what a file without faults was verified by."""
    if file.sha256 or before:
        return "the SHA-256 that the registry states" if file.sha256 else "the SHA-256 recorded before"
    stated = [
        name for name, there in (("SHA-256", came.sha256), ("MD5", came.md5), ("size", came.size is not None)) if there
    ]
    return f"the {stated[0]} that its server states" if stated else "nothing: neither a checksum nor a size is stated"


def _md5(path: Path) -> str:
    md5 = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            md5.update(block)
    return md5.hexdigest()


RECORDS = "downloads.json"
"""The record in the target folder: source → its licence and, by path, address, size, ETag, SHA-256 and date of each
file, and how it was checked.
"""


def read_records(out: Path) -> dict[str, Any]:
    """Return the records of a folder, empty if it has none.

    Raises:
        FolderError: they are damaged.
    """
    path = out / RECORDS
    try:
        records = json_of(path.read_bytes()) if path.exists() else {}
        if not all(_is_record(record) for entry in records.values() for record in entry["files"].values()):
            raise TypeError("an entry is no record of a file")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FolderError(
            f"{path} is damaged: move it away; files that no record knows are then not taken for downloaded ones"
        ) from error
    return dict(records)


def _is_record(record: object) -> bool:
    return (
        isinstance(record, dict)
        and {"url", "size", "etag", "modified"} <= record.keys()
        and all(isinstance(record.get(name), str) for name in ("sha256", "checked", "date"))
        and isinstance(record.get("members"), dict)
    )


def as_recorded(target: Path, record: Record) -> bool:
    """Return whether a file or an unpacked folder matches its record."""
    if not record["members"]:
        return target.is_file() and digest(target) == record["sha256"]
    return all(
        (target / name).is_file() and digest(target / name) == sha256 for name, sha256 in record["members"].items()
    )


def record_of(came: Offer, sha256: str, checked: str, members: dict[str, str]) -> Record:
    """Return the record of a downloaded file: its server's data, its SHA-256, how it was checked, and the SHA-256 of
    each unpacked member.
    """
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    facts = {name: value for name, value in asdict(came).items() if name in ("url", "size", "etag", "modified")}
    return {**facts, "sha256": sha256, "checked": checked, "date": date, "members": members}


def write_records(out: Path, records: dict[str, Any], source: Source, known: dict[str, Record]) -> None:
    """Write the records of a folder, replacing those of one source."""
    records[source.name] = {"title": source.title, "licence": source.licence, "files": known}
    write_text(out / RECORDS, json.dumps(records, indent=1, ensure_ascii=False, sort_keys=True))
