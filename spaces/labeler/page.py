"""The page's HTML: the flow of labels, the turns with their distributions and similar dialogues, messages, and
limitations.

Text from users and data is escaped. Groups differ by shape as well as by colour. Turns expand and collapse without
scripts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from labelling import MODELS, Labelled, LabelledTurn, as_csv, as_json
from seeds import Neighbour

from edos_dataset.label_sets.translations import ENGLISH, Shown, translations
from edos_dataset.labels import GROUPS as KINSHIP
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.languages import name_of_language
from edos_dataset.publishing.cards.markdown import MISSING, interval, percent
from edos_dataset.web.spaces import GROUPS, bars, beware, chip, group_of, mark

TOP = 8
"""Number of labels of a distribution shown before it is expanded."""

NEAR = 0.4
"""Minimum cosine of a dialogue that is shown as near; those of texts with nothing in common are below it."""

_CROWD = {"general": 55.5, "dialogue": 65.4, "weak": 58.3, "fast": 52.3}
"""Accuracy over 41 labels on one test part, the crowd labels of EDOS, in percent (docs/reference/models.md)."""

_ROW, _AXIS = 30, 22  # height of a label's row in the flow, and of the axis below, in pixels
_TURNS = 6  # number of last turns shown of a similar dialogue
_NUMBERS = 12  # maximum number of numbers on that axis
_SHAPES = {
    "emotion": '<circle r="{size}"/>',
    "intent": '<rect x="-{size}" y="-{size}" width="{side}" height="{side}" transform="rotate(45) scale(.85)"/>',
    "neutral": '<rect x="-{size}" y="-{size}" width="{side}" height="{side}" class="hollow"/>',
}
_SEES = {
    "general": "the turn and the turns before it",
    "dialogue": "the same, as the workers of EDOS label",
    "weak": "the turn by itself",
    "fast": "the turn's words by themselves",
}
_HEADS = (
    "sees",
    "right on the same turns, labelled by people",
    "right on its own test part",
    "right among its first three",
)
_PAPER = "https://aclanthology.org/2021.emnlp-main.96/"


@dataclass(frozen=True)
class LabelTexts:
    """What the page says of the 41 labels, by id.

    Attributes:
        names: their names in the language of the visitor's choice.
        definitions: their definitions in it.
    """

    names: tuple[str, ...]
    definitions: tuple[str, ...]

    @classmethod
    def of(cls, language: str) -> "LabelTexts":
        """Return the texts in one of `LANGUAGES`."""
        shown: list[Shown] = [translations(language)[name] for name in LABELS]
        return cls(tuple(one.name for one in shown), tuple(one.definition for one in shown))


def results(labelled: Labelled, invented: bool, language: str = ENGLISH) -> str:
    """Return the labelled dialogue: warnings, legend, flow, and the turns, the last one expanded.

    Args:
        labelled: the dialogue.
        invented: whether the similar dialogues are invented, so that only their writer labelled them.
        language: one of `LANGUAGES`, in which labels are named and defined.
    """
    last, texts = len(labelled.turns), LabelTexts.of(language)
    turns = "".join(
        _turn(
            turn, number, number - 1 if labelled.context is None else labelled.context, invented, number == last, texts
        )
        for number, turn in enumerate(labelled.turns, 1)
    )
    warnings = "".join(map(beware, labelled.warnings))
    legend = "".join(f'<span class="{group}">{mark(group)} {group}</span>' for group in GROUPS)
    return (
        f'{warnings}<p class="legend">{legend}<span class="source">labelled by '
        f"<code>{escape(labelled.source)}</code>; {_language(labelled)}</span></p>"
        f"<h3>Flow of labels</h3>{_flow(labelled.turns, texts)}<h3>Turns</h3>"
        '<p class="note">Open a turn to see its distribution, what its label means, and the nearest labelled '
        f"dialogues.</p>{turns}{_take(labelled)}"
    )


def _language(labelled: Labelled) -> str:
    """Return which language the dialogue looks like."""
    found = labelled.language
    return f"language: {escape(name_of_language(found))}" if found else "language not recognised"


def _take(labelled: Labelled) -> str:
    """Return links to the labels as files, which the page itself holds."""
    files = {
        "labels.csv": ("text/csv", as_csv(labelled)),
        "labels.json": ("application/json", json.dumps(as_json(labelled), ensure_ascii=False, indent=1)),
    }
    links = " ".join(
        f'<a download="{name}" href="data:{kind};charset=utf-8,{quote(text)}">{name}</a>'
        for name, (kind, text) in files.items()
    )
    return f'<p class="take">Download: {links}</p>'


def about(records: Mapping[str, Mapping[str, Any]], seeds: tuple[int, str | None], dataset: str | None) -> str:
    """Return the limitations of the labels, with figures from the models' records.

    Args:
        records: `Labeler.record` of each of MODELS.
        seeds: number of labelled dialogues in the seed, and its folder or name on the Hub, None if it is invented.
        dataset: name of the dataset on the Hub to link to, or None.
    """
    rows = "".join(_model_row(name, records[name]) for name in MODELS)
    licences = dict.fromkeys(
        licence for name in MODELS for licence in str(records[name].get("licence_of_the_data", MISSING)).split("; ")
    )
    links = [f'<a href="{_PAPER}">the paper, Welivita, Xie and Pu, EMNLP 2021</a>']
    if dataset:
        links.insert(
            0,
            f'<a href="https://huggingface.co/datasets/{escape(dataset)}">the data set and its card, '
            f"{escape(dataset)}</a>",
        )
    facts = [
        "<b>A label is a reading, not a feeling.</b> It says how readers would take a text. Judge nobody's mind, "
        "health or fitness by it.",
        "<b>It always answers</b> with one of the 41 labels, for other languages and nonsense too. Look at the "
        "distribution: related labels, "
        "such as degrees of one emotion, are easily confused.",
        "<b>It reads English</b> as people speak it in films and everyday talk. Other kinds of text were not measured.",
        _about_seed(*seeds),
        f"<b>Licences.</b> The weights learned from: {escape('; '.join(licences))}. CC BY-NC allows no commercial use. "
        "The code is under Apache-2.0.",
        "<b>Your text</b> goes to the machine that runs this page, which labels it and keeps nothing. See "
        + " and ".join(links)
        + ".",
    ]
    heads = "".join(f"<th>{head}</th>" for head in ("model", *_HEADS))
    return (
        "<h3>What the models can do</h3><table "
        f"class='models'><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        "<p class='note'>All over 41 labels. The first figures compare the models: all were measured on the crowd "
        "labels of EDOS, which are of the kind that “dialogue” learned from. The others are of each model's own "
        "held-out part, with 95 % intervals.</p>"
        f"<h3>Before you trust it</h3><ul class='facts'>{''.join(f'<li>{fact}</li>' for fact in facts)}</ul>"
    )


def _about_seed(count: int, source: str | None) -> str:
    cosine = "Near by cosine means alike in words and topic, which is not yet alike in feeling."
    if source is not None:
        return (
            f"<b>The near dialogues</b> are the {count:,} of <code>{escape(source)}</code> on whose label people "
            f"agreed. {cosine}"
        )
    written = (
        f"All {count:,} were written for this page, two for each label, and labelled by their writer; they are "
        "nobody's answers in a study."
    )
    return f"<b>The near dialogues are invented.</b> {written} {cosine}"


def _model_row(name: str, record: Mapping[str, Any]) -> str:
    test = record.get("metrics", {}).get("test", {})
    tokens = record.get("recipe", {}).get("max_tokens")
    reach = f", at most {tokens} tokens" if tokens else ""
    figures = [
        f"{percent(test.get(key))} "
        f"<small>{interval(test['intervals'][key]) if key in test.get('intervals', {}) else ''}</small>"
        for key in ("accuracy", "top_3_accuracy")
    ]
    figures[0] += f" <small>of {test.get('examples', 0):,}</small>"
    cells = "".join(
        f'<td data-head="{head}">{cell}</td>'
        for head, cell in zip(_HEADS, (_SEES[name] + reach, f"{_CROWD[name]} %", *figures), strict=True)
    )
    return f"<tr><th>{name}</th>{cells}</tr>"


def _flow(turns: Sequence[LabelledTurn], texts: LabelTexts) -> str:
    """Return the labels over the turns: a row per label with related labels adjacent, a column per turn; larger marks
    are more confident.
    """
    given = {turn.label for turn in turns}
    order = [label for names in KINSHIP.values() for label in map(parse_label, names) if label in given]
    places = [
        (100 * (column + 0.5) / len(turns), _ROW * (order.index(turn.label) + 0.5)) for column, turn in enumerate(turns)
    ]
    height = _ROW * len(order)
    lines = [
        f'<line class="row" x1="0" x2="100%" y1="{_ROW * (row + 0.5)}" y2="{_ROW * (row + 0.5)}"/>'
        for row in range(len(order))
    ]
    lines += [f'<line x1="{x1:.2f}%" y1="{y1}" x2="{x2:.2f}%" y2="{y2}"/>' for (x1, y1), (x2, y2) in pairwise(places)]
    marks = []
    for turn, (x, y) in zip(turns, places, strict=True):
        size = round(4 + 6 * turn.confidence, 1)
        shape = _SHAPES[group_of(turn.label)].format(size=size, side=2 * size)
        marks.append(f'<svg class="mark {group_of(turn.label)}" x="{x:.2f}%" y="{y}"><g>{shape}</g></svg>')
    step = -(-len(turns) // _NUMBERS)
    numbers = [
        f'<text x="{places[i][0]:.2f}%" y="{height + _AXIS - 6}">{i + 1}</text>' for i in range(0, len(turns), step)
    ]
    names = "".join(f"<li>{chip(label, texts.names)}</li>" for label in order)
    listed = ", ".join(f"turn {number} {texts.names[turn.label]}" for number, turn in enumerate(turns, 1))
    drawing = (
        f'<svg role="img" aria-label="Labels over the turns: {listed}" width="100%" '
        f'height="{height + _AXIS}">{"".join((*lines, *marks, *numbers))}</svg>'
    )
    many = " many" * (len(turns) > 2 * _NUMBERS)
    return (
        f'<div class="flow{many}"><ul aria-hidden="true">{names}</ul>{drawing}</div><p class="note">The larger the '
        "mark, the surer the label.</p>"
    )


def _turn(turn: LabelledTurn, number: int, history: int, invented: bool, is_open: bool, texts: LabelTexts) -> str:
    label = chip(turn.label, texts.names)
    speaker = f'<b class="speaker">{escape(turn.turn.speaker)}</b> ' if turn.turn.speaker else ""
    seen = f"with the {history} turn{'s' * (history > 1)} before it" if history else "by itself"
    return (
        f'<details class="turn {group_of(turn.label)}" name="turns"{" open" * is_open}><summary><span '
        f'class="number">{number}</span>'
        f'<span class="text">{speaker}{escape(turn.turn.text)}</span><span class="verdict">{label} '
        f"{percent(turn.confidence)}</span></summary>"
        f'<div class="detail"><p class="definition">{label} '
        f"{escape(texts.definitions[turn.label])}</p>{_distribution(turn, seen, texts)}"
        f"{_near(turn.nearest, invented, texts)}</div></details>"
    )


def _distribution(turn: LabelledTurn, seen: str, texts: LabelTexts) -> str:
    ranking = turn.ranking
    shares = ", ".join(f"{group} {percent(share)}" for group, share in turn.shares.items())
    return (
        f'<section class="distribution"><h4>Distribution over the {len(LABELS)} labels</h4><p class="note">The turn '
        f"seen {seen}. Taken together: {shares}.</p>"
        f"{bars(turn.probabilities, ranking[:TOP], texts.names)}<details><summary>the other "
        f"{len(ranking) - TOP}</summary>{bars(turn.probabilities, ranking[TOP:], texts.names)}</details></section>"
    )


def _near(neighbours: Sequence[Neighbour], invented: bool, texts: LabelTexts) -> str:
    who = "Invented, and labelled by their writer" if invented else "Labelled by people"
    neighbours = [near for near in neighbours if near.cosine >= NEAR]
    if not neighbours:
        return (
            '<section class="near"><h4>Nearest labelled dialogues</h4><p class="note">Nothing near: no labelled '
            f"dialogue has a cosine of {NEAR} or more.</p></section>"
        )
    dialogues = "".join(
        f'<li><p>{chip(parse_label(near.label), texts.names)} <span title="{escape(near.dialogue_id)}">cosine '
        f"{near.cosine:.2f}</span></p><ol>"
        + "".join(
            f"<li>{escape(turn)}</li>" for turn in (("…",) if len(near.turns) > _TURNS else ()) + near.turns[-_TURNS:]
        )
        + "</ol></li>"
        for near in neighbours
    )
    note = f"{who}: the label is of the last turn. Compared with the dialogue up to this turn."
    return (
        '<section class="near"><h4>Nearest labelled dialogues</h4><p '
        f'class="note">{note}</p><ul>{dialogues}</ul></section>'
    )
