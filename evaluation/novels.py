"""What `edos books` finds in novels whose every quotation was marked by people, with its speaker: how much of the
conversation is published, and how much of what is published is right.

    python evaluation/novels.py $EDOS_DATA_DIR/pdnc --run default --run papers --run "default certainty.least=0"

FOLDER has a folder for each novel, as in the Project Dialogism Novel Corpus (Vishnubhotla et al., 2022):
`novel_text.txt`, `quotation_info.csv` and `character_info.csv`. Every word of a published turn is laid on its word of
the novel, so that the figures do not depend on how a recipe numbers its paragraphs:

- found: quotations of three words or more of which 60 % of the words stand in published turns
- exchanges: neighbouring quotations of two speakers, at most 150 characters apart, that stand in neighbouring turns of
  one dialogue
- two speakers: turns with words of quotations by two speakers
- no speech: turns with more than 30 % of their words outside of quotations
- false boundaries: neighbouring turns of a dialogue that one person says
- right: dialogues without any of these three errors, also among those of four turns or more
- named: turns with a speaker; correct: those of them whose speaker it is, by any name that the corpus lists. The
  shipped networks were fitted to all novels of the corpus, so that in these both are too high

Writes evaluation/novels.json.
"""

import argparse
import ast
import bisect
import csv
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import edos_dataset
from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.schema import SPLITS
from training.transcripts.matching import UNMATCHED, match_words

KINDS = ("Explicit", "Anaphoric", "Implicit")
SEEN = (
    "the networks that name speakers were fitted to these novels: how many turns they name, and how many of these "
    "rightly, in novels that they were not fitted to is in evaluation/book_speakers.json"
)
FEWEST_WORDS, FOUND, GAP, NO_SPEECH = 3, 0.6, 150, 0.3
WORD = re.compile(r"[^\W_]+")
_TITLES = frozenset(("mr", "mrs", "miss", "ms", "dr", "sir", "lady", "lord", "the", "captain", "colonel", "doctor"))


@dataclass(frozen=True)
class Quotation:
    """A quotation of the corpus.

    Attributes:
        words: numbers of its words in the novel, in order.
        start, end: characters of the novel that it spans, narration between its parts included.
        speaker: main name of who says it; None if the corpus does not know, or names a group or the narrator.
        kind: how the text names the speaker: "Explicit", "Anaphoric" or "Implicit".
    """

    words: Sequence[int]
    start: int
    end: int
    speaker: str | None
    kind: str


@dataclass
class Novel:
    """A novel with its quotations, in order of the text.

    Attributes:
        name: name of its folder.
        path: its text.
        words: its words in lower case.
        quotations: see `Quotation`.
        aliases: name in lower case, without titles' full stops → main names of the characters that bear it.
    """

    name: str
    path: Path
    words: list[str]
    quotations: list[Quotation]
    aliases: dict[str, set[str]]

    @classmethod
    def load(cls, folder: Path) -> "Novel":
        """Read a novel of the corpus from its folder."""
        text = (folder / "novel_text.txt").read_bytes().decode("utf-8")
        offsets = [0]
        for sign in text:
            offsets.append(offsets[-1] + len(sign.encode("utf-8")))
        spans = [match.span() for match in WORD.finditer(text)]
        starts = [start for start, _ in spans]
        aliases = defaultdict(set)
        for row in _rows(folder / "character_info.csv"):
            for name in {row["Main Name"], *ast.literal_eval(row["Aliases"])}:
                aliases[_plain(name)].add(row["Main Name"])
                aliases[_plain(name.partition(" - ")[0])].add(row["Main Name"])  # "Christopher Robin - Story"
        quotations = [_quotation(row, offsets, starts, aliases) for row in _rows(folder / "quotation_info.csv")]
        words = [text[start:end].lower() for start, end in spans]
        found = sorted((quotation for quotation in quotations if quotation.words), key=lambda each: each.start)
        return cls(folder.name, folder / "novel_text.txt", words, found, dict(aliases))

    @cached_property
    def owner(self) -> dict[int, int]:
        """Word → number of its quotation."""
        return {word: number for number, quotation in enumerate(self.quotations) for word in quotation.words}

    def names(self, name: str, speaker: str) -> bool:
        """Return whether a name in the text means a character: it is one of the character's names, or shares a word
        with one and with no name of another character.
        """
        plain = _plain(name)
        if plain in self.aliases:
            return speaker in self.aliases[plain]
        wanted = set(plain.split()) - _TITLES
        owners = {each for alias, owners in self.aliases.items() if wanted & set(alias.split()) for each in owners}
        return owners == {speaker}


