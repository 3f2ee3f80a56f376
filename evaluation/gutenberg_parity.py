"""Dialogues and utterances that recipe `papers` finds in books, compared with the authors' code.

    python evaluation/gutenberg_parity.py $EDOS_DATA_DIR

The code of the Gutenberg Dialogue Dataset was run elsewhere; its counts are stored here for those of its books that are
in FOLDER/gutenberg. It reads only UTF-8, and treats Project Gutenberg's header and licence as text, so every book is
read in four ways: with and without the header, in its own encoding and as UTF-8 with invalid bytes ignored. The way
that reproduces its counts is the one in which its input was made. Its Hungarian books 905572 and 914125 are HU05572 and
HU14125 of ELTeC, by their numbers, which are not in FOLDER; the seven novels of ELTeC in FOLDER have hyphens for
dashes, in which it finds nothing. In book 1342 it finds 202 dialogues, as recipe `papers` does; the 195 that were set
beside them are those of an older text of the book, which is not in FOLDER. Writes evaluation/gutenberg_parity.json.
"""

import argparse
import json
from collections.abc import Iterator
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import command_line
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.books.papers import PER_WORDS, choose_delimiter, extract_as_papers, find_dialogues
from edos_dataset.segmentation.books.papers_words import count_words
from edos_dataset.sources.formats import read_plain

TOLERANCE = 0.02


class PeerBook(NamedTuple):
    """What the peer, the authors' code, finds in a book.

    Attributes:
        book: its number in Project Gutenberg, or a name if it has none.
        file: path below `gutenberg/`.
        dialogues: dialogues found; 0 for a book that is left out.
        utterances: utterances found.
        rewritten: whether em dashes were replaced by "--" first, the only dashes that the peer knows.
        authors: utterances in the authors' published sheet; None if unknown for this text.
    """

    book: str
    file: str
    dialogues: int
    utterances: int
    rewritten: bool = False
    authors: int | None = None


PEER = (
    PeerBook("11", "en/pg11.txt", 65, 593, authors=612),
    PeerBook("98", "en/98-0.txt", 290, 1865, authors=1897),
    PeerBook("120", "en/120-0.txt", 125, 576, authors=578),
    PeerBook("158", "en/158-0.txt", 220, 1157, authors=1166),
    PeerBook("174", "en/pg174.txt", 126, 1045, authors=1047),
    PeerBook("345", "en/345-8.txt", 166, 642, authors=647),
    PeerBook("1342", "en/pg1342.txt", 202, 1154),
    PeerBook("2160", "en/2160-0.txt", 0, 0),
    PeerBook("2591", "en/2591-0.txt", 109, 350, authors=350),
    PeerBook("16389", "en/pg16389.txt", 131, 688, authors=706),
    PeerBook("25344", "en/pg25344.txt", 80, 287, authors=287),
    PeerBook("5323", "de/5323-8.txt", 183, 990),
    PeerBook("19778", "de/de_alice.txt", 72, 471),
    PeerBook("17340", "es/17340-8.txt", 106, 720),
    PeerBook("2000", "es/es_don_quixote.txt", 484, 2095, rewritten=True),
    PeerBook("40715", "hu/40715-0.txt", 103, 410),
    PeerBook("56377", "hu/56377-0.txt", 0, 0),
    PeerBook("67754", "hu/67754-0.txt", 92, 741),
    PeerBook("45334", "it/45334-0.txt", 0, 0),
    PeerBook("Monte Cristo", "it/it_monte_cristo.txt", 0, 0, rewritten=True),
    PeerBook("40169", "nl/40169-0.txt", 0, 0),
    PeerBook("47933", "nl/47933-0.txt", 0, 0),
    PeerBook("31971", "pt/31971-8.txt", 0, 0),
)
"""Counts of its run with the default settings of its repository."""

PEER_DASHES = {"31971": (2229, 11.5), "56377": (971, 6.6), "Monte Cristo": (7724, 39.1)}
"""Books that it leaves out for lack of closing dashes → paragraphs of speech, and those with at least two dashes per
10,000 words.
"""


def read(path: Path, strip: bool, as_utf8: bool, rewritten: bool) -> str:
    """Return the text of a book with or without Project Gutenberg's header and licence.

    Args:
        path: a plain text or TEI.
        strip: remove header and licence.
        as_utf8: read it as UTF-8 and ignore invalid bytes, else in its own encoding.
        rewritten: replace em dashes by "--".
    """
    data = path.read_bytes()
    if as_utf8:
        data = data.decode("utf-8-sig", "ignore").encode()
    text = read_plain(data, path.name, strip)
    return text.replace("—", "--") if rewritten else text


