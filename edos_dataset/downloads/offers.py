"""What a server says of a file before it comes: its size, its version, and digests of the whole."""

import base64
import binascii
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Offer:
    """What a server says of a file.

    Attributes:
        url: the file's address, before any redirection.
        size: bytes, or None where it doesn't say.
        etag: its ETag, or "".
        modified: its Last-Modified, or "".
        sha256: hex, where it states a digest of the whole file, otherwise "".
        md5: likewise.
    """

    url: str
    size: int | None
    etag: str = ""
    modified: str = ""
    sha256: str = ""
    md5: str = ""

    def __post_init__(self) -> None:
        """Check the types, as what an earlier download kept may be damaged."""
        texts = (self.url, self.etag, self.modified, self.sha256, self.md5)
        if not all(type(text) is str for text in texts) or not (self.size is None or type(self.size) is int):
            raise TypeError(f"an offer holds texts and a size in bytes, got {self}")

    @property
    def validator(self) -> str:
        """What tells this version of the file from others: a strong ETag or else the date; "" where there is neither,
        and so no resuming.
        """
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


def digests_of(headers: Mapping[str, str]) -> tuple[str, str]:
    """Return SHA-256 and MD5 (hex) that a server states of the whole file, each "" where it does not (RFC 9530, RFC
    3230, Google's and Amazon's own).
    """
    stated = ", ".join(headers.get(name, "") for name in ("Repr-Digest", "Digest", "x-goog-hash"))
    digests = {name.lower(): value.strip(":") for name, value in re.findall(r"([\w-]+)=(:?[\w+/]+=*:?)", stated)}
    sha256, md5 = (
        digests.get("sha-256") or headers.get("x-amz-checksum-sha256"),
        digests.get("md5") or headers.get("Content-MD5"),
    )
    return _hex(sha256 or "", 32), _hex(md5 or "", 16)


def _hex(value: str, length: int) -> str:
    with suppress(binascii.Error, ValueError):
        raw = base64.b64decode(value, validate=True)
        return raw.hex() if len(raw) == length else ""
    return ""
