"""The last rules by which spreading and self-labelling reject a dialogue: it has a label, it comes twice, its label has
enough.

Each takes and returns reasons, None for what has not been rejected; dialogues come in the order of precedence.
"""

from collections import Counter
from collections.abc import Sequence

from edos_dataset.augmentation.guards import Dialogues, words_of

OPEN = (None, "conflict")
"""Reasons that give way to "has_label"."""


def without_copies(
    pool: Dialogues, rows: Sequence[int], reasons: Sequence[str | None], labelled: Sequence[Dialogues]
) -> list[str | None]:
    """Reject what has the id or the words of a labelled dialogue ("has_label"), and what has those of one before it
    that got through ("duplicate").

    Args:
        pool: dialogues to label; the turns of those in `rows` are read.
        rows: rows of the pool.
        reasons: of each.
        labelled: dialogues with a label.
    """
    ids = {dialogue_id for dialogues in labelled for dialogue_id in dialogues.ids}
    texts = {words_of(turns) for dialogues in labelled for turns in dialogues.turns}
    first: set[str] = set()
    judged: list[str | None] = []
    for row, reason in zip(rows, reasons, strict=True):
        if reason in OPEN:
            words = words_of(pool.turns[row])
            if pool.ids[row] in ids or words in texts:
                reason = "has_label"
            elif reason is None and words in first:
                reason = "duplicate"
            elif reason is None:
                first.add(words)
        judged.append(reason)
    return judged


def capped(
    labels: Sequence[int], reasons: Sequence[str | None], cap: int | None, taken: Counter[int] | None = None
) -> list[str | None]:
    """Reject what is beyond the cap of its label ("capped").

    Args:
        labels: of each dialogue.
        reasons: of each.
        cap: most dialogues a label, None for any number.
        taken: how many of each label there are already; those that get through are added.
    """
    taken = Counter() if taken is None else taken
    judged: list[str | None] = []
    for label, reason in zip(labels, reasons, strict=True):
        if reason is None:
            if cap is not None and taken[label] >= cap:
                reason = "capped"
            else:
                taken[label] += 1
        judged.append(reason)
    return judged
