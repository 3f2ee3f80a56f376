"""The files that dialog-eval works on: a text a line, and vectors of words."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Doubles
from edos_dataset.text import shown


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 text, each without what ends it; empty ones count, what else Unicode calls a line
    break parts none.

    Raises:
        ValueError: it cannot be read or is no UTF-8.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        hint = "give its files, one by one" if path.is_dir() else "give the path of a text file, a text a line"
        raise ValueError(f"{path} cannot be read: {error.strerror or error}; {hint}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: no UTF-8 ({error.reason}); save the file as UTF-8") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_vectors(path: str | Path, wanted: Collection[str] | None = None) -> dict[str, Doubles]:
    """Read a file of word vectors as GloVe and fastText write it: a word a line, then its numbers, parted by white
    space; a first line with two whole numbers (words and dimensions) is passed over, as are empty lines and words that
    hold white space. The last line of a word counts.

    Args:
        path: the file.
        wanted: words to keep, which saves memory; all by default. All lines are checked.

    Returns:
        Word → float64 [dimensions].

    Raises:
        ValueError: it cannot be read or is malformed; the message names file and line.
    """
    vectors: dict[str, Doubles] = {}
    dimensions = 0
    for number, fields in _fields(Path(path)):
        where = f"{path}, line {number}"
        if not dimensions:
            dimensions = len(fields) - 1
        if not dimensions or len(fields) <= dimensions:
            raise ValueError(
                f"{where}: {len(fields) - 1} numbers behind the word {shown(fields[0])}, not {dimensions or 'one'} as "
                "before: give a file with a word and its vector a line, all of one length"
            )
        values = _numbers(fields[-dimensions:], where)
        if len(fields) > dimensions + 1:
            if all(map(_is_number, fields[1:-dimensions])):
                raise ValueError(
                    f"{where}: {len(fields) - 1} numbers behind the word {shown(fields[0])}, not {dimensions} as "
                    "before: give a file whose vectors are all of one length"
                )
            continue  # such a word meets none that white space parts
        if wanted is None or fields[0] in wanted:
            vectors[fields[0]] = values
    if not dimensions:
        raise ValueError(f"{path} holds no vectors: give a file with a word and its vector a line")
    return vectors


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, fields) of the lines that hold any, without a header."""
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                fields = line.split()
                header = number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields)
                if fields and not header:
                    yield number, fields
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}; give a file of word vectors") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, below line {number}: no UTF-8 ({error.reason}); save the file as UTF-8") from error


def _numbers(fields: Sequence[str], where: str) -> Doubles:
    try:
        values = np.array(list(map(float, fields)))
    except ValueError:
        wrong = next(field for field in fields if not _is_number(field))
        raise ValueError(
            f"{where}: {shown(wrong)} is no number: give a file with a word and its vector a line"
        ) from None
    if not np.isfinite(values).all():
        raise ValueError(f"{where}: a number of the vector is not finite: leave the word out")
    return values


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
