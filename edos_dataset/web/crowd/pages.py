"""The pages as HTML, from `assets/`. All user input and data is escaped, or sent as JSON and shown as text."""

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
from edos_dataset.crowd.hit_answers import feedback, is_right
from edos_dataset.crowd.names import EDOS
from edos_dataset.crowd.quality import QualityRules
from edos_dataset.label_sets import LabelSet
from edos_dataset.palette import style_sheet
from edos_dataset.web.crowd.guideline import guideline_html
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from starlette.responses import Response

STATIC: Mapping[str, str] = {
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
    **{f"{name}.js": "text/javascript" for name in ("work", "labelling", "judging", "done", "admin")},
}
"""Files that the pages load → their media types."""

TITLES = {"labelling": "Feelings in dialogues", "judging": "Replies in conversations"}

_TASKS = {
    "labelling": "You read short dialogues and choose the feeling or intent of the marked turn.",
    "judging": "You read parts of conversations and judge whether each of several replies fits what the other person "
    "feels.",
}


@cache
def asset(name: str) -> str:
    """Return a file of `assets/`; the style sheet begins with the colours of all pages."""
    colours = style_sheet() if name == "style.css" else ""
    return colours + (files("edos_dataset.web.crowd") / "assets" / name).read_text(encoding="utf-8")


@cache
def tag(name: str) -> str:
    """Return the entity tag (ETag) of a file, by which browsers recognise cached copies."""
    return f'"{hashlib.sha256(asset(name).encode()).hexdigest()[:16]}"'


def fill(name: str, **values: str) -> str:
    """Return a fragment of HTML from `assets/`.

    Args:
        name: name of the file, without `.html`.
        values: escaped HTML for its placeholders.
    """
    return Template(asset(f"{name}.html")).substitute(values)


def html(
    name: str, title: str, csrf: str, script: str = "", status: HTTPStatus = HTTPStatus.OK, **values: str
) -> Response:
    """Return a page.

    Args:
        name: name of its file, see `fill`.
        title: title as text.
        csrf: the CSRF token.
        script: name of its script.
        status: status of the response.
        values: see `fill`.
    """
    from starlette.responses import HTMLResponse

    body = fill(name, csrf=csrf, title=escape(title), **values)
    loads = f'<script type="module" src="/static/{script}"></script>' if script else ""
    return HTMLResponse(fill("layout", title=escape(title), csrf=csrf, script=loads, body=body), status)


_SECONDS = 12.0
"""Time that a label or the judgement of a reply takes: 4.12 minutes a HIT of 20 labels (EDOS, Section 3.2)."""


def facts(batch: Batch) -> str:
    """Return a description of the task, how long it takes and its pay as HTML."""
    largest = max(batch.hits, key=lambda hit: len(hit.items))
    asked = sum(len(item.choices) if batch.kind == "judging" else 1 for item in largest.items)
    minutes = max(1, round(asked * _SECONDS / 60))
    takes = f"takes about {counted(minutes, 'minutes')}"
    paid = f" You are paid {batch.reward:.2f} US dollars for it" * bool(batch.reward)
    paid += f"; good work earns {batch.bonus:.2f} more" * bool(batch.reward and batch.bonus)
    return f"<p>{_TASKS[batch.kind]} A task has {len(largest.items)} of them and {takes}.{paid}{'.' * bool(paid)}</p>"


def consent_page(batch: Batch, csrf: str, consent: str, target: str = "/") -> Response:
    """Return the consent page, shown before the first task.

    Args:
        batch: the batch.
        csrf: see `html`.
        consent: paragraphs, separated by blank lines.
        target: address of the next page.
    """
    text = "".join(f"<p>{escape(part.strip())}</p>" for part in consent.split("\n\n") if part.strip())
    return html("consent", TITLES[batch.kind], csrf, facts=facts(batch), text=text, next=escape(target))


def work_page(batch: Batch, assignment: Assignment, csrf: str) -> Response:
    """Return the page for working on a HIT; its script requests the content."""
    own = str(assignment.id)
    return html(batch.kind, TITLES[batch.kind], csrf, f"{batch.kind}.js", assignment=own, tutorial=tutorial(batch))


def done_page(
    batch: Batch, assignment: Assignment, answers: Mapping[int, Mapping[str, Any]], code: str, left: int
) -> Response:
    """Return the page after a HIT.

    Args:
        batch: the batch.
        assignment: the submitted assignment.
        answers: see `Work.answered`.
        code: completion code, the worker's proof of having done it.
        left: number of HITs that are left for the worker.
    """
    if assignment.platform:
        platform, host = assignment.platform.split()
        onward = fill("submit", host=escape(host), platform=escape(platform), code=code)
    elif left:
        more = f"<p>{counted(left, 'more tasks are')} waiting for you, if you like.</p>\n"
        onward = more + fill("onward")
    else:
        onward = "<p>That was all: nothing more is waiting for you. You can close this page.</p>"
    return html(
        "done",
        TITLES[batch.kind],
        "",
        "done.js",
        points=earned_text(batch, assignment, answers),
        code=code,
        next=onward,
    )


