"""Labelling HITs for the requester's web site: a layout, and a CSV file with a line a HIT.

The result file that the site gives back is read by `edos crowd import --from mturk-csv`, and by `edos crowd agreement`.
"""

from collections.abc import Sequence
from html import escape

from edos_dataset.crowd.cells import csv_text
from edos_dataset.crowd.hits import SUGGESTIONS, Hit, Item
from edos_dataset.crowd.mturk.questions import page_of, question_of


def split_kinds(hit: Hit) -> tuple[list[Item], list[Item]]:
    """Return the dialogues to label and the quiz questions of a HIT: `label1` of a layout is the first of the former,
    `quiz1` the first of the latter.

    Raises:
        ValueError: it is for judging, for which there is no layout.
    """
    if any(item.kind not in ("label", "quiz") for item in hit.items):
        raise ValueError("a layout is for the labelling task; judging works by forms or by --url")
    return [item for item in hit.items if item.kind == "label"], [item for item in hit.items if item.kind == "quiz"]


def _places(hits: Sequence[Hit]) -> list[tuple[str, int]]:
    """Return what stands at each place of the layout, of HITs of any size: quiz questions spread among the dialogues.

    A layout is one for all HITs, so their own order cannot be kept.
    """
    labels, quizzes = (max(len(split_kinds(hit)[kind]) for hit in hits) for kind in (0, 1))
    places = [(number / labels, "label", number) for number in range(1, labels + 1)]
    places += [((number - 0.5) / quizzes, "quiz", number) for number in range(1, quizzes + 1)]
    return [(name, number) for _, name, number in sorted(places)]


def layout_page(hits: Sequence[Hit]) -> str:
    """Return the layout, with `${...}` where the columns of the CSV file go."""
    questions = []
    for place, (name, number) in enumerate(_places(hits), 1):
        columns = [f"${{{name}_choice{number}_{choice}}}" for choice in range(1, SUGGESTIONS + 1)]
        turns = f'<p class="given">${{{_text(name)}{number}}}</p>'
        typed = f"other{number}" if name == "label" else f"quizother{number}"
        questions.append(question_of(f"{name}{number}", typed, turns, columns, str(place)))
    return page_of("".join(questions), judging=False, whole=False)


def layout_csv(hits: Sequence[Hit]) -> str:
    """Return the CSV file: a line a HIT, a turn of a dialogue a line, texts as HTML, since the site puts them into the
    layout as they are.

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
                own[f"{_text(name)}{number}"] = "\n".join(f"- {escape(turn, quote=False)}" for turn in item.turns)
                own |= {f"{name}_choice{number}_{place}": choice for place, choice in enumerate(item.choices, 1)}
        rows.append([own.get(column, "") for column in header])
    return csv_text(header, rows)


def _text(name: str) -> str:
    return "dialogue" if name == "label" else "question"
