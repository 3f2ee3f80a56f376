"""Turns that nobody labelled, for the fast labeler to learn from beside the labelled sets: of conversations, of the
authors' extended labels, and of whole subtitles.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.rules import tidy_turns
from edos_dataset.releases.conversations import read_conversations
from edos_dataset.releases.raw import Reject, read_extension
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.speakers import read_cues
from training.classifier.sources import CONVERSATIONS
from training.turns.scripts import Script, script_lines, split_lines
from training.turns.sources import read_subtitles, read_text

SUBTITLES = {
    "edos_amt/similar_dialogs.csv": "spread",
    "edos_amt/self_labeled_dialogs.csv": "self-label",
    "edos_amt/similar_self_labeled_dialogs.csv": "spread",
}
"""The EDOS authors' extended labels: file → how its labels were found."""


class Unlabelled(NamedTuple):
    """A source of turns.

    Attributes:
        files: patterns of its files below the data folder.
        read: yields the turns of these files.
    """

    files: tuple[str, ...]
    read: Callable[[Path, Sequence[Path]], Iterator[str]]


def _conversations(folder: Path, files: Sequence[Path]) -> Iterator[str]:
    """Yield the situations and turns of conversations."""
    for path in files:
        for row in read_conversations(path, annotated=False):
            if not isinstance(row, Reject):
                yield from [row["situation"]] if row["situation"] else []
                yield from (turn["text"] for turn in row["turns"])


def _extended(folder: Path, files: Sequence[Path]) -> Iterator[str]:
    """Yield the turns of dialogues that the authors' methods labelled."""
    for path in files:
        for row in read_extension(path, SUBTITLES[path.relative_to(folder).as_posix()]):
            if not isinstance(row, Reject):
                yield from (turn["text"] for turn in row["turns"])


def _subtitles(folder: Path, files: Sequence[Path]) -> Iterator[str]:
    """Yield the turns of subtitles, as a run parts them."""
    for parent in sorted({path.parent for path in files}):  # folders may hold files of the same names
        yield from _turns(read_subtitles([path for path in files if path.parent == parent]))


def _cues(folder: Path, files: Sequence[Path]) -> Iterator[str]:
    """Yield the turns of timed cues, parted as those of subtitles are; their speakers are often wrong."""
    cues = {path.name: read_cues(read_text(path)).cues for path in files}
    yield from _turns(script_lines([Script(name, name, [[cue] for cue in own]) for name, own in cues.items() if own]))


def _turns(lines: pa.Table) -> Iterator[str]:
    """Yield the turns of LINES."""
    turns, _ = unnest(SegmentTurns()(split_lines(lines)[1]), "turns")
    yield from tidy_turns(turns.field("text")).to_pylist()


UNLABELLED = {
    "conversations": Unlabelled(CONVERSATIONS, _conversations),
    "extended": Unlabelled(tuple(SUBTITLES), _extended),
    "frasier": Unlabelled(("frasier/subtitles/0[1-5]/*.srt",), _subtitles),
    "friends": Unlabelled(("noisy_srt/friends/**/[Ff]riends.[Ss]0[12][Ee]*.srt",), _subtitles),
    "sitcoms": Unlabelled(("sitcom_speakers/*.merged",), _cues),
}
"""Name → source. Of series whose later seasons judge labelers (`evaluation/judged_turns.py`) the first ones alone."""


def read_unlabelled(name: str, folder: Path) -> tuple[list[str], list[Path]]:
    """Return the turns of a source of `UNLABELLED`, in the order of its files, and these.

    Raises:
        ValueError: none of its files is there.
    """
    source = UNLABELLED[name]
    files = [path for pattern in source.files for path in sorted(folder.glob(pattern)) if path.is_file()]
    if not files:
        raise ValueError(f"{folder} has nothing of the source {name!r}: expected {', '.join(source.files)}")
    return [*source.read(folder, files)], files
