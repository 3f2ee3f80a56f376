"""What an endpoint answered, as probabilities of labels; whatever is no label of the set is no answer."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edos_dataset.label_sets import LabelSet
from edos_dataset.labeling.models.endpoint.tokens import of_tokens
from edos_dataset.text import shown

REFUSAL, MALFORMED, UNKNOWN, CUT, REFUSED = "refusal", "not JSON", "unknown label", "cut off", "refused by the server"
"""Why a turn has no label."""

_THOUGHT = re.compile(r"^.*</think>", re.DOTALL)
_FENCE = re.compile(r"^```\w*\s*|(?<!\s)\s*```$")
_NAMED = re.compile(r"label\s*:", re.IGNORECASE)
_LONGEST = 100_000  # characters of an answer that are read


class Answer(NamedTuple):
    """An answer.

    Attributes:
        probabilities: label → probability, above 0; empty if it is none.
        why: why it is none, one of the reasons above; "" if it is one.
        fault: what was wrong, for another try; "" where trying again is of no use.
    """

    probabilities: Mapping[str, float]
    why: str = ""
    fault: str = ""


def read_answer(reply: Mapping[str, Any], labels: LabelSet, several: bool) -> Answer:
    """Return what the reply of a server says.

    Args:
        reply: body of the response.
        labels: the label set.
        several: whether a turn can have several labels.
    """
    choice = _first(reply.get("choices"))
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    if message.get("refusal") or choice.get("finish_reason") == "content_filter":
        return Answer({}, REFUSAL)
    content = message.get("content")
    content = content[:_LONGEST] if isinstance(content, str) else ""
    found = _labels_in(_FENCE.sub("", _THOUGHT.sub("", content).strip()), labels, several)
    if not found:
        if choice.get("finish_reason") == "length":
            return Answer({}, CUT)
        return Answer({}, MALFORMED, "it was not of the form asked for")
    known: dict[str, float | None] = {}
    for name, sure in found:
        label = labels.find(name)
        if label is None:
            return Answer({}, UNKNOWN, f"{shown(name)} is no label of the list")
        known.setdefault(labels.labels[label], sure)
    if several:
        return Answer({name: 1.0 if sure is None else sure for name, sure in known.items()})
    [(chosen, sure)] = known.items()
    return Answer(of_tokens(choice, labels, chosen) or _spread(chosen, sure, labels))


def _first(choices: object) -> Mapping[str, Any]:
    first = choices[0] if isinstance(choices, Sequence) and choices else None
    return first if isinstance(first, Mapping) else {}


def _labels_in(text: str, labels: LabelSet, several: bool) -> list[tuple[str, float | None]]:
    """Return the labels in a JSON object, with the confidences that it states, or the label that is all of the text;
    nothing if it has none.
    """
    rows: list[object] = list(_objects(text))
    if several:
        lists = [row["labels"] for row in rows if isinstance(row, Mapping) and isinstance(row.get("labels"), list)]
        rows = lists[-1] if lists else []
    found = [entry for entry in map(_entry, rows) if entry is not None]
    if rows:
        alike = several or len({name for name, _ in found}) == 1  # one that is put right is not chosen among
        return found if len(found) == len(rows) and alike else []
    name = _plain(text, labels)
    return [(name, None)] if name else []


def _entry(row: object) -> tuple[str, float | None] | None:
    if isinstance(row, str):
        return row, None
    if not isinstance(row, Mapping) or not isinstance(row.get("label"), str):
        return None
    sure = row.get("confidence")
    stated = isinstance(sure, int | float) and not isinstance(sure, bool) and 0 <= sure <= 1
    return row["label"], float(sure) if stated and sure is not None else None


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects in a text: all of it, or what stands in the middle of words."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            content, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        if isinstance(content, Mapping):
            yield content
        place = text.find("{", end)


def _plain(text: str, labels: LabelSet) -> str | None:
    """Return the label that a text consists of; None if it says anything else."""
    text = text.strip()
    named = _NAMED.match(text)
    name = text[named.end() if named else 0 :].strip().strip("\"'`*.").strip()
    return name if name and labels.find(name) is not None else None


def _spread(label: str, sure: float | None, labels: LabelSet) -> dict[str, float]:
    """Return the confidence of a label, and the rest evenly on the others, of which nothing is known; a confidence
    below that of chance, as some models state, would make another label the most probable one.
    """
    stated = max(1.0 if sure is None else sure, 1 / len(labels) + 1e-6)
    rest = max(0.0, 1 - stated) / (len(labels) - 1)
    return {name: stated if name == label else rest for name in labels.labels if name == label or rest}
