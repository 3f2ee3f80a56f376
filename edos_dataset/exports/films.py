"""The films and books of a source one after the other, with the files that they came from."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from edos_dataset.arrays import unnest
from edos_dataset.exports.dialogues import Source
from edos_dataset.exports.records import Dialogue
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.formats import formats_by_suffix, split_suffix
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.parsed import Parsed

_MAX_BYTES = 1 << 27


class Film(NamedTuple):
    """A film or book, or another document, with its dialogues.

    Attributes:
        id: Its document id.
        path: Path of its file, from the name of the source that was read on.
        dialogues: Its dialogues, in the order of the source.
    """

    id: str
    path: str
    dialogues: list[Dialogue]

    @property
    def language(self) -> str:
        """Code of the language of its dialogues."""
        return next((dialogue.language for dialogue in self.dialogues if dialogue.language), "en")


def films_of(source: Source, split: str | None = None) -> Iterator[Film]:
    """Yield the films of a source, each once. Memory: the dialogues of one film, for a source that tells films; else
    all dialogues.
    """
    dialogues = source.dialogues(split)
    if "document" not in source.shape.fields:
        gathered: dict[str, list[Dialogue]] = {}
        for dialogue in dialogues:
            gathered.setdefault(_document(dialogue, source.name), []).append(dialogue)
        yield from (Film(name, members[0].path or name, members) for name, members in gathered.items())
        return
    seen: set[str] = set()
    for name, group in groupby(dialogues, key=lambda dialogue: _document(dialogue, source.name)):
        members = list(group)
        if name in seen:
            raise ValueError(f"{source.name}: the dialogues of {name} do not stand together: sort them by document_id")
        seen.add(name)
        yield Film(name, members[0].path or name, members)


def _document(dialogue: Dialogue, name: str) -> str:
    return dialogue.document or dialogue.id.rpartition("#")[0] or PurePosixPath(name).stem


class File(NamedTuple):
    """A file of subtitles.

    Attributes:
        path: Its path.
        location: The file on this machine, or the archive that contains it.
        member: Its name in the archive, or None.
    """

    path: str
    location: str
    member: str | None = None

    @property
    def suffix(self) -> str:
        """Suffix of its name without ".gz", such as ".srt"."""
        return split_suffix(self.path)[1].removesuffix(".gz")

    def content(self) -> bytes:
        """Return its content, unpacked.

        Raises:
            ReadError: It cannot be read.
        """
        return read_bytes(self.location, self.member, _MAX_BYTES)

    def parsed(self, data: bytes, language: str) -> Parsed:
        """Return its lines, as `edos curate` reads them.

        Raises:
            ReadError: It cannot be read.
        """
        known = formats_by_suffix()
        format = known.get(split_suffix(self.path)[1]) or known[".srt"]
        return format.reader(data, language)


class Files:
    """The files that dialogues came from.

    Args:
        given: What `edos curate` read, or None to look for the paths that the dialogues state, in the current folder.
        language: Code of the language of the dialogues.
    """

    def __init__(self, given: Path | None, language: str = "en") -> None:
        self._given = given is not None
        self._by_id: dict[str, File] = {}
        self._by_name: dict[str, list[File]] = {}
        for file in _listed(given, language) if given is not None else ():
            self._by_name.setdefault(PurePosixPath(file[1].path).name, []).append(file[1])
            self._by_id[file[0]] = self._by_id[file[1].path] = file[1]

    def of(self, film: Film) -> File | None:
        """Return the file of a film: with its id or path, else the only one with its name; None if there is none."""
        if not self._given:
            place = place_of(film.path)
            return File(film.path, str(place)) if place.is_file() and not Path(film.path).is_absolute() else None
        if (file := self._by_id.get(film.id) or self._by_id.get(film.path)) is not None:
            return file
        named = self._by_name.get(PurePosixPath(film.path).name, [])
        return named[0] if len(named) == 1 else None


def _listed(given: Path, language: str) -> Iterator[tuple[str, File]]:
    files, _ = unnest(find_films([given], language).films, "files")
    for row in files.to_pylist():
        yield row["document_id"], File(row["path"], os.fsdecode(row["location"]), row["member"])


def safe_path(path: str, suffix: str) -> Path:
    """Return the path of a file below an output folder, without steps that lead out of it."""
    stem, old = split_suffix(path)
    known = stem if old in formats_by_suffix() or old in (".txt", ".html", ".epub") else path
    parts = [part for part in known.split("/") if part not in ("", ".", "..")]
    return Path(*(part.replace("\0", "") for part in parts or ["dialogues"])).with_name(f"{parts[-1]}{suffix}")
