"""A table on disk, with its planner, the peers that read it, and its rows."""

from __future__ import annotations

import contextlib
import math
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import array_of_scalars
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Compare, In, Op, columns_of_leaf, leaves
from parquet_core.pruning.trees import fold
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.sql.semantics import SparkSemantics
from tests.prune_assets.sql.interpreter import outcomes_of

from .interpreted import interpreted
from .peers import DataFusion, ParquetJava
from .planned import Planner
from .second_voice import SecondVoice
from .tables import arrow_rows
from .truth import Truth, settings
from .writing import write

_OUTCOMES = {True: Outcomes.TRUE, False: Outcomes.FALSE, None: Outcomes.NULL}
# Families whose stored values equal Arrow's values.
PLAIN = {"integer", "float", "string", "binary"}
# Days and seconds since 1970 of 1582-10-15, of 1900-01-01, after which all calendars agree.
OLDEST = {"date": -141427, "timestamp": -2208988800, "timestamp_ntz": -2208988800}


class Ground:
    """A table that was written to a directory."""

    def __init__(self, table, directory, spark):
        write(table, directory, spark)
        self.table, self.directory, self.spark = table, directory, spark
        semantics = SparkSemantics(time_zone=table.zone) if spark is None else semantics_of(spark)
        self.planner = Planner(directory, semantics)
        self.columns = {column.path: column for column in table.columns}
        self._rows = None

    def truth(self, predicates):
        """Return the answers to each predicate: Spark's, or without Spark those of an interpreter."""
        if self.spark is None:
            self._rows = self._rows or self._in_order()
            return [interpreted(self.planner, predicate, self._rows) for predicate in predicates]
        return Truth(self.spark, self.directory, predicates, self.planner).of

    def second_voice(self):
        """Return a second judge of the selected rows; None if there is no Spark."""
        return None if self.spark is None else SecondVoice(self)

    def peers(self):
        others = (DataFusion(self.planner),)
        return others if self.spark is None else (ParquetJava(self.spark, self.directory, self.planner), *others)

    def could_be(self, predicate, rows, changed):
        """True if other values, given by column, would let the predicate select one of these rows.

        Evidence is about one column at a time, so a value of one row may be combined with a value of another row.
        """
        own = [self._values(row) for row in np.flatnonzero(rows).tolist()]
        changed_ones = [_with(values, changed) for values in own]
        actual = self._possible(predicate, own, changed)
        if not actual & Outcomes.TRUE and self._possible(predicate, changed_ones, changed) & Outcomes.TRUE:
            return True
        return any(True in outcomes_of(predicate, values) for values in changed_ones)

    def _possible(self, predicate, rows, changed):
        """Return the possible outcomes of a predicate from its leaves on `changed` columns alone.

        Each leaf is evaluated by itself.
        """
        answers = []
        for leaf in leaves(predicate):
            about = not set(columns_of_leaf(leaf)).isdisjoint(changed)
            found = set().union(*(outcomes_of(leaf, row) for row in rows)) if about else _OUTCOMES
            answers.append(np.array([sum(int(_OUTCOMES[each]) for each in found)], np.uint8))
        return int(fold(predicate, answers)[0])

    def _around(self, rows):
        """Flag each row that is in the same row group as one of these rows."""
        index = self.planner.index
        groups = np.unique(np.searchsorted(self.planner.base, np.flatnonzero(rows), side="right") - 1)
        return np.isin(np.repeat(np.arange(len(index)), index.groups.row_count), groups)

    def holds_old_moments(self, path, rows):
        """True if row groups of these rows contain dates before 1582 or timestamps before 1900."""
        column = self.columns.get(path)
        oldest = None if column is None else self._oldest(column)
        if oldest is None:
            return False
        return any(value is not None and value < oldest for value in self._beside(column, rows))

    def looks_up_old_moments(self, predicate):
        """True if the predicate compares with such a date or timestamp.

        Writers hash these values in one of two calendars, so a bloom filter may not find them.
        """
        for leaf in leaves(predicate):
            column = self.columns.get(leaf.column) if isinstance(leaf, Compare | In) else None
            oldest = None if column is None else self._oldest(column)
            if oldest is not None and any(value < oldest for value in _stored(leaf, column.of.arrow)):
                return True
        return False

    @staticmethod
    def _oldest(column):
        if column.of.family not in OLDEST:
            return None
        scale = {"date": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
        return OLDEST[column.of.family] * scale["date" if column.of.family == "date" else column.of.arrow.unit]

    def holds_nulls_only(self, path, rows):
        """True if row groups of these rows contain only nulls in a column."""
        column = self.columns.get(path)
        return column is not None and all(value is None for value in self._beside(column, rows))

    def loses_values(self, peer, path, rows):
        """True if a peer loses rows of these row groups for equality with values that they contain."""
        column = self.columns.get(path)
        if not isinstance(peer, DataFusion) or column is None or len(path) > 1 or column.of.family not in PLAIN:
            return False
        around = np.flatnonzero(self._around(rows))
        held = dict(zip(around.tolist(), self._beside(column, rows), strict=True))
        for value in {value for value in held.values() if value is not None}:
            kept = peer.keeps("", Compare(path, Op.EQ, pa.scalar(value, column.of.arrow)))
            # NaN differs from itself, but its repr is equal.
            same = [row for row, one in held.items() if repr(one) == repr(value)]
            if not kept[same].all():
                return True
        return False

    def holds_nan_by_spark(self, path, file, rows):
        """True if Spark wrote the file, and the bounds of row groups of these rows contain NaN."""
        if self.files_in_order()[file].writer != "spark":
            return False
        return any(value is not None and math.isnan(value) for value in self._beside(self.columns[path], rows))

    def _beside(self, column, rows):
        """Yield the values of a column in the row groups of these rows; None where an enclosing struct is null."""
        places = self._places()
        above = (".".join(column.path[:depth]) for depth in range(1, len(column.path)))
        holes = set().union(*(self.table.holes.get(name, ()) for name in above))
        found = (places[row] for row in np.flatnonzero(self._around(rows)))
        return (None if row in holes else column.values[row] for row in found)

    def _places(self):
        """Map each row of the plan to its row in the table."""
        return [row for file in self.files_in_order() for row in range(file.start, file.stop)]

    def files_in_order(self):
        """Return the files of the table, ordered by path."""
        paths = {str(self.directory / file.directory / f"{i}.parquet"): file for i, file in enumerate(self.table.files)}
        return [paths[path] for path in self.planner.paths]

    def _values(self, row):
        """Return a row by its position in the plan, where files are ordered by path."""
        if self._rows is None:
            self._rows = self._in_order()
        return dict(self._rows[row])

    def _in_order(self):
        """Return the rows in the order of the plan, with partition values."""
        whole = _in_microseconds(arrow_rows(self.table)).to_pylist()
        rows = []
        for number, file in enumerate(self.files_in_order()):
            named = {
                key[0]: values[number].as_py() for key, values in self.planner.index.groups.partition_values.items()
            }
            missing = dict.fromkeys(file.without)
            rows += [row | missing | named for row in whole[file.start : file.stop]]
        return rows


def _stored(leaf, kind):
    """Return the values of a leaf as integers in the unit of the column, rounded down."""
    values = leaf.values if isinstance(leaf, In) else array_of_scalars([leaf.value])
    if pa.types.is_date(kind):
        return values.cast(pa.date32()).cast(pa.int32()).to_pylist()
    exact = values.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    return [value * 1000 if kind.unit == "ns" else value // (1000 if kind.unit == "ms" else 1) for value in exact]


def _in_microseconds(rows):
    """Truncate nanoseconds to microseconds, as a writer without nanoseconds does."""
    for number, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            kind = pa.timestamp("us", field.type.tz)
            rows = rows.set_column(number, field.name, rows.column(number).cast(kind, safe=False))
    return rows


@contextlib.contextmanager
def laid_out(table, spark):
    """Write a table to a temporary directory, and remove it afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        zone = {"spark.sql.session.timeZone": table.zone}
        with contextlib.nullcontext() if spark is None else settings(spark, zone):
            yield Ground(table, directory / "t", spark)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _with(values, changed):
    """Return a copy of a row with some values replaced; paths may lead into structs."""
    values = dict(values)
    for path, value in changed.items():
        place = values
        for name in path[:-1]:
            # The other fields of a null struct stay null.
            place[name] = defaultdict(lambda: None, place.get(name) or {})
            place = place[name]
        place[path[-1]] = value
    return values
