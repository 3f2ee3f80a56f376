"""What a worker on Mechanical Turk sees: the pages of `edos crowd serve`, a form without a server, or a layout for the
requester's website.
"""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from urllib.parse import quote, urlsplit

from edos_dataset.crowd.hit_answers import GRADES
from edos_dataset.crowd.hits import SUGGESTIONS, Hit, Item
from edos_dataset.crowd.names import EDOS
from edos_dataset.crowd.text_files import csv_text
from edos_dataset.crowd.texts import Texts, texts_of
from edos_dataset.label_sets import LabelSet
from edos_dataset.label_sets.translations import ENGLISH, Shown
from edos_dataset.palette import style_sheet
from edos_dataset.wording import counted

LARGEST = 65_535
"""Maximum number of bytes of a question, set by the API."""

OTHER = "other"
"""Value of a form's field if none of the suggested labels fits."""

_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"


def external_question(address: str, hit: Hit) -> str:
    """Return the question that shows a HIT on the pages of `edos crowd serve --mturk`.

    Raises:
        ValueError: the address is not HTTPS, as Mechanical Turk requires.
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


def html_question(hit: Hit, labels: LabelSet = EDOS, texts: Texts | None = None) -> str:
    """Return the question that holds a HIT as a form; the arguments are those of `form_page`.

    Raises:
        ValueError: it is larger than Mechanical Turk accepts.
    """
    page = form_page(hit, labels, texts).replace("]]>", "]]]]><![CDATA[>")
    question = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<HTMLQuestion xmlns="{_SCHEMAS}/2011-11-11/HTMLQuestion.xsd">'
        f"<HTMLContent><![CDATA[{page}]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>\n"
    )
    if (size := len(question.encode())) > LARGEST:
        raise ValueError(
            f"the form of HIT {hit.id} has {counted(size, 'bytes')}, and Mechanical Turk takes {LARGEST:,}: put "
            "fewer dialogues "
            "in a HIT (`edos crowd hits --size`), or give --url"
        )
    return question


def form_page(hit: Hit, labels: LabelSet = EDOS, texts: Texts | None = None) -> str:
    """Return a HIT as a self-contained HTML page without the right answers.

    Args:
        hit: the HIT.
        labels: the labels to choose from.
        texts: texts of the workers' language, by default English.

    Fields: `label1`, ..., the label's name or "other"; `other1`, ..., what was typed; for judging, `grade1_1`, ...;
    `seconds`, a JSON list of the time spent on each item.
    """
    judging = any(item.kind in ("judge", "bonus") for item in hit.items)
    texts = texts or texts_of(ENGLISH)
    shown = texts.labels(labels)
    parts = [
        _judged(number, item, texts) if judging else _labelled(number, item, texts, shown)
        for number, item in enumerate(hit.items, 1)
    ]
    return page_of("".join(parts), judging, texts, labels)


def page_of(questions: str, judging: bool, texts: Texts, labels: LabelSet = EDOS, whole: bool = True) -> str:
    """Return the page around questions; `whole` adds the form's tags, which the requester's website supplies itself."""
    names = {shown.name: label for label, shown in texts.labels(labels).items()}
    template = Template((files("edos_dataset.crowd.mturk") / "form.html").read_text(encoding="utf-8"))
    begin, end = (_BEGIN, _END) if whole else ("", "")
    return template.substitute(
        texts.html,
        language=texts.language,
        colours=style_sheet(),
        intro=texts.html["form_judging" if judging else "form_labelling"],
        questions=questions,
        options="".join(f'<option value="{escape(name)}" data-label="{escape(names[name])}">' for name in names),
        begin=begin,
        end=Template(end).substitute(texts.html),
    )


_BEGIN = '<form method="post">\n<input type="hidden" name="assignmentId">'
_END = '<button type="submit">$form_submit</button>\n</form>'


def _turns(item: Item) -> str:
    shown = [f"<p>{escape(turn)}</p>" for turn in item.said[:-1]]
    return "".join([*shown, f'<p class="last">{escape(item.said[-1])}</p>'])


def _labelled(number: int, item: Item, texts: Texts, shown: Mapping[str, Shown]) -> str:
    choices = {escape(name): escape(shown[name].name) for name in item.choices}
    return question_of(f"label{number}", f"other{number}", _turns(item), choices, number, texts)


def question_of(label: str, typed: str, turns: str, choices: Mapping[str, str], number: int, texts: Texts) -> str:
    """Return the question about a dialogue; `choices` are values and names, and they and the turns escaped HTML."""
    radios = "".join(
        f'<label><input type="radio" name="{label}" value="{value}" required> {shown}</label>'
        for value, shown in {**choices, OTHER: texts.html["form_other"]}.items()
    )
    other = texts.html["form_other_field"]
    field = f'<input name="{typed}" list="labels" maxlength="100" aria-label="{other}" autocomplete="off">'
    return f'<fieldset>{_legend(number, texts)}<div class="turns">{turns}</div>{radios}{field}</fieldset>\n'


def _legend(number: int, texts: Texts) -> str:
    return f"<legend>{escape(texts('form_number', number=number))}</legend>"


def _judged(number: int, item: Item, texts: Texts) -> str:
    rows = []
    for place, choice in enumerate(item.choices, 1):
        radios = "".join(
            f'<label><input type="radio" name="grade{number}_{place}" value="{grade}" required> '
            f"{texts.html[grade]}</label>"
            for grade in GRADES
        )
        rows.append(f'<div class="reply"><p>{escape(choice)}</p>{radios}</div>')
    turns = f'<div class="turns">{_turns(item)}</div>'
    return f"<fieldset>{_legend(number, texts)}{turns}{''.join(rows)}</fieldset>\n"


def value_of(item: Item, number: int, fields: Mapping[str, str]) -> tuple[str | tuple[str, ...] | None, str] | None:
    """Return the value and the typed text of an item from a form's fields; None if it is unanswered."""
    if item.kind in ("judge", "bonus"):
        grades = tuple(fields.get(f"grade{number}_{place}", "") for place in range(1, len(item.choices) + 1))
        return (grades, "") if all(grade in GRADES for grade in grades) else None
    value, typed = fields.get(f"label{number}", ""), fields.get(f"other{number}", "").strip()
    if value == OTHER or not value:
        return (None, typed) if typed else None
    return value, ""


