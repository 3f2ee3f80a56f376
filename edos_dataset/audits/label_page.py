"""The page for judging labels, one HTML file that works offline; `labels.html` is its template."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from edos_dataset.audits.documents import Line
from edos_dataset.audits.page import fill_frame, turn_html, turn_text
from edos_dataset.wording import counted

RANDOM, WORST = "random", "worst"
DRAWS = (RANDOM, WORST)
"""How examples are drawn: at random, or as the least certain of the others."""


@dataclass(frozen=True)
class Example:
    """A labelled turn, in its dialogue.

    Attributes:
        item: its name: the dialogue's id, and @ with the number of the turn unless it is the last.
        label: its label.
        rows: number of turns with this label (and step, of `edos extend`) from which it was drawn.
        draw: one of DRAWS.
        lines: turns of the dialogue, the labelled one judged, and those around it.
        earlier: number of turns of the dialogue before these.
        later: number of turns of the dialogue after these.
        facts: what a judgement says of it: dialogue_id, split, step, ...
        why: what the label rests on, such as "cosine 0.931 with x".
        model: the most probable labels with their probabilities, or those that people gave with their fractions.
        of: what `model` has: "probabilities" or "fractions of the answers".
        seed: turns of the dialogue that a spread label came from, the last labelled.
    """

    item: str
    label: str
    rows: int
    draw: str
    lines: Sequence[Line]
    earlier: int = 0
    later: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    model: Sequence[tuple[str, float]] = ()
    of: str = "probabilities"
    seed: Sequence[str] = ()


@dataclass(frozen=True)
class LabelPage:
    """The contents of the page.

    Attributes:
        title: what is judged, plain text.
        config: config of the examples.
        labels: names of the labels, by id.
        examples: examples, in the order in which they are judged; those drawn at random come first.
        blind: whether the label is hidden, too, until the reader has given one.
        steps: values and names of the steps of `edos extend`; empty for other data.
        about: HTML that is shown folded: how the labels were made.
    """

    title: str
    config: str
    labels: Sequence[str]
    examples: Sequence[Example]
    blind: bool = False
    steps: Sequence[tuple[str, str]] = ()
    about: str = ""

    def key(self) -> str:
        """Return a digest of the examples, the key of their judgements in the browser's storage."""
        content = [[one.item, one.facts.get("step"), one.label, one.draw, _text(one)] for one in self.examples]
        return hashlib.sha256(json.dumps([self.config, self.blind, content]).encode()).hexdigest()[:16]


def render_labels(page: LabelPage) -> str:
    """Return the page as HTML, with all data escaped."""
    random = sum(one.draw == RANDOM for one in page.examples)
    doubtful = len(page.examples) - random
    about = {"config": page.config, "labels": list(page.labels), "blind": page.blind}
    return fill_frame(
        "edos_dataset.audits",
        "labels.html",
        key=page.key(),
        about=escape(json.dumps(about)),
        blind="yes" if page.blind else "no",
        title=escape(page.title),
        intro=_intro(page, random, doubtful),
        details=page.about,
        step_options=_options([("", "all steps"), *page.steps]) if page.steps else "",
        label_options=_options([("", "all labels"), *((name, name) for name in page.labels)]),
        number=str(len(page.examples)),
        random=str(random),
        items="\n".join(_card(page, number, one) for number, one in enumerate(page.examples, 1)),
        names="\n".join(
            f'<button type="button" data-name="{escape(name)}">{escape(name)}</button>' for name in page.labels
        ),
    )


def _intro(page: LabelPage, random: int, doubtful: int) -> str:
    how = (
        "Say which label fits the marked turn best; the one in the data is shown after that"
        if page.blind
        else "Is the label right for the marked turn"
    )
    rest = f" The {counted(doubtful, 'turns')} after them are the least certain of the others." if doubtful else ""
    return (
        f"{how}{'.' if page.blind else '?'} {counted(random, 'turns')} were drawn at random, equally many of every "
        f"label, and measure how many labels are right.{rest} What the models or annotators answered is shown once you "
        "have judged. Judgements stay in this browser until you download them."
    )


def _options(pairs: Sequence[tuple[str, str]]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(name)}</option>' for value, name in pairs)


def _text(example: Example) -> str:
    return next(line.text for line in example.lines if line.judged)


def _card(page: LabelPage, number: int, example: Example) -> str:
    digest = hashlib.sha256("\n".join(line.text for line in example.lines).encode()).hexdigest()[:16]
    # A dialogue may have a label of every step.
    step = example.facts.get("step")
    facts = {
        "item": example.item if step is None else f"{step} {example.item}",
        "label": example.label,
        "rows": example.rows,
        "draw": example.draw,
        **example.facts,
        "digest": digest,
    }
    parts = [
        f'<h2 id="h{number}" tabindex="-1">Turn {number} of {len(page.examples)}</h2>',
        f'<div class="evidence" data-blind="yes" hidden>{_evidence(example)}</div>',
        _dialogue(example),
    ]
    return f'<article aria-labelledby="h{number}" data-judge="{escape(json.dumps(facts))}">{"".join(parts)}</article>'


def _dialogue(example: Example) -> str:
    first = f'<li class="cut">{counted(example.earlier, "earlier turns")}</li>' if example.earlier else ""
    last = f'<li class="cut">{counted(example.later, "later turns")}</li>' if example.later else ""
    return f'<ol class="turns">{first}{"".join(turn_html(line, None) for line in example.lines)}{last}</ol>'


def _evidence(example: Example) -> str:
    drawn = "drawn at random" if example.draw == RANDOM else "drawn as one of the least certain"
    shown = ", ".join(
        f"{name} {value}"
        for name, value in example.facts.items()
        if name in (("step", "method", "split") if "step" in example.facts else ("split", "language"))
        and value is not None
    )
    parts = [
        f"<p>{escape(example.why)}</p>" if example.why else "",
        _shares(example) if example.model else "",
        _seed(example) if example.seed else "",
        f"<p>{escape(example.item)}: {escape(shown)}{', ' if shown else ''}{drawn}</p>",
    ]
    return "".join(parts)


def _shares(example: Example) -> str:
    items = "".join(
        f'<li>{escape(name)} <meter max="1" value="{share:.3f}"></meter> {share:.2f}</li>'
        for name, share in example.model
    )
    return f'<ul class="shares" aria-label="{escape(example.of)}">{items}</ul>'


def _seed(example: Example) -> str:
    *before, last = (turn_text(turn) for turn in example.seed)
    history = "".join(f'<li class="around">{turn}</li>' for turn in before)
    return f'<ol class="seed">{history}<li class="judged">{last} <em>{escape(example.label)}</em></li></ol>'
