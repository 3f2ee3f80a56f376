"""What a worker of Mechanical Turk sees: the address of `edos crowd serve`, or a form that needs no server."""

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from urllib.parse import quote, urlsplit

from edos_dataset.crowd.hit_answers import GRADES
from edos_dataset.crowd.hits import Hit, Item
from edos_dataset.labels import LABELS

LARGEST = 65_535
"""Bytes of a question: the API's own limit."""

OTHER = "other"
"""Value of a form's field where none of the suggested labels fits."""

_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"


def external_question(address: str, hit: Hit) -> str:
    """Return the question that shows a HIT on the pages of `edos crowd serve --mturk`.

    Raises:
        ValueError: the address is none that Mechanical Turk shows: it must be HTTPS.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" or not parts.netloc or parts.query:
        raise ValueError(
            f"--url is {address!r}: give the HTTPS address of `edos crowd serve`, such as https://example.org"
        )
    url = f"{address.rstrip('/')}/mturk?hit={quote(hit.id)}"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ExternalQuestion xmlns="{_SCHEMAS}/2006-07-14/ExternalQuestion.xsd">'
        f"<ExternalURL>{escape(url)}</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>\n"
    )


def html_question(hit: Hit) -> str:
    """Return the question that holds a HIT as a form.

    Raises:
        ValueError: it is larger than Mechanical Turk takes.
    """
    page = form_page(hit).replace("]]>", "]]]]><![CDATA[>")
    question = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<HTMLQuestion xmlns="{_SCHEMAS}/2011-11-11/HTMLQuestion.xsd">'
        f"<HTMLContent><![CDATA[{page}]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>\n"
    )
    if (size := len(question.encode())) > LARGEST:
        raise ValueError(
            f"the form of HIT {hit.id} has {size:,} bytes, and Mechanical Turk takes {LARGEST:,}: put fewer dialogues "
            "in a HIT (`edos crowd hits --size`), or give --url"
        )
    return question


def form_page(hit: Hit) -> str:
    """Return a HIT as a page of HTML; it holds no right answers and asks nobody else for anything.

    Fields: `label1`, ... with the label's name or "other", `other1`, ... what was typed; to judge `grade1_1`, ...;
    `seconds`, a list of JSON of the time that each item took.
    """
    judging = any(item.kind in ("judge", "bonus") for item in hit.items)
    parts = [(_judged if judging else _labelled)(number, item) for number, item in enumerate(hit.items, 1)]
    return page_of("".join(parts), judging)


def page_of(questions: str, judging: bool, whole: bool = True) -> str:
    """Return the page around questions, `whole` with the tags of a form, which the requester's site brings itself."""
    intro = _JUDGE if judging else _LABEL
    options = "".join(f'<option value="{name}">' for name in LABELS)
    template = Template((files("edos_dataset.crowd.mturk") / "form.html").read_text(encoding="utf-8"))
    begin, end = (_BEGIN, _END) if whole else ("", "")
    return template.substitute(intro=intro, questions=questions, options=options, begin=begin, end=end)


_BEGIN = '<form method="post">\n<input type="hidden" name="assignmentId">'
_END = '<button type="submit">Submit</button>\n</form>'


_LABEL = (
    "Read each dialogue. Which emotion or intention does the last, framed turn show? Choose one of the three, or "
    "“Other” and a word of your own; the field suggests the words that we know."
)
_JUDGE = (
    "Read each dialogue. Is each reply emotionally appropriate after what was said before? Judge every one to be good, "
    "okay or bad; several may be the same."
)


def _turns(item: Item) -> str:
    shown = [f"<p>{escape(turn)}</p>" for turn in item.turns[:-1]]
    return "".join([*shown, f'<p class="last">{escape(item.turns[-1])}</p>'])


def _labelled(number: int, item: Item) -> str:
    return question_of(
        f"label{number}", f"other{number}", _turns(item), [escape(name) for name in item.choices], str(number)
    )


def question_of(label: str, typed: str, turns: str, choices: list[str], number: str) -> str:
    """Return the question about a dialogue; all texts are HTML already."""
    radios = "".join(
        f'<label><input type="radio" name="{label}" value="{value}" required> {shown}</label>'
        for value, shown in [*((choice, choice) for choice in choices), (OTHER, "Other:")]
    )
    field = f'<input name="{typed}" list="labels" maxlength="100" aria-label="Other label" autocomplete="off">'
    return f'<fieldset><legend>Dialogue {number}</legend><div class="turns">{turns}</div>{radios}{field}</fieldset>\n'


def _judged(number: int, item: Item) -> str:
    rows = []
    for place, choice in enumerate(item.choices, 1):
        radios = "".join(
            f'<label><input type="radio" name="grade{number}_{place}" value="{grade}" required> {grade}</label>'
            for grade in GRADES
        )
        rows.append(f'<div class="reply"><p>{escape(choice)}</p>{radios}</div>')
    turns = f'<div class="turns">{_turns(item)}</div>'
    return f"<fieldset><legend>Dialogue {number}</legend>{turns}{''.join(rows)}</fieldset>\n"


def value_of(item: Item, number: int, fields: Mapping[str, str]) -> tuple[str | tuple[str, ...] | None, str] | None:
    """Return the value and the typed text that a form's fields give for an item; None where it is not answered."""
    if item.kind in ("judge", "bonus"):
        grades = tuple(fields.get(f"grade{number}_{place}", "") for place in range(1, len(item.choices) + 1))
        return (grades, "") if all(grade in GRADES for grade in grades) else None
    value, typed = fields.get(f"label{number}", ""), fields.get(f"other{number}", "").strip()
    if value == OTHER or not value:
        return (None, typed) if typed else None
    return value, ""
