"""The live page of whoever runs a batch: progress, agreement so far, time, cost, workers."""

from __future__ import annotations

import time
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any

from edos_dataset.crowd.assignments import Work
from edos_dataset.crowd.progress import progress
from edos_dataset.web.crowd import pages
from edos_dataset.web.crowd.sessions import ADMIN, FIELD, RefusedError, Sessions
from edos_dataset.web.crowd.workers import form_of, see

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_FRESH = 4.0  # seconds for which figures are given again: all answers are read for them


class Admin:
    """The handlers of the live page.

    Args:
        work: the HITs.
        sessions: who it is.
    """

    def __init__(self, work: Work, sessions: Sessions) -> None:
        """Begin without figures."""
        self._work, self._sessions = work, sessions
        self._made, self._at, self._lock = dict[str, Any](), float("-inf"), Lock()

    def show(self, request: Request) -> Response:
        """Show the page, or ask for the password."""
        csrf = self._sessions.csrf(request, ADMIN)
        if not self._sessions.may_run(request):
            return pages.html("login", "Live page", csrf, error="")
        return pages.html("admin", pages.TITLES[self._work.batch.kind], csrf, "admin.js")

    def log_in(self, request: Request) -> Response:
        """Take the password."""
        form = form_of(request)
        self._sessions.check(request, form.get(FIELD), ADMIN)
        response = self._sessions.log_in(request, see("/admin"), form.get("password", ""))
        if response is None:
            error = '<p class="error" role="alert">This is not the password.</p>'
            csrf = self._sessions.csrf(request, ADMIN)
            return pages.html("login", "Live page", csrf, error=error, status=HTTPStatus.FORBIDDEN)
        return response

    def progress(self, request: Request) -> Response:
        """Give the figures."""
        from starlette.responses import JSONResponse

        if not self._sessions.may_run(request):
            raise RefusedError(HTTPStatus.FORBIDDEN, "Give the password first.")
        with self._lock:
            if time.monotonic() - self._at > _FRESH:
                self._made, self._at = progress(self._work), time.monotonic()
            return JSONResponse(self._made)
