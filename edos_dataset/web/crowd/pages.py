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

from edos_dataset.crowd.assignments import Assignment
from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.hit_answers import feedback, is_right
from edos_dataset.crowd.quality import QualityRules
from edos_dataset.crowd.texts import Texts, texts_of
from edos_dataset.label_sets import LabelSet
from edos_dataset.label_sets.translations import ENGLISH, LANGUAGES
from edos_dataset.palette import style_sheet
from edos_dataset.web.crowd.guideline import guideline_html

if TYPE_CHECKING:
    from starlette.responses import Response

STATIC: Mapping[str, str] = {
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
    **{f"{name}.js": "text/javascript" for name in ("work", "labelling", "judging", "done", "language", "admin")},
}
"""Files that the pages load → their media types."""


@cache
def asset(name: str) -> str:
    """Return a file of `assets/`; the style sheet begins with the colours of all pages."""
    colours = style_sheet() if name == "style.css" else ""
    return colours + (files("edos_dataset.web.crowd") / "assets" / name).read_text(encoding="utf-8")


@cache
def tag(name: str) -> str:
    """Return the entity tag (ETag) of a file, by which browsers recognise cached copies."""
    return f'"{hashlib.sha256(asset(name).encode()).hexdigest()[:16]}"'


def fill(name: str, texts: Texts, **values: str) -> str:
    """Return a fragment of HTML from `assets/`.

    Args:
        name: name of the file, without `.html`.
        texts: texts for its placeholders.
        values: escaped HTML for its other placeholders.
    """
    return Template(asset(f"{name}.html")).substitute({**texts.html, **values})


def html(
    name: str,
    texts: Texts,
    title: str,
    csrf: str,
    script: str = "",
    status: HTTPStatus = HTTPStatus.OK,
    **values: str,
) -> Response:
    """Return a page for workers, who can change its language.

    Args:
        name: name of its file, see `fill`.
        texts: texts of its language.
        title: title as text.
        csrf: the CSRF token.
        script: name of its script.
        status: status of the response.
        values: see `fill`.
    """
    options = "".join(
        f'<option value="{code}" lang="{code}"{" selected" * (code == texts.language)}>{own}</option>'
        for code, own in LANGUAGES.items()
    )
    languages = fill("languages", texts, options=options)
    return _page(name, texts, title, csrf, (script, "language.js"), status, languages, values)


def english(name: str, title: str, csrf: str, script: str = "", status: int = 200, **values: str) -> Response:
    """Return a page for the administrator, which is in English; the arguments are those of `html`."""
    return _page(name, texts_of(ENGLISH), title, csrf, (script,), status, "", values)


def _page(
    name: str,
    texts: Texts,
    title: str,
    csrf: str,
    scripts: tuple[str, ...],
    status: int,
    languages: str,
    values: Mapping[str, str],
) -> Response:
    from starlette.responses import HTMLResponse

    own = {"csrf": csrf, "title": escape(title)}
    loads = "".join(f'<script type="module" src="/static/{script}"></script>' for script in filter(None, scripts))
    page = fill(
        "layout",
        texts,
        **own,
        language=texts.language,
        spoken=texts.attribute if languages else "",
        script=loads,
        languages=languages,
        body=fill(name, texts, **own, **values),
    )
    return HTMLResponse(page, status)


def title(batch: Batch, texts: Texts) -> str:
    """Return the title of a batch's pages."""
    return texts(f"title_{batch.kind}")


_SECONDS = 12.0
"""Time that a label or the judgement of a reply takes: 4.12 minutes a HIT of 20 labels (EDOS, Section 3.2)."""


def facts(batch: Batch, texts: Texts) -> str:
    """Return a description of the task, how long it takes and its pay as HTML."""
    largest = max(batch.hits, key=lambda hit: len(hit.items))
    asked = sum(len(item.choices) if batch.kind == "judging" else 1 for item in largest.items)
    minutes = texts.counted("minutes", max(1, round(asked * _SECONDS / 60)))
    about = [texts(f"about_{batch.kind}"), texts("about_task", items=len(largest.items), minutes=minutes)]
    if batch.reward:
        paid = "pay_and_bonus" if batch.bonus else "pay"
        about.append(texts(paid, reward=texts.amount(batch.reward), bonus=texts.amount(batch.bonus)))
    return f"<p>{escape(' '.join(about))}</p>"


def consent_page(batch: Batch, texts: Texts, csrf: str, consent: str | None = None, target: str = "/") -> Response:
    """Return the consent page, shown before the first task.

    Args:
        batch: the batch.
        texts: texts of the worker's language.
        csrf: see `html`.
        consent: paragraphs, separated by blank lines; by default ours.
        target: address of the next page.
    """
    parts = (consent or texts("consent")).split("\n\n")
    text = "".join(f"<p>{escape(part.strip())}</p>" for part in parts if part.strip())
    about = facts(batch, texts)
    return html("consent", texts, title(batch, texts), csrf, facts=about, consent=text, next=escape(target))