def count(text: str, language: str) -> tuple[int, int, str, str | None]:
    """Return dialogues, utterances, delimiter, and the reason if there are none."""
    found = extract_as_papers(text, language)
    return len(found.dialogues), sum(map(len, found.dialogues)), found.style, found.reason


def count_dashes(text: str, language: str) -> tuple[int, float]:
    """Return paragraphs of speech, and those with two dashes per 10,000 words."""
    found = find_dialogues(text, language, choose_delimiter(text, language)[0], gap=150)
    return sum(map(len, found.dialogues)), round(found.doubles / count_words(text) * PER_WORDS, 1)


def compare(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each book: both counts, and ours for the three other ways of reading if they differ."""
    for peer in PEER:
        path = folder / peer.file
        language = path.parent.name
        ways = {
            f"{'without' if strip else 'with'} header, {'as UTF-8' if as_utf8 else 'own encoding'}": count(
                read(path, strip, as_utf8, peer.rewritten), language
            )
            for strip, as_utf8 in product((True, False), (False, True))
        }
        (chosen, ours), *others = ways.items()
        row = {**peer._asdict(), "ours": list(ours[:2]), "style": ours[2], "reason": ours[3]}
        row["equal"] = ours[:2] == (peer.dialogues, peer.utterances)
        row["within"] = all(
            abs(a - b) <= TOLERANCE * b for a, b in zip(ours[:2], (peer.dialogues, peer.utterances), strict=True)
        )
        row["read_otherwise"] = {way: list(found[:2]) for way, found in others if found[:2] != ours[:2]}
        if peer.book in PEER_DASHES:
            row["dashes"] = {
                "peer": list(PEER_DASHES[peer.book]),
                "ours": list(count_dashes(read(path, True, False, peer.rewritten), language)),
            }
        yield row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how many books are equal, within the tolerance, and equal in each way of reading, and totals."""
    return {
        "books": len(rows),
        "equal": sum(row["equal"] for row in rows),
        "within_2_percent": sum(row["within"] for row in rows),
        "peer": [sum(row["dialogues"] for row in rows), sum(row["utterances"] for row in rows)],
        "ours": [sum(row["ours"][place] for row in rows) for place in (0, 1)],
        "authors_sheet": _beside_authors_sheet([row for row in rows if row["authors"] is not None]),
        "dashes_equal": all(map(_dashes_equal, rows)),
        "otherwise_equal": {
            way: sum(_equal_otherwise(row, way) for row in rows)
            for way in sorted({way for row in rows for way in row["read_otherwise"]})
        },
    }


def _beside_authors_sheet(english: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "books": len(english),
        "utterances": sum(row["authors"] for row in english),
        "ours": sum(row["ours"][1] for row in english),
        "largest_difference": round(max(abs(row["ours"][1] / row["authors"] - 1) for row in english), 4),
    }


def _dashes_equal(row: dict[str, Any]) -> bool:
    return "dashes" not in row or row["dashes"]["peer"] == row["dashes"]["ours"]


def _equal_otherwise(row: dict[str, Any], way: str) -> bool:
    found: list[int] = row["read_otherwise"].get(way, row["ours"])
    return found == [row["dialogues"], row["utterances"]]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the comparison as lines of text."""
    lines = [f"{'book':14} {'peer':>11} {'ours':>11}  style  reason"]
    for row in rows:
        peer, ours = f"{row['dialogues']}/{row['utterances']}", "/".join(map(str, row["ours"]))
        sign = " " if row["equal"] else "~" if row["within"] else "!"
        lines.append(f"{row['book']:14} {peer:>11} {ours:>11} {sign} {row['style']:5} {row['reason'] or ''}")
    return "\n".join(lines)


def main() -> None:
    """Compare, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    if missing := [peer.file for peer in PEER if not (arguments.folder / "gutenberg" / peer.file).is_file()]:
        parser.error(f"{arguments.folder / 'gutenberg'} lacks {missing[0]}: give the folder with the books")
    rows = list(compare(arguments.folder / "gutenberg"))
    novels = sorted((arguments.folder / "gutenberg" / "hu").glob("*.xml"))
    found = {path.name: count(read(path, True, False, False), "hu")[:2] for path in novels}
    facts = {"command": command_line(), "date": str(date.today())}
    result = {**facts, **summary(rows), "hungarian_novels_of_eltec": found, "by_book": rows}
    write_text(arguments.out, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print(table(rows), json.dumps(summary(rows), indent=1), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main()
