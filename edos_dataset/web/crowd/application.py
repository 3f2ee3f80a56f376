"""Which address does what."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from edos_dataset.crowd.assignments import NotYoursError, Work
from edos_dataset.web.crowd import pages
from edos_dataset.web.crowd.admin import Admin
from edos_dataset.web.crowd.guard import Guard
from edos_dataset.web.crowd.sessions import RefusedError, Sessions
from edos_dataset.web.crowd.workers import Doors, Workers

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp


def make_app(work: Work, doors: Doors) -> ASGIApp:
    """Return the application of a batch, an ASGI one. Its handlers are no coroutines, so that each runs in a thread:
    the database waits for the disk.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    sessions = Sessions(work.store, doors.password, doors.mturk)
    workers, admin = Workers(work, doors, sessions), Admin(work, sessions)
    routes = [
        Route("/", workers.start),
        Route("/w/{token}", workers.enter),
        Route("/join", workers.join, methods=["POST"]),
        Route("/consent", workers.agree, methods=["POST"]),
        Route("/mturk", workers.mturk),
        Route("/work/{assignment:int}", workers.work_on),
        Route("/done/{assignment:int}", workers.done),
        Route("/api/hit/{assignment:int}", workers.hit),
        Route("/api/answer", workers.answer, methods=["POST"]),
        Route("/api/finish", workers.finish, methods=["POST"]),
        Route("/tutorial", workers.tutorial),
        Route("/admin", admin.show),
        Route("/admin/login", admin.log_in, methods=["POST"]),
        Route("/admin/progress", admin.progress),
        Route("/static/{name}", _static),
    ]
    title = pages.TITLES[work.batch.kind]

    def refused(request: Request, error: Exception) -> Response:
        return _told(request, title, error)

    handlers: dict[Any, Callable[[Request, Exception], Response]] = {RefusedError: refused, ValueError: refused}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), doors.mturk, doors.per_host)


def _told(request: Request, title: str, error: Exception) -> Response:
    """Return an error as a page, or as JSON to a script."""
    from starlette.responses import JSONResponse

    status = HTTPStatus.CONFLICT if isinstance(error, NotYoursError) else HTTPStatus.BAD_REQUEST
    status = error.status if isinstance(error, RefusedError) else status
    if request.url.path.startswith(("/api/", "/admin/progress")):
        return JSONResponse({"error": str(error)}, status)
    return pages.html("welcome", title, "", status=status, intro=escape(str(error)), join="")


def _static(request: Request) -> Response:
    """Give a file that pages load."""
    from starlette.responses import Response

    name = request.path_params["name"]
    if name not in pages.STATIC:
        raise RefusedError(HTTPStatus.NOT_FOUND, "There is no such file.")
    headers = {"cache-control": "no-cache", "etag": pages.tag(name)}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(pages.asset(name), media_type=pages.STATIC[name], headers=headers)
