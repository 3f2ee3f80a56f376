"""Request handlers for workers and for the administrator of a batch, and their authentication.

Both have a cookie with a token, and a CSRF token that no other site can read.
"""

from __future__ import annotations

import hmac
import json
import re
import time
from dataclasses import dataclass
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from edos_dataset.crowd.assignments import Assignment, Work
from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.hit_answers import read_given
from edos_dataset.crowd.progress import progress
from edos_dataset.crowd.store import NAME, Worker, consent, invite, welcome, worker_of
from edos_dataset.crowd.texts import PageError, Texts, texts_of
from edos_dataset.label_sets.translations import ENGLISH, LANGUAGES
from edos_dataset.web.crowd import pages

if TYPE_CHECKING:  # the package is also imported where no page is served
    from starlette.requests import Request
    from starlette.responses import Response

    from edos_dataset.crowd.store import Store

WORKER, ADMIN, LANGUAGE = "edos_crowd", "edos_crowd_admin", "edos_crowd_language"
FIELD, HEADER = "csrf", "x-csrf-token"
"""Where forms and scripts send the CSRF token."""

MTURK = ("https://www.mturk.com", "https://workersandbox.mturk.com")
"""Sites that may frame our pages and receive their forms if Mechanical Turk assigns the tasks."""

BODY = "edos_dataset.body"
"""Key of a request's body in its scope; it is read before a handler runs."""

_DAYS = 90


class RefusedError(PageError):
    """A request is refused.

    Args:
        status: status of the response.
        text: name of a sentence for the visitor, see `Texts`.
    """

    def __init__(self, status: HTTPStatus, text: str) -> None:
        """Keep the status."""
        super().__init__(text)
        self.status = status


class Sessions:
    """The cookies of a batch.

    Args:
        store: database of the workers, which also signs.
        password: the administrator's password.
        framed: whether another site frames the pages, which takes cookies with SameSite=None.
    """

    def __init__(self, store: Store, password: str, framed: bool = False) -> None:
        """Keep only the password's signature."""
        self.store, self.framed = store, framed
        self._admin = store.sign("admin", password)

    def worker(self, request: Request) -> Worker:
        """Return the worker who sent the request.

        Raises:
            RefusedError: it was not sent by a known worker.
        """
        found = self.known(request)
        if found is None:
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "need_link")
        return found

    def known(self, request: Request) -> Worker | None:
        """Return the worker who sent the request, None if unknown."""
        token = request.cookies.get(WORKER)
        return worker_of(self.store, token) if token else None

    def csrf(self, request: Request, cookie: str = WORKER) -> str:
        """Return the CSRF token that this session's pages send with each change."""
        return self.store.sign("csrf", cookie, request.cookies.get(cookie, ""))

    def check(self, request: Request, given: str | None, cookie: str = WORKER) -> None:
        """Refuse a request that does not come from our pages.

        Raises:
            RefusedError: the CSRF token is missing or wrong, or the request comes from another site.
        """
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            raise RefusedError(HTTPStatus.FORBIDDEN, "other_site")
        if given is None or not hmac.compare_digest(given.encode(), self.csrf(request, cookie).encode()):
            raise RefusedError(HTTPStatus.FORBIDDEN, "old_page")

    def enter(self, request: Request, response: Response, token: str) -> Response:
        """Return a response that stores a worker's token in their browser."""
        return _with_cookie(request, response, WORKER, token, "None" if self.framed else "Lax", "/")

    def set_language(self, request: Request, response: Response, language: str) -> Response:
        """Return a response that stores the language of the pages in the visitor's browser."""
        return _with_cookie(request, response, LANGUAGE, language, "None" if self.framed else "Lax", "/")

    def texts(self, request: Request, batch: Batch) -> Texts:
        """Return the texts in the language that a visitor chose, else in that of the batch."""
        chosen = request.cookies.get(LANGUAGE)
        return texts_of(chosen) if chosen in LANGUAGES else batch.texts

    def may_run(self, request: Request) -> bool:
        """Return whether the request has the administrator's session."""
        return hmac.compare_digest(request.cookies.get(ADMIN, "").encode(), self._admin.encode())

    def log_in(self, request: Request, response: Response, password: str) -> Response | None:
        """Return a response that starts an administrator's session, or None if the password is wrong."""
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


_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # Mechanical Turk's value until a worker accepts
_NUMBER = re.compile("[0-9]{1,19}")  # of an assignment
_PAGE = re.compile(r"/|/mturk|/tutorial|/(?:work|done)/[0-9]{1,19}")  # pages that can be loaded again
_QUESTION = ("hit", "assignmentId", "workerId", "turkSubmitTo")


