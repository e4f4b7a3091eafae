"""The rows of Delta tables as pyarrow reads their files, and random predicates over them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deltalog.log.deletion_vectors import read_vector, vector_of
from deltalog.log.paths import resolve
from parquet_core.pruning import prune
from parquet_core.pruning.outcomes import Outcomes as Truth
from parquet_core.pruning.predicate import And, Compare, In, Interval, IsNull, IsTruth, Not, Op, Or, StartsWith
from prune_assets.tables.delta import delta_table
from tests.prune_assets.planner.predicate_cases import comparable, truth

GOLDEN = Path(__file__).parents[3].parent / "shared" / "data" / "delta"
MISSING = f"{GOLDEN} is not there: the golden Delta tables are not part of the project"


class FileRows(NamedTuple):
    """The rows of a file as a query sees them, and which of them still count."""

    rows: list[dict]
    live: list[bool]


def flat_columns(snapshot):
    """The columns that predicates are made for: leaves at the top with an order."""
    return [
        column
        for column in snapshot.schema.columns
        if len(column.leaf.path) == 1 and not column.refused and column.delta_type != "binary"
    ]


def top_columns(snapshot):
    """One leaf for each column of the table."""
    return list({column.leaf.path[0]: column for column in reversed(snapshot.schema.columns)}.values())


def rows_by_file(snapshot, columns):
    """By path: every row of every live file; None when a file is not there."""
    found = {}
    for block in snapshot.blocks:
        for i, path in enumerate(block.path.to_pylist()):
            place = resolve(snapshot.table, path)
            if not Path(place).is_file():
                return None
            texts = {
                name: None if values.codes[i] < 0 else values.values[int(values.codes[i])].as_py()
                for name, values in block.partition.items()
            }
            rows = list(_rows(place, columns, texts))
            vector = vector_of(block, i)
            deleted = set() if vector is None else set(read_vector(vector, snapshot.table))
            found[place] = FileRows(rows, [number not in deleted for number in range(len(rows))])
    return found


def _rows(place, columns, texts):
    with pq.ParquetFile(place) as file:
        there = set(file.schema_arrow.names)
        table = file.read([column.physical[0] for column in columns if column.physical[0] in there])
    count = table.num_rows if table.num_columns else pq.read_metadata(place).num_rows
    values = {}
    for column in columns:
        name = column.leaf.path[0]
        if column.partition is not None:
            values[name] = [_partition_value(texts.get(column.partition), column.delta_type)] * count
        elif column.physical[0] in there:
            values[name] = [_of_table(value, column.delta_type) for value in _python(table[column.physical[0]])]
        else:
            values[name] = [None] * count
    return (dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True))


def _python(array):
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz), safe=False)
    return array.to_pylist()


def _of_table(value, kind):
    """A value of an older type of the column, as one of its type now."""
    if value is None or isinstance(value, dict):
        return value
    if kind == "timestamp_ntz" and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    if kind == "timestamp" and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    if kind.startswith("decimal"):
        return Decimal(value)
    return float(value) if kind == "double" else value


def _partition_value(text, kind):
    if text is None or (text == "" and kind != "string"):
        return None
    match kind:
        case "string":
            return text
        case "boolean":
            return text.lower() == "true"
        case "date":
            return dt.date.fromisoformat(text)
        case "float":
            return float(np.float32(text))
        case "double":
            return float(text)
        case "timestamp":
            return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
        case "timestamp_ntz":
            return dt.datetime.fromisoformat(text)
    return Decimal(text) if kind.startswith("decimal") else int(text)


def random_leaf(chance, columns, files):
    """Draw a comparison with a value that exists, or is near an existing one."""
    column = chance.choice(columns)
    name, kind = column.leaf.path[0], column.leaf.type
    if chance.random() < 0.15:
        return IsNull(column.leaf.path)
    rows = [row for file in files.values() for row in file.rows]
    there = [row[name] for row in rows if row[name] is not None]
    if not there:
        return IsNull(column.leaf.path)
    values = sorted({_moved(chance, chance.choice(there)) for _ in range(chance.randint(1, 3))}, key=comparable)
    try:
        scalars = [pa.scalar(value, kind) for value in values]
    except (pa.ArrowInvalid, OverflowError):
        return IsNull(column.leaf.path)
    match chance.choice(["compare", "compare", "interval", "in", "prefix"]):
        case "interval":
            return Interval(column.leaf.path, scalars[0], scalars[-1])
        case "in":
            return In(column.leaf.path, pa.array([scalar.as_py() for scalar in scalars], kind))
        case "prefix" if pa.types.is_string(kind):
            return StartsWith(column.leaf.path, pa.scalar(values[0][: chance.randint(0, 4)], kind))
    return Compare(column.leaf.path, chance.choice([*Op]), scalars[0])


def _moved(chance, value):
    if chance.random() < 0.6 or isinstance(value, bool):
        return value
    match value:
        case str():
            return chance.choice([value + "a", value[:-1], "", "\U0010ffff"])
        case dt.datetime():
            return value.replace(
                microsecond=chance.choice([0, value.microsecond ^ 1, value.microsecond // 1000 * 1000])
            )
        case dt.date():
            return dt.date.fromordinal(min(max(value.toordinal() + chance.choice([-1, 1]), 1), dt.date.max.toordinal()))
        case float():
            return chance.choice([value + 1, value - 1, float(np.nextafter(value, np.inf)), float("nan")])
        case Decimal():
            return value + chance.choice([-1, 1])
    return value + chance.choice([-1, 1])


def random_predicate(chance, columns, files, depth=2):
    kind = chance.choice(["leaf", "leaf", "and", "or", "not", "truth"]) if depth else "leaf"
    if kind == "leaf":
        return random_leaf(chance, columns, files)
    if kind == "not":
        return Not(random_predicate(chance, columns, files, depth - 1))
    if kind == "truth":
        return IsTruth(random_predicate(chance, columns, files, depth - 1), chance.choice([Truth.TRUE, Truth.NULL]))
    parts = tuple(random_predicate(chance, columns, files, depth - 1) for _ in range(2))
    return And(parts) if kind == "and" else Or(parts)


class Outcome(NamedTuple):
    """Results of a predicate: files in total, opened and read; rows selected, read and proven."""

    files: int
    opened: int
    read: int
    selected: int
    kept: int
    proven: int


def check_soundness(table, predicate, files, *, version=None):
    """Assert that the plan of a predicate keeps every live row that it selects, and proves none that it does not."""
    delta = delta_table(table, version=version, timestamp=None)
    index = delta.read(delta.answers(predicate).kept)
    access = prune(predicate, index, files=delta.answers(predicate)).access
    assert {file.path for file in index.groups.files} == set(files)
    kept, proven = _row_numbers(index, access.ranges), _row_numbers(index, access.matches)
    selected = {
        (path, number)
        for path, (rows, live) in files.items()
        for number, row in enumerate(rows)
        if live[number] and truth(predicate, row) is True
    }
    assert selected <= kept, predicate
    assert proven <= selected, predicate
    read = len({path for path, _ in kept})
    return Outcome(len(files), int(index.groups.opened.sum()), read, len(selected), len(kept), len(proven))


def _row_numbers(index, ranges):
    """Rows as file and number in it."""
    found = set()
    before = np.zeros(len(index), np.int64)
    for position in range(1, len(index)):
        same = index.groups.file[position] == index.groups.file[position - 1]
        before[position] = before[position - 1] + index.groups.row_count[position - 1] if same else 0
    for group, start, stop in zip(ranges.row_group, ranges.start, ranges.stop, strict=True):
        path = index.groups.files[index.groups.file[group]].path
        found |= {(path, int(before[group]) + row) for row in range(start, stop)}
    return found
