"""From the answers of a crowd to the data set `amt_seed`: what `edos crowd seed` does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edos_dataset.crowd.answer_table import Answers
from edos_dataset.crowd.seed import SeedRules, make_seed
from edos_dataset.publishing.cards.seed import seed_card
from edos_dataset.publishing.single import write_single
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.made_of import MadeOf
from edos_dataset.schema import AMT_SEED

COUNTS = "seed.json"


def write_seed(
    answers: Answers, out: Path, rules: SeedRules, force: bool = False, say: Callable[[str], object] = lambda _: None
) -> dict[str, Any]:
    """Write the seed as a folder that `datasets.load_dataset(out, "amt_seed")` loads, with a card, and its counts in
    `seed.json`.

    Args:
        answers: the table; every task needs its text.
        out: a new or empty folder, or one that this function wrote, which is brought up to date.
        rules: how.
        force: replace a finished seed by one of other rules, or of tasks that are gone or have other answers, and files
            that were edited since.
        say: called with what is being done.

    Returns:
        The counts, as of `make_seed`.

    Raises:
        ValueError: a task has no text, or too few have a label for a split.
        FolderError: the folder holds something else, or cannot be written.
    """
    tables, counts = make_seed(answers, rules, say)
    say("writing the folder")
    texts = {COUNTS: json.dumps(counts, indent=1, ensure_ascii=False)}
    code = hash_json([code_hash(make_seed.__module__), code_hash(seed_card.__module__)])
    made_of = MadeOf(vars(rules), {"tasks": _contents(answers)}, code)
    with OutputFolder(out, "crowd seed", force=force) as folder:
        made_of.check(folder)
        write_single(folder.prepare(), AMT_SEED, tables, seed_card(counts), texts)
        made_of.write(folder, {"tasks": counts["tasks"], "labelled texts": counts["labelled"]})
        folder.commit()
    return counts


def _contents(answers: Answers) -> dict[str, str]:
    """Return a digest of each task: what it shows, and who answered what."""
    given: dict[int, list[tuple[str, str]]] = {}
    for task, *answer in zip(answers.task, answers.worker, answers.given, strict=True):
        given.setdefault(task, []).append((answer[0], answer[1]))
    return {
        task: hash_json([answers.dialogues[row : row + 1], sorted(given.get(row, []))])[:16]
        for row, task in enumerate(answers.tasks)
    }
