"""What workers are called in what may be published."""

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path

SALT = "workers.salt"


def alias_of(folder: Path) -> Callable[[str], str]:
    """Return the function from a worker's name to a digest of it, 12 hexadecimal digits, which nobody can undo or guess
    without the salt that lies in the folder; it is made at the first time, and should not be published.
    """
    path = folder / SALT
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_hex(16))
            file.flush()
            os.fsync(file.fileno())
    salt = path.read_bytes()
    return lambda worker: hmac.new(salt, worker.encode(), hashlib.sha256).hexdigest()[:12]
