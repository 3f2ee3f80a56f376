"""What `edos books` publishes of books in each language: dialogues and turns, by the default recipe and by `papers`,
and why the others were rejected.

    python evaluation/book_languages.py $EDOS_DATA_DIR/gutenberg --languages de es hu it nl pt

FOLDER has a folder of books for each language, named by its code. Writes evaluation/book_languages.json.
"""

import argparse
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import edos_dataset
from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.recipes.books import BUILT_IN_BOOKS
from edos_dataset.schema import books_config


def published(books: Path, language: str, recipe: str) -> dict[str, Any]:
    """Return what a recipe publishes of a folder of books.

    Returns:
        `dialogues`, `turns`; `rejected`, reason → how many books, dialogues or turns; and `books`, name → its turns.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        made = edos_dataset.books(books, out, language=language, recipe=recipe, labels=False, progress=False)
        found = made["configs"][books_config(language)]
        rejected: Counter[str] = Counter()
        for stage in made["stages"]:
            rejected.update(stage["rejected"])
        turns = {book["id"]: book["utterances"] for book in made["books"]}
    return {"dialogues": found["dialogues"], "turns": found["turns"], "rejected": dict(rejected), "books": turns}


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of books for each language")
    parser.add_argument("--languages", nargs="+", required=True, help="codes: de es")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    if missing := [code for code in given.languages if not (given.folder / code).is_dir()]:
        parser.error(f"{given.folder} has no folder {missing[0]}: give the folder that has one for each language")
    found = {
        code: {recipe: published(given.folder / code, code, recipe) for recipe in BUILT_IN_BOOKS}
        for code in given.languages
    }
    table = Table("", *(f"{recipe}: {what}" for recipe in BUILT_IN_BOOKS for what in ("dialogues", "turns")))
    for code, row in found.items():
        table.add_row(code, *(str(row[recipe][what]) for recipe in BUILT_IN_BOOKS for what in ("dialogues", "turns")))
    Console().print(table)
    facts = {"date": str(date.today()), "command": command_line(), "machine": describe_machine()}
    write_result(given.out, {**facts, "languages": found})


if __name__ == "__main__":
    main()
