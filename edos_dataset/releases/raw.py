"""Raw releases, the files of others as their authors gave them: rows are repaired by rule or rejected with a reason,
and a `datasets` builder makes a data set of the rest.

The builders themselves lie in `loading_scripts/`, one class for each release.
"""

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets

from edos_dataset.crowd.answers import read_answers
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.splits import split_turns
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.shards import digest

Row = dict[str, Any]


class Reject(NamedTuple):
    """What a data set leaves out of a release.

    Attributes:
        file: its name.
        line: number of the line on which the row ends, or None where it stands for more than a row.
        reason: `wrong_columns`, `no_id`, `no_text`, `no_answer`, `unknown_label`, `bad_score`, `repeated_id`,
            `unknown_actor` or `missing_turn`.
        detail: the value, or the id, that is to blame.
    """

    file: str
    line: int | None
    reason: str
    detail: str


class RawFiles(NamedTuple):
    """Where the files of a config lie.

    Attributes:
        source: what `edos download` calls them.
        files: split → names of its files, relative to their folder.
        folders: where that may be, relative to the folder given; the first that has the files counts.
    """

    source: str
    files: dict[str, list[str]]
    folders: Sequence[str]


def data_folder(given: str | Path | None) -> Path:
    """Return the folder of raw releases: the one given, or EDOS_DATA_DIR.

    Raises:
        ValueError: neither is there.
    """
    folder = given or os.environ.get("EDOS_DATA_DIR")
    if not folder:
        raise ValueError(
            "no folder of raw releases is given: name it as source or data_dir, or in the environment as EDOS_DATA_DIR"
        )
    if not Path(folder).is_dir():
        raise ValueError(f"{folder} is no folder: give the one that holds the raw release")
    return Path(folder).resolve()


class RawReleaseBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """A builder over the files of a release.

    Its place in the cache depends on the content of the files and on the code that reads them, so a mended file is
    never answered from the cache.

    Args:
        cache_dir: of `datasets`; by default its own.
        data_dir: folder of the release, or the one that holds it under its own name; by default the environment's
            EDOS_DATA_DIR.
        config_name: one of BUILDER_CONFIGS.
        more: as `datasets.DatasetBuilder` takes them.

    Raises:
        ValueError: no folder is given, a file is not there, or the config is unknown.
    """

    def __init__(
        self,
        cache_dir: str | None = None,
        *,
        data_dir: str | Path | None = None,
        config_name: str | None = None,
        **more: Any,  # noqa: ANN401
    ) -> None:
        given = data_folder(data_dir)
        config = config_name or self.DEFAULT_CONFIG_NAME
        if config not in self.builder_configs:
            raise ValueError(f"unknown config {config!r}: expected one of {', '.join(self.builder_configs)}")
        raw = self.raw_files(config)
        names = [name for part in raw.files.values() for name in part]
        folder = next((given / name for name in raw.folders if (given / name / names[0]).is_file()), given)
        self.files = {split: [folder / name for name in part] for split, part in raw.files.items()}
        for path in (folder / name for name in names):
            if not path.is_file():
                raise ValueError(
                    f"{path} is not there: give the folder of the release, with {path.relative_to(folder)} in it, as "
                    "data_dir or EDOS_DATA_DIR, "
                    f"or get it by `edos download {raw.source}`"
                )
        content = {split: [digest(path) for path in paths] for split, paths in self.files.items()}
        more["hash"] = hash_json([code_hash(type(self).__module__), content])
        super().__init__(cache_dir=cache_dir, data_dir=str(folder), config_name=config_name, **more)

    @classmethod
    def raw_files(cls, config: str) -> RawFiles:
        """Return where the files of a config lie."""
        raise NotImplementedError

    def rows(self, path: Path) -> Iterator[Row | Reject]:
        """Yield the rows of a file, in its order, and what is rejected."""
        raise NotImplementedError

    def rejects(self) -> list[Reject]:
        """Return what the data set leaves out; the files are read again."""
        return [
            row for paths in self.files.values() for path in paths for row in self.rows(path) if isinstance(row, Reject)
        ]

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(split, {"paths": paths}) for split, paths in self.files.items()]

    def _generate_examples(self, paths: list[Path]) -> Iterator[tuple[int, Row]]:
        yield from enumerate(row for path in paths for row in self.rows(path) if not isinstance(row, Reject))


