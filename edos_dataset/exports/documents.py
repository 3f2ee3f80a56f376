"""Exports with a file for each film or book: subtitles and speech."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from edos_dataset.exports.captions import Marks, annotated, made_of
from edos_dataset.exports.films import Files, Film, safe_path
from edos_dataset.exports.matching import Turns
from edos_dataset.sources.parsed import ReadError

NO_TIMES = "documents without times"
FROM_TURNS = "documents whose file was not found, made of their turns"


class Written(NamedTuple):
    """A file, not yet on disk.

    Attributes:
        path: Its path below the output folder.
        text: Its content.
        dialogues: Number of its dialogues.
        turns: Number of their turns.
    """

    path: Path
    text: str
    dialogues: int
    turns: int


class Subtitles:
    """Makes subtitle files.

    Args:
        to: One of `captions.SUBTITLES`.
        files: The files that the dialogues came from.
        new_marks: Returns what is written beside each block of a film.
        left_out: Counts what is left out, and what else is remarkable.
    """

    def __init__(self, to: str, files: Files, new_marks: Callable[[], Marks], left_out: Counter[str]) -> None:
        self.to, self.files, self.new_marks, self.left_out = to, files, new_marks, left_out

    def __call__(self, film: Film) -> str | None:
        """Return the file of a film; None where neither it nor its turns have times."""
        turns = Turns([turn for dialogue in film.dialogues for turn in dialogue.turns])
        if not turns.timed:
            self.left_out[NO_TIMES] += 1
            return None
        file = self.files.of(film)
        if file is not None:
            try:
                data = file.content()
                read = partial(file.parsed, data, film.language)
                return annotated(data, file.suffix, self.to, turns, self.new_marks(), read)
            except ReadError as error:
                self.left_out[f"documents whose file could not be read ({error.reason}), made of their turns"] += 1
        else:
            self.left_out[FROM_TURNS] += 1
        return made_of(turns, self.to, self.new_marks())


def written(films: Iterator[Film], make: Callable[[Film], str | None], suffix: str) -> Iterator[Written]:
    """Yield the file of each film, each with a name of its own.

    Args:
        films: The films.
        make: Returns the content of a file, or None for none.
        suffix: Suffix of the files.
    """
    taken: set[Path] = set()
    for film in films:
        if (text := make(film)) is None:
            continue
        path = safe_path(film.path, suffix)
        number = 1
        while path in taken:
            number += 1
            path = safe_path(film.path, f"-{number}{suffix}")
        taken.add(path)
        yield Written(path, text, len(film.dialogues), sum(len(dialogue.turns) for dialogue in film.dialogues))
