"""Whether the column `manner` of books holds the author's words about how a turn is said: what people judged.

    python evaluation/judged_manner.py "$EDOS_DATA_DIR/pdnc" --draw 100 --sheet build/manner.jsonl
    python evaluation/judged_manner.py "$EDOS_DATA_DIR/pdnc" --sheet build/manner.jsonl    # once it is judged
    python evaluation/judged_manner.py "$EDOS_DATA_DIR/pdnc"                               # counts the judgements

--draw writes random turns with a manner from the novels of a folder, with the narration beside them. A reader sets
`right` to true where every part of `manner` tells how the words are said and stands so in the text, else to false,
with `why`. A judged sheet replaces evaluation/judged_manner.jsonl, which contains digests instead of texts. Counting
also finds the turns that have the same manner and narration today. Writes evaluation/judged_manner.json.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.machine import command_line, write_result
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.books.extraction import Speech, conversations
from edos_dataset.segmentation.books.manner import manner_of
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.sources.formats import read_book
from training.labels.readings import digest_of

JUDGED = Path(__file__).with_suffix(".jsonl")
_NEAR = 200  # characters of narration that are shown


def turns_with_manner(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the turns with a manner in the novels of a folder."""
    rules = load_rules("en")
    for path in sorted(folder.rglob("*.txt")):
        book = read_book(path.read_bytes(), path.name, "en")
        for dialogue in conversations(book.blocks, rules, Speech()):
            for turn in dialogue if len(dialogue) > 1 else ():
                if manner := manner_of(turn.lead, turn.narration, turn.verbs, rules):
                    narration = [text[:_NEAR] for text in turn.narration]
                    facts = {"lead": turn.lead[-_NEAR:], "narration": narration, "verbs": turn.verbs}
                    yield {"book": path.parent.name, "text": turn.text()[:_NEAR], **facts, "manner": manner}


def digest_of_row(row: dict[str, Any]) -> str:
    """Return the first 8 hex digits of the SHA-256 of a turn with a manner and its narration."""
    facts = [row[key] for key in ("book", "text", "lead", "narration", "verbs", "manner")]
    return f"{digest_of(json.dumps(facts, ensure_ascii=False)):08x}"


def judged_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the judgement of a row of the sheet, without its text.

    Raises:
        ValueError: the row is not judged.
    """
    if not isinstance(row.get("right"), bool):
        raise ValueError(f"{row['book']}: {row['manner']!r} is not judged: set right to true or false")
    return {
        "book": row["book"],
        "digest": digest_of_row(row),
        **{key: row[key] for key in ("right", "why") if key in row},
    }


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="novels")
    parser.add_argument("--draw", type=int, help="turns to write into --sheet, to be judged")
    parser.add_argument("--sheet", type=Path)
    given = parser.parse_args()
    found = list(turns_with_manner(given.folder))
    if given.draw:
        rows = random.Random(51).sample(found, given.draw)
        write_text(given.sheet, _lines(rows))
        sys.stdout.write(f"{len(found)} turns have a manner; {len(rows)} are in {given.sheet}\n")
        return
    if given.sheet:
        lines = given.sheet.read_text(encoding="utf-8").splitlines()
        try:
            write_text(JUDGED, _lines([judged_of(json.loads(line)) for line in lines]))
        except ValueError as error:
            sys.exit(f"error: {given.sheet}: {error}")
    rows = [json.loads(line) for line in JUDGED.read_text(encoding="utf-8").splitlines()]
    today = set(map(digest_of_row, found))
    same = sum(row["digest"] in today for row in rows)
    facts = {"date": str(date.today()), "command": command_line(), "turns_with_manner": len(found)}
    right = sum(row["right"] for row in rows)
    write_result(JUDGED.with_suffix(".json"), {**facts, "judged": len(rows), "right": right, "same_today": same})


if __name__ == "__main__":
    main()