def split_kinds(hit: Hit) -> tuple[list[Item], list[Item]]:
    """Return the dialogues to label (`label1`, ... in a layout) and the quiz questions (`quiz1`, ...) of a HIT.

    Raises:
        ValueError: it is a judging HIT, for which there is no layout.
    """
    if any(item.kind not in ("label", "quiz") for item in hit.items):
        raise ValueError("a layout is for the labelling task; judging works by forms or by --url")
    return [item for item in hit.items if item.kind == "label"], [item for item in hit.items if item.kind == "quiz"]


def _places(hits: Sequence[Hit]) -> list[tuple[str, int]]:
    """Return the kind and number of each item of the layout, with quiz questions spread among the dialogues.

    All HITs share one layout, so their own order cannot be kept.
    """
    labels, quizzes = (max(len(split_kinds(hit)[kind]) for hit in hits) for kind in (0, 1))
    places = [(number / labels, "label", number) for number in range(1, labels + 1)]
    places += [((number - 0.5) / quizzes, "quiz", number) for number in range(1, quizzes + 1)]
    return [(name, number) for _, name, number in sorted(places)]


def layout_page(hits: Sequence[Hit], labels: LabelSet = EDOS, texts: Texts | None = None) -> str:
    """Return the layout, with `${...}` where the columns of the CSV file go; the arguments are those of `form_page`."""
    texts, questions = texts or texts_of(ENGLISH), []
    for place, (name, number) in enumerate(_places(hits), 1):
        columns = [f"${{{name}_choice{number}_{choice}}}" for choice in range(1, SUGGESTIONS + 1)]
        turns = f'<p class="given">${{{_text(name)}{number}}}</p>'
        typed = f"other{number}" if name == "label" else f"quizother{number}"
        choices = {column: f'<span class="choice">{column}</span>' for column in columns}
        questions.append(question_of(f"{name}{number}", typed, turns, choices, place, texts))
    return page_of("".join(questions), False, texts, labels, whole=False)


def layout_csv(hits: Sequence[Hit]) -> str:
    """Return the CSV file, a row per HIT and a line per turn; texts are HTML, since the site inserts them unescaped.

    Columns: `hit`; `task1`, `dialogue1`, `label_choice1_1`, ...; `question1`, `quiz_choice1_1`, ...
    """
    header = ["hit"]
    for name, number in _places(hits):
        header += [f"task{number}"] * (name == "label") + [f"{_text(name)}{number}"]
        header += [f"{name}_choice{number}_{choice}" for choice in range(1, SUGGESTIONS + 1)]
    rows = []
    for hit in hits:
        own = {"hit": hit.id}
        for name, items in zip(("label", "quiz"), split_kinds(hit), strict=True):
            for number, item in enumerate(items, 1):
                own |= {f"task{number}": item.id} if name == "label" else {}
                own[f"{_text(name)}{number}"] = "\n".join(f"- {escape(turn, quote=False)}" for turn in item.said)
                own |= {f"{name}_choice{number}_{place}": choice for place, choice in enumerate(item.choices, 1)}
        rows.append([own.get(column, "") for column in header])
    return csv_text(header, rows)


def _text(name: str) -> str:
    return "dialogue" if name == "label" else "question"
