"""Several files of dialogues, or a folder of them, read as one source whose ids name the file."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from glob import has_magic
from pathlib import Path, PurePath
from typing import Any

from edos_dataset.releases.formats.columns import Columns, columns_of
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.forms import form_by_name
from edos_dataset.releases.formats.readers import STDIN
from edos_dataset.releases.formats.records import Dialogue, Record
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.sources import check_source, is_saved, read_given, read_records
from edos_dataset.runs.folder import configs_in
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.sources.chats import is_of_an_export
from edos_dataset.sources.formats import formats_by_suffix, split_suffix
from edos_dataset.sources.given import sources_of
from edos_dataset.wording import counted

_FILE = ("file", "source_file", "edos_file")
"""Names of the column with the file in a table; the first one that no file has."""
_MOST = 5
_SPEAKER = "speaker"


@dataclass(frozen=True)
class SeveralFiles:
    """Files of dialogues.

    Attributes:
        files: name → path; a name is unique, and short enough for ids.
        skipped: suffix → number of files in folders whose suffix is that of no form.
    """

    files: dict[str, str]
    skipped: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return counted(len(self.files), "files")

    def dialogues(self, meant: Selection, findings: Findings) -> Iterator[Dialogue]:
        """Yield the dialogues of all files, with ids such as `chats/ben.txt#1`.

        Every file is read once before the first dialogue, so that all faults are found before anything is labelled.

        Raises:
            ValueError: files have no dialogues, or something else among them, and bad ones are not to be left out.
        """
        found = self._surveyed(meant, findings)
        speakers = _speaker_columns(found, meant)
        start = 0
        for name, own in found.items():
            for dialogue in read_given(self.files[name], replace(meant, speaker_column=speakers[name])):
                rows = None if dialogue.rows is None else [start + row for row in dialogue.rows]
                yield dialogue._replace(id=_id_in(dialogue.id, name), rows=rows)
            start += own.records

    def records(self, meant: Selection, findings: Findings) -> Iterator[Record]:
        """Yield the records of the files that `dialogues` read, with their file in the first column of `findings`."""
        column = next(iter(findings.names))
        for name in findings.files:
            renamed = findings.renamed.get(name, {})
            for record in read_records(self.files[name], meant):
                value = {renamed.get(key, key): cell for key, cell in record.value.items()} if renamed else record.value
                yield record._replace(value={column: name, **value})

    def _surveyed(self, meant: Selection, findings: Findings) -> dict[str, Findings]:
        """Return the findings about each file that has dialogues, and add them to those about all."""
        found: dict[str, Findings] = {}
        faults: dict[str, str] = {}
        for name, path in self.files.items():
            own = Findings()
            try:
                next(read_given(path, meant, own))
                found[name] = own
            except ValueError as error:
                faults[name] = str(error)
        _check(faults, len(self.files), meant.skip_bad)
        if self.skipped:
            kinds = ", ".join(
                f"{count:,} {suffix or 'without a suffix'}" for suffix, count in self.skipped.most_common()
            )
            findings.remarks.append(f"{counted(len(self.files), 'files')} read; not those of other forms: {kinds}")
        if faults:
            findings.bad["file"] += len(faults)
            findings.warnings.append(f"{counted(len(faults), 'files')} left out: {_some(list(faults.values()), '; ')}")
        findings.renamed = _same_columns(found, meant)
        _merge(found, findings)
        return found


def files_in(given: Any) -> Any:  # noqa: ANN401 - what a user gives
    """Return the files in a list of paths, in a folder or that match a pattern as `SeveralFiles`; anything else, such
    as one file, a folder of this package or data in memory, is returned as it is.

    Raises:
        ValueError: a path does not exist, or something in a list is no file.
    """
    if isinstance(given, str | Path):
        listed = [given]
    elif _are_paths(given):
        listed = list(given)
    else:
        return given
    if len(listed) == 1 and _is_one(listed[0]):
        return listed[0]
    files: dict[str, str] = {}
    skipped: Counter[str] = Counter()
    for source in sources_of(listed):
        check_source(source.written)
        place = place_of(source.location)
        if place.is_dir():
            if _is_one(place):
                raise ValueError(f"{source.written} is a data set, which is labelled by itself: give it alone")
            _gather(place, f"{place.name}/" * (len(listed) > 1), files, skipped)
        elif place.exists():
            name = source.name or place.name
            files[name if files.get(name, source.location) == source.location else source.location] = source.location
        else:
            raise ValueError(f"{source.written} cannot be read beside others: give files and folders, or it alone")
    if not files:
        return listed[0] if len(listed) == 1 else given
    return SeveralFiles(files, skipped)


def is_folder_of_files(folder: Path) -> bool:
    """Return whether a folder has files of dialogues, and is neither one of this package nor a saved data set."""
    with suppress(ValueError):  # an unfinished folder of this package
        return isinstance(files_in(folder), SeveralFiles)
    return False


def _are_paths(given: Any) -> bool:  # noqa: ANN401
    """Return whether something is a list of paths; texts are paths if all of them exist."""
    if not isinstance(given, list | tuple) or not given:
        return False
    if any(isinstance(each, Path) for each in given):
        return all(isinstance(each, str | Path) for each in given)
    return all(isinstance(each, str) and len(each) < 1_000 and place_of(each).exists() for each in given)


def _is_one(path: str | Path) -> bool:
    """Return whether a source is neither a folder of files nor a pattern of them."""
    if str(path) == STDIN:
        return True
    place = place_of(path)
    if not place.is_dir():
        return place.exists() or not has_magic(str(path))
    return is_saved(place) or bool(configs_in(place))


def _gather(folder: Path, above: str, files: dict[str, str], skipped: Counter[str]) -> None:
    """Add the files in a folder and those below it; hidden ones are not looked at."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in inside:
        relative = path.relative_to(folder)
        if any(part.startswith(".") for part in relative.parts):
            continue
        if is_of_an_export(path):
            skipped[path.suffix.lower()] += 1
        elif form_by_name(path.name) or split_suffix(path.name)[1] in formats_by_suffix():
            files[above + relative.as_posix()] = str(path)
        else:
            skipped[path.suffix.lower()] += 1


