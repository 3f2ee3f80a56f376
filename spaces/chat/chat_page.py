"""The page's HTML: the dialogue with its labels, the predicted label of the answer, the answers, and the flaws of the
model.

Text from visitors and models is escaped.
"""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

from conversation import Answers, Dialogue, Reading

from edos_dataset.generation.responder import Candidate
from edos_dataset.generation.shipped import SHIPPED
from edos_dataset.labeling.models.shipped import cards_folder
from edos_dataset.labels import DEFINITIONS, LABELS, parse_label
from edos_dataset.publishing.cards.markdown import percent
from edos_dataset.web.spaces import GROUPS, bars, beware, chip, group_of, mark

TOP = 10
"""Number of predicted labels shown before the list is expanded."""

_WARNING = (
    "<b>A program writes these answers.</b> It understands and feels nothing, makes things up, and can be wrong, rude "
    "or harmful{judged} It reads English only. It is for research and is no help in distress: talk to a person, and in "
    "an emergency call your emergency number."
)

_NOTES = (
    "<b>It agrees too easily,</b> even with what is false, unfair or dangerous. Do not take its answers as advice on "
    "health, law, money or a crisis.",
    "<b>It loses the thread.</b> In long dialogues it contradicts itself, and it drops the oldest turns when they no "
    "longer fit.",
    "<b>A label is what the answer should express, not a feeling.</b> The answer often misses it: “reads as” "
    "shows how another model labels it, and that model makes mistakes too.",
    "<b>The score</b> under Details is the mean log-probability of the answer's tokens: the closer to 0, the likelier "
    "the model finds the answer. It does not say whether the answer is good, and cannot be compared between models.",
    "<b>Your text</b> is sent to the machine that runs this page and is neither stored nor logged. The dialogue exists "
    "only in this tab and is gone when you close it.",
)

_CARD_SECTION = re.compile(r"^## Know its flaws first\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_JUDGED = re.compile(r"wrong in ([\d.]+ % of [\d,]+) answers")


@cache
def flaws(name: str) -> tuple[str, ...]:
    """Return the flaws, with figures, that a model's card states, as HTML; none if it has no card of ours.

    Args:
        name: its shipped name, folder or Hub id.
    """
    path = cards_folder() / f"{name}.md" if name in SHIPPED else Path(name) / "README.md"
    try:
        found = _CARD_SECTION.search(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    lines = [line[2:] for line in found[1].splitlines() if line.startswith("- ")] if found else []
    return tuple(re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(line)) for line in lines)


def warning(name: str) -> str:
    """Return what a visitor must know before the first message, with the share of wrong answers if the card states it.

    Args:
        name: see `flaws`.
    """
    judged = next((match[1] for flaw in flaws(name) if (match := _JUDGED.search(flaw))), None)
    share = f": a reader found {judged} answers wrong." if judged else "."
    return f'<p class="message warning">{_WARNING.format(judged=share)}</p>'


def said(dialogue: Dialogue, readings: Sequence[Reading], warnings: Sequence[str] = ()) -> str:
    """Return the dialogue as HTML: a bubble per turn with its label; the visitor's turns are on the right.

    Args:
        dialogue: the dialogue.
        readings: one for each turn.
        warnings: warnings for the visitor.
    """
    if not dialogue.turns:
        return '<p class="note empty">Nothing has been said yet. Write below, or choose an example.</p>'
    bubbles = "".join(
        _bubble(text, reading, number, dialogue.is_visitor(number))
        for number, (text, reading) in enumerate(zip(dialogue.turns, readings, strict=True))
    )
    return f'<ol class="said">{bubbles}</ol>{"".join(map(beware, warnings))}'


def prediction(answers: Answers, takes_labels: bool) -> str:
    """Return the predicted label of the answer, the ten most probable labels as bars, and the forced label, if any."""
    if not takes_labels:
        note = "This model was trained without labels: it predicts none, and you cannot choose one."
        return f'<h3>Label of the answer</h3><p class="note">{note}</p>'
    forced = ""
    if answers.forced is not None:
        definition = escape(DEFINITIONS[LABELS[answers.forced]])
        forced = f'<p>You chose {chip(answers.forced)} <span class="note">{definition}</span></p>'
    if answers.predicted is None:
        return f"<h3>Label of the answer</h3>{forced}<p class='note'>This model has no predictor.</p>"
    chances = answers.predicted
    ranking = sorted(range(len(LABELS)), key=lambda label: (-chances[label], label))
    legend = "".join(f'<span class="{group}">{mark(group)} {group}</span>' for group in GROUPS)
    return (
        f'<h3>Label predicted for the answer</h3>{forced}<p class="legend">{legend}</p>{bars(chances, ranking[:TOP])}'
        f'<details class="distribution"><summary>the other {len(ranking) - TOP}</summary>'
        f"{bars(chances, ranking[TOP:])}</details>"
    )


def answer(candidate: Candidate, reading: Reading | None, number: int) -> str:
    """Return an answer with the label that was asked for, the one that it reads as, and its score.

    Args:
        candidate: the answer.
        reading: the labeler's prediction for it; None while it grows.
        number: number of the answer, from 1.
    """
    if reading is None:
        text = f'<p class="text">{escape(candidate.text)}</p>'
        return f'<article class="answer neutral" aria-label="Answer {number}" aria-busy="true">{text}</article>'
    group = "neutral" if candidate.label is None else group_of(parse_label(candidate.label))
    rows = []
    if candidate.label is not None:
        chance = "" if candidate.probability is None else f" {percent(candidate.probability)}"
        rows.append(("written as", f"{chip(parse_label(candidate.label))}{chance}"))
    reached = candidate.label is not None and parse_label(candidate.label) == reading.label
    sign = ' <span class="reached" title="the label that was asked for">✓</span>' if reached else ""
    rows.append(("reads as", f"{chip(reading.label)} {percent(reading.confidence)}{sign}"))
    details = [("score", f"{candidate.score:.2f}")]
    figures, more = (
        "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in part) for part in (rows, details)
    )
    return (
        f'<article class="answer {group}" aria-label="Answer {number}"><p class="text">{escape(candidate.text)}</p>'
        f"<dl>{figures}</dl><details><summary>Details</summary><dl>{more}</dl></details></article>"
    )


def about(name: str) -> str:
    """Return the flaws of the model, with the figures of its card, and its name.

    Args:
        name: its shipped name, folder or Hub id.
    """
    # Only the folder's name, since its path on the server is private.
    shown = f"<code>{escape(Path(name).name)}</code>, a folder on this machine"
    if name in SHIPPED:
        shown = f"<code>{escape(name)}</code>, which comes with edos-dataset, for non-commercial use only"
    elif not Path(name).is_dir():
        shown = f'<a href="https://huggingface.co/{escape(name)}">{escape(name)}</a>; read its card'
    bound = f"<b>The model</b> is {shown}. Its licence and those of its training data apply to you."
    facts = [*flaws(name), *_NOTES, bound]
    return (
        f"<h3>What to know about its answers</h3><ul class='facts'>{''.join(f'<li>{fact}</li>' for fact in facts)}</ul>"
    )


def _bubble(text: str, reading: Reading, number: int, visitor: bool) -> str:
    side, who = ("you", "you") if visitor else ("other", "the other")
    return (
        f'<li class="{side} {group_of(reading.label)}"><p class="text"><span class="who">{number + 1} · {who}</span> '
        f"{escape(text)}</p>"
        f'<p class="verdict">{chip(reading.label)} {percent(reading.confidence)}</p></li>'
    )
