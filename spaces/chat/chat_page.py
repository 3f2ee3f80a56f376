"""The page's HTML: the dialogue with its labels, the predicted label of the answer, the answers, and the flaws of such
models.

Text from visitors and models is escaped.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from conversation import Answers, Dialogue, Reading

from edos_dataset.generation.responder import Candidate
from edos_dataset.generation.shipped import SHIPPED
from edos_dataset.labels import DEFINITIONS, LABELS, parse_label
from edos_dataset.publishing.cards.markdown import percent
from edos_dataset.web.spaces import GROUPS, bars, beware, chip, group_of, mark

TOP = 10
"""Number of predicted labels shown before the list is expanded."""

WARNING = (
    '<p class="message warning"><b>Beware. A machine wrote these answers.</b> It understands nothing and feels '
    "nothing; it makes things up, and may be wrong, rude or harmful. If you are in need, speak to a person; in danger, "
    "call your emergency number.</p>"
)

_WRONG = (
    "<b>It says what is usual, not what is true.</b> It knows nothing of the world, of you, or of the day; names, "
    "facts and events in its answers are invented.",
    "<b>It often says the same.</b> “I'm sorry to hear that” fits much and means little. In long dialogues it "
    "contradicts itself and loses the thread: of what doesn't fit its memory the oldest is dropped.",
    "<b>It agrees too easily,</b> also with what is false, unfair or dangerous, and it may cheer where it should "
    "warn. Never take it for advice on health, law, money or on what to do in a crisis.",
    "<b>It repeats what it learned from.</b> Films and strangers' conversations hold insults, prejudice and violence; "
    "nothing filters the answers.",
    "<b>A label is a wish and a reading, not a feeling.</b> The model is asked for an answer under a label, and "
    "often misses it: “reads as” tells how another model labels the answer; that one errs too.",
    "<b>The score</b> is the mean log-probability of the answer's tokens under the model: the nearer to 0, the "
    "likelier it finds the answer. It says nothing on whether the answer is good, and is not comparable "
    "between models.",
    "<b>English only.</b>",
    "<b>Your text</b> goes to the machine that runs this page, which answers, and keeps and logs nothing; the dialogue "
    "lives in this tab and is gone when you close it.",
)


def said(dialogue: Dialogue, readings: Sequence[Reading], warnings: Sequence[str] = ()) -> str:
    """Return the dialogue as HTML: a bubble per turn with its label; the visitor's turns are on the right.

    Args:
        dialogue: the dialogue.
        readings: one for each turn.
        warnings: warnings for the visitor.
    """
    if not dialogue.turns:
        return '<p class="note empty">Nothing has been said yet. Write below, or take an example.</p>'
    bubbles = "".join(
        _bubble(text, reading, number, dialogue.is_visitor(number))
        for number, (text, reading) in enumerate(zip(dialogue.turns, readings, strict=True))
    )
    return f'<ol class="said">{bubbles}</ol>{"".join(map(beware, warnings))}'


def prediction(answers: Answers, takes_labels: bool) -> str:
    """Return the predicted label of the answer, the ten most probable labels as bars, and the forced label, if any."""
    if not takes_labels:
        note = "This model was trained without labels: none is predicted, and none can be forced."
        return f'<h3>Label of the answer</h3><p class="note">{note}</p>'
    forced = ""
    if answers.forced is not None:
        definition = escape(DEFINITIONS[LABELS[answers.forced]])
        forced = f'<p>You forced {chip(answers.forced)} <span class="note">{definition}</span></p>'
    if answers.predicted is None:
        return f"<h3>Label of the answer</h3>{forced}<p class='note'>This model brings no predictor.</p>"
    chances = answers.predicted
    ranking = sorted(range(len(LABELS)), key=lambda label: (-chances[label], label))
    legend = "".join(f'<span class="{group}">{mark(group)} {group}</span>' for group in GROUPS)
    return (
        f'<h3>Label predicted for the answer</h3>{forced}<p class="legend">{legend}</p>{bars(chances, ranking[:TOP])}'
        f'<details class="distribution"><summary>the other {len(ranking) - TOP}</summary>'
        f"{bars(chances, ranking[TOP:])}</details>"
    )


def answer(candidate: Candidate, reading: Reading, number: int) -> str:
    """Return an answer with the label with which it was generated, its score, and the label that the labeler predicts.

    Args:
        candidate: the answer.
        reading: the labeler's prediction for it.
        number: number of the answer, from 1.
    """
    group = "neutral" if candidate.label is None else group_of(parse_label(candidate.label))
    rows = []
    if candidate.label is not None:
        chance = "" if candidate.probability is None else f" {percent(candidate.probability)}"
        rows.append(("written as", f"{chip(parse_label(candidate.label))}{chance}"))
    rows.append(("reads as", f"{chip(reading.label)} {percent(reading.confidence)}"))
    rows.append(("score", f"{candidate.score:.2f}"))
    figures = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)
    return (
        f'<article class="answer {group}" aria-label="Answer {number}"><p class="text">{escape(candidate.text)}</p>'
        f"<dl>{figures}</dl></article>"
    )


def about(name: str) -> str:
    """Return the flaws of such models, and the name of this one.

    Args:
        name: its shipped name, folder or Hub id.
    """
    # Only the folder's name, since its path on the server is private.
    shown = f"<code>{escape(Path(name).name)}</code>, a folder of this machine"
    if name in SHIPPED:
        shown = f"<code>{escape(name)}</code>, which comes with edos-dataset, for non-commercial use"
    elif not Path(name).is_dir():
        shown = f'<a href="https://huggingface.co/{escape(name)}">{escape(name)}</a>; read its card'
    bound = f"<b>The model</b> is {shown}. Its licence, and those of what it learned from, bind its users."
    facts = [*_WRONG, bound]
    return f"<h3>What such models do wrong</h3><ul class='facts'>{''.join(f'<li>{fact}</li>' for fact in facts)}</ul>"


def _bubble(text: str, reading: Reading, number: int, visitor: bool) -> str:
    side, who = ("you", "you") if visitor else ("other", "the other")
    return (
        f'<li class="{side} {group_of(reading.label)}"><p class="text"><span class="who">{number + 1} · {who}</span> '
        f"{escape(text)}</p>"
        f'<p class="verdict">{chip(reading.label)} {percent(reading.confidence)}</p></li>'
    )