def read_crowd(path: Path) -> Iterator[Row | Reject]:
    """Yield the dialogues of the authors' crowd labels, a task a row, as `crowd.answers.read_answers` repairs them.

    Dashes go and the text is detokenised; typed and misspelt answers become labels where they name one; a DialogID that
    comes again is called `ID#2`. `label` is what the file calls agreed, null without a majority.
    """
    answers = read_answers(path)
    given: dict[int, list[Row]] = {}
    for owner, worker, answer in zip(answers.task, answers.worker, answers.given, strict=True):
        given.setdefault(owner, []).append({"worker": worker, "answer": answer, "label": label_of(answer)})
    stated = answers.stated or [""] * len(answers.tasks)
    for number, (task, turns, agreed) in enumerate(zip(answers.tasks, answers.dialogues, stated, strict=True)):
        if not turns or not given.get(number):
            yield Reject(path.name, None, "no_answer" if turns else "no_text", task)
        else:
            yield {"dialogue_id": task, "turns": as_turns(turns), "label": label_of(agreed), "answers": given[number]}


def read_extension(path: Path, method: str) -> Iterator[Row | Reject]:
    """Yield the dialogues of one of the authors' extended files, each with the label of its last turn.

    Columns: `os_dialog_id`, `os_dialog`, `emotion`, and a score from 0 to 1, `cos_sim` (with the seed's id,
    `amt_dialog_id` or `high_dialog_id`) or `confidence`. Names of labels are read without regard to case and by their
    spellings; dashes go, and the text is detokenised.
    """
    score, seeds = ("cos_sim", ("amt_dialog_id", "high_dialog_id")) if method == "spread" else ("confidence", ())
    seen: set[str] = set()
    for line, row in read_csv(path, ("os_dialog_id", "os_dialog", "emotion", score)):
        if isinstance(row, Reject):
            yield row
            continue
        name, turns, label, value = (
            row["os_dialog_id"].strip(),
            split_turns(row["os_dialog"]),
            label_of(row["emotion"]),
            share_of(row[score]),
        )
        faults: dict[str, tuple[bool, str]] = {
            "no_id": (not name, row["os_dialog"][:40]),
            "no_text": (not turns, name),
            "unknown_label": (label is None, row["emotion"]),
            "bad_score": (value is None, row[score]),
            "repeated_id": (name in seen, name),
        }
        if rejects := [Reject(path.name, line, reason, detail) for reason, (bad, detail) in faults.items() if bad]:
            yield rejects[0]
            continue
        seen.add(name)
        seed = next((row[column] for column in seeds if column in row), None)
        scores = {
            "similarity": value if method == "spread" else None,
            "confidence": None if method == "spread" else value,
        }
        yield {
            "dialogue_id": name,
            "turns": as_turns(turns),
            "label": label,
            "method": method,
            "seed_id": seed,
            **scores,
        }


def read_csv(path: Path, columns: Sequence[str], plain: bool = False) -> Iterator[tuple[int, dict[str, str] | Reject]]:
    """Yield the rows of a CSV file with their line numbers; a row with too many or too few values is rejected, its
    first one as the detail.

    Args:
        path: the file.
        columns: it must have.
        plain: quotes mean nothing, and a row may have one value more than the header.

    Raises:
        ValueError: the file is no CSV in UTF-8, or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL)
            header = next(reader, [])
            if lacking := [column for column in columns if column not in header]:
                raise ValueError(
                    f"{path} has no column {lacking[0]!r}: expected {', '.join(columns)}, found "
                    f"{', '.join(header) or 'none'}"
                )
            for row in reader:
                if row and len(row) not in (len(header), len(header) + plain):
                    yield reader.line_num, Reject(path.name, reader.line_num, "wrong_columns", row[0])
                elif row:
                    yield reader.line_num, dict(zip(header, row, strict=False))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no CSV file in UTF-8: {error}") from error


def as_turns(texts: Sequence[str]) -> list[Row]:
    """Return texts as turns of the config "os", without times and sentences."""
    return [{"text": text, "start": None, "end": None, "sentence_ids": []} for text in texts]


def label_of(given: str) -> int | None:
    """Return the id of the label that a text names, None where it names none."""
    label = read_answer(given).label
    return None if label == MISSING else label


def share_of(text: str) -> float | None:
    """Return a number from 0 to 1, None where a text is none. Cosines of equal vectors come out a little above 1 and
    count as 1.
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return min(value, 1.0) if 0 <= value <= 1.0001 else None
