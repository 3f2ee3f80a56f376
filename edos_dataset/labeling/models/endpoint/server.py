"""Requests to an endpoint, repeated after transient failures; what it refuses for good is an error that says why."""

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from edos_dataset.labeling.models.endpoint.settings import KEY, Endpoint, EndpointError
from edos_dataset.runs.http import PASSING, asked_wait, httpx
from edos_dataset.runs.retries import TransientError, call_with_retries
from edos_dataset.wording import counted

_TRIES, _FIRST_TRIES = 6, 2
_WAIT = 1.0  # seconds before the second try
_LONGEST = 60.0
_SOON = 5.0  # seconds in which a server that is there listens
_MOST_ASKED = 600.0  # seconds that a server may ask to wait
_MOST_BYTES = 1 << 24  # of an answer
_QUOTED = 300  # characters of a server's message in ours
_OUT_OF_MONEY = ("insufficient_quota", "billing")
_TOO_LONG = ("context length", "context size", "context_length", "maximum context")  # 500 of some servers


class RefusedError(Exception):
    """The server refuses this request, as it is, and would again; its text is the server's message."""


class _LimitedError(TransientError):
    """The server answers others meanwhile."""


class Server:
    """A client of an endpoint, for several threads.

    Attributes:
        answered: number of requests that it answered.

    Args:
        endpoint: where it is.
        model: name of the model, for messages.
        wait: seconds before the second try, by default 1, doubled for each further one,
            unless the server says how long.

    Raises:
        EndpointError: the address is none, or there is no key under the name given.
    """

    def __init__(self, endpoint: Endpoint, model: str, wait: float | None = None) -> None:
        self._endpoint, self._model = endpoint, model
        self._wait = _WAIT if wait is None else wait
        headers = {"User-Agent": "edos-dataset"}
        if key := endpoint.key:
            if not (key.isascii() and key.isprintable()):
                raise EndpointError(
                    f"the key in {endpoint.api_key_env or KEY} holds characters that no key has: export it again"
                )
            headers["Authorization"] = f"Bearer {key}"
        self._url = endpoint.url
        logging.getLogger(httpx.__name__).addFilter(self._hide_secrets)
        limits = httpx.Limits(max_connections=endpoint.concurrency)
        self.answered = 0
        self._client = httpx.Client(timeout=httpx.Timeout(endpoint.timeout), headers=headers, limits=limits)

    def _hide_secrets(self, entry: logging.LogRecord) -> bool:
        """Let the client's log, which has the address of every request, pass without credentials."""
        entry.msg, entry.args = self._endpoint.hidden(entry.getMessage()), ()
        return True

    def ask(self, body: Mapping[str, Any], first: bool = False) -> dict[str, Any]:
        """Return the body of the response to a request.

        Args:
            body: the request.
            first: whether nothing was asked before, so that a server which is not there is reported soon.

        Raises:
            RefusedError: the server refuses this request, such as a field of it or its text.
            EndpointError: the server cannot be reached, fails again and again, or refuses everything.
        """
        limited = False

        def transient(error: Exception) -> TransientError | None:
            nonlocal limited
            limited = isinstance(error, _LimitedError)
            if isinstance(error, httpx.TransportError):
                return TransientError(self._endpoint.hidden(str(error)) or type(error).__name__)
            if not isinstance(error, TransientError):
                return None
            if error.wait is not None and error.wait > _MOST_ASKED:
                raise self._error(f"asks to wait for {min(error.wait, 1e9):,.0f} seconds ({error})") from None
            return error

        tries = _FIRST_TRIES if first else _TRIES

        def give_up(failure: TransientError) -> EndpointError:
            return self._error(
                f"failed at {counted(tries, 'tries')} ({failure}): look whether the server runs there, and give a "
                "longer --timeout "
                "if it is slow"
            )

        def progress() -> int:
            return self.answered if limited else 0  # a limit that lets others pass is no failure

        return call_with_retries(lambda: self._post(body), transient, give_up, tries, self._wait, _LONGEST, progress)

    def check_there(self) -> None:
        """Check that a server listens, whatever it answers.

        Raises:
            EndpointError: none does.
        """

        def transient(error: Exception) -> TransientError | None:
            absent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            return TransientError(self._endpoint.hidden(str(error)) or type(error).__name__) if absent else None

        def give_up(failure: TransientError) -> EndpointError:
            return self._error(f"failed at {_FIRST_TRIES} tries ({failure}): look whether the server runs there")

        def knock() -> None:
            self._client.get(self._endpoint.models, timeout=_SOON)

        with suppress(httpx.TransportError):  # it listens; a request shows the rest
            call_with_retries(knock, transient, give_up, _FIRST_TRIES, self._wait, _LONGEST)

    def _post(self, body: Mapping[str, Any]) -> dict[str, Any]:
        response = self._client.post(self._url, json=body)
        status = response.status_code
        if status == 200:
            content = self._content(response)
            self.answered += 1
            return content
        said = self._said(response)
        if any(word in said for word in _OUT_OF_MONEY) or status == 402:
            raise self._error(f"has no credit left for this key ({said})")
        if any(words in said for words in _TOO_LONG):
            raise RefusedError(said)
        if status in PASSING or status >= 500:
            kind = _LimitedError if status == 429 else TransientError
            raise kind(said, asked_wait(response.headers.get("Retry-After", "")))
        if status in (401, 403):
            raise self._error(
                f"refuses the key ({said}): set {self._endpoint.api_key_env or KEY}, or --api-key-env NAME"
            )
        if status in (404, 405) or response.is_redirect:
            raise self._error(
                f"has no such model or no chat completions there ({said}): look at the name {self._model!r} and at "
                "the address, which mostly ends in /v1"
            )
        raise RefusedError(said)

    def _content(self, response: "httpx.Response") -> dict[str, Any]:
        if len(response.content) > _MOST_BYTES:
            raise RefusedError(f"an answer of {counted(len(response.content), 'bytes')}")
        try:
            content = json.loads(response.content)
        except (ValueError, RecursionError) as error:
            raise TransientError("its response is no JSON, or was cut") from error
        if not isinstance(content, dict) or "choices" not in content:
            raise TransientError(f"its response has no choices: {self._quoted(response.text)}")
        return content

    def _said(self, response: "httpx.Response") -> str:
        """Return status and message of a response, without secrets."""
        text = response.text
        try:
            content = json.loads(text)
            inner = content.get("error", content) if isinstance(content, dict) else content
            message = inner.get("message", inner) if isinstance(inner, dict) else inner
            code = inner.get("code") if isinstance(inner, dict) else None
            text = f"{message} ({code})" if isinstance(code, str) else str(message)
        except (ValueError, RecursionError):
            pass
        return f"{response.status_code} {response.reason_phrase}: {self._quoted(text)}".rstrip(": ")

    def _quoted(self, text: str) -> str:
        return self._endpoint.hidden(" ".join(text.split()))[:_QUOTED]

    def _error(self, what: str) -> EndpointError:
        return EndpointError(f"the endpoint {self._endpoint.shown} {what}")
