"""Fingerprints of a plain table and of its partitions, from its files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from parquet_core.storage import list_data_files
from prune_assets.tables.same_partitions import partition_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def files_fingerprint(table: str) -> str:
    """Return a hash of the names, sizes and times of the files."""
    digest = hashlib.sha256()
    for file in list_data_files(table):
        etag = "" if file.etag is None else f"\0{file.etag}"
        digest.update(f"{file.path}\0{file.size}\0{file.modified_ns}{etag}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


def partition_files(table: str, columns: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], str]]:
    """Yield the partition values of each file, from directory names, and the identity of the file.

    The identity is a string of the path, size and time.
    """
    from parquet_core.dataset.opening import list_dataset

    listed = list_dataset(table)
    values_by_column = {path[0]: values for path, values in listed.partitions.values.items()}
    parts = [
        [
            None if value is None else str(value)
            for value in values_by_column[partition_named(column, values_by_column)].to_pylist()
        ]
        for column in columns
    ]
    for file, *of_file in zip(listed.files, *parts, strict=True):
        yield tuple(of_file), f"{file.path}\0{file.size}\0{file.modified_ns}\0{file.etag}"
