"""What the Hub, or the way to it, answers where something went wrong: which failures pass, what to say of others."""

from huggingface_hub.errors import (
    HfHubHTTPError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

_PASSING = (408, 429, 500, 502, 503, 504)
OVERTAKEN = (409, 412)
_NO_ROOM = (402, 413, 507)
_ROOM = ("storage", "quota", "too large", "exceeded")
# The HTTP library's own base class of errors: which library that is, depends on the version of huggingface_hub.
_HTTP_ERROR: type[Exception] = next(base for base in HfHubHTTPError.__mro__ if base.__module__.startswith("httpx"))
FAILURES = (_HTTP_ERROR, LocalTokenNotFoundError, OfflineModeIsEnabled, RuntimeError)


class HubError(ValueError):
    """The Hub did not do what it was asked; the message says why, and what to do."""


class HubUnreachable(HubError):
    """No answer came from the Hub, or none may be asked for."""


def failure(error: Exception, what: str, repository: str, url: str, endpoint: str, tries: int) -> HubError:
    """Return a failure as an error whose message is a sentence, with what to do.

    Args:
        error: one of FAILURES.
        what: the Hub was asked to do.
        repository: its kind and name.
        url: the address of its page.
        endpoint: the address of the Hub.
        tries: how often it was asked.
    """
    said = _told(error, what, repository, url, endpoint, tries)
    unreachable = isinstance(error, OfflineModeIsEnabled) or (
        status_of(error) is None and not isinstance(error, LocalTokenNotFoundError)
    )
    return HubUnreachable(said) if unreachable else HubError(said)


def _told(error: Exception, what: str, repository: str, url: str, endpoint: str, tries: int) -> str:
    status, said = status_of(error), _said(error)
    token = "make one with the right to write, and give it as --token or HF_TOKEN, or log in by `hf auth login`"
    begin = f"could not {what} at {url}"
    if isinstance(error, LocalTokenNotFoundError):
        return f"there is no token for the Hub: {token}"
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set, so the Hub cannot be reached: unset it"
    if status is None:
        return f"the Hub at {endpoint} cannot be reached ({error}); nothing is lost: give the same command again"
    if status in _NO_ROOM or (status == 403 and any(word in said.lower() for word in _ROOM)):
        return (
            f"{begin}: there is no room ({status}: {said}); delete something there or get more, and give the "
            "same command again"
        )
    if isinstance(error, RepositoryNotFoundError):
        return f"the {repository} is not there, or the token may not see it ({status})"
    if status == 401:
        return f"the Hub does not accept the token ({said}): {token}"
    if status == 403:
        return f"{begin}: the token may not write there ({said}); {token}"
    if status in OVERTAKEN:
        return f"{begin}: someone else changed it meanwhile ({said}); look at it, and give the same command again"
    if status in _PASSING:
        return f"{begin}, at {tries} tries ({status}: {said}); nothing is lost: give the same command again later"
    return f"{begin} ({status}: {said})"


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of an answer; None where none came."""
    return int(error.response.status_code) if isinstance(error, HfHubHTTPError) else None


def _said(error: Exception) -> str:
    return (
        (error.server_message or str(error).strip().split("\n")[0]) if isinstance(error, HfHubHTTPError) else str(error)
    )


def passes(error: Exception) -> bool:
    """Tell whether the same call may work later."""
    status = status_of(error)
    return status in _PASSING if status is not None else isinstance(error, _HTTP_ERROR)


def asked_wait(error: Exception) -> float | None:
    """Return the seconds that the Hub says to wait, if it does."""
    asked = error.response.headers.get("Retry-After", "") if isinstance(error, HfHubHTTPError) else ""
    return float(asked) if asked.isdigit() else None
