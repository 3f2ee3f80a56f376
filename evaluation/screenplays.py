"""How well plain screenplays are read: speeches found and wrongly found, on parts that were read by eye.

    python evaluation/screenplays.py FOLDER

FOLDER holds the raw texts, `film_scripts/raw` of the project's data. `judged_screenplays.jsonl` has digests of the
speeches of each part, speaker and words, as a reader of the raw text wrote them down; a speech is right if both are.
The parts of the round "first" were judged before the reader was repaired after them, those of the round "second" after
that, on other pages. The result, beside this script, also says of each text of the folder whether it was read or why
not, and how long that took beside decoding it and splitting it into lines.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import Parsed, ReadError
from edos_dataset.sources.scripts import read_script
from edos_dataset.text import normalise

HERE = Path(__file__).parent
JUDGED = HERE / "judged_screenplays.jsonl"


def digests(parsed: Parsed) -> list[str]:
    """Return the digest of each speech of a file."""
    rows = zip(parsed.first_blocks.tolist(), parsed.speakers or [], parsed.texts, strict=True)
    speeches = [list(rows) for _, rows in groupby(rows, key=lambda row: row[0])]
    return [digest(rows[0][1] or "", " ".join(text for _, _, text in rows)) for rows in speeches]


def digest(speaker: str, text: str) -> str:
    """Return the digest of a speech, without case and punctuation."""
    return sha256(f"{normalise(speaker)}\t{normalise(text)}".encode()).hexdigest()[:16]


def compared(found: Sequence[str], gold: Sequence[str]) -> dict[str, int]:
    """Return how many speeches of a part there are, were found, and are right; the first and the last found one that
    are right bound the part.
    """
    blocks = [block for block in SequenceMatcher(None, found, gold, autojunk=False).get_matching_blocks() if block.size]
    within = blocks[-1].a + blocks[-1].size - blocks[0].a if blocks else 0
    return {"speeches": len(gold), "found": within, "right": sum(block.size for block in blocks)}


def read(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the facts about a text, and the digests of its speeches."""
    data = path.read_bytes()
    began = time.process_time()
    decode(data)[0].splitlines()
    plain = time.process_time() - began
    try:
        parsed = read_script(data)
    except ReadError as error:
        return {"refused": error.detail}, []
    seconds = time.process_time() - began - plain
    found = digests(parsed)
    facts = {
        "speeches": len(found),
        "scenes": (parsed.scenes or [0])[-1],
        "notes": sum(manner is not None for manner in parsed.manners or []),
        "unseen": sum(voice is not None for voice in parsed.voices or []),
        "kilobytes": len(data) // 1000,
        "seconds": round(seconds, 3),
        "plain_seconds": round(plain, 4),
    }
    return facts, found


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    results = {path.stem: read(path) for path in sorted(folder.glob("*.txt"))}
    rounds: dict[str, dict[str, Any]] = {}
    for line in JUDGED.read_text(encoding="utf-8").splitlines():
        part = json.loads(line)
        rounds.setdefault(part["round"], {})[part["film"]] = compared(results[part["film"]][1], part["speeches"])
    for films in rounds.values():
        films["all"] = {name: sum(film[name] for film in films.values()) for name in ("speeches", "found", "right")}
    texts = {name: facts for name, (facts, _) in results.items()}
    was_read = [facts for facts in texts.values() if "refused" not in facts]
    total = {name: sum(facts[name] for facts in was_read) for name in ("kilobytes", "seconds", "plain_seconds")}
    done = {"read": len(was_read), "refused": len(texts) - len(was_read), **total, "judged": rounds, "texts": texts}
    (HERE / "screenplays.json").write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps({name: value for name, value in done.items() if name != "texts"}, indent=1) + "\n")


if __name__ == "__main__":
    main()
