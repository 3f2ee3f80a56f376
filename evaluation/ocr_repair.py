"""What the repair of broken words changes in clean and in damaged subtitles, and what it puts right of damage that is
made by rule.

    python evaluation/ocr_repair.py DATA_DIR [--changes build/changes.txt]

Every line that `lines.mend` changes can be written to a file, to be read. The made damage: in documents that the
repair leaves alone, one word in 50 gets a space inside or loses that behind it, one initial l or I in 10 becomes the
other; each kind alone, drawn with a seed by the document's name. Counted are the places, spaces and letters, that were
damaged, those that are right again, and those that were right and are wrong. (A few of these are right: the documents
have words without their space themselves.) Writes evaluation/ocr_repair.json.
"""

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.runs.shards import write_text
from training.turns.sources import read_subtitles

SOURCES = {"frasier": ("frasier/subtitles",), "others": ("noisy_srt", "opensubtitles_xml")}
_WORD = re.compile(r"(?<![\w'’-])[a-z]{3,}(?![\w'’-])")
_SEAM = re.compile(r"(?<=[a-z]{2}) (?=[a-z]{2})")
_INITIAL = re.compile(r"(?<![\w'’-])(?:l(?=[a-z]{3})|I(?=[a-z]{3}))")


def split_word(text: str, draw: random.Random) -> str:
    """Put a space into one word in 50."""
    return _WORD.sub(lambda match: _spaced(match.group(), draw) if draw.random() < 0.02 else match.group(), text)


def _spaced(word: str, draw: random.Random) -> str:
    cut = draw.randrange(1, len(word))
    return f"{word[:cut]} {word[cut:]}"


def glue_words(text: str, draw: random.Random) -> str:
    """Take the space between one pair of words in 50."""
    return _SEAM.sub(lambda match: "" if draw.random() < 0.02 else match.group(), text)


def confuse_letters(text: str, draw: random.Random) -> str:
    """Make one initial l or I in 10 the other."""
    return _INITIAL.sub(lambda match: "Il"["Il".index(match.group()) ^ (draw.random() < 0.1)], text)


DAMAGE: dict[str, Callable[[str, random.Random], str]] = {
    "split": split_word,
    "glued": glue_words,
    "letters": confuse_letters,
}
"""What damages a line, by the name of the damage."""


def cleaned(table: pa.Table, mend: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield name and lines of documents, cleaned with or without the repair."""
    for row in split_rejects(CleanLines(mend=mend)(table))[0].to_pylist():
        yield row["document_id"], [line["text"] for line in row["lines"]]


def with_texts(table: pa.Table, texts: list[str]) -> pa.Table:
    """Return LINES with other texts."""
    lines, _ = unnest(table, "lines")
    columns = [pa.array(texts) if field.name == "text" else lines.field(field.name) for field in lines.type]
    flat = pa.StructArray.from_arrays(columns, fields=list(lines.type))
    offsets = table["lines"].combine_chunks().offsets
    nested = pa.ListArray.from_arrays(pa.array(offsets.to_numpy() - offsets[0].as_py(), pa.int32()), flat)
    return table.set_column(table.column_names.index("lines"), table.schema.field("lines"), nested)


def changes(table: pa.Table) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Count what the repair changes, by kind, and return the changes by document."""
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
    """Return the places, by the number of the letter, at which two texts differ in a space or a letter."""
    (letters, spaces), (others, gaps) = _layout(one), _layout(other)
    changed = {("letter", place) for place, (a, b) in enumerate(zip(letters, others, strict=True)) if a != b}
    return changed | {("space", place) for place in spaces ^ gaps}


def _layout(text: str) -> tuple[str, set[int]]:
    words = text.split(" ")
    return "".join(words), set(accumulate(map(len, words)))


def made_damage(table: pa.Table, kind: str) -> dict[str, int]:
    """Count what becomes of places that are damaged by rule."""
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
                continue  # the damage itself made a line leave
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
    write_text(Path(__file__).with_suffix(".json"), json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
