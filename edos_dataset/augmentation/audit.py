"""The labels audit: a page with examples of every label of every step, to read with the eyes, and what came of reading
them.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Floats, Ints
from edos_dataset.audits.judgements import HINT, of_dialogues, read_judgements
from edos_dataset.augmentation.audit_page import VERDICTS, Example, Group, Page, render
from edos_dataset.augmentation.extended import COUNTS, read_extended
from edos_dataset.crowd.names import MISSING
from edos_dataset.labels import LABELS
from edos_dataset.metrics.resampling import wilson
from edos_dataset.runs.shards import write_text

DRAWS = ("random", "worst")


def write_audit(folder: Path, out: Path, per_label: int = 5, seed: int = 0) -> None:
    """Write the page: for every step and label some dialogues drawn at random, and the most doubtful of the others.

    Most doubtful are those with the lowest cosine (spread), confidence (self-label) or share of the answers (crowd).
    The same folder, numbers and seed give the same bytes. Without network or any other file, so it can be sent to who
    is to judge.

    Args:
        folder: what `edos extend` wrote.
        out: the HTML file; an older one is replaced.
        per_label: how many of either kind for each step and label; each adds about 0.1 MB a step.
        seed: of the drawing.

    Raises:
        FolderError: the folder is none.
        ValueError: `per_label` is below 1.
    """
    if per_label < 1:
        raise ValueError(f"per_label must be at least 1 example, got {per_label}")
    write_text(out, render(_page(read_extended(folder), _steps_of(folder), per_label, seed)))


def _steps_of(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """Return what `extend.json` says of each step, one entry a round; nothing where it is missing or damaged: the page
    does without.
    """
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
    groups = []
    for step in np.unique(steps).tolist():
        method = table["method"][int(np.argmax(steps == step))].as_py()
        counts[step, method] = [int(((steps == step) & (labels == label)).sum()) for label in range(len(LABELS))]
        for label in range(len(LABELS)):
            rows = np.flatnonzero((steps == step) & (labels == label))
            if drawn := _draw(rows, doubt, per_label, Random(f"{seed} {step} {label}")):
                groups.append(
                    Group(
                        step,
                        method,
                        LABELS[label],
                        len(rows),
                        [_example(table, place, row, draw) for row, draw in drawn],
                    )
                )
    content = [table.select(["dialogue_id", "label", "step", "split"]).to_pydict(), per_label, seed]
    return Page(hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16], counts, groups, recorded)


def _certainty(table: pa.Table) -> Floats:
    """Return how sure each label is, by the measure of its method: only rows of one step are compared."""
    soft = np.asarray(table["soft_label"].combine_chunks().flatten(), np.float32).reshape(len(table), len(LABELS))
    labels = np.asarray(table["label"].fill_null(0))
    sure: Floats = soft[np.arange(len(table)), labels]
    for name in ("similarity", "confidence"):
        values = np.asarray(table[name].to_numpy(), np.float32)
        sure = np.where(np.isnan(values), sure, values)
    return sure


def _draw(rows: Ints, certainty: Floats, number: int, random: Random) -> list[tuple[int, str]]:
    """Return rows at random, which stand for all, then of those left the least certain ones.

    The random ones stay in the order drawn, so that the first of them are a fair sample too, where a reader stops
    early.
    """
    chosen = random.sample(rows.tolist(), min(number, len(rows)))
    rest = np.setdiff1d(rows, chosen)
    worst = rest[np.argsort(certainty[rest], kind="stable")][:number].tolist()
    return [*((row, "random") for row in chosen), *((row, "worst") for row in worst)]


def _example(table: pa.Table, place: dict[str, int], row: int, draw: str) -> Example:
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
        probabilities=[(LABELS[label], float(soft[label])) for label in order],
    )


def _texts(record: dict[str, Any]) -> list[str]:
    return [turn["text"] for turn in record["turns"]]


@dataclass(frozen=True)
class _Judgement:
    """One verdict of a person; `rows` is the number of dialogues that have the label by this step, `step` the number
    and the method.
    """

    step: str
    label: str
    draw: str
    verdict: str
    rows: int


def judged(path: Path) -> dict[str, Any]:
    """Return the error rates that the judgements of a page show.

    Only examples drawn at random stand for all, and each of them for as many dialogues as its label has beside it, so
    that a rare label counts as little as it comes; labels of which nothing is judged are left out. An interval is
    Wilson's (1927) with Kish's (1965) effective number of judgements for unequal weights. "unsure" is counted, but says
    neither right nor wrong. The worst examples are counted apart: their errors tell where to set a threshold, not how
    many labels are wrong.

    Args:
        path: the JSON file that the page's button "download judgements" gives.

    Returns:
        `steps` ("1 spread" → figures) and `overall`, over all steps judged. The figures: `judged` (right or wrong, at
        random), `wrong`, `unsure`, `error_rate` (0 to 1; None if nothing is judged), `interval` (95 %, [low, high], or
        None), `worst` (`judged`, `wrong`, `unsure`).

    Raises:
        ValueError: the file is no such file.
    """
    judgements = _read_judgements(path)
    steps = sorted({each.step for each in judgements}, key=lambda step: (int(step.split()[0]), step))
    return {
        "steps": {step: _figures([each for each in judgements if each.step == step]) for step in steps},
        "overall": _figures(judgements),
    }


def _read_judgements(path: Path) -> list[_Judgement]:
    raw = read_judgements(path)
    if of_dialogues(raw):
        raise ValueError(f"{path} judges dialogues, not labels: `edos_dataset.audits.rates` counts these")
    return [
        _judgement(entry, f"{path}, judgement {number} (from 1)") for number, entry in enumerate(raw["judgements"], 1)
    ]


def _judgement(entry: Any, where: str) -> _Judgement:  # noqa: ANN401 - it is what a file holds
    try:
        judgement = _Judgement(
            f"{int(entry['step'])} {entry['method']}",
            entry["label"],
            entry["draw"],
            entry["verdict"],
            int(entry["rows"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error!r}, expected step, method, label, draw, verdict and rows: {HINT}") from error
    for name, value, allowed in (
        ("verdict", judgement.verdict, VERDICTS),
        ("draw", judgement.draw, DRAWS),
        ("label", judgement.label, LABELS),
    ):
        if value not in allowed:
            raise ValueError(f"{where}: {name} is {value!r}, expected one of {', '.join(allowed)}")
    if judgement.rows < 1:
        raise ValueError(
            f"{where}: rows is {judgement.rows}, expected the number of dialogues with this label, at least 1"
        )
    return judgement


def _figures(judgements: Sequence[_Judgement]) -> dict[str, Any]:
    random, worst = ([each for each in judgements if each.draw == draw] for draw in DRAWS)
    clear = [each for each in random if each.verdict != "unsure"]
    groups = [(each.step, each.label) for each in clear]
    weights = [each.rows / groups.count(group) for each, group in zip(clear, groups, strict=True)]
    rate = (
        sum(weight for weight, each in zip(weights, clear, strict=True) if each.verdict == "wrong") / sum(weights)
        if clear
        else None
    )
    effective = sum(weights) ** 2 / sum(weight**2 for weight in weights) if clear else 0
    return {
        **_tally(random),
        "error_rate": None if rate is None else round(rate, 4),
        "interval": None if rate is None else wilson(rate, effective),
        "worst": _tally(worst),
    }


def _tally(judgements: Sequence[_Judgement]) -> dict[str, int]:
    verdicts = [each.verdict for each in judgements]
    return {
        "judged": verdicts.count("right") + verdicts.count("wrong"),
        "wrong": verdicts.count("wrong"),
        "unsure": verdicts.count("unsure"),
    }
