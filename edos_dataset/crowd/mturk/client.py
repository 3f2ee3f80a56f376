"""The requester API of Amazon Mechanical Turk, by boto3; the sandbox unless money is to be spent."""

import os
from collections.abc import Iterator
from typing import Any

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
        message: for the user.
        code: that Mechanical Turk gives, "" where there is none.
    """

    def __init__(self, message: str, code: str = "") -> None:
        """Keep the code."""
        super().__init__(message)
        self.code = code


def connect(live: bool) -> Any:  # noqa: ANN401 - boto3 makes its classes when it runs
    """Return a client of boto3. Throttled, cut and timed-out requests are repeated with the same content, eight times
    at most.

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
    """Return what an operation of the API gives, such as "create_hit".

    Raises:
        TurkError: it was refused, there are no credentials, or nobody answers.
    """
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ParamValidationError

    try:
        found: dict[str, Any] = getattr(client, operation)(**parameters)
    except ClientError as error:
        told = error.response.get("Error", {})
        code = error.response.get("TurkErrorCode") or told.get("Code", "")
        raise TurkError(
            f"Mechanical Turk refuses {operation}: {told.get('Message') or error} ({code})", code
        ) from error
    except NoCredentialsError as error:
        raise TurkError(
            "there are no credentials of AWS: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`"
        ) from error
    except ParamValidationError as error:
        raise TurkError(f"{operation} cannot be asked for so: {error}") from error
    except BotoCoreError as error:
        raise TurkError(f"Mechanical Turk does not answer {operation} ({error}). {_AGAIN}") from error
    return found


def pages(client: Any, operation: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - as above
    """Yield what all pages of a listing hold under a key. Errors as of `call`."""
    token: dict[str, str] = {}
    while True:
        page = call(client, operation, MaxResults=_PAGE, **parameters, **token)
        yield from page.get(key, [])
        if not page.get("NextToken") or not page.get(key):
            return
        token = {"NextToken": page["NextToken"]}
