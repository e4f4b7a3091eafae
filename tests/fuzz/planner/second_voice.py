"""DuckDB's answers to predicates that mean the same in its SQL and in Spark's.

These are comparisons, lists, ranges and NULL tests of integers, decimals, dates, flags and text, with plain literals,
under AND, OR, NOT and IS. Where it raises (its decimals are shorter) it has no say, and none on decimals
that Spark rounds to compare them.
"""

from __future__ import annotations

import re

import duckdb
import numpy as np
import pyarrow as pa

from .forms import Leaf
from .tables import ROW, arrow_rows
from .truth import FALSE, NULL, TRUE

DOUBLE = '"'
SHARED = {"integer", "decimal", "date", "boolean", "string"}
# Beside a bigint of 20 digits.
MAX_SCALE = 18
_ONE = r"(?:-?\d{1,18}(?:\.\d{1,18})?|'[^'\\\0]*'|DATE '\d{4}-\d\d-\d\d'|true|false|NULL)"
_COMPARISON = "(?:=|<|<=|>|>=|<>|!=)"
_ABOUT = (
    rf"(?:{_COMPARISON} {_ONE}|(?:NOT )?BETWEEN {_ONE} AND {_ONE}|(?:NOT )?IN \({_ONE}(?:, {_ONE})*\)"
    rf"|IS (?:NOT )?NULL|IS (?:NOT )?DISTINCT FROM {_ONE})"
)
_CODES = {True: TRUE, False: FALSE, None: NULL}


class SecondVoice:
    """DuckDB over the rows of a table in the order of its plan."""

    def __init__(self, ground):
        # As a smaller type Spark reads other values, where the file that it takes the types of has that.
        narrowed = {name for file in ground.table.files for name in file.narrowed}
        columns = [
            column
            for column in ground.table.columns
            if len(column.path) == 1 and _is_shared(column.of) and column.path[0] not in narrowed
        ]
        whole = arrow_rows(ground.table).select([column.path[0] for column in columns] or [ROW])
        self.connection = duckdb.connect()
        rows = pa.concat_tables([_rows_of(file, whole) for file in ground.files_in_order()])
        # Taken, not sliced: below an offset DuckDB looks for nulls in the wrong places. And as wide as all literals:
        # of a number beyond the type it says FALSE for null.
        rows = rows.take(pa.array(range(len(rows))))
        wide = [pa.decimal128(38, 0) if pa.types.is_integer(kind) else kind for kind in rows.schema.types]
        self.connection.register("t", rows.cast(pa.schema(zip(rows.column_names, wide, strict=True))))
        name = f"(?:{'|'.join(re.escape(column.sql) for column in columns) or '(?!)'})"
        self.shared = re.compile(rf"{name} {_ABOUT}|{_ONE} {_COMPARISON} {name}|\({name} {_ABOUT}\) IS (?:NOT )?[A-Z]+")

    def answer(self, predicate):
        """Return TRUE, FALSE or NULL for each row; None for a predicate that DuckDB does not share or raises on."""
        if not self._shares(predicate):
            return None
        try:
            found = self.connection.execute(f"SELECT ({predicate.sql.replace('`', DOUBLE)}) AS p FROM t")
        except duckdb.Error:
            return None
        return np.array([_CODES[value] for (value,) in found.fetchall()], np.uint8)

    def _shares(self, predicate):
        if isinstance(predicate, Leaf):
            return self.shared.fullmatch(predicate.sql) is not None
        return all(self._shares(child) for child in predicate.children)


def _is_shared(kind):
    return kind.family in SHARED and not (kind.family == "decimal" and kind.arrow.scale > MAX_SCALE)


def _rows_of(file, whole):
    rows = whole.slice(file.start, file.stop - file.start)
    for number, field in enumerate(whole.schema):
        if field.name in file.without:
            rows = rows.set_column(number, field, pa.nulls(len(rows), field.type))
    return rows