@dataclass(frozen=True)
class Doors:
    """Who has access.

    Attributes:
        password: password of the live page.
        open: whether anybody may join under a name of their choice.
        mturk: whether workers come from Mechanical Turk, which frames the external question `/mturk?hit=…` over HTTPS.
        consent: what workers agree to, as paragraphs separated by blank lines; by default our text.
        per_host: requests per second from one address.
    """

    password: str
    open: bool = False
    mturk: bool = False
    consent: str | None = None
    per_host: float = 50.0


class Workers:
    """The handlers of the workers' routes.

    Args:
        work: the HITs.
        doors: who has access.
        sessions: authentication.
    """

    def __init__(self, work: Work, doors: Doors, sessions: Sessions) -> None:
        """Keep the arguments."""
        self._work, self._doors, self._sessions = work, doors, sessions
        self._batch = work.batch

    def start(self, request: Request) -> Response:
        """Show the next page: joining, consent, a HIT, or that no HITs are left."""
        csrf, worker, texts = self._sessions.csrf(request), self._sessions.known(request), self._texts(request)
        if worker is None:
            join = pages.fill("join", texts, csrf=csrf) if self._doors.open else ""
            return self._welcome(texts, csrf, "invited", join)
        if not worker.consented:
            return pages.consent_page(self._batch, texts, csrf, self._doors.consent)
        assignment = self._work.hand_out(worker.id)
        return self._welcome(texts, csrf, "nothing_now") if assignment is None else see(f"/work/{assignment.id}")

    def enter(self, request: Request) -> Response:
        """Sign in a worker by their personal link."""
        token = request.path_params["token"]
        if worker_of(self._work.store, token) is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "unknown_link")
        return self._sessions.enter(request, see("/"), token)

    def join(self, request: Request) -> Response:
        """Register a visitor under a name of their choice."""
        form = form_of(request)
        self._sessions.check(request, form.get(FIELD))
        if not self._doors.open:
            raise RefusedError(HTTPStatus.FORBIDDEN, "only_invited")
        name = form.get("name", "").strip()
        if not NAME.fullmatch(name):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "bad_name")
        try:
            token = invite(self._work.store, [name], "open")[name]
        except ValueError as error:
            raise RefusedError(HTTPStatus.CONFLICT, "taken_name") from error
        return self._sessions.enter(request, see("/"), token)

    def agree(self, request: Request) -> Response:
        """Record a worker's consent."""
        form = form_of(request)
        self._sessions.check(request, form.get(FIELD))
        consent(self._work.store, self._sessions.worker(request).id)
        target = form.get("next", "/")
        return see(target if target.startswith("/mturk?") else "/")

    def mturk(self, request: Request) -> Response:
        """Sign in a worker from Mechanical Turk by the parameters of an external question."""
        if not self._doors.mturk:
            raise RefusedError(HTTPStatus.NOT_FOUND, "not_from_mturk")
        texts = self._texts(request)
        hit, theirs, name, host = (request.query_params.get(key, "") for key in _QUESTION)
        if theirs in ("", _PREVIEW):
            return self._welcome(texts, "", "accept_hit", pages.facts(self._batch, texts))
        if host.rstrip("/") not in MTURK or not NAME.fullmatch(name):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "strange_mturk")
        target = f"/mturk?{urlencode(dict(zip(_QUESTION, (hit, theirs, name, host), strict=True)))}"
        token, worker = welcome(self._work.store, name), self._sessions.known(request)
        if worker is None or worker != worker_of(self._work.store, token):
            if "again" in request.query_params:
                raise RefusedError(HTTPStatus.BAD_REQUEST, "no_cookies")
            return self._sessions.enter(request, see(f"{target}&again=1"), token)
        if not worker.consented:
            csrf = self._sessions.csrf(request)
            return pages.consent_page(self._batch, texts, csrf, self._doors.consent, target)
        assignment = self._work.hand_out(worker.id, hit, f"{theirs} {host.rstrip('/')}")
        return see(f"/work/{assignment.id}" if assignment else "/")

    def work_on(self, request: Request) -> Response:
        """Show the page of a HIT."""
        assignment = self._assignment(request)
        if assignment.finished:
            return see(f"/done/{assignment.id}")
        return pages.work_page(self._batch, self._texts(request), assignment, self._sessions.csrf(request))

    def done(self, request: Request) -> Response:
        """Show a worker's points and completion code, and what comes next."""
        assignment = self._assignment(request)
        if not assignment.finished:
            return see(f"/work/{assignment.id}")
        worker = self._sessions.worker(request).id
        code = self._work.store.sign("done", str(assignment.id))[:10]
        answers = self._work.answered(assignment)
        left = self._work.left(worker)
        return pages.done_page(self._batch, self._texts(request), assignment, answers, code, left)

    def hit(self, request: Request) -> Response:
        """Return the content of a HIT, and its answers so far."""
        from starlette.responses import JSONResponse

        assignment = self._assignment(request)
        answers = self._work.answered(assignment)
        return JSONResponse(pages.content(self._batch, self._texts(request), assignment, answers))

    def answer(self, request: Request) -> Response:
        """Store an answer."""
        from starlette.responses import JSONResponse

        worker, assignment, body = self._asked(request)
        return JSONResponse(self._work.give(worker, assignment, read_given(body)))

    def finish(self, request: Request) -> Response:
        """Submit an assignment."""
        from starlette.responses import JSONResponse

        worker, assignment, _ = self._asked(request)
        return JSONResponse({"missing": self._work.finish(worker, assignment)})

    def tutorial(self, request: Request) -> Response:
        """Show only the tutorial."""
        texts = self._texts(request)
        return pages.html("tutorial", texts, texts("tutorial"), "", text=pages.tutorial(self._batch, texts))

    def speak(self, request: Request) -> Response:
        """Show the page that a visitor is on in another language."""
        language, before = request.query_params.get("to", ""), urlsplit(request.headers.get("referer", ""))
        own = before.netloc == request.headers.get("host") and _PAGE.fullmatch(before.path)
        response = see(before.path + f"?{before.query}" * bool(before.query) if own else "/")
        return self._sessions.set_language(request, response, language) if language in LANGUAGES else response

    def _texts(self, request: Request) -> Texts:
        return self._sessions.texts(request, self._batch)

    def _welcome(self, texts: Texts, csrf: str, text: str, more: str = "") -> Response:
        """Return a page with a sentence, and more as HTML."""
        title = pages.title(self._batch, texts)
        return pages.html("welcome", texts, title, csrf, intro=texts.html[text], join=more)

    def _assignment(self, request: Request) -> Assignment:
        worker, number = self._sessions.worker(request).id, request.path_params["assignment"]
        if not _NUMBER.fullmatch(number):
            raise RefusedError(HTTPStatus.NOT_FOUND, "no_task")
        return self._work.of_worker(worker, int(number))

    def _asked(self, request: Request) -> tuple[str, int, dict[str, Any]]:
        """Return the worker, the assignment and the content of a script's request."""
        worker = self._sessions.worker(request)
        self._sessions.check(request, request.headers.get(HEADER))
        try:
            body = json.loads(request.scope[BODY])
            if isinstance(body, dict) and type(body["assignment"]) is int:
                return worker.id, body["assignment"], body
        except (ValueError, KeyError, RecursionError):
            pass
        raise RefusedError(HTTPStatus.BAD_REQUEST, "no_question")


