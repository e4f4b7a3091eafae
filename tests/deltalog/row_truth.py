"""Leaves over the values of a table, and their result for rows, as Spark compares."""

from __future__ import annotations

import pyarrow as pa

from parquet_core.pruning.predicate import Compare, IsNull, Not, Op


def leaves(rows, schema):
    """Return every comparison of every column with some of its values, and null tests."""
    kinds = {leaf.path[0]: leaf.type for leaf in schema.leaves}
    for name in rows.column_names:
        yield IsNull((name,))
        yield Not(IsNull((name,)))
        column = rows[name].drop_null()
        for i in (0, len(column) // 2, len(column) - 1):
            value = column[i].as_py()
            for op in Op:
                yield Compare((name,), op, pa.scalar(value, kinds[name]))


def selected(rows, predicate):
    """Return whether a row is selected; NaN is greater than all numbers and equal to itself."""
    match predicate:
        case Not(child):
            return not selected(rows, child)
        case IsNull(column):
            return rows[column[0]].null_count > 0
        case Compare(column, op, value):
            return _any(rows[column[0]].drop_null().to_pylist(), op, value.as_py())
    raise TypeError


def _any(values, op, wanted):
    compare = {
        Op.EQ: lambda a, b: a == b,
        Op.NE: lambda a, b: a != b,
        Op.LT: lambda a, b: a < b,
        Op.LE: lambda a, b: a <= b,
        Op.GT: lambda a, b: a > b,
        Op.GE: lambda a, b: a >= b,
    }[op]
    return any(compare(_rank(value), _rank(wanted)) for value in values)


def _rank(value):
    if isinstance(value, float):
        return (1, 0.0) if value != value else (0, value)  # noqa: PLR0124 - NaN alone differs from itself
    return value.encode() if isinstance(value, str) else value
