"""What stands for the text of a turn where the text itself is not."""

import hashlib


def text_hash(text: str) -> str:
    """Return the SHA-256 (hex) of the UTF-8 bytes of a turn's text."""
    return hashlib.sha256(text.encode()).hexdigest()
