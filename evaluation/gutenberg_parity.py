"""Dialogues and utterances that recipe `papers` finds in books, beside what the authors' code finds in them.

    python evaluation/gutenberg_parity.py $EDOS_DATA_DIR

The code of the Gutenberg Dialogue Dataset was run elsewhere; its counts stand here for those of its books that lie in
FOLDER/gutenberg. It reads UTF-8 alone and Project Gutenberg's header and licence counts as text to it, so every book is
read in four ways: with and without the header, in its own encoding and as UTF-8 with all else ignored. The way that
gives its counts is that in which its input was made. Writes evaluation/gutenberg_parity.json.
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
from edos_dataset.sources.books.gutenberg import declared_encoding, unwrap
from edos_dataset.sources.books.plain import decode_text

TOLERANCE = 0.02


class PeerBook(NamedTuple):
    """What the peer finds in a book.

    Attributes:
        book: its number in Project Gutenberg; a name where it stands under none.
        file: below `gutenberg/`.
        dialogues: found by it; 0 for a book that it leaves out.
        utterances: likewise.
        rewritten: its em dashes were made "--" before, as the peer knows no other.
        authors: utterances that the authors' own sheet has; null where none is known for this text.
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
"""Counts of its run with the defaults of its repository."""

PEER_DASHES = {"31971": (2229, 11.5), "56377": (971, 6.6), "Monte Cristo": (7724, 39.1)}
"""Book that it leaves out for want of second dashes → its paragraphs of speech, and those with two dashes or more per
10,000 words.
"""


def read(path: Path, strip: bool, as_utf8: bool, rewritten: bool) -> str:
    """Return the text of a book with or without Project Gutenberg's header and licence.

    Args:
        path: a plain text.
        strip: take header and licence off.
        as_utf8: read it as UTF-8 and ignore what is none, else in the encoding that it has.
        rewritten: make em dashes "--".
    """
    data = path.read_bytes()
    declared = declared_encoding(data, path.name)
    text = data.decode("utf-8-sig", "ignore") if as_utf8 else decode_text(data, declared, path.parent.name)[0]
    text = text.replace("\r\n", "\n")
    text = unwrap(text).text if strip else text
    return text.replace("—", "--") if rewritten else text


def count(text: str, language: str) -> tuple[int, int, str, str | None]:
    """Return dialogues, utterances, delimiter and the reason why there are none."""
    found = extract_as_papers(text, language)
    return len(found.dialogues), sum(map(len, found.dialogues)), found.style, found.reason


def count_dashes(text: str, language: str) -> tuple[int, float]:
    """Return paragraphs of speech, and those with two dashes per 10,000 words."""
    found = find_dialogues(text, language, choose_delimiter(text, language)[0], gap=150)
    return sum(map(len, found.dialogues)), round(found.doubles / count_words(text) * PER_WORDS, 1)


def compare(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each book: both sides, and ours in the three other ways of reading where they differ."""
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
    """Return how many books are equal, within the tolerance and in each way of reading, and totals."""
    english = [row for row in rows if row["authors"] is not None]
    return {
        "books": len(rows),
        "equal": sum(row["equal"] for row in rows),
        "within_2_percent": sum(row["within"] for row in rows),
        "peer": [sum(row[name] for row in rows) for name in ("dialogues", "utterances")],
        "ours": [sum(row["ours"][place] for row in rows) for place in (0, 1)],
        "authors_sheet": {
            "books": len(english),
            "utterances": sum(row["authors"] for row in english),
            "ours": sum(row["ours"][1] for row in english),
            "largest_difference": round(max(abs(row["ours"][1] / row["authors"] - 1) for row in english), 4),
        },
        "dashes_equal": all(row["dashes"]["peer"] == row["dashes"]["ours"] for row in rows if "dashes" in row),
        "otherwise_equal": {
            way: sum(
                row["read_otherwise"].get(way, row["ours"]) == [row["dialogues"], row["utterances"]] for row in rows
            )
            for way in sorted({way for row in rows for way in row["read_otherwise"]})
        },
    }


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
    result = {"command": command_line(), "date": str(date.today()), **summary(rows), "by_book": rows}
    write_text(arguments.out, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print(table(rows), json.dumps(summary(rows), indent=1), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main()
