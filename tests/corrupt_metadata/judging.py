"""Plans of a file with corrupt metadata, verified against the rows in its data pages."""

from __future__ import annotations

from functools import cache, cached_property
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_core.errors import PruneError
from parquet_core.pruning.access_plan import Verdict
from prune_assets.planner.explain.plan import plan


class Wrong(NamedTuple):
    """Rows, as (row group, row), that a plan wrongly skips or wrongly proves."""

    where: str
    lost: list[tuple[int, int]]
    misjudged: list[tuple[int, int]]


class Truth:
    """The rows of a file by row group, read by pyarrow; DuckDB evaluates predicates on them."""

    def __init__(self, path):
        file = pq.ParquetFile(path)
        self.groups = [file.read_row_group(i) for i in range(file.num_row_groups)]
        self._answers = {}

    def selected(self, where):
        if where not in self._answers:
            self._answers[where] = self._ask(where)
        return self._answers[where]

    def _ask(self, where):
        return set(connection().from_arrow(self._numbered).filter(where).select("in_group, in_row").fetchall())

    @cached_property
    def _numbered(self):
        numbered = [
            rows.append_column("in_group", pa.array([i] * len(rows), pa.int64())).append_column(
                "in_row", pa.array(range(len(rows)), pa.int64())
            )
            for i, rows in enumerate(self.groups)
        ]
        return pa.concat_tables(numbered)


@cache
def connection():
    """Return a connection of DuckDB, which takes longer to open than a query."""
    return duckdb.connect()


def read_now(path, truth):
    """Return the rows that pyarrow reads from a corrupt file; `truth` if they are equal or pyarrow reads none."""
    try:
        now = Truth(path)
    except (pa.ArrowException, OSError, ValueError):
        return truth
    return truth if now.groups == truth.groups else now


def judged(path, truth, predicates):
    """Return the findings about the plans of a file; None if it is refused. `truth`: values in its pages."""
    try:
        found = [_judged(path, truth, where) for where in predicates]
    except PruneError:
        return None
    return [wrong for wrong in found if wrong.lost or wrong.misjudged]


def _judged(path, truth, where):
    made = plan(path, where=where)
    access = made.evaluation.access
    kept, proven = _rows(access.ranges), _rows(access.matches)
    selected = truth.selected(where)
    whole = {i for i, verdict in enumerate(access.verdict) if verdict == Verdict.SCAN}
    lost = [row for row in sorted(selected - kept) if row[0] not in whole]
    return Wrong(where, lost, sorted(proven - selected))


def _rows(ranges):
    return {
        (int(group), row)
        for group, start, stop in zip(ranges.row_group, ranges.start, ranges.stop, strict=True)
        for row in range(start, stop)
    }
