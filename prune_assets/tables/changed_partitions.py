"""Detect changed partitions by a fingerprint of the files of each partition.

The list of files is from the Delta log, from manifests or from the directories.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.errors import PruneError, StorageFailure
from prune_assets.tables.opening import open_table, recognize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

_Values = tuple[str | None, ...]
# A state holds one fingerprint per partition. Tables with more partitions than this have no state.
MOST_PARTITIONS = 2_000
# Maximum number of partitions in a condition; with more, the condition selects all rows.
_MOST_LISTED = 200


def partition_fingerprints(table: Path | str, columns: Sequence[str]) -> dict[_Values, str]:
    """Return the fingerprint of each partition, by the values of `columns` as strings; a null is None.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> table = tempfile.mkdtemp()
    >>> rows = pa.table({"day": ["a", "b"], "id": [1, 2]})
    >>> pq.write_to_dataset(rows, table, partition_cols=["day"])
    >>> sorted(partition_fingerprints(table, ["day"]))
    [('a',), ('b',)]

    Costs a listing, or for a Delta table a read of the log; opens no data file. Raises LayoutError for a column that is
    not a partition column, and TableNotFound.
    """
    by_values: dict[_Values, list[str]] = {}
    recognized, path = recognize(table)
    for values, identity in recognized.partition_files(str(path), columns):
        by_values.setdefault(values, []).append(identity)
    return {values: fingerprint_of(identities) for values, identities in by_values.items()}


class PartitionChanges(NamedTuple):
    """Changed partitions of a table.

    `partitions`: None if unknown.
    `where`: Spark SQL condition that selects the rows of these partitions; `true` if they are unknown.
    """

    partitions: list[dict[str, str | None]] | None
    where: str


def partition_state(table: Path | str) -> dict[str, str] | None:
    """Return the fingerprint of each partition, by its values as JSON.

    None for a table without partition columns, for partition values without a plain type (transforms and times), and
    for more than MOST_PARTITIONS partitions.
    """
    try:
        columns = _columns(table)
        if not columns:
            return None
        fingerprints = partition_fingerprints(table, list(columns))
    except StorageFailure:
        raise
    except PruneError:
        return None
    if len(fingerprints) > MOST_PARTITIONS:
        return None
    return {json.dumps(values, ensure_ascii=False): fingerprint[:8] for values, fingerprint in fingerprints.items()}


def partition_changes(
    table: Path | str, before: Mapping[str, str] | None, now: Mapping[str, str] | None
) -> PartitionChanges:
    """Compare two states from `partition_state`."""
    if before is None or now is None:
        return PartitionChanges(None, "true")
    columns = _columns(table)
    changed = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
    values = [dict(zip(columns, json.loads(key), strict=True)) for key in changed]
    return PartitionChanges(values, _condition(values, columns))


def _columns(table: Path | str) -> dict[str, pa.DataType]:
    """Return the partition columns with their types; empty if one of them is not a string, integer or date."""
    import pyarrow as pa

    from prune_assets.sql.semantics import SparkSemantics

    opened = open_table(table if isinstance(table, str) else str(table), semantics=SparkSemantics())
    plain = (pa.types.is_string, pa.types.is_integer, pa.types.is_date32)
    columns = {column.path[0]: column.type for column in opened.partitions if column.type is not None}
    are_plain = all(any(is_plain(type_) for is_plain in plain) for type_ in columns.values())
    return columns if are_plain and {*opened.partition_names()} == {*columns} else {}


def _condition(changed: Sequence[Mapping[str, str | None]], columns: Mapping[str, pa.DataType]) -> str:
    import pyarrow as pa

    from prune_assets.sql.render import column_sql, literal_sql

    if not 0 < len(changed) <= _MOST_LISTED:
        return "true"

    def compared(name: str, value: str | None) -> str:
        column = column_sql((name,))
        return (
            f"{column} IS NULL" if value is None else f"{column} = {literal_sql(pa.scalar(value).cast(columns[name]))}"
        )

    parts = [" AND ".join(compared(name, value) for name, value in each.items()) for each in changed]
    return " OR ".join(f"({part})" if " AND " in part else part for part in parts)


def fingerprint_of(parts: Sequence[str]) -> str:
    """Return one short hash of several strings, independent of their order."""
    return hashlib.sha256("\n".join(sorted(parts)).encode(errors="surrogateescape")).hexdigest()[:16]
