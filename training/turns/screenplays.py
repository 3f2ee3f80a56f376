"""Screenplays as labelled documents: who speaks is written there, and how the words would be shown is not.

They are laid out as subtitles; neither these times nor these blocks say anything, so training hides them
(`boundaries.hide_layout`).
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from edos_dataset.sources.encodings import decode
from training.transcripts.scripts import Speech
from training.transcripts.speakers import Cue
from training.turns.labels import Script, label_scripts

PAUSE, RATE = 0.1, 15.0
"""Seconds between the cues of a screenplay laid out as subtitles, and letters a second within them."""

HELD_OUT = 15
"""One screenplay in this many is never trained on; see `held_out`."""

_SENTENCE = re.compile(r"(?<=[.!?…])[\"')]*\s+(?=[\"'(]*[A-Z0-9])")
_NOT_NAME = re.compile(r"\(.*?(?:\)|$)|\b(?:CONT'?D?|CONTINUED|CONTINUING|V\.?\s?O\b|O\.?\s?[SC]\b)|[\W_]+")
_LONGEST_NAME = 30  # letters; what is longer was no name but a line of the action


def held_out(title: str) -> bool:
    """Return whether a screenplay is kept for the evaluation, by a hash of its title (the file's name)."""
    return zlib.crc32(title.encode()) % HELD_OUT == 0


def read_screenplays(folder: Path) -> Iterator[tuple[str, list[Speech]]]:
    """Yield title and speeches of each screenplay (`.tsv`: number of the scene, speaker, manner, text), by title."""
    for path in sorted(folder.glob("*.tsv")):
        rows = [line.split("\t") for line in decode(path.read_bytes(), None, "en")[0].splitlines()]
        yield path.stem, [Speech(row[1], row[3], int(row[0]), 0) for row in rows if len(row) == 4]


def lay_out(name: str, speeches: Sequence[Speech]) -> Script:
    """Lay a screenplay out as subtitles: a sentence a cue, one after the other, with equal pauses.

    A name without letters, or one that is a line of the action, is an unknown speaker; notes such as "(V.O.)" belong to
    no name. What a change of scene parts has no known boundary.
    """
    cues: list[Cue] = []
    breaks: list[int] = []
    now = 0.0
    scene: int | None = None
    for speech in speeches:
        speaker = _NOT_NAME.sub("", speech.speaker.upper())
        known = 0 < len(speaker) <= _LONGEST_NAME and ":" not in speech.speaker
        for sentence in filter(None, map(str.strip, _SENTENCE.split(speech.text))):
            if scene != speech.scene:
                breaks.append(len(cues))
                scene = speech.scene
            end = now + max(len(sentence) / RATE, 0.5)
            cues.append(Cue(round(now, 3), round(end, 3), (sentence,), speaker if known else None))
            now = end + PAUSE
    return Script(name, name, [[cue] for cue in cues], breaks=frozenset(breaks))


def label_screenplays(scripts: Mapping[str, Sequence[Speech]]) -> pa.Table:
    """Return screenplays as labelled documents."""
    laid = [lay_out(f"film_scripts/{title}", speeches) for title, speeches in scripts.items()]
    return label_scripts([script for script in laid if script.blocks], "film_scripts")


def read_film_scripts(data_dir: Path) -> pa.Table:
    """Read the screenplays of films that are not held out.

    Args:
        data_dir: contains `film_scripts/*.tsv`.
    """
    return label_screenplays(
        {title: speeches for title, speeches in read_screenplays(data_dir / "film_scripts") if not held_out(title)}
    )
