"""The labels audit as one HTML file: no network, no other file. `audit_page.html` is its frame, with the styles and the
script.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from edos_dataset.audits.frame import fill_frame, turn_text
from edos_dataset.augmentation.extended import METHODS
from edos_dataset.labels import LABELS

VERDICTS = ("right", "wrong", "unsure")
_TURNS = 8  # most turns shown of a dialogue, the last ones


@dataclass(frozen=True)
class Example:
    """A labelled dialogue, as the page shows it.

    Attributes:
        dialogue_id: its id.
        turns: oldest first; the label is of the last.
        draw: "random" or "worst".
        split: train, validation or test.
        round: of the method, 0 for the seed.
        seed_id: spread: whose label it got, or None.
        seed_turns: and that dialogue's turns, none if it is not in the data set.
        similarity: spread: the cosine, or None.
        confidence: self-label: the probability of the label, or None.
        probabilities: the most probable labels, or for the crowd's those with most answers, with their shares, falling.
    """

    dialogue_id: str
    turns: Sequence[str]
    draw: str
    split: str
    round: int
    seed_id: str | None
    seed_turns: Sequence[str]
    similarity: float | None
    confidence: float | None
    probabilities: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Group:
    """Examples of a label of a step; `rows` is the number of dialogues that they are drawn from."""

    step: int
    method: str
    label: str
    rows: int
    examples: Sequence[Example]


@dataclass(frozen=True)
class Page:
    """What the page shows.

    Attributes:
        key: digest of the data and the drawing, under which the browser keeps the judgements.
        counts: step and method → dialogues of each label, by label id.
        groups: the examples, by step and label.
        recorded: step → what `extend.json` says of it, one entry a round; may be empty.
    """

    key: str
    counts: Mapping[tuple[int, str], Sequence[int]]
    groups: Sequence[Group]
    recorded: Mapping[int, Sequence[Mapping[str, Any]]]


def render(page: Page) -> str:
    """Return the page as HTML. Whatever comes from the data is escaped."""
    names = [f"{step} {method}" for step, method in page.counts]
    return fill_frame(
        "edos_dataset.augmentation",
        "audit_page.html",
        key=escape(page.key),
        rows=f"{sum(map(sum, page.counts.values())):,}",
        examples=f"{sum(len(group.examples) for group in page.groups):,}",
        table=_table(page),
        step_options=_options((str(step), name) for (step, _), name in zip(page.counts, names, strict=True)),
        label_options=_options((label, label) for label in LABELS),
        steps="\n".join(_step(page, step, method) for step, method in page.counts),
    )


def _options(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(name)}</option>' for value, name in pairs)


def _table(page: Page) -> str:
    """Return the counts by label and step, each with a bar as long as its share of the step's largest one."""
    heads = "".join(f'<th scope="col">{step} {escape(method)}</th>' for step, method in page.counts)
    totals = "".join(f"<td>{sum(counts):,}</td>" for counts in page.counts.values())
    lines = [
        f'<thead><tr><th scope="col">label</th>{heads}</tr></thead>',
        f'<tbody><tr class="total"><th scope="row">all</th>{totals}</tr>',
    ]
    for label, name in enumerate(LABELS):
        cells = "".join(_cell(step, name, counts[label], max(counts)) for (step, _), counts in page.counts.items())
        lines.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    return "\n".join([*lines, "</tbody>"])


def _cell(step: int, label: str, count: int, largest: int) -> str:
    if not count:
        return '<td class="none">0</td>'
    bar = f'<i style="width:{max(1, round(100 * count / largest))}%"></i>'
    return (
        f'<td><a href="#s{step}" data-step="{step}" data-label="{label}" title="show {label} of step '
        f'{step}">{count:,}{bar}</a></td>'
    )


