"""What Google Cloud Storage answers by its client: failures that pass, what the others mean, what time it is there."""

import time
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from edos_dataset.runs.stores.base import StoreError, TornError, changed

_CONNECTIONS = 16


class Clock:
    """The store's clock, by the dates of its answers."""

    def __init__(self) -> None:
        """Take it for the clock of this machine."""
        self._ahead = 0.0

    def hear(self, answer: Any, **_: object) -> None:  # noqa: ANN401 - of requests
        """Note the date of an answer.

        Raises:
            TornError: its connection was cut within its header, by which it looks like one without content.
        """
        if answer.status_code < 300 and answer.request.method != "DELETE":
            if not {"Content-Length", "Transfer-Encoding"} & set(answer.headers):
                raise TornError
            if "Date" in answer.headers:
                self._ahead = parsedate_to_datetime(answer.headers["Date"]).timestamp() - time.time()

    def age(self, written: datetime) -> float:
        """Return for how many seconds something has been there."""
        return time.time() + self._ahead - written.timestamp()


def connect(bucket: str, clock: Clock) -> Any:  # noqa: ANN401 - of Google's client
    """Return a client.

    Args:
        bucket: for messages.
        clock: that hears its answers.

    Raises:
        ModuleNotFoundError: Google's client is not installed.
        StoreError: there are no keys, or none that can be read.
    """
    try:
        from google.auth.exceptions import GoogleAuthError
        from google.cloud.storage import Client
    except ImportError as error:
        raise ModuleNotFoundError('gs:// needs google-cloud-storage: pip install "edos-dataset[gs]"') from error
    try:
        client = Client(project=None)
    except (GoogleAuthError, ValueError, OSError):
        raise StoreError(
            f"no keys for gs://{bucket}: give `gcloud auth application-default login`, or set "
            "GOOGLE_APPLICATION_CREDENTIALS to the file of a service account's key"
        ) from None
    session = client._http  # as Google tells those who want more connections
    for adapter in session.adapters.values():
        adapter.init_poolmanager(_CONNECTIONS, _CONNECTIONS)
    session.hooks["response"].append(clock.hear)
    return client


def passing(bucket: str, address: str, of_object: bool, error: Exception) -> str | None:
    """Return what a failure is that may pass, None of one that is none of the store; raise what the others mean.

    Args:
        bucket: that was asked.
        address: of what was asked for.
        of_object: whether what lacks may be the object; otherwise it is the bucket.
        error: of Google's client, or of what reads its answer.
    """
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError, TransportError
    from google.cloud.storage.exceptions import DataCorruption
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    if isinstance(error, GoogleAPICallError):
        return _answered(bucket, address, of_object, int(error.code or 0))
    if isinstance(error, GoogleAuthError) and not isinstance(error, TransportError):
        raise PermissionError(13, f"the keys are refused ({type(error).__name__}): renew them", address) from None
    cut: tuple[type[Exception], ...] = (RequestException, HTTPError, ConnectionError, TimeoutError, TransportError)
    torn = (TornError, DataCorruption, KeyError, ValueError)  # fields are missing, or no numbers or dates
    if isinstance(error, (*cut, *torn)):
        return type(error).__name__
    return None


def _answered(bucket: str, address: str, of_object: bool, status: int) -> str | None:
    """Say what an answer of the store means, as `passing`."""
    if status >= 500 or status in (408, 429):
        return str(status)
    if status == 404 and of_object:
        raise FileNotFoundError(2, "there is no such object", address) from None
    if status == 404:
        raise StoreError(f"there is no bucket {bucket!r}: make it first, or mend the address gs://{bucket}") from None
    if status == 412:
        raise changed(address) from None
    if status in (401, 403):
        raise PermissionError(13, f"the store refuses ({status}): look at the keys", address) from None
    raise StoreError(f"{address}: the store answers {status}") from None
