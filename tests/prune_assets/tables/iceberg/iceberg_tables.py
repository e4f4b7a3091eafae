"""Iceberg tables written by pyiceberg, random predicates, and the plans and reads of pyiceberg."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: pip install 'prune-assets[iceberg]'")
pytest.importorskip("sqlalchemy", reason="pyiceberg's catalog on SQLite needs SQLAlchemy")
pytest.importorskip("pyiceberg_core", reason="pyiceberg writes partitions with pyiceberg-core")

from pyiceberg import catalog as pyiceberg_catalog
from pyiceberg import expressions as ex
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DATA_FILE_TYPE, DataFile, DataFileContent, FileFormat, ManifestEntry  # noqa: F401 - and others: for tests, left out without
from pyiceberg.schema import Schema
from pyiceberg.transforms import (  # noqa: F401
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,  # noqa: F401
)
from pyiceberg.utils.config import Config

SCHEMA = Schema(
    NestedField(1, "k", LongType()),
    NestedField(2, "n", IntegerType()),
    NestedField(3, "ts", TimestampType()),
    NestedField(4, "tz", TimestamptzType()),
    NestedField(5, "day", DateType()),
    NestedField(6, "s", StringType()),
    NestedField(7, "b", BinaryType()),
    NestedField(8, "d", DecimalType(10, 2)),
    NestedField(9, "x", DoubleType()),
    NestedField(10, "f", FloatType()),
    NestedField(11, "flag", BooleanType()),
    NestedField(12, "st", StructType(NestedField(13, "a", IntegerType()), NestedField(14, "t", StringType()))),
)
ARROW = pa.schema(
    [
        ("k", pa.int64()),
        ("n", pa.int32()),
        ("ts", pa.timestamp("us")),
        ("tz", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("d", pa.decimal128(10, 2)),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("flag", pa.bool_()),
        ("st", pa.struct([("a", pa.int32()), ("t", pa.string())])),
    ]
)
TEXTS = ["", "a", "ab", "abc", "abcd", "b", "zz", "é", "éa", "日本", "日本語", "\U0001f600x", "z" * 30, "z" * 30 + "b"]


def catalog_in(directory):
    """Return a SQLite catalog with a warehouse in the same directory."""
    catalog = SqlCatalog("tests", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}/warehouse")
    catalog.create_namespace_if_not_exists("db")
    return catalog


def configure(monkeypatch, name, directory):
    """Register the catalog of a directory with pyiceberg under a name."""
    # The catalog has this name in its database.
    monkeypatch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__URI", f"sqlite:///{directory}/catalog.db")
    monkeypatch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__TYPE", "sql")
    # pyiceberg reads the variables only once, at import.
    monkeypatch.setattr(pyiceberg_catalog, "_ENV_CONFIG", Config())


def folder(table):
    """Return the directory of a table as a path."""
    return table.location().removeprefix("file://")


def files_in(table):
    """Return the bytes of the files of a table."""
    return {path: path.read_bytes() for path in Path(folder(table)).rglob("*") if path.is_file()}


def restore(table, files):
    """Undo changes to the files of a table; writing a new table with pyiceberg takes half a second."""
    now = files_in(table)
    for path in now.keys() - files.keys():
        path.unlink()
    for path, data in files.items():
        if now.get(path) != data:
            path.write_bytes(data)


def append_changed(table, rows, changes, summary=None):
    """Append rows with some fields of their manifest entries replaced, by name."""
    names = [field.name for field in DATA_FILE_TYPE[2].fields]
    with table.transaction() as transaction, transaction.update_snapshot(summary or {}).fast_append() as append:
        for file in _dataframe_to_data_files(transaction.table_metadata, rows, table.io):
            for name, value in changes.items():
                file._data[names.index(name)] = value
            append.append_data_file(file)


def value(rng, name, *, since=1950):
    """Return a random value for a column from a small set, so that predicates match it."""
    moment = dt.datetime(  # noqa: DTZ001 - of a column without a zone
        rng.choice([since, since + 19, 1970, 2023, 2024]), rng.choice([1, 2, 12]), rng.choice([1, 31 - 3])
    )
    moment += dt.timedelta(hours=rng.choice([0, 23]), seconds=rng.choice([0, 59]), microseconds=rng.choice([0, 1]))
    match name:
        case "k":
            return 100 * rng.randrange(4) + rng.randrange(12)
        case "n" | "st.a" | "added":
            return rng.randint(-25, 25)
        case "ts":
            return moment
        case "tz":
            return moment.replace(tzinfo=dt.UTC)
        case "day":
            return moment.date()
        case "s" | "st.t" | "renamed":
            return rng.choice(TEXTS)
        case "b":
            return rng.choice([b"", b"\0", b"a", b"ab", b"\xff\xff", b"\xff\xffa"])
        case "d":
            return Decimal(rng.randint(-500, 500)).scaleb(-2)
        case "x" | "f":
            return rng.choice([-1.5, -0.0, 0.0, 0.5, 2.25, 1e6])
        case "flag":
            return rng.random() < 0.5


def rows(rng, first, count, *, since=1950, nulls=0.15):
    """Return rows with consecutive keys from `first`, with similar values in adjacent rows."""
    columns = {"k": range(first, first + count)}
    for field in list(ARROW)[1:]:
        names = ["st.a", "st.t"] if field.name == "st" else [field.name]
        near = {name: [value(rng, name, since=since) for _ in range(2)] for name in names}

        def draw(name, near=near):
            return None if rng.random() < nulls else rng.choice(near[name])

        struct = [{"a": draw("st.a"), "t": draw("st.t")} for _ in range(count)] if field.name == "st" else None
        columns[field.name] = struct or [draw(field.name) for _ in range(count)]
    return pa.table({name: pa.array(columns[name], ARROW.field(name).type) for name in ARROW.names})


class Tried(NamedTuple):
    """A predicate as SQL and as a pyiceberg expression; None if pyiceberg cannot express it."""

    sql: str
    expression: object


def literal(name, of):
    """Return a value as a SQL literal."""
    match of:
        case dt.datetime(tzinfo=None):
            return f"timestamp_ntz '{of.isoformat(sep=' ')}'"
        case dt.datetime():
            return f"timestamp '{of.replace(tzinfo=None).isoformat(sep=' ')}Z'"
        case dt.date():
            return f"date '{of.isoformat()}'"
        case str():
            return f"'{of}'"
        case bytes():
            return f"X'{of.hex()}'"
        case bool():
            return str(of).lower()
        case float():
            return f"{of!r}D" if name == "x" else f"CAST({of!r} AS FLOAT)"
    return str(of)


_OPERATORS = {
    "=": ex.EqualTo,
    "!=": ex.NotEqualTo,
    "<": ex.LessThan,
    "<=": ex.LessThanOrEqual,
    ">": ex.GreaterThan,
    ">=": ex.GreaterThanOrEqual,
}


def held_by(everything):
    """Return the non-null values per column, including fields of structs."""
    rows = everything.to_pylist()
    columns = {name: [row[name] for row in rows] for name in everything.column_names if name != "st"}
    for part in rows[0].get("st") or () if rows else ():
        columns[f"st.{part}"] = [(row["st"] or {}).get(part) for row in rows]
    return {name: [value for value in values if value is not None] for name, values in columns.items()}


def leaf(rng, names, held):
    """Return a condition on one column, usually with a value that some row has."""
    name = rng.choice(names)

    def draw():
        return rng.choice(held[name]) if held.get(name) and rng.random() < 0.8 else value(rng, name, since=1971)

    of, condition = draw(), rng.choice(["compare"] * 6 + ["in"] * 3 + ["null", "not null"])
    if condition == "compare" and isinstance(of, str) and of and rng.random() < 0.3:
        return Tried(f"{name} LIKE '{of[:2]}%'", ex.StartsWith(name, of[:2]))
    if condition == "compare":
        operator = rng.choice(["=", "=", "=", "=", *_OPERATORS])
        return Tried(f"{name} {operator} {literal(name, of)}", _OPERATORS[operator](name, of))
    if condition == "in":
        values = [draw() for _ in range(rng.randint(2, 4))]
        return Tried(f"{name} IN ({', '.join(literal(name, v) for v in values)})", ex.In(name, values))
    return (
        Tried(f"{name} IS NULL", ex.IsNull(name))
        if condition == "null"
        else Tried(f"{name} IS NOT NULL", ex.NotNull(name))
    )


def predicate(rng, names, held):
    """Return a random predicate; `held`: values of the rows per column."""
    first = leaf(rng, names, held)
    match rng.choice(["leaf", "leaf", "leaf", "and", "or", "not"]):
        case "and":
            other = predicate(rng, names, held)
            return Tried(f"({first.sql}) AND ({other.sql})", ex.And(first.expression, other.expression))
        case "or":
            other = predicate(rng, names, held)
            return Tried(f"({first.sql}) OR ({other.sql})", ex.Or(first.expression, other.expression))
        case "not":
            return Tried(f"NOT ({first.sql})", ex.Not(first.expression))
    return first


def copied(table, path, **scan):
    """Write all rows as pyiceberg reads them to one plain Parquet file."""
    everything = table.scan(**scan).to_arrow()
    columns = {
        name: column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
        for name, column in zip(everything.column_names, everything.columns, strict=True)
    }
    columns = {
        name: column.cast(pa.binary()) if pa.types.is_large_binary(column.type) else column
        for name, column in columns.items()
    }
    pq.write_table(pa.table(columns), path)
    return str(path)


def planned_by_pyiceberg(table, expression):
    """Return the paths of the files that pyiceberg would read; None if it fails on null partition values."""
    try:
        tasks = list(table.scan(row_filter=expression).plan_files())
    except TypeError as error:
        assert "NoneType" in str(error)  # noqa: PT017 - of another package
        return None
    return {task.file.file_path.removeprefix("file://") for task in tasks}
