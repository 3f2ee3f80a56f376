"""The requester API of Amazon Mechanical Turk through boto3, and the journal of what was requested."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from edos_dataset.crowd.store import alias_of
from edos_dataset.runs.untrusted import json_of

ENDPOINTS = {
    False: "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    True: "https://mturk-requester.us-east-1.amazonaws.com",
}
"""By whether it is live."""

_OVERRIDE = "AWS_ENDPOINT_URL_MTURK"  # AWS's own name for it
_ATTEMPTS = 8
_PAGE = 100

_AGAIN = "Whether it was done is not known; give the same command again: nothing is created or paid twice"


class TurkError(ValueError):
    """Mechanical Turk refused a request, or could not be reached.

    Args:
        message: message for the user.
        code: Mechanical Turk's error code, "" if there is none.
    """

    def __init__(self, message: str, code: str = "") -> None:
        """Keep the code."""
        super().__init__(message)
        self.code = code


def connect(live: bool) -> Any:  # noqa: ANN401 - boto3 makes its classes when it runs
    """Return a boto3 client that makes up to eight attempts if requests are throttled, interrupted or time out.

    Raises:
        ModuleNotFoundError: boto3 is not installed.
    """
    try:
        import boto3
        from botocore.config import Config
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('Mechanical Turk needs boto3: pip install "edos-dataset[mturk]"') from error
    config = Config(retries={"mode": "standard", "total_max_attempts": _ATTEMPTS}, connect_timeout=20, read_timeout=30)
    endpoint = os.environ.get(_OVERRIDE) or ENDPOINTS[live]
    return boto3.session.Session().client("mturk", region_name="us-east-1", endpoint_url=endpoint, config=config)


def call(client: Any, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401 - of boto3
    """Return the result of an API operation such as "create_hit".

    Raises:
        TurkError: the request was refused, there are no credentials, or the server does not respond.
    """
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ParamValidationError

    try:
        found: dict[str, Any] = getattr(client, operation)(**parameters)
    except ClientError as error:
        details = error.response.get("Error", {})
        code = error.response.get("TurkErrorCode") or details.get("Code", "")
        raise TurkError(
            f"Mechanical Turk refuses {operation}: {details.get('Message') or error} ({code})", code
        ) from error
    except NoCredentialsError as error:
        raise TurkError(
            "there are no credentials of AWS: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`"
        ) from error
    except ParamValidationError as error:
        raise TurkError(f"{operation} was called with wrong parameters: {error}") from error
    except BotoCoreError as error:
        raise TurkError(f"Mechanical Turk does not answer {operation} ({error}). {_AGAIN}") from error
    return found


def pages(client: Any, operation: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - as above
    """Yield the entries under a key of all pages of a listing. Raises as `call` does."""
    token: dict[str, str] = {}
    while True:
        page = call(client, operation, MaxResults=_PAGE, **parameters, **token)
        yield from page.get(key, [])
        if not page.get("NextToken") or not page.get(key):
            return
        token = {"NextToken": page["NextToken"]}


class Journal:
    """The journal of a batch on the live site or in the sandbox.

    It is written before and after each request, so that a killed command does nothing twice; each line is on disk
    before the next request is sent.

    Args:
        folder: folder of the batch.
        live: whether it is the live site, where money is paid.

    Raises:
        ValueError: another command is using the batch, or a line is malformed.
    """

    def __init__(self, folder: Path, live: bool) -> None:
        """Set the path of the file."""
        self.path = folder / f"mturk-{'live' if live else 'sandbox'}.jsonl"
        self._lock = FileLock(self.path.with_suffix(".lock"), timeout=0)
        self.done: dict[tuple[str, str], dict[str, Any]] = {}
        self.alias = alias_of(folder)

    def __enter__(self) -> "Journal":
        """Lock and read it; a truncated last line was never acted upon and is removed."""
        try:
            self._lock.acquire()
        except Timeout as error:
            raise ValueError(f"{self.path.parent} is in use by another `edos crowd mturk`: wait for it") from error
        lines = self.path.read_bytes().splitlines(keepends=True) if self.path.exists() else []
        if lines and not lines[-1].endswith(b"\n"):
            os.truncate(self.path, sum(map(len, lines[:-1])))
            lines.pop()
        for number, line in enumerate(lines, 1):
            try:
                row = json_of(line)
                if "done" in row:
                    self.done[row["done"], row["key"]] = row
            except (ValueError, KeyError, TypeError) as error:
                self._lock.release()
                raise ValueError(f"{self.path}, line {number}: no line of the journal ({error!r})") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unlock it."""
        self._lock.release()

    def intend(self, what: str, key: str) -> None:
        """Record what is about to be requested."""
        self._write({"intended": what, "key": key})

    def finish(self, what: str, key: str, **facts: str) -> None:
        """Record what was done."""
        self.done[what, key] = facts
        self._write({"done": what, "key": key, **facts})

    def _write(self, row: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(row | {"at": round(time.time(), 3)}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
