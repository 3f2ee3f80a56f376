"""Files that no reader can use; each must be quarantined with its reason while the run goes on."""

import gzip
import hashlib
import io
import zipfile

_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack_zip(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of the members in the order given, with fixed times so that the same members give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = compression
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def pack_gzip(content: bytes) -> bytes:
    """Return gzip bytes without a time or name; `gzip.compress` writes another header from Python 3.11 on."""
    buffer = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()


def corrupt_zip(members: dict[str, bytes], spoilt: str) -> bytes:
    """Return a zip of stored members of which one has flipped bytes, so that its CRC fails."""
    archive = bytearray(pack_zip(members, zipfile.ZIP_STORED))
    middle = archive.index(members[spoilt]) + len(members[spoilt]) // 2
    for position in range(middle, middle + 8):
        archive[position] ^= 0xFF
    return bytes(archive)


def billion_laughs() -> str:
    """Return XML whose entities, expanded, would fill gigabytes."""
    entities = ['  <!ENTITY e0 "ha">']
    entities += [f'  <!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 10)]
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE document [\n'
        + "\n".join(entities)
        + '\n]>\n<document id="3009001">\n  <s id="1">\n    <w id="1.1">&e9;</w>\n  </s>\n</document>\n'
    )


def external_entity() -> str:
    """Return XML that asks its reader for a file of the machine."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE document [\n'
        '  <!ENTITY secret SYSTEM "file:///etc/hostname">\n]>\n'
        '<document id="3009002">\n  <s id="1">\n    <w id="1.1">&secret;</w>\n  </s>\n</document>\n'
    )


def picture() -> bytes:
    """Return bytes that begin like a PNG and go on without meaning."""
    noise = b"".join(hashlib.sha256(bytes([index])).digest() for index in range(64))
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + noise


def broken_files(healthy: bytes) -> dict[str, bytes]:
    """Return name to content of the broken files; the truncated ones are cut from a healthy OPUS file."""
    packed = pack_gzip(healthy)
    return {
        "broken/billion_laughs.xml": billion_laughs().encode(),
        "broken/empty.srt": b"",
        "broken/external_entity.xml": external_entity().encode(),
        "broken/picture.srt": picture(),
        "broken/truncated.xml": healthy[:6000],
        "broken/cut_short.xml.gz": packed[: len(packed) * 3 // 5],
    }
