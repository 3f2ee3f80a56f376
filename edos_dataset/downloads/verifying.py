"""Whether a file that came is the one that was asked for: by the registry, the server, or an earlier download."""

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edos_dataset.downloads.offers import Offer
from edos_dataset.downloads.registry import RemoteFile

Record = dict[str, Any]
"""What is kept of a file that came; see `records.RECORDS`."""


def faults(file: RemoteFile, came: Offer, part: Path, sha256: str, before: Record | None) -> Iterator[str]:
    """Yield what is wrong with what came, whose SHA-256 is given."""
    if came.size not in (None, size := part.stat().st_size):
        yield f"{file.url} gave {size:,} bytes instead of {came.size:,}"
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
        told = f"the SHA-256 is {sha256}, recorded is {before['sha256']}"
        yield (
            f"{file.url} gave another file than on {before['date']} ({told}): if that is as it should be, give "
            "--changed"
        )


def checked(file: RemoteFile, came: Offer, before: Record | None) -> str:
    """Return by what a file without faults was verified."""
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
