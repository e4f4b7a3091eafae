"""Which partitions of a table changed: a fingerprint of the files of each, by the Delta log or by folders."""

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
# The state has a fingerprint of each partition; larger tables have no state.
MOST_PARTITIONS = 2_000
# So many are listed in a condition; of more it selects all rows.
_MOST_LISTED = 200


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


class PartitionChanges(NamedTuple):
    """Which partitions of a table changed; `partitions` is None where that is not known.

    `where`: the condition on the rows of these partitions in Spark SQL, `true` where it is not known.
    """

    partitions: list[dict[str, str | None]] | None
    where: str


def partition_state(table: Path | str) -> dict[str, str] | None:
    """Return the fingerprint of each partition, by its values as JSON; None for a table without partition columns.

    None also for partitions that are no plain values (of transforms, of times), and for more than MOST_PARTITIONS.
    """
    try:
        columns = _columns(table)
        if not columns:
            return None
        found = partition_fingerprints(table, list(columns))
    except StorageFailure:
        raise
    except PruneError:
        return None
    if len(found) > MOST_PARTITIONS:
        return None
    return {json.dumps(values, ensure_ascii=False): fingerprint[:8] for values, fingerprint in found.items()}


def partition_changes(
    table: Path | str, before: Mapping[str, str] | None, now: Mapping[str, str] | None
) -> PartitionChanges:
    """Compare two states of the partitions of a table."""
    if before is None or now is None:
        return PartitionChanges(None, "true")
    columns = _columns(table)
    changed = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
    values = [dict(zip(columns, json.loads(key), strict=True)) for key in changed]
    return PartitionChanges(values, _condition(values, columns))


def _columns(table: Path | str) -> dict[str, pa.DataType]:
    """Return the partition columns with their types; none where a value is no plain text, number or date."""
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
    """Return one short text for several, whatever their order."""
    return hashlib.sha256("\n".join(sorted(parts)).encode(errors="surrogateescape")).hexdigest()[:16]
