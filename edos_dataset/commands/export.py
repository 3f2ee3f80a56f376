"""Dialogues in the forms that other programs read: chats for training, tables, subtitles, and speech."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from edos_dataset.commands.line_runs import kept_source, target_file
from edos_dataset.commands.options import Result, UsageError, verb
from edos_dataset.commands.progress import Say, steps
from edos_dataset.exports.captions import SUBTITLES, Marks
from edos_dataset.exports.datasets import VIEWS, card_of, write_views
from edos_dataset.exports.dialogues import Source, source_of
from edos_dataset.exports.documents import Subtitles, Written, written
from edos_dataset.exports.films import Files, Film, films_of
from edos_dataset.exports.ssml import EMOTIONS, TAIL, Speech, cast_of
from edos_dataset.exports.tables import FORMS, Settings, check_template, file_format, write_table
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.writers import check_writable
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.folder import FolderError, OutputFolder, check_out_file
from edos_dataset.runs.shards import replacing, temporary_beside
from edos_dataset.runs.stores.paths import RemotePath, place_of

SSML = "ssml"
TARGETS = (*FORMS, *SUBTITLES, SSML)
"""The forms by their names on the command line."""

MARKS = ("both", "label", "speaker")
"""What subtitles are marked with."""

SPLIT = "{split}"
_SUFFIXES = {SSML: (".ssml", ".xml"), **{name: (f".{name}",) for name in SUBTITLES}}


class _Count(NamedTuple):
    """A file that was written, and its numbers of dialogues and of rows or turns."""

    path: str
    dialogues: int
    rows: int


@verb
def export(
    run: str | Path,
    *,
    to: str,
    out: str | Path,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    min_certainty: float | None = None,
    system: str | None = None,
    source: str | Path | None = None,
    mark: str = MARKS[0],
    voice: Sequence[str] = (),
    emotion: str = EMOTIONS[0],
    out_encoding: str | None = None,
    force: bool = False,
    progress: bool | Say | None = None,
) -> Result:
    """Write dialogues in a form that other programs read.

    Memory does not grow with the number of dialogues, except for a workbook (.xlsx).

    Args:
        run: a folder that this package wrote, a file of `label` or `segment` or any other file of dialogues, a saved
            dataset, or one on the Hub, "NAMESPACE/NAME".
        to: "messages" or "sharegpt", a row for each chat; "pairs" or "flat", a row for each labelled turn with those
            before it; "csv" or "parquet", a row for each turn; "script", a row for each speech and each
            piece of narration of a book; "srt", "vtt" or "ass", a file for each film; "ssml".
        out: output file, whose suffix says its format, and which has all splits, with a column `split`; "{split}" in
            its name makes one file for each split; "-" is standard output. For subtitles and SSML of several films, a
            folder.
        config: config of a folder or of a dataset on the Hub; by default its first one, and for books those of all
            languages.
        split: split of it; by default all.
        revision: tag, branch or commit of the Hub's dataset.
        min_certainty: cut dialogues where the boundary before a turn has a smaller certainty, 0 to 1, and leave out the
            turns that are then alone. Where turns have no certainty, leave out dialogues with a smaller one.
        system: system prompt of each chat, a template with `{label}` and `{speaker}` of the last answer.
        source: the file, folder or archive that was curated, for subtitles: its files are marked. By default the files
            are looked for in the current folder, by the paths in the dataset; without a file, the turns are its blocks.
        mark: what subtitles are marked with: "both", "label" or "speaker".
        voice: names of voices for SSML, which the speakers of a film get by turns; by default their own names. One in
            the form "SPEAKER=NAME" is the voice of this speaker, or of the narrator of books ("narrator=NAME").
        emotion: how SSML says emotions: "express-as", "prosody" or "none".
        out_encoding: "utf-8", the default, or "utf-8-sig", which Excel needs to show umlauts in a CSV file.
        force: replace existing files.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.

    Returns:
        `source`, `to`, `files` (those written), `dialogues` (of several views, those of the largest), `rows` (or turns,
        of all files), `counts` (file → its dialogues and rows), and `left_out` (what was left out → number). Without
        anything to write, no file is written.

    Raises:
        ValueError: there is no such source, config, split or form, or it cannot be written to such a file.
        FolderError: `out` exists.
    """
    voices = (voice,) if isinstance(voice, str) else tuple(voice)
    wish = _Wish(to.split(","), str(out), system, source, mark, voices, emotion, out_encoding, force)
    wish.check()
    if not wish.is_printed:
        check_apart(out, [run])
    left_out: Counter[str] = Counter()
    with kept_source(run, Selection(), True) as (place, meant):
        given = source_of(place, config, split, revision, min_certainty, meant.called)
        if system is not None:
            check_template(system, given.shape, given.name)
        with steps(progress, f"exporting {given.name}"):
            counts = list(_write(given, wish, card_of(place_of(run)), left_out))
    done = {
        "source": given.name,
        "to": to,
        "files": [count.path for count in counts],
        "dialogues": (max if wish.is_dataset else sum)([count.dialogues for count in counts] or [0]),
        "rows": sum(count.rows for count in counts),
        "counts": {count.path: {"dialogues": count.dialogues, "rows": count.rows} for count in counts},
        "left_out": dict(left_out),
    }
    return Result(
        "export", done, None if wish.is_printed else place_of(out), {name: done[name] for name in ("dialogues", "rows")}
    )


@dataclass(frozen=True)
class _Wish:
    """What a user wants, as the parameters of `export`; `to` are the names of forms."""

    to: Sequence[str]
    out: str
    system: str | None
    source: str | Path | None
    mark: str
    voices: Sequence[str]
    emotion: str
    encoding: str | None
    force: bool

    @property
    def is_printed(self) -> bool:
        """Whether the output is standard output."""
        return self.out == "-"

    @property
    def is_dataset(self) -> bool:
        """Whether the output is a folder of views."""
        return set(self.to) <= set(VIEWS) and not self.is_printed and not Path(self.out).suffix

    @property
    def kind(self) -> str:
        """Format of a file of rows."""
        return file_format(self.out, self.to[0])

    def check(self) -> None:
        """Raise UsageError for settings that are unknown, or that a form does not have."""
        chosen = [("mark", self.mark, MARKS), ("emotion", self.emotion, EMOTIONS)]
        for name, value, known in (*chosen, *(("to", name, TARGETS) for name in self.to)):
            if value not in known:
                raise UsageError(f"unknown --{name} {value!r}: expected one of {', '.join(known)}")
        if len(self.to) > 1 and not self.is_dataset:
            raise UsageError(
                f"--to {','.join(self.to)}: several are for {', '.join(VIEWS)} and a folder, but --out is {self.out}"
            )
        of_chats, of_speech = ("messages", "sharegpt"), (SSML,)
        for name, is_given, forms in (
            ("system", self.system is not None, of_chats),
            ("source", self.source is not None, SUBTITLES),
            ("mark", self.mark != MARKS[0], SUBTITLES),
            ("voice", bool(self.voices), of_speech),
            ("emotion", self.emotion != EMOTIONS[0], of_speech),
        ):
            if is_given and not set(self.to) & set(forms):
                raise UsageError(f"--{name} is for --to {', '.join(forms)}, not for {', '.join(self.to)}: leave it out")
        if self.is_printed and self.to[0] not in FORMS:
            raise UsageError(f"--out -: --to {self.to[0]} is written to a file or folder: give its name")
        is_table = self.to[0] in FORMS and not self.is_dataset
        # An error for a wrong suffix, and for an encoding of anything but CSV.
        check_writable(self.kind if is_table else self.to[0], self.encoding)


def _write(source: Source, wish: _Wish, card: str, left_out: Counter[str]) -> Iterable[_Count]:
    """Write what a user wants, and count what is left out."""
    to, out = wish.to[0], place_of(wish.out)
    if wish.is_dataset:
        return _write_dataset(source, wish, card, left_out)
    if to in FORMS:
        return _write_rows(source, wish, Settings(source.shape, wish.system, wish.encoding, left_out))
    if to == SSML:
        return _write_speech(source, out, Speech(*cast_of(wish.voices), wish.emotion, source.labels), wish.force)
    files = Files(None if wish.source is None else place_of(wish.source), _language(source))
    speaker, label = wish.mark != "label", wish.mark != "speaker"
    make = Subtitles(to, files, lambda: Marks(speaker, label, source.labels), left_out)
    return _write_films(source, to, out, make, wish.force)


def _language(source: Source) -> str:
    first = next(source.dialogues(None), None)
    return (first.language if first is not None else None) or "en"


class _NothingError(Exception):
    """A file would be empty: it is not written."""


def _write_rows(source: Source, wish: _Wish, settings: Settings) -> Iterator[_Count]:
    """Write one file, or one for each split; yield each that has rows."""
    out = wish.out
    splits: tuple[str | None, ...] = (None,)
    if SPLIT in out:
        splits = source.shape.splits
        if not splits:
            raise ValueError(f"--out {out}: {source.name} has no splits; give a name without {SPLIT}")
    for split in splits:
        name = out if split is None else out.replace(SPLIT, split)
        with suppress(_NothingError), _replaced(name, wish.force) as target:
            packed = name.endswith(".gz")
            counts = write_table(target, FORMS[wish.to[0]], wish.kind, source.dialogues(split), settings, packed)
            if not counts[1]:
                raise _NothingError
            yield _Count(name, *counts)


def _write_dataset(source: Source, wish: _Wish, card: str, left_out: Counter[str]) -> list[_Count]:
    out = place_of(wish.out)
    _check_empty(out, wish.force)
    with OutputFolder(out, "export", force=wish.force) as folder:
        views = write_views(source, wish.to, folder.prepare(), card, wish.system)
        if views:
            folder.commit()
        else:
            folder.discard()
    for view in views:
        left_out.update(view.left_out)
    return [_Count(str(out / view.name), view.dialogues, sum(view.rows.values())) for view in views]


@contextmanager
def _replaced(out: str, force: bool) -> Iterator[Path]:
    """Yield a temporary file, which becomes the output when it is complete."""
    if out == "-":
        with target_file(out) as temporary:
            yield temporary
    else:
        with replacing(check_out_file(place_of(out), ", or - for standard output", force)) as temporary:
            yield temporary


def _write_speech(source: Source, out: Path, speech: Speech, force: bool) -> Iterator[_Count]:
    if out.suffix.lower() not in _SUFFIXES[SSML]:
        yield from _write_folder(written(films_of(source), speech.document, ".ssml"), out, force)
        return
    dialogues = turns = 0
    with suppress(_NothingError), _replaced(str(out), force) as target, target.open("w", encoding="utf-8") as file:
        for film in films_of(source):
            if not dialogues:
                file.write(f"{speech.head(film.language)}\n")
            file.writelines(f"{line}\n" for line in speech.body(film))
            dialogues += len(film.dialogues)
            turns += sum(len(dialogue.turns) for dialogue in film.dialogues)
        if not dialogues:
            raise _NothingError
        file.write(TAIL)
        yield _Count(str(out), dialogues, turns)


def _write_films(
    source: Source, to: str, out: Path, make: Callable[[Film], str | None], force: bool
) -> Iterator[_Count]:
    films = written(films_of(source), make, f".{to}")
    if out.suffix.lower() not in _SUFFIXES[to]:
        yield from _write_folder(films, out, force)
        return
    first = list(islice(films, 2))
    if len(first) > 1:
        raise ValueError(f"--out {out}: {source.name} has several films; give the name of a folder")
    for film in first:
        with _replaced(str(out), force) as target:
            target.write_bytes(film.text.encode())
        yield _Count(str(out), film.dialogues, film.turns)


def _write_folder(files: Iterator[Written], out: Path, force: bool) -> Iterator[_Count]:
    """Write files below a folder, which gets them when all are complete."""
    first = next(files, None)
    if first is None:
        return
    _check_empty(out, force)
    with _filled(out) as place:
        for file in chain([first], files):
            target = place / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as temporary:
                temporary.write_bytes(file.text.encode())
            yield _Count(str(out / file.path), file.dialogues, file.turns)


def _check_empty(out: Path, force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise FolderError(f"{out} is a file: give the name of a folder as --out")
    if out.is_dir() and not force and any(out.iterdir()):
        raise FolderError(f"{out} is not empty: give another --out, or --force to replace what it holds of these files")


@contextmanager
def _filled(out: Path) -> Iterator[Path]:
    """Yield a folder whose files get into another one on exit; after an error none does."""
    if isinstance(out, RemotePath):
        yield out
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(out.resolve())
    try:
        yield temporary
        for folder, _, names in os.walk(temporary):
            goal = out / Path(folder).relative_to(temporary)
            goal.mkdir(parents=True, exist_ok=True)
            for name in names:
                (Path(folder) / name).replace(goal / name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
