"""The folder of a seed, written from people's answers."""

import json
from pathlib import Path
from typing import Any

from edos_dataset.commands.progress import Say
from edos_dataset.crowd.answers import Answers
from edos_dataset.crowd.seed import SeedRules
from edos_dataset.crowd.seed import make_seed as seed_tables
from edos_dataset.label_sets import DEFAULT
from edos_dataset.publishing.cards.single import seed_card
from edos_dataset.publishing.layout import write_single
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.provenance import Provenance
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.schema import AMT_SEED

COUNTS = "seed.json"


def write_seed(
    answers: Answers, out: Path, rules: SeedRules, force: bool = False, say: Say = lambda _: None
) -> dict[str, Any]:
    """Write a seed as a folder that `datasets.load_dataset(out, "amt_seed")` loads, with a card, and its counts in
    `seed.json`, which are returned; errors as of `make_seed`.
    """
    tables, counts = seed_tables(answers, rules, say)
    say("writing the folder")
    texts = {COUNTS: json.dumps(counts, indent=1, ensure_ascii=False)}
    code = hash_json([code_hash(seed_tables.__module__), code_hash(seed_card.__module__)])
    made_of = Provenance(vars(rules) | _label_set(answers), {"tasks": _contents(answers)}, code)
    with output_folder(out, "crowd seed", force=force) as folder:
        made_of.check(folder)
        write_single(folder.prepare(), AMT_SEED, tables, seed_card(counts), texts)
        made_of.write(folder, {"tasks": counts["tasks"], "labelled texts": counts["labelled"]})
        folder.commit()
    return counts


def _label_set(answers: Answers) -> dict[str, str]:
    """Return the label set as a parameter of the seed, unless it is that of EDOS."""
    return {} if answers.label_set.name == DEFAULT else {"label_set": answers.label_set.digest}


def _contents(answers: Answers) -> dict[str, str]:
    """Return a digest of each task: what it shows, and who answered what."""
    given: dict[int, list[tuple[str, str]]] = {}
    for task, *answer in zip(answers.task, answers.worker, answers.given, strict=True):
        given.setdefault(task, []).append((answer[0], answer[1]))
    return {
        task: hash_json([answers.dialogues[row : row + 1], sorted(given.get(row, []))])[:16]
        for row, task in enumerate(answers.tasks)
    }
