"""HTTP: the client library that is installed, and what servers say about trying again."""

import time
from contextlib import suppress
from email.utils import parsedate_to_datetime

try:
    import httpx2 as httpx  # huggingface_hub installs one of the two, depending on its version
except ImportError:
    import httpx  # type: ignore[import-not-found, no-redef, unused-ignore]

__all__ = ["PASSING", "asked_wait", "httpx"]

PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Status codes of failures that may be over at the next try."""


def asked_wait(value: str) -> float | None:
    """Return the seconds that a header `Retry-After` asks to wait, from 0; None where it says nothing."""
    if value.isdecimal():
        return float(value) if len(value) < 10 else 1e9
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
