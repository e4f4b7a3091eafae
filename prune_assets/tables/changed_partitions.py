"""Which partitions of a table changed: a fingerprint of the files of each, by the Delta log or by folders."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from prune_assets.tables.opening import recognize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_Values = tuple[str | None, ...]


def partition_fingerprints(table: Path | str, columns: Sequence[str]) -> dict[_Values, str]:
    """Return the fingerprint of each partition, by the values of the columns as texts; None is null.

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
    by_values: dict[_Values, list[str]] = {}
    recognized, path = recognize(table)
    for values, identity in recognized.partition_files(str(path), columns):
        by_values.setdefault(values, []).append(identity)
    return {values: fingerprint_of(identities) for values, identities in by_values.items()}


def fingerprint_of(parts: Sequence[str]) -> str:
    """Return one short text for several, whatever their order."""
    return hashlib.sha256("\n".join(sorted(parts)).encode(errors="surrogateescape")).hexdigest()[:16]
