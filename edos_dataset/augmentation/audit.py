"""The label audit: a page with examples of every label of every step for a person to judge, and the error rates that
the judgements show.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats, Ints
from edos_dataset.audits.judgements import HINT, of_dialogues, read_judgements
from edos_dataset.audits.page import fill_frame, turn_text
from edos_dataset.augmentation.extended import COUNTS, METHODS, read_extended
from edos_dataset.crowd.names import MISSING
from edos_dataset.label_sets import label_set_of
from edos_dataset.labels import LABELS
from edos_dataset.metrics.resampling import wilson
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import shown
from edos_dataset.wording import counted

VERDICTS = ("right", "wrong", "unsure")
_TURNS = 8  # maximum number of turns shown of a dialogue, the last ones


@dataclass(frozen=True)
class Example:
    """A labelled dialogue, as the page shows it.

    Attributes:
        dialogue_id: its id.
        turns: oldest first; the label belongs to the last one.
        draw: "random" or "worst".
        split: train, validation or test.
        round: round of the method, 0 for the seed.
        seed_id: for a spread label, the dialogue that it came from; otherwise None.
        seed_turns: the turns of that dialogue, empty if it is not in the data set.
        similarity: for a spread label, the cosine; otherwise None.
        confidence: for a self-label, its probability; otherwise None.
        probabilities: the most probable labels with their probabilities, highest first; for a crowd label, those with
            the most answers and their fractions.
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
    """Examples of one label in one step, drawn from `rows` dialogues."""

    step: int
    method: str
    label: str
    rows: int
    examples: Sequence[Example]


@dataclass(frozen=True)
class Page:
    """What the page shows.

    Attributes:
        key: digest of the data and the sample, under which the browser keeps the judgements.
        counts: step and method → number of dialogues of each label, by label id.
        groups: the examples, by step and label.
        recorded: step → its entries in `extend.json`, one per round; may be empty.
        labels: names of the labels, by id.
    """

    key: str
    counts: Mapping[tuple[int, str], Sequence[int]]
    groups: Sequence[Group]
    recorded: Mapping[int, Sequence[Mapping[str, Any]]]
    labels: Sequence[str] = LABELS


def render(page: Page) -> str:
    """Return the page as HTML. All text from the data is escaped."""
    names = [f"{step} {method}" for step, method in page.counts]
    return fill_frame(
        "edos_dataset.augmentation",
        "audit_page.html",
        key=escape(page.key),
        rows=f"{sum(map(sum, page.counts.values())):,}",
        examples=f"{sum(len(group.examples) for group in page.groups):,}",
        table=_table(page),
        step_options=_options((str(step), name) for (step, _), name in zip(page.counts, names, strict=True)),
        label_options=_options((label, label) for label in page.labels),
        steps="\n".join(_step(page, step, method) for step, method in page.counts),
    )


def _options(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(name)}</option>' for value, name in pairs)


def _table(page: Page) -> str:
    heads = "".join(f'<th scope="col">{step} {escape(method)}</th>' for step, method in page.counts)
    totals = "".join(f"<td>{sum(counts):,}</td>" for counts in page.counts.values())
    lines = [
        f'<thead><tr><th scope="col">label</th>{heads}</tr></thead>',
        f'<tbody><tr class="total"><th scope="row">all</th>{totals}</tr>',
    ]
    for label, name in enumerate(page.labels):
        cells = "".join(_cell(step, name, counts[label], max(counts)) for (step, _), counts in page.counts.items())
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
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
    left = (
        f'<li class="left">{counted(len(turns) - len(shown), "earlier turns")}</li>' if len(turns) > len(shown) else ""
    )
    history = "".join(f"<li>{turn}</li>" for turn in shown[:-1])
    return f'<ol>{left}{history}<li class="labelled">{shown[-1] if shown else ""} <em>{label}</em></li></ol>'


def _probabilities(example: Example) -> str:
    """Return the labels' probabilities; nothing for a spread label, which has none."""
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


DRAWS = ("random", "worst")


