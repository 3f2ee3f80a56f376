"""What the repair of broken words changes in clean and in damaged subtitles, and how much synthetic damage it repairs.

    python evaluation/ocr_repair.py DATA_DIR [--changes build/changes.txt]

Every line that `lines.mend` changes can be written to a file for reading. Synthetic damage is applied to documents that
the repair leaves unchanged: one word in 50 is split by a space or joined with the next, and one initial l or I in 10 is
replaced by the other, each kind separately, with a seed derived from the document's name. Counted are the positions
(spaces and letters) that were damaged, those that are repaired, and those that were right and are now wrong. (A few of
the latter are correct: the documents themselves have missing spaces.) Writes evaluation/ocr_repair.json.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.machine import write_result
from edos_dataset.arrays import unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.runs.shards import write_text
from training.turns.data import read_subtitles

SOURCES = {"frasier": ("frasier/subtitles",), "others": ("noisy_srt", "opensubtitles_xml")}
_WORD = re.compile(r"(?<![\w'’-])[a-z]{3,}(?![\w'’-])")
_SEAM = re.compile(r"(?<=[a-z]{2}) (?=[a-z]{2})")
_INITIAL = re.compile(r"(?<![\w'’-])(?:l(?=[a-z]{3})|I(?=[a-z]{3}))")


def split_word(text: str, draw: random.Random) -> str:
    """Insert a space into one word in 50."""
    return _WORD.sub(lambda match: _spaced(match.group(), draw) if draw.random() < 0.02 else match.group(), text)


def _spaced(word: str, draw: random.Random) -> str:
    cut = draw.randrange(1, len(word))
    return f"{word[:cut]} {word[cut:]}"


def glue_words(text: str, draw: random.Random) -> str:
    """Remove the space between one pair of words in 50."""
    return _SEAM.sub(lambda match: "" if draw.random() < 0.02 else match.group(), text)


def confuse_letters(text: str, draw: random.Random) -> str:
    """Replace one initial l or I in 10 by the other."""
    return _INITIAL.sub(lambda match: "Il"["Il".index(match.group()) ^ (draw.random() < 0.1)], text)


DAMAGE: dict[str, Callable[[str, random.Random], str]] = {
    "split": split_word,
    "glued": glue_words,
    "letters": confuse_letters,
}
"""Name of the damage → the function that damages a line."""


def cleaned(table: pa.Table, mend: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield name and lines of documents, cleaned with or without the repair."""
    for row in split_rejects(CleanLines(mend=mend)(table))[0].to_pylist():
        yield row["document_id"], [line["text"] for line in row["lines"]]


def with_texts(table: pa.Table, texts: list[str]) -> pa.Table:
    """Return LINES with the texts replaced."""
    lines, _ = unnest(table, "lines")
    columns = [pa.array(texts) if field.name == "text" else lines.field(field.name) for field in lines.type]
    flat = pa.StructArray.from_arrays(columns, fields=list(lines.type))
    offsets = table["lines"].combine_chunks().offsets
    nested = pa.ListArray.from_arrays(pa.array(offsets.to_numpy() - offsets[0].as_py(), pa.int32()), flat)
    return table.set_column(table.column_names.index("lines"), table.schema.field("lines"), nested)


def changes(table: pa.Table) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Return the number of changes of the repair by kind, and the changes by document."""
    counts, found = Counter[str](), dict[str, list[str]]()
    for (name, before), (_, after) in zip(cleaned(table, False), cleaned(table, True), strict=True):
        pairs = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
        words = sum(line.count(" ") + 1 for line in before)
        kinds = Counter("capitals" if one.lower() == other.lower() else "words" for one, other in pairs)
        damaged = "damaged" if kinds["words"] >= 4 or kinds["capitals"] else "clean"
        counts.update({f"{damaged}_documents": 1, f"{damaged}_words": words})
        counts.update({f"{damaged}_lines_{kind}": number for kind, number in kinds.items()})
        if pairs:
            found[name] = [f"{one} => {other}" for one, other in pairs]
    return dict(sorted(counts.items())), found


def differing(one: str, other: str) -> set[tuple[str, int]]:
    """Return the positions, by letter, at which two texts differ in a space or a letter."""
    (letters, spaces), (others, gaps) = _layout(one), _layout(other)
    changed = {("letter", place) for place, (a, b) in enumerate(zip(letters, others, strict=True)) if a != b}
    return changed | {("space", place) for place in spaces ^ gaps}


def _layout(text: str) -> tuple[str, set[int]]:
    words = text.split(" ")
    return "".join(words), set(accumulate(map(len, words)))


def made_damage(table: pa.Table, kind: str) -> dict[str, int]:
    """Return counts of what becomes of damaged positions."""
    names = dict(cleaned(table, True))
    sound = pa.array([name in names for name in table["document_id"].to_pylist()])
    table = table.filter(sound).combine_chunks()
    counts = Counter[str]()
    for row in range(table.num_rows):
        document = table.slice(row, 1)
        name = document["document_id"][0].as_py()
        raw = document["lines"].combine_chunks().flatten().field("text").to_pylist()
        draw = random.Random(f"{kind} {name}")
        hurt = with_texts(document, [DAMAGE[kind](text, draw) for text in raw])
        for (_, unmended), (_, mended) in zip(cleaned(hurt, False), cleaned(hurt, True), strict=True):
            if len(unmended) != len(names[name]):
                continue  # the damage itself caused a line to be rejected
            for truth, broken, result in zip(names[name], unmended, mended, strict=True):
                if len({len(text.replace(" ", "")) for text in (truth, broken, result)}) == 1:
                    damaged, still = differing(truth, broken), differing(truth, result)
                    counts["words"] += truth.count(" ") + 1
                    counts["damaged"] += len(damaged)
                    counts["right_again"] += len(damaged - still)
                    counts["made_wrong"] += len(still - damaged)
    return dict(counts)


def main() -> None:
    """Measure, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--changes", type=Path)
    args = parser.parse_args()
    report: dict[str, Any] = {"date": date.today().isoformat(), "changes": {}, "made_damage": {}}
    shown: list[str] = []
    for name, folders in SOURCES.items():
        table = read_subtitles([args.data_dir / folder for folder in folders])
        report["changes"][name], found = changes(table)
        shown += [f"{film}\t{change}" for film, lines in found.items() for change in lines]
        if name == "others":
            sound = pa.array([film not in found for film in table["document_id"].to_pylist()])
            report["made_damage"] = {kind: made_damage(table.filter(sound), kind) for kind in DAMAGE}
    if args.changes:
        write_text(args.changes, "\n".join(shown) + "\n")
    write_result(Path(__file__).with_suffix(".json"), report)


if __name__ == "__main__":
    main()
