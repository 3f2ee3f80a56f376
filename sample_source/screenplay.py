"""Screenplays: the plain text from which every file of the sample is rendered."""

import re
import zlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Speech:
    """One turn: who speaks, how (the stage word, such as "crying"), and what is said."""

    speaker: str
    stage: str | None
    text: str


@dataclass(frozen=True)
class Pause:
    """Silence inside a scene, in seconds."""

    seconds: float


@dataclass(frozen=True)
class Insert:
    """A subtitle that nobody speaks: a sound, music, a sign, a credit."""

    text: str


Scene = tuple[Speech | Pause | Insert, ...]


@dataclass(frozen=True)
class Screenplay:
    """A film as written; `number` is that of its file name."""

    number: int
    slug: str
    title: str
    year: int
    imdb: str
    genres: tuple[str, ...]
    language: str
    scenes: tuple[Scene, ...]


_SPEECH = re.compile(r"([^\W\d_][\w .'-]*): (?:\(([^)]*)\) )?(\S.*)")


def parse_screenplay(path: Path) -> Screenplay:
    """Read a screenplay.

    Raises:
        ValueError: a header is missing, or a line is of no known kind; names file and line.
    """
    header: dict[str, str] = {}
    scenes: list[list[Speech | Pause | Insert]] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        line = line.strip()
        if line == "SCENE":
            scenes.append([])
        elif line and not scenes:
            key, _, value = line.partition(":")
            header[key] = value.strip()
        elif line:
            scenes[-1].append(_parse_item(line, f"{path}:{number}"))
    missing = {"title", "year", "imdb", "genres", "language"} - set(header)
    if missing:
        raise ValueError(f"{path}: header without {', '.join(sorted(missing))}")
    film, _, slug = path.stem.partition("-")
    return Screenplay(
        number=int(film),
        slug=slug,
        title=header["title"],
        year=int(header["year"]),
        imdb=header["imdb"],
        genres=tuple(genre.strip() for genre in header["genres"].split(",")),
        language=header["language"],
        scenes=tuple(tuple(scene) for scene in scenes),
    )


def _parse_item(line: str, where: str) -> Speech | Pause | Insert:
    if line.startswith("TEXT "):
        return Insert(line.removeprefix("TEXT "))
    if line.startswith("PAUSE "):
        return Pause(float(line.removeprefix("PAUSE ")))
    match = _SPEECH.fullmatch(line)
    if match is None:
        raise ValueError(f"{where}: {line!r} is neither NAME: speech, PAUSE n, TEXT ... nor SCENE")
    return Speech(match[1], match[2], match[3])


def chance(*key: object) -> float:
    """Return a number in [0, 1) that depends on the key alone: the dice of the renderer, equal on every machine."""
    return zlib.crc32(repr(key).encode()) / 2**32
