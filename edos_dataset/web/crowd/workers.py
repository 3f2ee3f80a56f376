"""What a worker's browser asks for: coming in, the consent, a HIT, its answers, and the end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

from edos_dataset.crowd.assignments import Assignment, Work
from edos_dataset.crowd.given import read_given
from edos_dataset.crowd.workers import NAME, consent, invite, welcome, worker_of
from edos_dataset.web.crowd import pages
from edos_dataset.web.crowd.guard import BODY, MTURK
from edos_dataset.web.crowd.sessions import FIELD, HEADER, RefusedError, Sessions

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what Mechanical Turk says while a worker has not accepted
_QUESTION = ("hit", "assignmentId", "workerId", "turkSubmitTo")


@dataclass(frozen=True)
class Doors:
    """Who may come in.

    Attributes:
        password: of the live page.
        open: whether anybody may join under a name of their own.
        mturk: whether workers of Mechanical Turk come, by the address of an external question, `/mturk?hit=…`, shown in
            its frame, over HTTPS.
        consent: what workers agree to, paragraphs with blank lines between; by default ours.
        per_host: requests a second of one address.
    """

    password: str
    open: bool = False
    mturk: bool = False
    consent: str | None = None
    per_host: float = 50.0


class Workers:
    """The handlers of the workers' addresses.

    Args:
        work: the HITs.
        doors: who may come in.
        sessions: who it is.
    """

    def __init__(self, work: Work, doors: Doors, sessions: Sessions) -> None:
        """Keep all three."""
        self._work, self._doors, self._sessions = work, doors, sessions
        self._batch, self._title = work.batch, pages.TITLES[work.batch.kind]
        self._consent = doors.consent or pages.asset("consent.txt")

    def start(self, request: Request) -> Response:
        """Show what comes next: who are you, the consent, a HIT, or that there is no more."""
        csrf, worker = self._sessions.csrf(request), self._sessions.known(request)
        if worker is None:
            intro = "Were you invited? Open the link that you were given, and you go on where you were."
            return pages.html(
                "welcome",
                self._title,
                csrf,
                intro=intro,
                join=pages.fill("join", csrf=csrf) if self._doors.open else "",
            )
        if not worker.consented:
            return pages.consent_page(self._batch, csrf, self._consent)
        assignment = self._work.hand_out(worker.id)
        if assignment is None:
            more = "There is nothing more to do for you at the moment. Thank you!"
            return pages.html("welcome", self._title, csrf, intro=more, join="")
        return see(f"/work/{assignment.id}")

    def enter(self, request: Request) -> Response:
        """Take a worker's own link."""
        token = request.path_params["token"]
        if worker_of(self._work.store, token) is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "This link is not known: look whether it is whole.")
        return self._sessions.enter(request, see("/"), token)

    def join(self, request: Request) -> Response:
        """Let somebody in under a name of their own."""
        form = form_of(request)
        self._sessions.check(request, form.get(FIELD))
        if not self._doors.open:
            raise RefusedError(HTTPStatus.FORBIDDEN, "This study is for people who were invited.")
        name = form.get("name", "").strip()
        if not NAME.fullmatch(name):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "A name has 1 to 64 letters, digits, and any of . @ + - _")
        try:
            token = invite(self._work.store, [name], "open")[name]
        except ValueError as error:
            text = "This name is taken: choose another one, or go on in the browser in which you began."
            raise RefusedError(HTTPStatus.CONFLICT, text) from error
        return self._sessions.enter(request, see("/"), token)

    def agree(self, request: Request) -> Response:
        """Keep a worker's consent."""
        form = form_of(request)
        self._sessions.check(request, form.get(FIELD))
        consent(self._work.store, self._sessions.worker(request).id)
        target = form.get("next", "/")
        return see(target if target.startswith("/mturk?") else "/")

    def mturk(self, request: Request) -> Response:
        """Take a worker of Mechanical Turk, who comes with the parameters of an external question."""
        if not self._doors.mturk:
            raise RefusedError(HTTPStatus.NOT_FOUND, "Nobody comes here from Mechanical Turk.")
        hit, theirs, name, host = (request.query_params.get(key, "") for key in _QUESTION)
        if theirs in ("", _PREVIEW):
            return pages.html(
                "welcome", self._title, "", intro="Accept the HIT to begin.", join=pages.facts(self._batch)
            )
        if host.rstrip("/") not in MTURK or not NAME.fullmatch(name):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "Mechanical Turk gave no worker, or a strange address.")
        target = f"/mturk?{urlencode(dict(zip(_QUESTION, (hit, theirs, name, host), strict=True)))}"
        token, worker = welcome(self._work.store, name), self._sessions.known(request)
        if worker is None or worker != worker_of(self._work.store, token):
            if "again" in request.query_params:
                text = "Your browser keeps no cookies for this page, without which nothing can be saved: allow them."
                raise RefusedError(HTTPStatus.BAD_REQUEST, text)
            return self._sessions.enter(request, see(f"{target}&again=1"), token)
        if not worker.consented:
            return pages.consent_page(self._batch, self._sessions.csrf(request), self._consent, target)
        assignment = self._work.hand_out(worker.id, hit, f"{theirs} {host.rstrip('/')}")
        return see(f"/work/{assignment.id}" if assignment else "/")

    def work_on(self, request: Request) -> Response:
        """Show the page of a HIT."""
        assignment = self._assignment(request)
        if assignment.finished:
            return see(f"/done/{assignment.id}")
        return pages.work_page(self._batch, assignment, self._sessions.csrf(request))

    def done(self, request: Request) -> Response:
        """Show what a worker has earned, and what comes next."""
        assignment = self._assignment(request)
        if not assignment.finished:
            return see(f"/work/{assignment.id}")
        points = pages.points_of(assignment, self._work.answered(assignment.id))
        code = self._work.store.sign("done", str(assignment.id))[:10]
        return pages.done_page(self._batch, assignment, points, code)

    def hit(self, request: Request) -> Response:
        """Give the content of a HIT, and what was answered."""
        from starlette.responses import JSONResponse

        assignment = self._assignment(request)
        return JSONResponse(pages.content(self._batch, assignment, self._work.answered(assignment.id)))

    def answer(self, request: Request) -> Response:
        """Store an answer."""
        from starlette.responses import JSONResponse

        worker, assignment, body = self._asked(request)
        return JSONResponse(self._work.give(worker, assignment, read_given(body)))

    def finish(self, request: Request) -> Response:
        """Hand an assignment in."""
        from starlette.responses import JSONResponse

        worker, assignment, _ = self._asked(request)
        return JSONResponse({"missing": self._work.finish(worker, assignment)})

    def tutorial(self, request: Request) -> Response:
        """Show the tutorial alone."""
        return pages.html("tutorial", "Tutorial", "", text=pages.tutorial(self._batch))

    def _assignment(self, request: Request) -> Assignment:
        return self._work.of_worker(self._sessions.worker(request).id, request.path_params["assignment"])

    def _asked(self, request: Request) -> tuple[str, int, dict[str, Any]]:
        """Return who asks a script's question, of which assignment, and the question."""
        worker = self._sessions.worker(request)
        self._sessions.check(request, request.headers.get(HEADER))
        try:
            body = json.loads(request.scope[BODY])
            if isinstance(body, dict) and type(body["assignment"]) is int:
                return worker.id, body["assignment"], body
        except (ValueError, KeyError, RecursionError):
            pass
        raise RefusedError(HTTPStatus.BAD_REQUEST, "This is no question of our pages: load the page again.")


def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form, the last of each name."""
    return {name: values[-1] for name, values in parse_qs(request.scope[BODY].decode("utf-8", "replace")).items()}


def see(address: str) -> Response:
    """Return an answer that leads a browser to another address."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(address, HTTPStatus.SEE_OTHER)