def _step(page: Page, step: int, method: str) -> str:
    groups = [_group(group) for group in page.groups if group.step == step]
    who = METHODS.get(method, "a method that this page does not know")
    facts = "".join(f"<p>{_facts(record)}</p>" for record in page.recorded.get(step, ()))
    title = f"Step {step}: {escape(method)}" if step else "The seed: crowd"
    return (
        f'<section class="step" id="s{step}"><h2>{title}</h2><p>Label by {who}.</p>{facts}\n'
        + "\n".join(groups)
        + "\n</section>"
    )


def _facts(record: Mapping[str, Any]) -> str:
    parameters = ", ".join(f"{name} {value}" for name, value in record.get("parameters", {}).items())
    rejected = ", ".join(f"{reason} {count:,}" for reason, count in record.get("rejected", {}).items())
    papers = "" if record.get("papers") is None else f" (the papers: {record['papers']:,})"
    text = (
        f"Round {record.get('round', 1)}: {record.get('read', 0):,} read, {record.get('labelled', 0):,} "
        f"labelled{papers}."
    )
    return escape(
        text + (f" Rejected: {rejected}." if rejected else "") + (f" With {parameters}." if parameters else "")
    )


def _group(group: Group) -> str:
    cards = "\n".join(_card(group, example) for example in group.examples)
    return (
        f'<div class="group" data-step="{group.step}"><h3>{group.label} <small>{group.rows:,} by '
        f"{escape(group.method)}</small></h3>\n{cards}\n</div>"
    )


def _card(group: Group, example: Example) -> str:
    data = {
        "step": group.step,
        "method": group.method,
        "label": group.label,
        "rows": group.rows,
        "dialogue_id": example.dialogue_id,
        "draw": example.draw,
    }
    draw = f'<span class="draw {example.draw}">{example.draw}</span>'
    head = f'<header><b>{group.label}</b> {draw} {_why(example)}<span class="id">{_origin(example)}</span></header>'
    pair = f'<div class="pair">{_dialogue(example.turns, group.label)}{_seed(group, example)}</div>'
    buttons = "".join(
        f'<button type="button" aria-pressed="false" value="{verdict}">{verdict}</button>' for verdict in VERDICTS
    )
    return (
        "<article "
        f'data-judge="{escape(json.dumps(data))}">{head}{pair}{_probabilities(example)}<footer>{buttons}</footer></article>'
    )


def _why(example: Example) -> str:
    if example.similarity is not None:
        return f"cosine {example.similarity:.3f} "
    if example.confidence is not None:
        return f"confidence {example.confidence:.3f} "
    return ""


def _origin(example: Example) -> str:
    return escape(
        f"{example.split}, " + (f"round {example.round}, " if example.round > 1 else "") + example.dialogue_id
    )


def _seed(group: Group, example: Example) -> str:
    if example.seed_id is None:
        return ""
    name = f'<p class="of">seed <span class="id">{escape(example.seed_id)}</span></p>'
    dialogue = _dialogue(example.seed_turns, group.label) if example.seed_turns else "<p>not in this data set</p>"
    return f'<div class="seed">{name}{dialogue}</div>'


def _dialogue(turns: Sequence[str], label: str) -> str:
    shown = [turn_text(turn) for turn in turns[-_TURNS:]]
    left = f'<li class="left">{len(turns) - len(shown)} earlier turns</li>' if len(turns) > len(shown) else ""
    history = "".join(f"<li>{turn}</li>" for turn in shown[:-1])
    return f'<ol>{left}{history}<li class="labelled">{shown[-1] if shown else ""} <em>{label}</em></li></ol>'


def _probabilities(example: Example) -> str:
    """Return the labels' shares; of a spread label, which is given whole, there is nothing to see."""
    if example.similarity is not None:
        return ""
    items = "".join(
        f'<li>{label} <meter max="1" value="{share:.3f}"></meter> {share:.2f}</li>'
        for label, share in example.probabilities
    )
    return (
        '<ul class="shares" '
        f'title="{"probabilities" if example.confidence is not None else "shares of the answers"}">{items}</ul>'
    )
