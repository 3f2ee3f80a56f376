"""The server of a batch: routes, limits and headers for all pages, and uvicorn. Needs the extra `crowd`."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from html import escape
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from edos_dataset.crowd.assignments import NotYoursError, Work
from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.texts import PageError, Texts
from edos_dataset.web.crowd import pages
from edos_dataset.web.crowd.connections import PATIENCE, bounded
from edos_dataset.web.crowd.visitors import BODY, MTURK, Admin, Doors, RefusedError, Sessions, Workers

if TYPE_CHECKING:  # the package is also imported where no page is served
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 16 * 1024
"""Maximum number of bytes of a request's body; an answer has a few hundred."""

_LOGIN = "/admin/login"
_FORGOTTEN = 10_000  # maximum number of visitors remembered


class Rates:
    """Token buckets: a visitor may make `burst` requests at once, and `rate` per second in the long run."""

    def __init__(self, rate: float, burst: float) -> None:
        """Start without visitors."""
        self.rate, self.burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, visitor: str) -> float:
        """Return the seconds until a visitor's next request is allowed; 0 allows one now, and counts it."""
        moment = time.monotonic()
        left, seen = self._left.pop(visitor, (self.burst, moment))
        left = min(self.burst, left + (moment - seen) * self.rate)
        if len(self._left) >= _FORGOTTEN:  # the least recent visitor
            del self._left[next(iter(self._left))]
        self._left[visitor] = (left - 1 if left >= 1 else left, moment)
        return 0.0 if left >= 1 else (1 - left) / self.rate


class Guard:
    """An application with rate limits and security headers.

    Args:
        app: the application.
        texts: returns the texts in the language of a visitor.
        mturk: whether Mechanical Turk may frame the pages.
        per_host: requests per second from one address, which many visitors may share; bursts may be six times larger.
    """

    def __init__(
        self, app: ASGIApp, texts: Callable[[Request], Texts], mturk: bool = False, per_host: float = 50.0
    ) -> None:
        """Build the headers."""
        self.app, self.texts = app, texts
        self.hosts, self.guesses = Rates(per_host, 6 * per_host), Rates(0.2, 10)
        self.guesses_of_all = Rates(0.5, 30)
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
        if scope["method"] == "POST" and scope["path"] in ("/join", _LOGIN):
            wait = max(wait, self.guesses.wait(host))
        if scope["method"] == "POST" and scope["path"] == _LOGIN:  # whatever addresses a proxy or a guesser states
            wait = max(wait, self.guesses_of_all.wait(""))
        if wait:
            await self._refuse(scope, guarded, 429, "too_many", [(b"retry-after", b"%d" % (wait + 1))])
            return
        body = await _body(receive)
        if body is None:
            await self._refuse(scope, guarded, 413, "too_large", [(b"connection", b"close")])
            return
        await self.app({**scope, BODY: body}, receive, guarded)

    async def _refuse(
        self, scope: Scope, send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]]
    ) -> None:
        from starlette.requests import Request

        plain = (b"content-type", b"text/plain; charset=utf-8")
        await send({"type": "http.response.start", "status": status, "headers": [plain, *headers]})
        await send({"type": "http.response.body", "body": self.texts(Request(scope))(text).encode()})


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request, None if it is too large or comes too slowly."""
    body, more = b"", True
    last = time.monotonic() + PATIENCE
    while more:
        try:
            message = await asyncio.wait_for(receive(), last - time.monotonic())
        except asyncio.TimeoutError:
            return None
        if message["type"] != "http.request":  # the visitor has disconnected
            return b""
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return None
    return body


def make_app(work: Work, doors: Doors) -> ASGIApp:
    """Return the ASGI application of a batch.

    Its handlers are not coroutines, so that each runs in a thread: the database waits for the disk.
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
        Route("/work/{assignment}", workers.work_on),
        Route("/done/{assignment}", workers.done),
        Route("/api/hit/{assignment}", workers.hit),
        Route("/api/answer", workers.answer, methods=["POST"]),
        Route("/api/finish", workers.finish, methods=["POST"]),
        Route("/tutorial", workers.tutorial),
        Route("/language", workers.speak),
        Route("/admin", admin.show),
        Route(_LOGIN, admin.log_in, methods=["POST"]),
        Route("/admin/progress", admin.progress),
        Route("/static/{name}", _static),
    ]

    def texts(request: Request) -> Texts:
        return sessions.texts(request, work.batch)

    def refused(request: Request, error: Exception) -> Response:
        return _error_page(request, texts(request), work.batch, error)

    handlers: dict[Any, Callable[[Request, Exception], Response]] = {ValueError: refused}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), texts, doors.mturk, doors.per_host)


def _error_page(request: Request, texts: Texts, batch: Batch, error: Exception) -> Response:
    """Return an error as a page, or as JSON to a script; in the visitor's language if a page of ours can cause it."""
    from starlette.responses import JSONResponse

    status = HTTPStatus.CONFLICT if isinstance(error, NotYoursError) else HTTPStatus.BAD_REQUEST
    status = error.status if isinstance(error, RefusedError) else status
    text = texts(error.text) if isinstance(error, PageError) else str(error)
    if request.url.path.startswith(("/api/", "/admin/progress")):
        return JSONResponse({"error": text}, status)
    return pages.html("welcome", texts, pages.title(batch, texts), "", status=status, intro=escape(text), join="")


def _static(request: Request) -> Response:
    from starlette.responses import Response

    name = request.path_params["name"]
    if name not in pages.STATIC:
        raise RefusedError(HTTPStatus.NOT_FOUND, "no_file")
    headers = {"cache-control": "no-cache", "etag": pages.tag(name)}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(pages.asset(name), media_type=pages.STATIC[name], headers=headers)


def check_installed() -> None:
    """Check that the dependencies of serving are installed.

    Raises:
        ImportError: they are not; the message contains the command to install them.
    """
    if lacking := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise ImportError(f'pages for people need {" and ".join(lacking)}: pip install "edos-dataset[crowd]"')


def serve(work: Work, doors: Doors, host: str, port: int, ready: Callable[[str], object]) -> None:
    """Serve the pages of a batch until stopped.

    Args:
        work: the HITs.
        doors: who has access.
        host: address to listen on; 127.0.0.1 behind an HTTPS proxy.
        port: the port, 0 for any free one.
        ready: called with the URL of the pages once they are available.

    Raises:
        ValueError: the address is not available.
    """
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise ValueError(f"cannot listen at {host}, port {port}: {error}; give another --port or --host") from error
    shown = f"[{host}]" if ":" in host else host
    settings = uvicorn.Config(
        make_app(work, doors),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        lifespan="off",
        http=bounded(),
    )
    with listening:
        listening.listen(2048)
        ready(f"http://{shown}:{listening.getsockname()[1]}")
        uvicorn.Server(settings).run(sockets=[listening])
