"""HTML that the pages share: labels as chips, probabilities as bars, and messages.

Whatever comes from a user or from data is escaped. Groups differ by shape as well as by colour (`page.css`).
"""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from edos_dataset.labels import EMOTIONS, INTENTS, LABELS
from edos_dataset.publishing.cards.markdown import percent

GROUPS = ("emotion", "intent", "neutral")
"""What a label may be, in the order of their ids."""

_SIGNS = {"emotion": "●", "intent": "◆", "neutral": "□"}
_BORDERS = np.cumsum([0, len(EMOTIONS), len(INTENTS)])


def group_of(label: int) -> str:
    """Return which of GROUPS a label id belongs to."""
    return GROUPS[int(np.searchsorted(_BORDERS, label, side="right")) - 1]


def group_shares(probabilities: Sequence[float]) -> dict[str, float]:
    """Return the probability of each of GROUPS, from those of the 41 labels by id."""
    return dict(zip(GROUPS, np.add.reduceat(probabilities, _BORDERS).tolist(), strict=True))


def mark(group: str) -> str:
    """Return the sign of a group, which screen readers read as its name."""
    return f'<span class="sign" role="img" aria-label="{group}">{_SIGNS[group]}</span>'


def chip(label: int) -> str:
    """Return a label by its id, with its group's sign and colour."""
    group = group_of(label)
    return f'<span class="chip {group}" title="{group}">{mark(group)} {LABELS[label]}</span>'


def bars(probabilities: Sequence[float], labels: Iterable[int]) -> str:
    """Return the probabilities of labels as bars, a row each.

    Args:
        probabilities: of the 41 labels, by id, 0 to 1; 1 is as wide as the page allows.
        labels: ids of those to draw, the first on top.
    """
    rows = []
    for label in labels:
        group, share = group_of(label), probabilities[label]
        bar = f'<td class="bar"><i style="width:{100 * share:.2f}%"></i></td>'
        rows.append(f'<tr class="{group}"><th>{mark(group)} {LABELS[label]}</th>{bar}<td>{percent(share)}</td></tr>')
    return f"<table class='bars'>{''.join(rows)}</table>"


def message(error: Exception) -> str:
    """Return what was wrong with the input, as a message."""
    return f'<p class="message error" role="alert">{escape(str(error))}</p>'


def beware(warning: str) -> str:
    """Return a sentence on what to beware of, as a message."""
    return f'<p class="message warning" role="status"><b>Beware.</b> {escape(warning)}</p>'
