"""What a data set's card says of how sure its dialogues are."""

from collections.abc import Sequence
from dataclasses import dataclass

from edos_dataset.publishing.cards.markdown import table
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.publishing.statistics import CERTAINTY_BINS

_SHOWN = (9, 8, 7, 6, 5)
"""The rows, by the first bin that counts."""
_EXAMPLE = 8
"""The bin from which on the example keeps dialogues."""


@dataclass(frozen=True)
class Reading:
    """What readers found among dialogues that were said to be so sure.

    Attributes:
        read: dialogues that were read in all.
        least: certainty of those of the band, 0 to 1, at least.
        below: and less than this.
        dialogues: number of those of the band.
        right: share of them without an error, 0 to 1.
    """

    read: int
    least: float
    below: float
    dialogues: int
    right: float


READING = Reading(100, 0.7, 0.9, 50, 0.78)
"""As `evaluation/judged_dialogues.json` has it, which is not part of the package; a test compares the two."""


def certainty_section(configs: Sequence[ConfigFiles]) -> str:
    """Return what a config's dialogues are worth by their certainty, as Markdown: of the first one that
    has a dialogue whose certainty is known; "" where there is none.

    Args:
        configs: what was written, the default one first.
    """
    judged = next((written for written in configs if any(written.certainty)), None)
    if judged is None:
        return ""
    least = f"{_EXAMPLE / CERTAINTY_BINS:.1f}"
    return (
        "`certainty` is the probability that a dialogue has no error: no turn of two people, no border within what "
        "one person says, no change of scene; `expected_errors` is how many of these to expect. It stands on "
        "probabilities of single borders, calibrated on films whose speakers and scenes are known, and was compared "
        f"with {READING.read} dialogues of the default recipe that language models read blind: of the "
        f"{READING.dialogues} said to be {READING.least} to {READING.below}, {READING.right:.0%} were without error "
        "(`evaluation/judged_dialogues.json` of the project).\n\n"
        f"{certainty_table(judged)}\n\n"
        f'The last column is the mean certainty. `ds.filter(lambda row: (row["certainty"] or 0) >= {least})` keeps the '
        "surer ones; null means that nothing is known, as where the recipe has no stage `certainty`."
    )


def certainty_table(written: ConfigFiles) -> str:
    """Return how many dialogues of a config are how sure, and the share of these that is expected to be without error;
    those without certainty in a row of their own.
    """
    total = max(written.total_rows, 1)
    every = "all that have one" if written.unjudged else "all"
    rows = []
    for first, name in (*((first, f"at least {first / CERTAINTY_BINS:.1f}") for first in _SHOWN), (0, every)):
        dialogues, mean = written.sure(first)
        rows.append([name, f"{dialogues:,}", f"{dialogues / total:.1%}", "–" if mean is None else f"{mean:.1%}"])
    if written.unjudged:
        rows.append(["null", f"{written.unjudged:,}", f"{written.unjudged / total:.1%}", "not known"])
    heads = ["dialogues", "share of dialogues", "expected share without error"]
    return table([f"`certainty` in `{written.config}`", *heads], rows)
