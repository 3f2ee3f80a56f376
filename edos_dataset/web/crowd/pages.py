"""The pages as HTML, out of `assets/`. Whatever comes from people or data is escaped, or sent as JSON and shown as
text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from html import escape
from http import HTTPStatus
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import yaml

from edos_dataset.crowd.assignments import Assignment
from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.given import is_right, told
from edos_dataset.labels import DEFINITIONS, EMOTIONS, INTENTS, LABELS, NEUTRAL

if TYPE_CHECKING:
    from starlette.responses import Response

STATIC: Mapping[str, str] = {
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
    **{f"{name}.js": "text/javascript" for name in ("work", "labelling", "judging", "admin")},
}
"""Files that the pages load → their types."""

TITLES = {"labelling": "Feelings in dialogues", "judging": "Replies in conversations"}

_TASKS = {
    "labelling": "You read short dialogues and choose the feeling, or the intent, of the turn that is marked.",
    "judging": "You read parts of conversations and say of each of several replies whether it fits what the other "
    "feels.",
}


@cache
def asset(name: str) -> str:
    """Return a file of `assets/`."""
    return (files("edos_dataset.web.crowd") / "assets" / name).read_text(encoding="utf-8")


@cache
def tag(name: str) -> str:
    """Return an entity tag, by which a browser knows that it has a file already."""
    return f'"{hashlib.sha256(asset(name).encode()).hexdigest()[:16]}"'


def fill(name: str, **values: str) -> str:
    """Return a piece of HTML of `assets/`.

    Args:
        name: of the file, without `.html`.
        values: HTML, escaped already, for its places.
    """
    return Template(asset(f"{name}.html")).substitute(values)


def html(
    name: str, title: str, csrf: str, script: str = "", status: HTTPStatus = HTTPStatus.OK, **values: str
) -> Response:
    """Return a page.

    Args:
        name: of its file, as of `fill`.
        title: a text.
        csrf: the token against forged requests.
        script: name of its script.
        status: of the answer.
        values: as of `fill`.
    """
    from starlette.responses import HTMLResponse

    body = fill(name, csrf=csrf, title=escape(title), **values)
    loads = f'<script type="module" src="/static/{script}"></script>' if script else ""
    return HTMLResponse(fill("layout", title=escape(title), csrf=csrf, script=loads, body=body), status)


def facts(batch: Batch) -> str:
    """Return what a task is, and what it earns, as HTML."""
    items = max(len(hit.items) for hit in batch.hits)
    paid = f" and is paid with {batch.reward:.2f} US dollars; good work earns {batch.bonus:.2f} more" * bool(
        batch.reward
    )
    return f"<p>{_TASKS[batch.kind]} A task has {items} of them{paid}.</p>"


def consent_page(batch: Batch, csrf: str, consent: str, target: str = "/") -> Response:
    """Return what a worker agrees to before the first task.

    Args:
        batch: of the tasks.
        csrf: as of `page`.
        consent: paragraphs with blank lines between.
        target: address that comes next.
    """
    text = "".join(f"<p>{escape(part.strip())}</p>" for part in consent.split("\n\n") if part.strip())
    return html("consent", TITLES[batch.kind], csrf, facts=facts(batch), text=text, next=escape(target))


def work_page(batch: Batch, assignment: Assignment, csrf: str) -> Response:
    """Return the page on which a HIT is worked on; its script asks for the content."""
    own = str(assignment.id)
    return html(batch.kind, TITLES[batch.kind], csrf, f"{batch.kind}.js", assignment=own, tutorial=tutorial(batch))


def done_page(batch: Batch, assignment: Assignment, points: tuple[int, int], code: str) -> Response:
    """Return the page after a HIT.

    Args:
        batch: of the HIT.
        assignment: that is handed in.
        points: earned, and that could be.
        code: by which the worker shows that they did it.
    """
    earned, of = points
    told = f"{earned} of {of} {'quiz questions were right' if batch.kind == 'labelling' else 'bonus points earned'}."
    if assignment.platform:
        platform, host = assignment.platform.split()
        onward = fill("submit", host=escape(host), platform=escape(platform), code=code)
    else:
        onward = fill("onward")
    return html("done", TITLES[batch.kind], "", points=told if of else "", code=code, next=onward)


def content(batch: Batch, assignment: Assignment, answers: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the page of a HIT shows: nothing that a worker must not know.

    Args:
        batch: of the HIT.
        assignment: of the worker.
        answers: as of `Work.answered`.
    """
    items = []
    for place, item in enumerate(assignment.hit.items):
        kind = "bonus" if item.kind == "bonus" else batch.kind
        shown: dict[str, Any] = {"turns": item.turns, "choices": item.choices, "kind": kind, "answer": None, "told": {}}
        if answer := answers.get(place):
            given = {"value": answer["value"]} | ({"typed": answer["typed"]} if batch.kind == "labelling" else {})
            shown |= {"answer": given, "told": told(item, answer["value"], answer["checked"])}
        items.append(shown)
    return {"items": items, "labels": labels() if batch.kind == "labelling" else {}}


def points_of(assignment: Assignment, answers: Mapping[int, Mapping[str, Any]]) -> tuple[int, int]:
    """Return the points that an assignment has earned, and those that it could."""
    items = assignment.hit.items
    earned = sum(is_right(items[place], answer["value"]) for place, answer in answers.items())
    return earned, sum(item.kind in ("quiz", "bonus") for item in items)


@cache
def labels() -> dict[str, dict[str, str]]:
    """Return what each label means, and the tutorial's example."""
    examples = yaml.safe_load((files("edos_dataset.crowd") / "tutorial.yaml").read_text(encoding="utf-8"))
    return {name: {"meaning": DEFINITIONS[name], "example": examples[name]} for name in LABELS}


def tutorial(batch: Batch) -> str:
    """Return the tutorial as HTML: each label with an example, or how replies are judged."""
    if batch.kind == "judging":
        return asset("how_to_judge.html")
    groups = {"Feelings": EMOTIONS, "Intents of a reply": INTENTS, "Neither": (NEUTRAL,)}
    parts = [
        '<h2 id="tutorial-title">Tutorial</h2><p>Read the whole dialogue, and say what its last turn, which is marked, '
        "shows: what its speaker feels, or what a reply is meant to do. Three labels are suggested; where none fits, "
        "choose Other, and search the rest or type a word of your own. Some dialogues are quiz questions: after a "
        "mistake you see the right label. Answers are saved whenever you press Next, and you may close the page and go "
        "on later.</p>"
    ]
    for title, names in groups.items():
        rows = "".join(
            f'<dt>{name}</dt><dd>{escape(labels()[name]["meaning"])}</dd><dd class="example">“'
            f"{escape(labels()[name]['example'])}”</dd>"
            for name in names
        )
        parts.append(f'<h3>{title}</h3><dl class="labels">{rows}</dl>')
    return "".join(parts)
