"""The probabilities of labels by those of the tokens in which an answer was written."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edos_dataset.label_sets import LabelSet

_LEAST = -1e6  # of a logarithm; its exponential is 0
_VALUE = re.compile(r'"label"\s*:\s*"')


def of_tokens(choice: Mapping[str, Any], labels: LabelSet, label: str) -> dict[str, float] | None:
    """Return the probabilities of labels, which sum to 1, by the tokens at the place of the label, up to the one that
    decides it; None where the server gives none.

    The probability of a token that begins several labels is divided evenly. Of labels that begin alike, the most
    probable one may be another than the one that was written token by token.

    Args:
        choice: the answer, with its `logprobs`.
        labels: the label set.
        label: the label that was answered.
    """
    steps = _steps(choice)
    text = "".join(token for token, _ in steps)
    begins = [match.end() for match in _VALUE.finditer(text)] or [len(text) - len(text.lstrip())]
    names = {name.lower(): name for name in labels.labels}
    found: dict[str, float] = {}
    reached = 1.0
    for written, token, step in _at_value(steps, begins[-1]):
        for other, chance in _alternatives(step, token):
            fitting = _fitting(written + other, begins[-1], text, names)
            for name in fitting:
                found[name] = found.get(name, 0.0) + reached * chance / len(fitting)
        reached *= _chance(step)
        if _fitting(written + token, begins[-1], text, names) == [label]:
            break
    else:
        if names.get(text[begins[-1] :].strip().lower()) != label:
            return None
    found[label] = found.get(label, 0.0) + reached
    total = sum(found.values())
    return {name: chance / total for name, chance in found.items() if chance > 0} if total > 0 else None


def _steps(choice: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tokens of an answer with what the server states about each."""
    logprobs = choice.get("logprobs")
    steps = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(steps, list):
        return []
    return [(str(step.get("token", "")), step) for step in steps if isinstance(step, Mapping)]


def _at_value(
    steps: Sequence[tuple[str, Mapping[str, Any]]], start: int
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the tokens from a place in the text on, each after the text before it."""
    written = ""
    for token, step in steps:
        if len(written) + len(token) > start:
            yield written, token, step
        written += token


def _alternatives(step: Mapping[str, Any], token: str) -> Iterator[tuple[str, float]]:
    """Yield the tokens that could have stood at a place instead, with their probabilities."""
    others = step.get("top_logprobs")
    for other in others if isinstance(others, list) else ():
        if isinstance(other, Mapping) and isinstance(other.get("token"), str) and other["token"] != token:
            yield other["token"], _chance(other)


def _chance(step: Mapping[str, Any]) -> float:
    """Return the probability of a token, 0 if none is stated."""
    value = step.get("logprob")
    if not isinstance(value, int | float) or value != value:
        return 0.0
    return math.exp(max(min(value, 0.0), _LEAST))


def _fitting(written: str, start: int, text: str, names: Mapping[str, str]) -> list[str]:
    """Return the labels that an answer may become, by what is written of it: those that begin with its value, or the
    one that a quote ends.

    Args:
        written: the answer as far as it is written.
        start: where its value begins.
        text: the answer that was given, which must be the same up to there.
        names: labels in small letters → labels.
    """
    if not written.startswith(text[:start]):
        return []
    whole, quote, _ = written[start:].lower().partition('"')
    if quote:
        return [names[whole]] if whole in names else []
    return [name for key, name in names.items() if whole and key.startswith(whole)]
