"""Rows that other readers keep of a table for a predicate: parquet-java as Spark calls it, and DataFusion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from datafusion import SessionConfig, SessionContext, col, lit
from datafusion import functions as f

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, Compare, Constant, In, Interval, IsNaN, IsNull, Not, Op, Or, columns_of

from .java_reader import JavaReader
from .tables import ROW


class ParquetJava:
    """Spark's own reader, through Spark's JVM."""

    name = "parquet-java"

    def __init__(self, spark, directory, planner):
        self.planner = planner
        self.rows = spark.read.parquet(str(directory))
        self.reader = JavaReader.of(spark)
        self.files = [Path(path).as_uri() for path in planner.paths]
        self.first = [np.flatnonzero(planner.index.groups.file == i)[:1] for i in range(len(self.files))]

    def keeps(self, where, predicate):
        """Return one flag per row; None if the session pushes nothing down, or decides without a file."""
        found = self.reader.kept(self.rows.where(where), self.files)
        if found is None:
            return None
        kept = np.zeros(self.planner.rows, np.bool_)
        for file, group, start, stop in found.tolist():
            base = int(self.planner.base[self.first[file][0] + group])
            kept[base + start : base + stop] = True
        return kept


class DataFusion:
    """DataFusion with the lowered predicate, one file at a time, so that schemas may differ."""

    name = "DataFusion"

    def __init__(self, planner):
        options = {
            "datafusion.execution.target_partitions": "1",
            "datafusion.execution.parquet.pushdown_filters": "false",
        }
        self.context = SessionContext(SessionConfig(options))
        self.planner = planner
        self.columns = []
        for i, path in enumerate(planner.paths):
            self.context.register_parquet(f"t{i}", path)
            self.columns.append(set(pq.read_schema(path).names))

    def keeps(self, where, predicate):
        """Return one flag per row; None if DataFusion cannot express the predicate."""
        asked = expression(predicate)
        if asked is None:
            return None
        kept = np.zeros(self.planner.rows, np.bool_)
        rows = 0
        names = {path[0] for path in columns_of(predicate)}
        for i in range(len(self.planner.paths)):
            count = int(self.planner.index.groups.row_count[self.planner.index.groups.file == i].sum())
            if names <= self.columns[i]:
                kept[rows : rows + count][self._rows_read(f"t{i}", asked)] = True
            else:
                kept[rows : rows + count] = True
            rows += count
        return kept

    def _rows_read(self, name, asked):
        """Return the row numbers in the file that the scan returns, before any filter."""
        table = self.context.table(name)
        plan = table.filter(asked).select(col(ROW)).execution_plan()
        while plan.children():
            (plan,) = plan.children()
        batches = [batch.to_pyarrow() for batch in self.context.execute(plan, 0)]
        first = table.aggregate([], [f.min(col(ROW))]).collect()[0].column(0)[0].as_py() if batches else 0
        numbers = [batch.column(ROW).to_numpy() for batch in batches]
        return np.concatenate(numbers) - first if numbers else np.zeros(0, np.int64)


def expression(predicate):
    """Convert a lowered predicate to a DataFusion expression; None if it is not supported."""
    match predicate:
        case And(children) | Or(children):
            parts = [expression(child) for child in children]
            if any(part is None for part in parts):
                return None
            whole = parts[0]
            for part in parts[1:]:
                whole = whole & part if isinstance(predicate, And) else whole | part
            return whole
        case Not(child):
            inner = expression(child)
            return None if inner is None else ~inner
        case Constant(outcomes) if outcomes in _CONSTANTS:
            return lit(_CONSTANTS[outcomes])
        case Compare(path, op, value) if len(path) == 1:
            return _COMPARISONS[op](_column(path), lit(value))
        case Interval(path, low, high) if len(path) == 1:
            return (_column(path) >= lit(low)) & (_column(path) <= lit(high))
        case In(path, values) if len(path) == 1:
            return f.in_list(_column(path), [lit(value) for value in values])
        case IsNull(path) if len(path) == 1:
            return _column(path).is_null()
        case IsNaN(path) if len(path) == 1:
            return f.isnan(_column(path))
    return None


_CONSTANTS = {Outcomes.TRUE: True, Outcomes.FALSE: False}
_COMPARISONS = {
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}


def _column(path):
    return col(f'"{path[0]}"')