def write_audit(folder: Path, out: Path, per_label: int = 5, seed: int = 0) -> None:
    """Write the page: for every step and label, dialogues drawn at random and the most doubtful of the others.

    The most doubtful have the lowest cosine (spread), confidence (self-label) or fraction of the answers (crowd). The
    same folder, numbers and seed give the same bytes. The page needs neither network nor other files, so it can be
    sent to those who judge it.

    Args:
        folder: the output of `edos extend`.
        out: the HTML file; an older one is replaced.
        per_label: examples of each kind per step and label; each adds about 0.1 MB per step.
        seed: seed of the random sample.

    Raises:
        FolderError: `edos extend` did not write the folder, or did not finish it.
        ValueError: `per_label` is below 1.
    """
    if per_label < 1:
        raise ValueError(f"per_label must be at least 1 example, got {per_label}")
    write_text(out, render(_page(read_extended(folder), _steps_of(folder), per_label, seed)))


def _steps_of(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """Return the entries of each step in `extend.json`, one per round; nothing if the file is missing or damaged."""
    rounds: dict[int, list[dict[str, Any]]] = {}
    try:
        for step in json.loads((folder / COUNTS).read_text(encoding="utf-8"))["steps"]:
            rounds.setdefault(step["step"], []).append(step)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return rounds


def _page(table: pa.Table, recorded: dict[int, list[dict[str, Any]]], per_label: int, seed: int) -> Page:
    steps, labels, doubt = np.asarray(table["step"]), np.asarray(table["label"].fill_null(MISSING)), _certainty(table)
    place = {name: row for row, name in enumerate(table["dialogue_id"].to_pylist())}
    counts: dict[tuple[int, str], list[int]] = {}
    groups, names = [], label_set_of(table.schema).labels
    for step in np.unique(steps).tolist():
        method = table["method"][int(np.argmax(steps == step))].as_py()
        counts[step, method] = [int(((steps == step) & (labels == label)).sum()) for label in range(len(names))]
        for label in range(len(names)):
            rows = np.flatnonzero((steps == step) & (labels == label))
            if drawn := _draw(rows, doubt, per_label, Random(f"{seed} {step} {label}")):
                groups.append(
                    Group(
                        step,
                        method,
                        names[label],
                        len(rows),
                        [_example(table, place, row, draw, names) for row, draw in drawn],
                    )
                )
    content = [table.select(["dialogue_id", "label", "step", "split"]).to_pydict(), per_label, seed]
    return Page(hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16], counts, groups, recorded, names)


def _certainty(table: pa.Table) -> Floats:
    """Return how sure each label is, by the measure of its method; comparable only within one step."""
    width = len(label_set_of(table.schema))
    soft = np.asarray(table["soft_label"].combine_chunks().flatten(), np.float32).reshape(len(table), width)
    labels = np.asarray(table["label"].fill_null(0))
    sure: Floats = soft[np.arange(len(table)), labels]
    for name in ("similarity", "confidence"):
        values = np.asarray(table[name].to_numpy(), np.float32)
        sure = np.where(np.isnan(values), sure, values)
    return sure


def _draw(rows: Ints, certainty: Floats, number: int, random: Random) -> list[tuple[int, str]]:
    """Return random rows, which represent all, then the least certain of the others.

    The random ones stay in the order drawn, so that the first few are a fair sample too if a reader stops early.
    """
    chosen = random.sample(rows.tolist(), min(number, len(rows)))
    rest = np.setdiff1d(rows, chosen)
    worst = rest[np.argsort(certainty[rest], kind="stable")][:number].tolist()
    return [*((row, "random") for row in chosen), *((row, "worst") for row in worst)]


def _example(table: pa.Table, place: dict[str, int], row: int, draw: str, names: Sequence[str]) -> Example:
    record = table.slice(row, 1).to_pylist()[0]
    seed_row = place.get(record["seed_id"]) if record["seed_id"] is not None else None
    soft = np.asarray(record["soft_label"])
    order = [label for label in np.argsort(-soft, kind="stable")[:4].tolist() if soft[label] >= 0.005]
    return Example(
        dialogue_id=record["dialogue_id"],
        turns=_texts(record),
        draw=draw,
        split=record["split"],
        round=record["round"],
        seed_id=record["seed_id"],
        seed_turns=[] if seed_row is None else _texts(table.slice(seed_row, 1).to_pylist()[0]),
        similarity=record["similarity"],
        confidence=record["confidence"],
        probabilities=[(names[label], float(soft[label])) for label in order],
    )


def _texts(record: dict[str, Any]) -> list[str]:
    return [turn["text"] for turn in record["turns"]]


