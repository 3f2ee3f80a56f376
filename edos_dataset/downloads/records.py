"""What is remembered of files that were fetched, beside them: they are known by it, and compared with it later."""

import json
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from edos_dataset.downloads.offers import Offer
from edos_dataset.downloads.registry import Source
from edos_dataset.downloads.verifying import Record
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.foreign import json_of
from edos_dataset.runs.shards import digest, write_text

RECORDS = "downloads.json"
"""The record in the target folder: source → its licence and, by path, address, size, ETag, SHA-256 and date of each
file, and how it was checked.
"""


def read_records(out: Path) -> dict[str, Any]:
    """Return the records of a folder; none where it has none.

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
    """Return whether a file, or a folder that was unpacked, is what a record says."""
    if not record["members"]:
        return target.is_file() and digest(target) == record["sha256"]
    return all(
        (target / name).is_file() and digest(target / name) == sha256 for name, sha256 in record["members"].items()
    )


def record_of(came: Offer, sha256: str, checked: str, members: dict[str, str]) -> Record:
    """Return the record of a file that came: what its server said, its SHA-256, how it was checked, and the SHA-256 of
    what was unpacked from it.
    """
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    facts = {name: value for name, value in asdict(came).items() if name in ("url", "size", "etag", "modified")}
    return {**facts, "sha256": sha256, "checked": checked, "date": date, "members": members}


def write_records(out: Path, records: dict[str, Any], source: Source, known: dict[str, Record]) -> None:
    """Write the records of a folder, with those of one source changed."""
    records[source.name] = {"title": source.title, "licence": source.licence, "files": known}
    write_text(out / RECORDS, json.dumps(records, indent=1, ensure_ascii=False, sort_keys=True))