def earned_text(batch: Batch, assignment: Assignment, answers: Mapping[int, Mapping[str, Any]]) -> str:
    """Return a sentence on the points of an assignment, and, where a bonus is paid, one on whether it is earned."""
    earned, of = points_of(assignment, answers)
    if not of:
        return ""
    points = f"{earned} of {of} {'quiz questions were right' if batch.kind == 'labelling' else 'bonus points earned'}."
    if not batch.bonus:
        return points
    rules, items = QualityRules().override(batch.rules), assignment.hit.items
    if rules.earns_bonus(items, earned, [answer["value"] for answer in answers.values()]):
        return f"{points} You have earned the bonus of {batch.bonus:.2f} US dollars."
    needed = rules.required(items)
    why = f"it takes {needed} of {of}" if earned < needed else "all replies got the same grade, which does not earn it"
    return f"{points} The bonus of {batch.bonus:.2f} US dollars is not earned this time: {why}."


def content(batch: Batch, assignment: Assignment, answers: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of a HIT's page, without anything that workers must not see.

    Args:
        batch: the batch.
        assignment: the worker's assignment.
        answers: see `Work.answered`.
    """
    items = []
    for place, item in enumerate(assignment.hit.items):
        kind = "bonus" if item.kind == "bonus" else batch.kind
        shown: dict[str, Any] = {
            "turns": item.turns,
            "speakers": item.speakers,
            "choices": item.choices,
            "kind": kind,
            "answer": None,
            "told": {},
        }
        if answer := answers.get(place):
            given = {"value": answer["value"]} | ({"typed": answer["typed"]} if batch.kind == "labelling" else {})
            shown |= {"answer": given, "told": feedback(item, answer["value"], answer["checked"])}
        items.append(shown)
    return {"items": items, "labels": labels(batch.labels) if batch.kind == "labelling" else {}}


def points_of(assignment: Assignment, answers: Mapping[int, Mapping[str, Any]]) -> tuple[int, int]:
    """Return the points earned in an assignment, and the points possible."""
    items = assignment.hit.items
    earned = sum(is_right(items[place], answer["value"]) for place, answer in answers.items())
    return earned, sum(item.kind in ("quiz", "bonus") for item in items)


@cache
def labels(of: LabelSet = EDOS) -> dict[str, dict[str, str]]:
    """Return the meaning of each label in a label set, and an example for the tutorial; either may be empty."""
    examples = of.examples
    if of.labels == EDOS.labels:
        examples = yaml.safe_load((files("edos_dataset.crowd") / "tutorial.yaml").read_text(encoding="utf-8"))
    return {name: {"meaning": of.definitions.get(name, ""), "example": examples.get(name, "")} for name in of.labels}


def tutorial(batch: Batch) -> str:
    """Return the tutorial as HTML: each label with an example, or how replies are judged."""
    own = "" if batch.guideline is None else f'<section class="guideline">{guideline_html(batch.guideline)}</section>'
    if batch.kind == "judging":
        return asset("how_to_judge.html") + own
    chosen = batch.labels
    groups = {
        "Emotions": chosen.emotions,
        "Response intents": chosen.intents,
        "Neutral": () if chosen.neutral is None else (chosen.neutral,),
    }
    about = labels(chosen)
    has_quiz = any(item.kind == "quiz" for hit in batch.hits for item in hit.items)
    parts = [
        '<h2 id="tutorial-title">Tutorial</h2><p>Read the whole dialogue, and say what its last turn, which is marked, '
        "shows: what its speaker feels, or what a reply is meant to do. Some labels are suggested; where none fits, "
        "choose Other, and search the other labels or use a word of your own. "
        + "Some dialogues are quiz questions: after a mistake you see the right label. " * has_quiz
        + "Answers are saved whenever you press Next, and you may close the page and continue later.</p>",
        own,
    ]
    for title, names in groups.items():
        rows = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(about[name]['meaning'])}</dd>"
            + f'<dd class="example">“{escape(about[name]["example"])}”</dd>' * bool(about[name]["example"])
            for name in names
        )
        parts.append(f'<h3>{title}</h3><dl class="labels">{rows}</dl>' * bool(names))
    return "".join(parts)