_MOST_ROWS = 1 << 53


@dataclass(frozen=True)
class _Judgement:
    """One verdict of a person; `rows` counts the dialogues with the label in that step, `step` is number and method."""

    step: str
    label: str
    draw: str
    verdict: str
    rows: int


def judged(path: Path) -> dict[str, Any]:
    """Return the error rates that the judgements of a page show.

    Only the random examples count. They are weighted by the number of dialogues with their label, so a rare label
    counts little; labels without a judgement are left out. An interval is Wilson's (1927), with Kish's (1965)
    effective number of judgements for unequal weights. "unsure" is counted, but as neither right nor wrong. The worst
    examples are counted apart: their errors show where to set a threshold, not how many labels are wrong.

    Args:
        path: the JSON file from the page's button "download judgements".

    Returns:
        `steps` ("1 spread" → figures) and `overall`, over all steps judged. The figures: `judged` (random examples
        judged right or wrong), `wrong`, `unsure`, `error_rate` (0 to 1; None if nothing is judged), `interval` (95 %,
        [low, high], or None), `worst` (`judged`, `wrong`, `unsure`).

    Raises:
        ValueError: the file holds no judgements.
    """
    judgements = _read_judgements(path)
    steps = sorted({each.step for each in judgements}, key=lambda step: (int(step.split()[0]), step))
    by_step: dict[str, list[_Judgement]] = {step: [] for step in steps}
    for each in judgements:
        by_step[each.step].append(each)
    return {
        "steps": {step: _figures(own) for step, own in by_step.items()},
        "overall": _figures(judgements),
    }


def _read_judgements(path: Path) -> list[_Judgement]:
    raw = read_judgements(path)
    if of_dialogues(raw):
        raise ValueError(f"{path} judges dialogues, not labels: `edos_dataset.audits.judgements` counts these")
    named = raw.get("labels")
    labels = named if isinstance(named, list) and all(isinstance(name, str) for name in named) else LABELS
    return [
        _judgement(entry, f"{path}, judgement {number} (from 1)", labels)
        for number, entry in enumerate(raw["judgements"], 1)
    ]


def _judgement(entry: Any, where: str, labels: Sequence[str]) -> _Judgement:  # noqa: ANN401 - what a file holds
    try:
        judgement = _Judgement(
            f"{int(entry['step'])} {entry['method']}",
            entry["label"],
            entry["draw"],
            entry["verdict"],
            int(entry["rows"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{where}: {shown(error)}, expected step, method, label, draw, verdict and rows: {HINT}"
        ) from error
    for name, value, allowed in (
        ("verdict", judgement.verdict, VERDICTS),
        ("draw", judgement.draw, DRAWS),
        ("label", judgement.label, labels),
    ):
        if value not in allowed:
            raise ValueError(f"{where}: {name} is {shown(value)}, expected one of {', '.join(allowed)}")
    if not 1 <= judgement.rows <= _MOST_ROWS:
        raise ValueError(
            f"{where}: rows is {shown(judgement.rows)}, expected the number of dialogues with this label, from 1 to "
            f"{_MOST_ROWS:,}"
        )
    return judgement


def _figures(judgements: Sequence[_Judgement]) -> dict[str, Any]:
    random, worst = ([each for each in judgements if each.draw == draw] for draw in DRAWS)
    return {**_tally(random), **_error_rate(random), "worst": _tally(worst)}


def _error_rate(judgements: Sequence[_Judgement]) -> dict[str, Any]:
    """Return the error rate over all rows; the judgements of a step and label represent all its rows."""
    clear = [each for each in judgements if each.verdict != "unsure"]
    if not clear:
        return {"error_rate": None, "interval": None}
    groups = Counter((each.step, each.label) for each in clear)
    weights = np.array([each.rows / groups[each.step, each.label] for each in clear])
    rate = float(weights[[each.verdict == "wrong" for each in clear]].sum() / weights.sum())
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return {"error_rate": round(rate, 4), "interval": wilson(rate, effective)}


def _tally(judgements: Sequence[_Judgement]) -> dict[str, int]:
    verdicts = [each.verdict for each in judgements]
    return {
        "judged": verdicts.count("right") + verdicts.count("wrong"),
        "wrong": verdicts.count("wrong"),
        "unsure": verdicts.count("unsure"),
    }
