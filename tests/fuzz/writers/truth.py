"""The rows of a file, as pyarrow reads all of them, and DuckDB's answers to conditions on these rows in memory.

Nothing is pushed down: neither statistics nor indexes of the file decide an answer.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .conditions import random_condition

SOME = 400


class Truth:
    """The rows of a file.

    `columns`: types of the leaves that conditions can test, by name in SQL. `groups`: row counts of row groups.
    """

    def __init__(self, path):
        with pq.ParquetFile(path) as file:
            self.groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            self.created_by = file.metadata.created_by
            table = file.read(use_threads=False)
        # Plans never prune by these types, whoever wrote them: INT96 and nanoseconds, which are read the same way, and
        # bytes.
        self.unpruned = {field.name for field in table.schema if _is_unpruned(field.type)}
        self.table = _comparable(table.combine_chunks())
        self.columns = {}
        for field in self.table.schema:
            if pa.types.is_struct(field.type):
                self.columns |= {f"{field.name}.{inner.name}": inner.type for inner in field.type}
            else:
                self.columns[field.name] = field.type
        self.connection = duckdb.connect()
        numbers = [i for i, rows in enumerate(self.groups) for _ in range(rows)]
        whole = self.table.append_column("row_", pa.array(range(len(self.table)), pa.int64()))
        whole = whole.append_column("group_", pa.array(numbers, pa.int32()))
        self.connection.from_arrow(whole.take(pa.array(range(len(whole)), pa.int64()))).create("t")
        self.connection.execute(f"CREATE TABLE s AS SELECT group_, count(*) AS rows_{self._bounds()} FROM t GROUP BY 1")

    def _bounds(self):
        texts = []
        for number, (name, kind) in enumerate(self.columns.items()):
            column = ".".join(f'"{part}"' for part in name.split("."))
            number_only = f" FILTER (NOT isnan({column}))" if pa.types.is_floating(kind) else ""
            nan = f"count(*) FILTER (isnan({column}))" if number_only else "0"
            texts.append(f", min({column}){number_only} AS low{number}, max({column}){number_only} AS high{number}")
            texts.append(f", count(*) - count({column}) AS nulls{number}, {nan} AS nan{number}")
        return "".join(texts)

    def conditions(self, chance, count):
        """Draw conditions on the columns."""
        drawn = []
        for _ in range(count * 3):
            if len(drawn) == count:
                break
            name = chance.choice(list(self.columns))
            condition = random_condition(chance, name, self._values(name), self.columns[name])
            drawn += [] if condition is None else [condition]
        return drawn

    def _values(self, name):
        first, *inner = name.split(".")
        column = self.table[first]
        if inner:
            column = pc.struct_field(column, inner)
        column = column.drop_null()
        return column.take(pa.array(range(0, len(column), max(1, len(column) // SOME)), pa.int64())).to_pylist()

    def selected(self, condition):
        """Return the numbers of the rows that a condition selects; raises duckdb.Error."""
        found = self.connection.execute(f"SELECT row_ FROM t WHERE {condition.duckdb}")
        return {row for (row,) in found.fetchall()}

    def skippable(self, condition):
        """Return the row groups in which the true bounds and counts rule out a match."""
        number = list(self.columns).index(condition.column)
        if condition.form in {"LIKE", "isnan"} or condition.column in self.unpruned:
            return set()
        test = condition.may_hold(f"low{number}", f"high{number}", f"nulls{number}", "rows_")
        # Spark compares NaN as larger than every number, and most writers leave it out of bounds.
        text = f"SELECT group_ FROM s WHERE NOT coalesce({test}, false) AND nan{number} = 0"
        return {group for (group,) in self.connection.execute(text).fetchall()}


def _is_unpruned(kind):
    return pa.types.is_fixed_size_binary(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ns")


def _comparable(table):
    """Return the columns as DuckDB can compare them: plain values, timestamps as local ones of UTC."""
    for number, field in enumerate(table.schema):
        column = table.column(number)
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        if pa.types.is_timestamp(column.type):
            column = pc.cast(pc.cast(column, pa.timestamp(column.type.unit)), pa.timestamp("us"), safe=False)
        table = table.set_column(number, field.name, column)
    return table
