"""Check the `add` actions of a change before the commit is written.

A commit cannot be undone: an `add` that readers fail on makes the whole table unreadable.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from deltalog.errors import RefusedCommit
from deltalog.log.actions import fits
from deltalog.log.paths import is_absolute
from deltalog.log.replay import key_of
from deltalog.stats.partition_match import meanings, partition_columns
from deltalog.table.properties import clustering_columns
from deltalog.table.types import decimal_digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltalog.log.actions import Add
    from deltalog.stats.partition_match import Meaning
    from deltalog.table.schema import Field, TableSchema
    from deltalog.transaction.change import CommitContext

# Characters of an encoded URI path, and non-ASCII characters, which some writers do not encode.
_ENCODED = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|[^\x00-\x7f]|%[0-9A-Fa-f]{2})+")
_WHOLE, _REAL = re.compile("-?[0-9]+"), re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Infinity)|NaN")
_CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}%s[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
# Partition values as the protocol writes them.
_SPELLED = {
    **dict.fromkeys(("byte", "short", "integer", "int", "long", "bigint"), _WHOLE),
    **dict.fromkeys(("float", "double"), _REAL),
    "boolean": re.compile("true|false"),
    "date": re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "timestamp": re.compile(f"{_CLOCK % ' '}|{_CLOCK % 'T'}Z"),
    "timestamp_ntz": re.compile(_CLOCK % " "),
}
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_BOUNDS = ("minValues", "maxValues", "nullCount")


class AddStatistics(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The statistics of a file that a commit needs."""

    num_records: int
    min_values: dict[str, Any] = {}
    max_values: dict[str, Any] = {}
    null_count: dict[str, Any] = {}
    tight_bounds: bool = True


_DECODER = msgspec.json.Decoder(AddStatistics)


def check_adds(context: CommitContext) -> None:
    """Raise RefusedCommit, naming the file, if a file contradicts the schema.

    Files of a clustered table need statistics of the clustering columns. NOT NULL is checked only if the commit adds
    new rows.
    """
    adds, schema, location = context.change.adds, context.after.schema, context.table
    clustered_by, rows_change = clustering_columns(context.after.domains, location=location), context.has_new_rows
    table_paths = {field.physical for field in schema.fields}
    _check_partitions(adds, schema, schema.fields if rows_change else (), location)
    twice = set()
    for add in adds:
        where = f"{location}: add {add.path!r}"
        _check_path(add, where)
        key = key_of(add.path, None)
        if key in twice:
            raise RefusedCommit(f"{where} is added twice; remove one of them")
        twice.add(key)
        statistics = _statistics(add, table_paths, where)
        if add.deletion_vector is not None:
            _check_vector(add, statistics, where)
        if rows_change:
            _check_not_null(statistics, schema, where)
        for column in clustered_by:
            _check_clustered(statistics, column, where)


def _check_path(add: Add, where: str) -> None:
    decoded = unquote(add.path, errors="replace")
    if not _ENCODED.fullmatch(add.path) or "\ufffd" in decoded:
        raise RefusedCommit(f"{where}: the path is not percent-encoded; encode it as a URI, as in urllib.parse.quote")
    if is_absolute(decoded) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", add.path.partition("/")[0]):
        raise RefusedCommit(f"{where}: the path is not relative to the table; put the file below the table")
    parts = decoded.split("/")
    if not all(parts) or {".", ".."} & set(parts):
        raise RefusedCommit(f"{where}: the path has an empty part, or one that is . or ..; use a plain relative path")
    if parts[0] in {"_delta_log", "_change_data"}:
        raise RefusedCommit(f"{where}: {parts[0]} is reserved in a table; choose another directory")
    if not fits(add.size):
        raise RefusedCommit(f"{where}: the size {add.size} is not valid; give the size of the file in bytes")
    if not fits(add.modification_time):
        raise RefusedCommit(
            f"{where}: the modification time {add.modification_time} is not valid; give milliseconds since 1970"
        )