@dataclass
class Figures:
    """Sums over novels, of which the table shows fractions."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, right: bool | int, of: int = 1) -> None:
        """Count `right` of `of` cases."""
        self.counts[name] += int(right)
        self.counts[f"{name} of"] += of

    def percent(self, name: str) -> float | None:
        """Return the percentage, None of no case."""
        of = self.counts[f"{name} of"]
        return round(100 * self.counts[name] / of, 1) if of else None

    def row(self) -> dict[str, float | None]:
        """Return all percentages by name, and the numbers of turns and dialogues."""
        names = [name for name in self.counts if f"{name} of" in self.counts]
        return {name: self.percent(name) for name in names}


def _rows(path: Path) -> Iterator[dict[str, str]]:
    limit = csv.field_size_limit(1 << 30)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
    finally:
        csv.field_size_limit(limit)


def _quotation(
    row: Mapping[str, str], offsets: Sequence[int], starts: Sequence[int], aliases: Mapping[str, set[str]]
) -> Quotation:
    """Return a quotation of a row, given the byte at which each character begins and the character of each word. The
    corpus names some speakers by another of their names than the main one.
    """
    spans = ast.literal_eval(row["quoteByteSpans"])
    parts = [[bisect.bisect_left(offsets, place) for place in span] for span in spans]
    words = [
        word
        for start, end in parts
        for word in range(bisect.bisect_left(starts, start), bisect.bisect_left(starts, end))
    ]
    speaker = None if row["speaker"].startswith("_") or not row["speaker"] else row["speaker"]
    owners = aliases.get(_plain(speaker), set()) if speaker else set()
    if speaker not in owners and len(owners) == 1:
        [speaker] = owners
    return Quotation(words, parts[0][0], parts[-1][1], speaker, row["quoteType"])


def _plain(name: str) -> str:
    return " ".join(WORD.findall(name.lower()))


def lay(novel: Novel, turns: Sequence[Sequence[str]]) -> list[list[int]]:
    """Lay the words of all published turns on those of the novel.

    Args:
        novel: the novel.
        turns: the words of each turn, in order of the text.

    Returns:
        The numbers of the novel's words of each turn; empty if it is not found.
    """
    published = [word for words in turns for word in words]
    _, ids = np.unique([*published, *novel.words], return_inverse=True)
    places, _ = match_words(ids[: len(published)], ids[len(published) :])
    parts = np.split(places, np.cumsum([len(words) for words in turns])[:-1])
    return [part[part != UNMATCHED].tolist() for part in parts]


@dataclass(frozen=True)
class _Turn:
    """A published turn: the words found of each quotation, and who says most of it."""

    words: int
    quoted: Counter[int]
    named: str | None
    speakers: Counter[str]

    @property
    def speaker(self) -> str | None:
        return self.speakers.most_common(1)[0][0] if self.speakers else None


def measure(novel: Novel, dialogues: Sequence[Sequence[Mapping[str, Any]]], figures: Figures) -> None:
    """Count what is found and what is right in the published dialogues of a novel.

    Args:
        novel: the novel.
        dialogues: the turns of each, with `text` and `speaker`, in order of the text.
        figures: where the counts are added.
    """
    texts = [WORD.findall(turn["text"].lower()) for turns in dialogues for turn in turns]
    laid = iter(lay(novel, texts))
    place_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
    covered: Counter[int] = Counter()
    for number, rows in enumerate(dialogues):
        turns = [turn_of(novel, next(laid), len(WORD.findall(row["text"])), row.get("speaker")) for row in rows]
        for at, turn in enumerate(turns):
            covered.update(turn.quoted)
            for quoted, count in turn.quoted.items():
                if 2 * count >= len(novel.quotations[quoted].words):
                    place_of[quoted].append((number, at))
        _count_errors(novel, turns, figures)
    for at, quotation in enumerate(novel.quotations):
        if len(quotation.words) >= FEWEST_WORDS:
            figures.add("found", covered[at] >= FOUND * len(quotation.words))
    _count_exchanges(novel, place_of, figures)


def _count_exchanges(novel: Novel, place_of: Mapping[int, list[tuple[int, int]]], figures: Figures) -> None:
    """Count the exchanges of a novel, given the dialogues and turns in which half of each quotation or more stands."""
    for at, (one, other) in enumerate(zip(novel.quotations, novel.quotations[1:], strict=False)):
        if one.speaker and other.speaker and one.speaker != other.speaker and other.start - one.end <= GAP:
            behind = place_of.get(at + 1, [])
            figures.add("exchanges", any((row, turn + 1) in behind for row, turn in place_of.get(at, [])))


def turn_of(novel: Novel, places: Sequence[int], words: int, named: str | None) -> _Turn:
    """Return a published turn, given the numbers of its words in the novel and how many words it has."""
    quoted = Counter(novel.owner[place] for place in places if place in novel.owner)
    speakers: Counter[str] = Counter()
    for number, count in quoted.items():
        speaker = novel.quotations[number].speaker
        if speaker and (count > 1 or count == len(novel.quotations[number].words)):
            speakers[speaker] += count
    return _Turn(words, quoted, named, speakers)


def _count_errors(novel: Novel, turns: Sequence[_Turn], figures: Figures) -> None:
    wrong = 0
    for turn in turns:
        two, silent = len(turn.speakers) > 1, turn.quoted.total() < (1 - NO_SPEECH) * turn.words
        figures.add("two speakers", two)
        figures.add("no speech", silent)
        figures.add("named", turn.named is not None)
        if turn.named is not None and turn.speaker is not None:
            figures.add("correct", novel.names(turn.named, turn.speaker))
            kind = novel.quotations[turn.quoted.most_common(1)[0][0]].kind
            if kind in KINDS:
                figures.add(f"correct, {kind.lower()}", novel.names(turn.named, turn.speaker))
        wrong += two + silent
    for before, after in zip(turns, turns[1:], strict=False):
        if before.speaker and after.speaker:
            figures.add("false boundaries", before.speaker == after.speaker)
            wrong += before.speaker == after.speaker
    figures.add("right", not wrong)
    if len(turns) >= 4:
        figures.add("right of four turns", not wrong)
    figures.counts["dialogues"] += 1
    figures.counts["turns"] += len(turns)


def published(novels: Iterable[Novel], recipe: str, settings: Sequence[str]) -> dict[str, list[list[dict[str, Any]]]]:
    """Return the dialogues of each novel that a recipe publishes, in order of the text."""
    found: dict[str, list[tuple[int, list[dict[str, Any]]]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        sources = [_named(novel, Path(folder, "in")) for novel in novels]
        out = Path(folder, "out")
        made = edos_dataset.books(sources, out, recipe=recipe, settings=settings, labels=False, progress=False)
        data = made.load()
        for split in SPLITS:
            for row in data.get(split, ()):
                name, number = row["dialogue_id"].rsplit("#", 1)
                found[Path(name).stem].append((int(number), row["turns"]))
    return {name: [turns for _, turns in sorted(rows, key=lambda row: row[0])] for name, rows in found.items()}


def _named(novel: Novel, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{novel.name}.txt"
    path.symlink_to(novel.path)
    return path


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="novels of the Project Dialogism Novel Corpus")
    parser.add_argument("--run", action="append", help="a recipe of `edos books` and settings of its parameters")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    novels = [Novel.load(path.parent) for path in sorted(given.folder.glob("*/quotation_info.csv"))]
    rows = {}
    for run in given.run or ["default", "papers"]:
        recipe, *settings = run.split()
        figures, found = Figures(), published(novels, recipe, settings)
        for novel in novels:
            measure(novel, found.get(novel.name, []), figures)
        rows[run] = {
            **figures.row(),
            **{name: figures.counts[name] for name in ("dialogues", "turns")},
        }
    _show(rows)
    result = {"date": str(date.today()), "command": command_line(), "machine": describe_machine()}
    write_result(given.out, {**result, "note": SEEN, "novels": [novel.name for novel in novels], "percent": rows})


def _show(rows: Mapping[str, Mapping[str, Any]]) -> None:
    table = Table("", *rows)
    for name in dict.fromkeys(name for row in rows.values() for name in row):
        table.add_row(name, *(str(row.get(name, "")) for row in rows.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
