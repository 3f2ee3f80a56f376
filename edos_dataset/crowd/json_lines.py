"""Files of JSON lines, each line an object; what is wrong with one is told by file and line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_objects(path: Path, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, each with its line number, from 1; blank lines are passed over.

    Args:
        path: the file.
        expected: what a line looks like, for the message.

    Raises:
        ValueError: a line is no JSON, or no object.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig"))
                if b"\\u" in line:
                    json.dumps(row, ensure_ascii=False).encode()  # JSON can write half of a surrogate pair, files can't
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: no JSON ({error}); mend or remove the line") from error
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: expected {expected}, got {str(row)[:60]}")
            yield number, row