def _check_partitions(adds: Sequence[Add], schema: TableSchema, fields: Sequence[Field], location: str) -> None:
    columns = partition_columns(schema)
    required = {field.physical[0] for field in _never_null(fields) if len(field.path) == 1}
    add_of: dict[str, dict[str, Add]] = {name: {} for name in columns}
    for add in adds:
        values = add.partition_values or {}
        if values.keys() != columns.keys():
            expected = ", ".join(sorted(columns)) or "none"
            raise RefusedCommit(
                f"{location}: add {add.path!r} has partition values of {', '.join(sorted(values)) or 'nothing'}, the "
                f"table is partitioned by {expected}; give a value, or null, for each, by its name in the log"
            )
        for name, value in values.items():
            if value is not None:
                add_of[name].setdefault(value, add)
            elif name in required:
                raise RefusedCommit(
                    f"{location}: add {add.path!r}: partition column {name} must not be null; give a value"
                )
    for name, column in columns.items():
        for value, meaning in zip(add_of[name], meanings(column, list(add_of[name])), strict=True):
            if value in {"", _HIVE_NULL}:
                raise RefusedCommit(
                    f"{location}: add {add_of[name][value].path!r}: the partition value {value!r} of {name} is null to "
                    f"some readers and a string to others; write null"
                )
            if not _is_value_of(column.delta_type, meaning, value):
                raise RefusedCommit(
                    f"{location}: add {add_of[name][value].path!r}: the partition value {value!r} of {name} is not a "
                    f"{column.delta_type} in the form of the protocol; write 7.00 for a decimal(5,2), 2024-01-05 for a "
                    "date"
                )


def _is_value_of(delta_type: str, meaning: Meaning, string: str) -> bool:
    """True if a text is a value of the type for every reader.

    Readers based on Delta Kernel reject the whole table if a decimal has another scale.
    """
    if delta_type in {"string", "binary"}:
        return True
    if meaning.null or (meaning.low is None and string.lower() != "nan"):
        return False
    digits = decimal_digits(delta_type)
    if digits is not None:
        scale = digits[1]
        return re.fullmatch(rf"-?[0-9]+\.[0-9]{{{scale}}}" if scale else "-?[0-9]+", string) is not None
    return delta_type in _SPELLED and _SPELLED[delta_type].fullmatch(string) is not None


def _statistics(add: Add, table_paths: set[tuple[str, ...]], where: str) -> AddStatistics | None:
    if add.stats is None:
        return None
    try:
        statistics = _DECODER.decode(add.stats if isinstance(add.stats, str) else "")
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise RefusedCommit(
            f"{where}: its statistics are not JSON with numRecords ({error}); correct or leave them out"
        ) from None
    if not fits(statistics.num_records):
        raise RefusedCommit(f"{where}: {statistics.num_records} records; give the number of rows of the file")
    for part, values in zip(
        _BOUNDS, (statistics.min_values, statistics.max_values, statistics.null_count), strict=True
    ):
        stray = _stray(values, table_paths, ())
        if stray:
            raise RefusedCommit(
                f"{where}: its statistics have {part} of {'.'.join(stray)}, which the table lacks; use the column "
                f"names of the log, which are the physical names under column mapping"
            )
    return statistics


def _stray(values: Mapping[str, Any], table_paths: set[tuple[str, ...]], above: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of a column that has statistics but is not in the table; empty if there is none."""
    for name, value in values.items():
        path = (*above, name)
        if path not in table_paths:
            return path
        if isinstance(value, dict) and (stray := _stray(value, table_paths, path)):
            return stray
    return ()


def _check_vector(add: Add, statistics: AddStatistics | None, where: str) -> None:
    assert add.deletion_vector is not None
    if statistics is None or statistics.tight_bounds or add.deletion_vector.cardinality > statistics.num_records:
        raise RefusedCommit(
            f"{where}: a file with a deletion vector needs statistics; give numRecords, all rows counted, and "
            "tightBounds=false"
        )


def _check_not_null(statistics: AddStatistics | None, schema: TableSchema, where: str) -> None:
    """Refuse a file unless nullCount is 0 for every NOT NULL column."""
    partitions = set(partition_columns(schema))
    for field in _never_null(schema.fields):
        if field.physical[0] in partitions or not isinstance(field.type, str):
            continue
        nulls = None if statistics is None else _at(statistics.null_count, field.physical)
        if nulls != 0 and not (statistics is not None and statistics.num_records == 0):
            count = "unknown" if nulls is None else nulls
            raise RefusedCommit(
                f"{where}: column {field.name} must not be null, and its null count in the file is {count}; give "
                f"statistics with nullCount 0 for the column"
            )


def _never_null(fields: Sequence[Field]) -> Iterator[Field]:
    # Delta's writers do not enforce NOT NULL inside arrays and maps either.
    return (field for field in fields if not field.nullable and not field.repeated)


def _check_clustered(statistics: AddStatistics | None, column: tuple[str, ...], where: str) -> None:
    if statistics is not None:
        nulls = _at(statistics.null_count, column)
        bounds = _at(statistics.min_values, column), _at(statistics.max_values, column)
        if nulls is not None and (nulls == statistics.num_records or None not in bounds):
            return
    raise RefusedCommit(
        f"{where}: the table is clustered by {'.'.join(column)}, so every file needs its statistics; give nullCount, "
        "and bounds unless all values are null"
    )


def _at(tree: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = tree
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
