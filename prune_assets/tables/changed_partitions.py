"""Which partitions of a table changed: a fingerprint of the files of each, by the Delta log or by folders."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from parquet_core.errors import LayoutError
from parquet_core.storage import address
from prune_assets.tables.delta import has_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from deltalog.snapshot.snapshot import Snapshot

_Values = tuple[str | None, ...]


def partition_fingerprints(table: Path | str, columns: Sequence[str]) -> dict[_Values, str]:
    """Return what changes when a partition does, by the values of the columns, as texts; None is null.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> table = tempfile.mkdtemp()
    >>> rows = pa.table({"day": ["a", "b"], "id": [1, 2]})
    >>> pq.write_to_dataset(rows, table, partition_cols=["day"])
    >>> sorted(partition_fingerprints(table, ["day"]))
    [('a',), ('b',)]

    Costs a listing, and of a Delta table the log; opens no data file. LayoutError for what is not a partition column,
    TableNotFound.
    """
    import deltalog

    delta = has_log(table)
    files = _of_log(deltalog.open_snapshot(address(str(table))), columns) if delta else _of_folders(table, columns)
    found: dict[_Values, list[str]] = {}
    for values, identity in files:
        found.setdefault(values, []).append(identity)
    return {values: fingerprint_of(identities) for values, identities in found.items()}


def fingerprint_of(parts: Sequence[str]) -> str:
    """Return one short text for several, whatever their order."""
    return hashlib.sha256("\n".join(sorted(parts)).encode(errors="surrogateescape")).hexdigest()[:16]


def _of_log(snapshot: Snapshot, columns: Sequence[str]) -> Iterator[tuple[_Values, str]]:
    from deltalog.log.file_block import empty_codes

    of_path = snapshot.schema.by_path().items()
    known = {path[0]: column.partition for path, column in of_path if column.partition is not None}
    names = [_named(column, known) for column in columns]
    for block in snapshot.blocks:
        parts = []
        for name in names:
            texts = block.partition.get(known[name], empty_codes(len(block)))
            values = texts.values.to_pylist()
            parts.append([values[code] if code >= 0 else None for code in texts.codes.tolist()])
        vectors = [None] * len(block) if block.vectors is None else block.vectors.to_pylist()
        for path, vector, *of_file in zip(block.path.to_pylist(), vectors, *parts, strict=True):
            yield tuple(of_file), f"{path}\0{vector}"


def _of_folders(table: Path | str, columns: Sequence[str]) -> Iterator[tuple[_Values, str]]:
    from parquet_core.dataset.opening import list_dataset

    listed = list_dataset(str(table))
    known = {path[0]: values for path, values in listed.partitions.values.items()}
    parts = [
        [None if value is None else str(value) for value in known[_named(column, known)].to_pylist()]
        for column in columns
    ]
    for file, *of_file in zip(listed.files, *parts, strict=True):
        yield tuple(of_file), f"{file.path}\0{file.size}\0{file.modified_ns}\0{file.etag}"


def _named(column: str, known: Mapping[str, object]) -> str:
    found = next((name for name in known if name.casefold() == column.casefold()), None)
    if found is None:
        raise LayoutError(
            f"partition_expr: {column} is not a partition column; the table has {', '.join(known) or 'none'}"
        )
    return found
