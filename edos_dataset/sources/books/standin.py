"""Stand-in until the readers of books are pulled."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.schema.books import BOOKS, READ_BOOKS
from edos_dataset.schema.tables import DETAIL, REASON
from edos_dataset.sources.books.gutenberg import unwrap


@dataclass(frozen=True)
class BookInventory:
    books: pa.Table
    skipped: list[tuple[str, str]]
    quarantined: list[dict[str, Any]]
    files: int

    def facts(self) -> dict[str, Any]:
        return {"books": len(self.books), "files": self.files, "unopened": 0, "skipped": []}


def find_books(sources: Sequence[Path], language: str) -> BookInventory:
    paths = sorted(path for source in sources for path in source.rglob("*.txt"))
    rows = [
        {
            "book": path.stem,
            "files": [
                {
                    "document_id": path.name,
                    "path": path.name,
                    "location": os.fsencode(path.absolute()),
                    "kind": "text",
                    "size": path.stat().st_size,
                    "stamp": "",
                }
            ],
        }
        for path in paths
    ]
    return BookInventory(pa.Table.from_pylist(rows, BOOKS), [], [], len(rows))


@dataclass(frozen=True)
class ReadBooks(Stage):
    name: ClassVar[str] = "read"
    unit: ClassVar[Unit] = "files"
    needs, gives, ends = ("files",), ("text", "blocks"), ("files",)

    language: str = "en"
    plain: bool = False

    def __call__(self, table: pa.Table) -> pa.Table:
        rows = []
        for row in table.to_pylist():
            for file in row["files"]:
                text = unwrap(Path(os.fsdecode(file["location"])).read_text("utf-8", errors="ignore")).text
                bad = "\0" in text
                rows.append(
                    {
                        "document_id": file["document_id"],
                        "book": row["book"],
                        "language": self.language,
                        "source": {"kind": "text", "path": file["path"]},
                        "reading": {"encoding": "utf-8"},
                        "text": text if self.plain and not bad else None,
                        "blocks": None
                        if self.plain or bad
                        else [
                            {"text": " ".join(p.split()), "kind": "paragraph", "chapter": 0} for p in text.split("\n\n")
                        ],
                        REASON: "not_a_book" if bad else None,
                        DETAIL: "bytes" if bad else None,
                    }
                )
        schema = pa.schema([*READ_BOOKS, pa.field(REASON, pa.string()), pa.field(DETAIL, pa.string())])
        return pa.Table.from_pylist(rows, schema)

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        return [
            {"path": row["source"]["path"], "book": row["book"], "reason": row[REASON], "detail": row[DETAIL]}
            for row in rejected.to_pylist()
        ]
