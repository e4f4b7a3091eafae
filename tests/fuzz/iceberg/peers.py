"""The files that others keep of a table of Iceberg: its own planner by what Spark gives it, and pyiceberg."""

from __future__ import annotations

from parquet_core.pruning.predicate import And, Compare, Constant, In, Interval, IsNaN, IsNull, Not, Op, Or, StartsWith
from prune_assets.tables.iceberg.reading_with_iceberg import _filter_scan, loaded


def kept_by_iceberg(spark, name, where):
    """Return the files that Iceberg's planner keeps by the parts of a predicate that it can express; None if it fails.

    It raises a NullPointerException for some predicates on nulls.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        planned = _filter_scan(spark, name, loaded(spark, name).newScan(), where).planFiles()
        each, found = planned.iterator(), set()
        while each.hasNext():
            found.add(str(each.next().file().location()))
        planned.close()
    except (Py4JError, PySparkException):
        return None
    return found


def kept_by_pyiceberg(table, predicate):
    """Return the files that pyiceberg keeps; None where it cannot express any part, or cannot plan the table."""
    expression = _expression(predicate)
    if expression is None:
        return None
    try:
        return {task.file.file_path for task in table.scan(row_filter=expression).plan_files()}
    except Exception:  # noqa: BLE001 - a failing peer is not compared
        return None


def _expression(predicate):
    from pyiceberg import expressions as of

    match predicate:
        case And(children):
            known = [part for child in children if (part := _expression(child)) is not None]
            return of.And(*known) if len(known) > 1 else known[0] if known else None
        case Or(children):
            parts = [_expression(child) for child in children]
            return None if None in parts or any(map(_is_partial, children)) else of.Or(*parts)
        case Not(child):
            part = _expression(child)
            return None if part is None or _is_partial(child) else of.Not(part)
    try:
        return _leaf(predicate)
    except (TypeError, ValueError, OverflowError):
        return None


def _is_partial(predicate):
    return isinstance(predicate, And) and any(
        _expression(child) is None or _is_partial(child) for child in predicate.children
    )


def _leaf(leaf):
    from pyiceberg import expressions as of

    ops = {Op.EQ: of.EqualTo, Op.NE: of.NotEqualTo, Op.LT: of.LessThan, Op.LE: of.LessThanOrEqual}
    ops |= {Op.GT: of.GreaterThan, Op.GE: of.GreaterThanOrEqual}
    match leaf:
        case Compare(path, op, value):
            return ops[op](".".join(path), value.as_py())
        case Interval(path, low, high):
            name = ".".join(path)
            return of.And(of.GreaterThanOrEqual(name, low.as_py()), of.LessThanOrEqual(name, high.as_py()))
        case In(path, values):
            return of.In(".".join(path), values.to_pylist())
        case IsNull(path):
            return of.IsNull(".".join(path))
        case IsNaN(path):
            return of.IsNaN(".".join(path))
        case StartsWith(path, prefix) if isinstance(prefix.as_py(), str):
            return of.StartsWith(".".join(path), prefix.as_py())
        case Constant():
            return None
    return None
