"""The writer's own word: speeches of screenplays whose writer noted how they are said, with the labels that the note
names.

A note such as "(furious)" is put into labels by the lexicon in `training/notes/lexicon.yaml`. The speech is read with
the three before it in its scene, and never contains the note.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from edos_dataset.labels import parse_label
from edos_dataset.runs.untrusted import read_yaml

SCRIPTS = "film_scripts"
LEXICON = Path(__file__).with_name("notes") / "lexicon.yaml"
MOST_WORDS = 3
"""Maximum number of words of a note: a longer one tells what happens rather than how the speech is said."""

TURNS = 4
"""Number of turns that are read, the speech included."""

ONE_IN = 8
"""One in this many screenplays is held out."""

_UNSAID = frozenset(["not", "no", "mock", "feigning", "feigned", "fake", "pretending", "less", "never", "almost"])
"""Words that deny what follows them: "not amused", "mock surprise"."""


@dataclass(frozen=True)
class Noted:
    """A speech with the labels that its note names.

    Attributes:
        film: file name of the screenplay, without its suffix.
        line: line of the file, from 1.
        turns: the speech and up to three before it in its scene, oldest first.
        note: the note.
        shares: label id → share; they sum to 1.
    """

    film: str
    line: int
    turns: tuple[str, ...]
    note: str
    shares: Mapping[int, float]


def held_out_script(film: str) -> bool:
    """Return whether a screenplay is held out from training: one in eight, by the digest of its name."""
    return sha256(f"{SCRIPTS}\0{film}".encode()).digest()[-1] % ONE_IN == 0


@cache
def read_lexicon(path: Path = LEXICON) -> Mapping[str, tuple[int, ...]]:
    """Return the ids of the labels that each word or phrase stands for."""
    by_label: dict[str, list[str]] = read_yaml(path)
    found: dict[str, list[int]] = {}
    for name, words in by_label.items():
        for word in words:
            found.setdefault(word, []).append(parse_label(name))
    return {word: tuple(labels) for word, labels in found.items()}


def shares_of_note(note: str, lexicon: Mapping[str, tuple[int, ...]]) -> dict[int, float]:
    """Return the labels that a note names, with shares that sum to 1; none if it is too long, denies a feeling, or
    names none. Several words share equally, as do the labels of a word.
    """
    words = re.findall(r"[a-z][a-z-]*", note.lower())
    if not 0 < len(words) <= MOST_WORDS or not _UNSAID.isdisjoint(words):
        return {}
    pairs = [" ".join(pair) for pair in zip(words, words[1:], strict=False)]
    named = [lexicon[word] for word in (*words, *pairs) if word in lexicon]
    shares: dict[int, float] = {}
    for labels in named:
        for label in labels:
            shares[label] = shares.get(label, 0.0) + 1 / (len(labels) * len(named))
    return shares


def read_notes(folder: Path, held_out: bool) -> Iterator[Noted]:
    """Yield the speeches whose note names a label, of the screenplays that are held out or of the others.

    Args:
        folder: the data folder; it has `film_scripts/*.tsv`: scene, speaker, note and text, separated by tabs.
        held_out: which of the two.

    Raises:
        ValueError: there are no screenplays, or a line has not four columns.
    """
    paths = sorted((folder / SCRIPTS).glob("*.tsv"))
    if not paths:
        raise ValueError(f"{folder / SCRIPTS} has no screenplays (*.tsv): name the folder that holds {SCRIPTS}")
    for path in paths:
        if held_out_script(path.stem) == held_out:
            yield from _notes_of(path)


def _notes_of(path: Path) -> Iterator[Noted]:
    lexicon = read_lexicon()
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(enumerate(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), 1))
    if strange := next((line for line, row in rows if len(row) != 4), None):
        raise ValueError(f"{path}, line {strange}: expected scene, speaker, note and text, separated by tabs")
    for _, scene in groupby(rows, lambda numbered: numbered[1][0]):
        said: list[str] = []
        for line, (_, _, note, text) in scene:
            if not text.strip():
                continue
            said.append(text.strip())
            if shares := shares_of_note(note, lexicon):
                yield Noted(path.stem, line, tuple(said[-TURNS:]), note, shares)
