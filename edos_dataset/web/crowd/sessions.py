"""Who asks: a cookie with the token of a worker's link, or of whoever runs the batch, and a token against forged
requests, which no other site can read.
"""

from __future__ import annotations

import hmac
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from edos_dataset.crowd.workers import Worker, worker_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from edos_dataset.crowd.store import Store

WORKER, ADMIN = "edos_crowd", "edos_crowd_admin"
FIELD, HEADER = "csrf", "x-csrf-token"
"""Where forms and scripts give the token against forged requests."""

_DAYS = 90


class RefusedError(Exception):
    """A request is refused.

    Args:
        status: of the answer.
        text: a sentence for the visitor.
    """

    def __init__(self, status: HTTPStatus, text: str) -> None:
        """Keep the status."""
        super().__init__(text)
        self.status = status


class Sessions:
    """The cookies of a batch.

    Args:
        store: that knows the workers and signs.
        password: of whoever runs the batch.
        framed: whether the pages stand in a frame of another site, which gets no other cookies.
    """

    def __init__(self, store: Store, password: str, framed: bool = False) -> None:
        """Keep the password's signature alone."""
        self.store, self.framed = store, framed
        self._admin = store.sign("admin", password)

    def worker(self, request: Request) -> Worker:
        """Return who asks.

        Raises:
            RefusedError: nobody who is known.
        """
        found = self.known(request)
        if found is None:
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "Open the link that you were given.")
        return found

    def known(self, request: Request) -> Worker | None:
        """Return who asks, None if nobody is known."""
        token = request.cookies.get(WORKER)
        return worker_of(self.store, token) if token else None

    def csrf(self, request: Request, cookie: str = WORKER) -> str:
        """Return the token that a page of this session gives back with what it asks to change."""
        return self.store.sign("csrf", cookie, request.cookies.get(cookie, ""))

    def check(self, request: Request, given: str | None, cookie: str = WORKER) -> None:
        """Refuse a request that no page of ours made.

        Raises:
            RefusedError: the token is missing or wrong, or another site asks.
        """
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            raise RefusedError(HTTPStatus.FORBIDDEN, "This was asked by a page of another site.")
        if given is None or not hmac.compare_digest(given.encode(), self.csrf(request, cookie).encode()):
            raise RefusedError(HTTPStatus.FORBIDDEN, "This page is too old: load it again.")

    def enter(self, request: Request, response: Response, token: str) -> Response:
        """Return a response that lets a worker's browser keep their token."""
        return _with_cookie(request, response, WORKER, token, "None" if self.framed else "Lax", "/")

    def may_run(self, request: Request) -> bool:
        """Return whether the batch's own password was given."""
        return hmac.compare_digest(request.cookies.get(ADMIN, "").encode(), self._admin.encode())

    def log_in(self, request: Request, response: Response, password: str) -> Response | None:
        """Return a response that lets the browser of whoever knows the password keep that; None for others."""
        signed = self.store.sign("admin", password)
        if not hmac.compare_digest(signed.encode(), self._admin.encode()):
            return None
        return _with_cookie(request, response, ADMIN, signed, "Strict", "/admin")


def _with_cookie(request: Request, response: Response, name: str, value: str, same_site: str, path: str) -> Response:
    cookie = f"{name}={value}; Path={path}; Max-Age={_DAYS * 86_400}; HttpOnly; SameSite={same_site}"
    if same_site == "None":
        cookie += "; Secure; Partitioned"
    elif request.url.scheme == "https":
        cookie += "; Secure"
    response.headers.append("set-cookie", cookie)
    return response
