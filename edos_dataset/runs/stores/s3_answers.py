"""What S3 answers by boto3: failures that pass, what the others mean, and answers that end before their end.

An answer whose connection is cut within its header looks whole to the libraries below: fields are missing, and the
last one may be shorter.
"""

import os
from typing import Any
from urllib.parse import urlsplit

from edos_dataset.runs.stores.base import StoreError, TornError, changed

_PASSING_CODES = {
    *("SlowDown", "Throttling", "ThrottlingException", "RequestTimeout", "RequestTimeTooSkewed", "InternalError"),
    *("BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch", "ConditionalRequestConflict", "OperationAborted"),
}
_KEY_CODES = {"ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "TokenRefreshRequired"}


def tag_of(answer: dict[str, Any]) -> str:
    """Return the tag of an answer."""
    tag = str(answer.get("ETag", ""))
    if len(tag) < 3 or not tag.endswith('"'):
        raise TornError
    return tag.strip('"')


def listed(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that lists objects; one without a body boto3 takes for an empty list."""
    if "IsTruncated" not in answer:
        raise TornError
    return answer


def passing(bucket: str, key: str, error: Exception) -> str | None:
    """Return what a failure is that may pass, None of one that is none of the store; raise what the others mean.

    Args:
        bucket: that was asked.
        key: of the object, or "".
        error: of boto3, or of what reads its answer.
    """
    from boto3.exceptions import S3UploadFailedError
    from botocore import exceptions, parsers
    from urllib3.exceptions import HTTPError

    address = f"s3://{bucket}/{key}"
    cause = error.__context__ if isinstance(error, S3UploadFailedError) else error
    if isinstance(cause, exceptions.ClientError):
        return _answered(bucket, address, cause)
    if isinstance(cause, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        raise StoreError(
            f"no keys for s3://{bucket}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        ) from None
    if isinstance(cause, exceptions.ParamValidationError):
        raise StoreError(f"{address} is no address of S3: give s3://BUCKET/FOLDER") from None
    cut = (exceptions.HTTPClientError, exceptions.ConnectionError, exceptions.IncompleteReadError)
    torn = (TornError, KeyError, ValueError, parsers.ResponseParserError)  # fields are missing, or no numbers or dates
    if isinstance(cause, (*cut, *torn, exceptions.FlexibleChecksumError, HTTPError, ConnectionError, TimeoutError)):
        return type(cause).__name__.removeprefix("_")
    if isinstance(cause, exceptions.BotoCoreError):
        raise StoreError(f"{address} cannot be reached: {type(cause).__name__}") from None
    return None


def _answered(bucket: str, address: str, error: Any) -> str | None:  # noqa: ANN401 - of botocore
    """Say what an answer of the store means, as `passing`."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if status >= 500 or status == 429 or code in _PASSING_CODES:
        return f"{status} {code}"
    if code == "NoSuchBucket":
        raise StoreError(f"there is no bucket {bucket!r}: make it first, or mend the address s3://{bucket}") from None
    if status == 404:
        raise FileNotFoundError(2, "there is no such object", address) from None
    if status == 412:
        raise changed(address) from None
    if status in (401, 403) or code in _KEY_CODES:
        raise PermissionError(13, f"the store refuses ({code}): look at the keys", address) from None
    raise StoreError(f"{address}: the store answers {status} {code}") from None


def connect() -> Any:  # noqa: ANN401 - boto3 makes its classes when it runs
    """Return a client of boto3.

    Raises:
        ModuleNotFoundError: boto3 is not installed.
    """
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise ModuleNotFoundError('s3:// needs boto3: pip install "edos-dataset[s3]"') from error

    def client(style: str) -> Any:  # noqa: ANN401
        config = Config(
            connect_timeout=10,
            read_timeout=60,
            max_pool_connections=16,
            retries={"total_max_attempts": 1},  # ours know more
            request_checksum_calculation="when_required",  # older servers know no others
            response_checksum_validation="when_required",
            s3={"addressing_style": style},
        )
        return boto3.session.Session().client("s3", config=config, region_name=os.environ.get("AWS_REGION"))

    made = client("auto")
    host = urlsplit(made.meta.endpoint_url).hostname or ""
    return made if host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else client("path")
