"""Forms of files, by name."""

SUFFIXES = {
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "csv": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "text": (".txt", ".text"),
}
"""Form → how names of its files end, ".gz" aside."""

FORMS = tuple(SUFFIXES)
"""`csv` is also for tabs and semicolons."""
