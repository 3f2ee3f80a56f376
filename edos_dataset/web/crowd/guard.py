"""What stands before every page: limits of rate and size, and headers that let nothing strange into a browser."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the package is imported whole where no page is served
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MTURK = ("https://www.mturk.com", "https://workersandbox.mturk.com")
"""Who may show our pages in a frame and takes their forms, where the tasks are given by Mechanical Turk."""

BODY = "edos_dataset.body"
"""Where a request's scope has the body, which is read before a handler runs."""

LARGEST = 16 * 1024
"""Bytes of a request's body: an answer has some hundred."""

_FORGOTTEN = 10_000  # visitors that are remembered


class Rates:
    """Buckets of tokens: a visitor may ask `burst` times at once, and `rate` times a second in the long run."""

    def __init__(self, rate: float, burst: float) -> None:
        """Begin with nobody."""
        self.rate, self.burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, visitor: str) -> float:
        """Return after how many seconds a visitor may ask again, 0 for now, which counts."""
        moment = time.monotonic()
        left, seen = self._left.pop(visitor, (self.burst, moment))
        left = min(self.burst, left + (moment - seen) * self.rate)
        if len(self._left) >= _FORGOTTEN:  # the one that was longest silent
            del self._left[next(iter(self._left))]
        self._left[visitor] = (left - 1 if left >= 1 else left, moment)
        return 0.0 if left >= 1 else (1 - left) / self.rate


class Guard:
    """The application behind limits.

    Args:
        app: that is guarded.
        mturk: whether Mechanical Turk may show the pages.
        per_host: requests a second of one address, behind which many may sit; it may ask six times as many at once.
    """

    def __init__(self, app: ASGIApp, mturk: bool = False, per_host: float = 50.0) -> None:
        """Make the headers."""
        self.app = app
        self.hosts, self.guesses = Rates(per_host, 6 * per_host), Rates(0.2, 10)
        ancestors, forms = " ".join(MTURK) if mturk else "'none'", " ".join(["'self'", *(MTURK if mturk else ())])
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            f"base-uri 'none'; form-action {forms}; frame-ancestors {ancestors}"
        )
        self.headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [*message["headers"], *self.headers]
                if not any(name == b"cache-control" for name, _ in own):
                    own.append((b"cache-control", b"no-store"))
                message = {**message, "headers": own}
            await send(message)

        host = (scope.get("client") or ("?",))[0]
        wait = self.hosts.wait(host)
        if scope["method"] == "POST" and scope["path"] in ("/join", "/admin/login"):
            wait = max(wait, self.guesses.wait(host))
        if wait:
            await _refuse(guarded, 429, "Too many requests: wait a moment.", [(b"retry-after", b"%d" % (wait + 1))])
            return
        body = await _body(receive)
        if body is None:
            await _refuse(guarded, 413, "This is too large.", [(b"connection", b"close")])
            return
        await self.app({**scope, BODY: body}, receive, guarded)


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request, None if it is too large."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the visitor is gone
            return b""
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return None
    return body


async def _refuse(send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]]) -> None:
    plain = (b"content-type", b"text/plain; charset=utf-8")
    await send({"type": "http.response.start", "status": status, "headers": [plain, *headers]})
    await send({"type": "http.response.body", "body": text.encode()})
