"""What the record of a scorer of turns says of its making."""

import platform
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from training.turns.data import count_labels
from training.turns.tables import Results

LICENCES = {
    "friends, the_big_bang_theory": "MIT (seinfeld_laugh_corpus); the text is under its studios' copyright",
    "frasier": "none stated; the text is under its studio's copyright",
    "friends_srt, weak": "none stated; the text is under its studios' copyright",
    "meld": "GPL v3",
    "dailydialog": "CC BY-NC-SA 4.0",
    "empathetic_dialogues": "CC BY-NC 4.0",
}
"""Of the data; the weights hold numbers, and of words their hashes."""


def facts_of(
    table: pa.Table, corpora: Iterable[str], seed: int, command: str, packages: Sequence[str]
) -> dict[str, Any]:
    """Return what all records tell: data with their labels and licences, seed, command, date and versions.

    Args:
        table: the documents that were learned from.
        corpora: names of their corpora.
        seed: of everything that was drawn.
        command: that makes the same again.
        packages: that decide the result, beside Python.
    """
    return {
        "data": {name: count_labels(table.filter(pc.equal(table["corpus"], name))) for name in corpora},
        "licences": LICENCES,
        "seed": seed,
        "command": command,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }


def brief(results: Results, scorer: str) -> dict[str, Any]:
    """Return the figures of a scorer that its record keeps: of all test documents, and by source."""
    names = ("seams", "documents", "accuracy", "accuracy_interval", "precision", "recall", "f1", "ece")
    rows = {"all": results.scorers[scorer], **results.sources[scorer]}
    return {source: {name: row[name] for name in names} for source, row in rows.items()}