def _id_in(id_: str, name: str) -> str:
    """Return the id of a dialogue with its file, which it may begin with already."""
    base = PurePath(name).name
    for own in (base, os.path.splitext(base.removesuffix(".gz"))[0]):
        if id_.startswith(f"{own}#"):
            return name + id_[len(own) :]
    return f"{name}#{id_}"


def _check(faults: dict[str, str], files: int, skip: bool) -> None:
    if faults and (not skip or len(faults) == files):
        shown = _some(list(faults.values()), "\n  ")
        left = "" if skip else "; correct them, or give --skip-bad to leave them out"
        raise ValueError(f"{len(faults):,} of {counted(files, 'files')} cannot be used{left}:\n  {shown}")


def _some(texts: Sequence[str], between: str) -> str:
    more = f"{between}and {len(texts) - _MOST:,} more" if len(texts) > _MOST else ""
    return between.join(texts[:_MOST]) + more


def _speaker_columns(found: dict[str, Findings], meant: Selection) -> dict[str, str | None]:
    """Return for each file the column that becomes `speaker`, None where speakers keep the name of their column: where
    all files have the same one. Files of whole dialogues, such as chats, have the name `speaker`.
    """
    if meant.speaker_column is not None:
        return dict.fromkeys(found, meant.speaker_column)
    own = {name: columns_of(tuple(of.names), meant).speaker for name, of in found.items() if of.has_rows}
    if len({own.get(name, _SPEAKER) for name in found} - {None}) < 2:
        return dict.fromkeys(found)
    return {name: column if (column := own.get(name)) != _SPEAKER else None for name in found}


def _same_columns(found: dict[str, Findings], meant: Selection) -> dict[str, dict[str, str]]:
    """Return for each table its columns of ids, speakers and texts that the first table with such a column calls
    otherwise, with that name: the tables become one, in which they are one column.
    """
    first: dict[str, str] = {}
    renamed: dict[str, dict[str, str]] = {}
    for name, own in found.items():
        columns = columns_of(tuple(own.names), meant) if own.has_rows else Columns()
        for meaning in ("id", "speaker", "text"):
            column: str | None = getattr(columns, meaning)
            if column is not None and first.setdefault(meaning, column) not in own.names:
                renamed.setdefault(name, {})[column] = first[meaning]
    return renamed


def _merge(found: dict[str, Findings], into: Findings) -> None:
    """Add the findings about several files to those about all of them."""
    first = next(iter(found.values()))
    names = dict.fromkeys(
        into.renamed.get(file, {}).get(name, name) for file, own in found.items() for name in own.names
    )
    into.files = list(found)
    into.has_rows = all(own.has_rows for own in found.values())
    into.names = {next(name for name in _FILE if name not in names): None, **names}
    into.delimiter, into.encoding = first.delimiter, first.encoding
    into.form = first.form if len({own.form for own in found.values()}) == 1 else ""
    for own in found.values():
        into.bad += own.bad
        into.left_out += own.left_out
    for kind in ("remarks", "warnings"):
        places: dict[str, list[str]] = {}
        for name, own in found.items():
            for sentence in getattr(own, kind):
                places.setdefault(sentence, []).append(name)
        getattr(into, kind).extend(
            sentence if len(where) == len(found) else f"{_some(where, ', ')}: {sentence}"
            for sentence, where in places.items()
        )
