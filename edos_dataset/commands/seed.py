"""From the answers of a crowd to the data set `amt_seed`: what `edos crowd seed` does."""

import json
from pathlib import Path
from typing import Any

from edos_dataset.crowd.answer_table import Answers
from edos_dataset.crowd.seed import SeedRules, make_seed
from edos_dataset.publishing.cards.seed import seed_card
from edos_dataset.publishing.single import write_single
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.schema import AMT_SEED

COUNTS = "seed.json"


def write_seed(answers: Answers, out: Path, rules: SeedRules) -> dict[str, Any]:
    """Write the seed as a folder that `datasets.load_dataset(out, "amt_seed")` loads, with a card, and its counts in
    `seed.json`.

    Args:
        answers: the table; every task needs its text.
        out: a new or empty folder, or one that this function wrote, which is replaced.
        rules: how.

    Returns:
        The counts, as of `make_seed`.

    Raises:
        ValueError: a task has no text, or too few have a label for a split.
        FolderError: the folder holds something else, or cannot be written.
    """
    tables, counts = make_seed(answers, rules)
    texts = {COUNTS: json.dumps(counts, indent=1, ensure_ascii=False)}
    with OutputFolder(out, "crowd seed") as folder:
        write_single(folder.prepare(), AMT_SEED, tables, seed_card(counts), texts)
        folder.commit()
    return counts