def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form; of several with one name, the last."""
    return {name: values[-1] for name, values in parse_qs(request.scope[BODY].decode("utf-8", "replace")).items()}


def see(address: str) -> Response:
    """Return a redirect to another address."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(address, HTTPStatus.SEE_OTHER)


_FRESH = 4.0  # seconds for which figures are cached, as computing them reads all answers


class Admin:
    """The handlers of the live page.

    Args:
        work: the HITs.
        sessions: authentication.
    """

    def __init__(self, work: Work, sessions: Sessions) -> None:
        """Start without figures."""
        self._work, self._sessions = work, sessions
        self._made, self._at, self._lock = dict[str, Any](), float("-inf"), Lock()

    def show(self, request: Request) -> Response:
        """Show the page, or ask for the password."""
        csrf = self._sessions.csrf(request, ADMIN)
        if not self._sessions.may_run(request):
            return pages.english("login", "Live page", csrf, error="")
        title = pages.title(self._work.batch, texts_of(ENGLISH))
        return pages.english("admin", title, csrf, "admin.js")

    def log_in(self, request: Request) -> Response:
        """Check the password."""
        form = form_of(request)
        self._sessions.check(request, form.get(FIELD), ADMIN)
        response = self._sessions.log_in(request, see("/admin"), form.get("password", ""))
        if response is None:
            error = '<p class="error" role="alert">This is not the password.</p>'
            csrf = self._sessions.csrf(request, ADMIN)
            return pages.english("login", "Live page", csrf, error=error, status=HTTPStatus.FORBIDDEN)
        return response

    def progress(self, request: Request) -> Response:
        """Return the figures as JSON."""
        from starlette.responses import JSONResponse

        if not self._sessions.may_run(request):
            return JSONResponse({"error": "Give the password first."}, HTTPStatus.FORBIDDEN)
        with self._lock:
            if time.monotonic() - self._at > _FRESH:
                self._made, self._at = progress(self._work), time.monotonic()
            return JSONResponse(self._made)
