"""Whether the column `manner` of books holds the author's words about how a turn is said: what people judged.

    python evaluation/judged_manner.py $EDOS_DATA_DIR/pdnc --draw 100    # writes what is to be judged
    python evaluation/judged_manner.py                                   # counts the judgements

--draw takes random turns with a manner from the novels of a folder and writes them to evaluation/judged_manner.jsonl
with the narration beside them. A reader sets `right` to true where every part of `manner` tells how the words are said
and stands so in the text, else to false, with a reason. Without --draw the judgements are counted, and it is checked
that the same narration gives the same manner today. Writes evaluation/judged_manner.json.
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
from edos_dataset.segmentation.books.extraction import Speech, conversations
from edos_dataset.segmentation.books.manner import manner_of
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.sources.formats import read_book

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


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="novels, for --draw")
    parser.add_argument("--draw", type=int)
    given = parser.parse_args()
    if given.draw:
        found = list(turns_with_manner(given.folder))
        rows = random.Random(51).sample(found, given.draw)
        JUDGED.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
        sys.stdout.write(f"{len(found)} turns have a manner; {len(rows)} are in {JUDGED}\n")
        return
    rows = [json.loads(line) for line in JUDGED.read_text(encoding="utf-8").splitlines()]
    right, rules = sum(row["right"] for row in rows), load_rules("en")
    same = sum(manner_of(row["lead"], row["narration"], row["verbs"], rules) == row["manner"] for row in rows)
    facts = {"date": str(date.today()), "command": command_line()}
    write_result(JUDGED.with_suffix(".json"), {**facts, "judged": len(rows), "right": right, "same_today": same})


if __name__ == "__main__":
    main()
