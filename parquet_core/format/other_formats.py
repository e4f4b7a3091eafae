"""Recognize other formats than Parquet by file name extensions."""

from __future__ import annotations

from pathlib import PurePosixPath

from parquet_core.errors import MalformedFile
from parquet_core.fix import Fix

_FORMATS = {
    ".arrow": "Arrow IPC",
    ".avro": "Avro",
    ".csv": "CSV",
    ".feather": "Arrow IPC",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".log": "text",
    ".md": "text",
    ".ndjson": "JSON",
    ".orc": "ORC",
    ".sql": "SQL",
    ".tsv": "CSV",
    ".txt": "text",
    ".xls": "Excel",
    ".xlsx": "Excel",
    ".xml": "XML",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".zip": "ZIP",
}
_COMPRESSED = {".bz2", ".gz", ".lz4", ".snappy", ".xz", ".zst"}


def other_format(path: str) -> str | None:
    """Return the format by file name extension; None if Parquet or unknown.

    >>> other_format("lake/a.csv"), other_format("a.json.gz"), other_format("part-0.snappy.parquet")
    ('CSV', 'JSON', None)
    """
    suffixes = [suffix.lower() for suffix in PurePosixPath(path).suffixes]
    return next((_FORMATS.get(suffix) for suffix in reversed(suffixes) if suffix not in _COMPRESSED), None)


def not_parquet(path: str, problem: str, fix: Fix | None = None) -> MalformedFile:
    """Return the error for a file that is not Parquet.

    `fix`: the next step, None if `problem` is sufficient. The file name only changes the message; Parquet files are
    read whatever their name is.
    """
    if (name := other_format(path)) is None:
        return MalformedFile(f"{path}: {problem}", *filter(None, [fix]))
    fix = Fix("leave it out, or write it as Parquet")
    return MalformedFile(f"{path}: is not a Parquet file but {name}, by its name", fix)