def work_page(batch: Batch, texts: Texts, assignment: Assignment, csrf: str) -> Response:
    """Return the page for working on a HIT; its script requests the content."""
    own, how = str(assignment.id), tutorial(batch, texts)
    script = f"{batch.kind}.js"
    return html(batch.kind, texts, title(batch, texts), csrf, script, assignment=own, tutorial_html=how)


def done_page(
    batch: Batch, texts: Texts, assignment: Assignment, answers: Mapping[int, Mapping[str, Any]], code: str, left: int
) -> Response:
    """Return the page after a HIT.

    Args:
        batch: the batch.
        texts: texts of the worker's language.
        assignment: the submitted assignment.
        answers: see `Work.answered`.
        code: completion code, the worker's proof of having done it.
        left: number of HITs that are left for the worker.
    """
    if assignment.platform:
        platform, host = assignment.platform.split()
        onward = fill("submit", texts, host=escape(host), platform=escape(platform), code=code)
    elif left:
        onward = f"<p>{escape(texts.counted('more', left))}</p>\n" + fill("onward", texts)
    else:
        onward = f"<p>{escape(texts('no_more'))}</p>"
    points = escape(earned_text(batch, texts, assignment, answers))
    return html("done", texts, title(batch, texts), "", "done.js", points=points, code=code, next=onward)


def earned_text(batch: Batch, texts: Texts, assignment: Assignment, answers: Mapping[int, Mapping[str, Any]]) -> str:
    """Return a sentence on the points of an assignment, and, where a bonus is paid, one on whether it is earned."""
    earned, of = points_of(assignment, answers)
    if not of:
        return ""
    points = texts(f"points_{batch.kind}", earned=earned, of=of)
    if not batch.bonus:
        return points
    rules, items = QualityRules().override(batch.rules), assignment.hit.items
    needed = rules.required(items)
    if rules.earns_bonus(items, earned, [answer["value"] for answer in answers.values()]):
        found = "bonus_earned"
    else:
        found = "bonus_lacks_points" if earned < needed else "bonus_same_grade"
    return f"{points} {texts(found, bonus=texts.amount(batch.bonus), needed=needed, of=of)}"


def content(
    batch: Batch, texts: Texts, assignment: Assignment, answers: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the content of a HIT's page, without anything that workers must not see.

    Args:
        batch: the batch.
        texts: texts of the worker's language.
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
    return {"items": items, "labels": labels(texts, batch.labels) if batch.kind == "labelling" else {}}


def points_of(assignment: Assignment, answers: Mapping[int, Mapping[str, Any]]) -> tuple[int, int]:
    """Return the points earned in an assignment, and the points possible."""
    items = assignment.hit.items
    earned = sum(is_right(items[place], answer["value"]) for place, answer in answers.items())
    return earned, sum(item.kind in ("quiz", "bonus") for item in items)


def labels(texts: Texts, of: LabelSet) -> dict[str, dict[str, str]]:
    """Return for each label in a label set the name that is shown, its meaning, and an example for the tutorial; the
    latter two may be empty.
    """
    examples = texts.examples_of(of)
    return {
        label: {"name": shown.name, "meaning": shown.definition, "example": examples.get(label, "")}
        for label, shown in texts.labels(of).items()
    }


def tutorial(batch: Batch, texts: Texts) -> str:
    """Return the tutorial as HTML: each label with an example, or how replies are judged."""
    own = "" if batch.guideline is None else f'<section class="guideline">{guideline_html(batch.guideline)}</section>'
    if batch.kind == "judging":
        said = {name: escape(texts("quoted", text=texts(name))) for name in ("how_good", "how_okay", "how_bad")}
        return fill("how_to_judge", texts, **said) + own
    chosen = batch.labels
    groups = {
        "emotions": chosen.emotions,
        "intents": chosen.intents,
        "neutral": () if chosen.neutral is None else (chosen.neutral,),
    }
    about = labels(texts, chosen)
    has_quiz = any(item.kind == "quiz" for hit in batch.hits for item in hit.items)
    sentences = [texts("tutorial_text"), texts("tutorial_quiz") * has_quiz, texts("tutorial_saved")]
    parts = [
        f'<h2 id="tutorial-title">{escape(texts("tutorial"))}</h2><p>{escape(" ".join(filter(None, sentences)))}</p>',
        own,
    ]
    for group, names in groups.items():
        rows = "".join(
            f"<dt>{escape(about[name]['name'])}</dt><dd>{escape(about[name]['meaning'])}</dd>"
            + f'<dd class="example">{escape(texts("quoted", text=about[name]["example"]))}</dd>'
            * bool(about[name]["example"])
            for name in names
        )
        parts.append(f'<h3>{escape(texts(group))}</h3><dl class="labels">{rows}</dl>' * bool(names))
    return "".join(parts)
