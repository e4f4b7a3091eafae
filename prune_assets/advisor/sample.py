"""A sample of a table's rows: evenly spread blocks of the needed columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.errors import UnsupportedFeature
from parquet_core.pruning.access_plan import RangeList, make_access_plan
from prune_assets.advisor.sizes import EncodedRows
from prune_assets.planner.plan_read import plan_opened
from prune_assets.reading.arrow_columns import arrow_columns, names_of
from prune_assets.reading.arrow_scan import scan_of
from prune_assets.reading.row_filter import compared_values
from prune_assets.simulation.sample import Sample, coded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import Path
    from prune_assets.advisor.queries import ColumnCost, Query
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.tables.table import Table

MOST_ROWS = 1_000_000
# Adjacent rows that are read together: a page is decoded completely, however few of its rows are sampled.
_BLOCK = 4_096
# Rows read per sampled row, because adjacent rows of a table repeat each other's values.
_READ_FOR_ONE = 4
# Sampled rows per run of adjacent rows.
_TOGETHER = 64
# Rows per block of encoded rows. Blocks are short, because few rows are encoded and should come from many positions.
_BLOCK_ENCODED = 256
# Minimum and maximum number of rows, and maximum number of values, that are encoded for each layout; then the maximum
# number of encoded columns of a wide table.
_FEWEST_ROWS_ENCODED, _MOST_ROWS_ENCODED, _MOST_VALUES_ENCODED = 16_384, 32_768, 1_000_000
_MOST_ENCODED = 100


def take_sample(table: Table, paths: Sequence[Path], most: int = MOST_ROWS) -> Sample:
    """Read a sample of columns, without columns that only Spark can read."""
    names = list(dict.fromkeys(path[0] for path in paths))
    plan = plan_opened(table, where="true", columns=names, session=None, depth="row_groups")
    names = [name for name in names if _is_read(plan, name)]
    deleted = table.format.examination().deleted_rows(table)
    total = int(plan.index.groups.row_count.sum() - deleted.sum())
    rows = _read(plan, names, _blocks(plan.index.groups.row_count, most * _READ_FOR_ONE), most)
    return sample_of(table, [path for path in paths if path[0] in names], rows if names else rows.slice(0, 0), total)


def sample_of(table: Table, paths: Sequence[Path], rows: pa.Table, total: int) -> Sample:
    """Return a sample that consists of columns of `rows`.

    `total`: number of rows of the table.
    """
    leaves = {column.path: column for column in (*table.columns, *table.partitions)}
    values = {path[0]: rows.column(path[0]) for path in paths}
    columns = {path: coded(leaves[path], compared_values(path, values, leaves[path])) for path in paths}
    return Sample(columns, rows.num_rows, total)


def encoded_rows(
    table: Table, queries: Sequence[Query], keys: Sequence[Path], costs: Mapping[Path, ColumnCost]
) -> EncodedRows | None:
    """Read blocks of whole rows, to measure their bytes in the order of each layout; None if no column can be read.

    For a wide table only the largest columns are read, since each column is encoded for each layout.
    """
    plan = plan_opened(table, where="true", session=None, depth="row_groups")
    size = {column.path[0]: 0.0 for query in queries for column in query.columns}
    for path, cost in costs.items():
        if path[0] in size:
            size[path[0]] += cost.data
    wanted = dict.fromkeys([*(path[0] for path in keys), *sorted(size, key=lambda it: -size[it])[:_MOST_ENCODED]])
    names = [name for name in wanted if _is_read(plan, name)]
    if not names:
        return None
    most = min(_MOST_ROWS_ENCODED, max(_FEWEST_ROWS_ENCODED, _MOST_VALUES_ENCODED // len(names)))
    blocks = _blocks(plan.index.groups.row_count, most, _BLOCK_ENCODED)
    rows = _read(plan, names, blocks)
    begins = np.cumsum(blocks.stop - blocks.start) - (blocks.stop - blocks.start)
    of_keys = sample_of(table, [path for path in keys if path[0] in names], rows, rows.num_rows)
    return EncodedRows(rows, of_keys, begins, int(plan.index.groups.row_count.sum()))


def sampled_rows(table: Table, most: int) -> pa.Table:
    """Return about `most` whole rows, in evenly spread blocks.

    Raises UnsupportedFeature for a column that cannot be read, with its name.
    """
    plan = plan_opened(table, where="true", session=None, depth="row_groups")
    return _read(plan, names_of(plan, None), _blocks(plan.index.groups.row_count, most))


def rows_of_files(table: Table, names: Sequence[str], files: Collection[str] | None, most: int) -> pa.Table:
    """Return at most `most` rows of columns, without columns that only Spark can read.

    `files`: names of the files; None for all files of the table.
    """
    plan = plan_opened(table, where="true", columns=names, session=None, depth="row_groups")
    names = [name for name in names if _is_read(plan, name)]
    groups = plan.index.groups
    chosen = np.array([files is None or PurePosixPath(file.path).name in files for file in groups.files], np.bool_)
    rows = np.where(chosen[groups.file], groups.row_count, 0) if len(chosen) else groups.row_count
    if not names or not rows.any():
        return pa.table({})
    return _read(plan, names, _blocks(rows, most, _BLOCK_ENCODED), most)


def _read(plan: PlannedRead, names: Sequence[str], blocks: RangeList, most: int | None = None) -> pa.Table:
    """Read blocks of rows; at most `most` rows of them, evenly spread."""
    access = make_access_plan(blocks, blocks.only(np.zeros(len(plan.index), np.bool_)), plan.index.groups.row_count)
    scan = scan_of(replace(plan, evaluation=replace(plan.evaluation, access=access)), names)
    tables = scan.tables(scan.kept())
    if most is not None and (total := int((blocks.stop - blocks.start).sum())) > most:
        tables = _thinned(tables, total, most)
    return pa.concat_tables([scan.no_rows(), *tables])


def _thinned(tables: Iterable[pa.Table], total: int, most: int) -> Iterator[pa.Table]:
    """Reduce tables to at most `most` of `total` rows, evenly spread."""
    chosen, begin = _random_rows(total, most), 0
    for rows in tables:
        first, last = np.searchsorted(chosen, [begin, begin + rows.num_rows])
        yield rows.take(from_numpy(chosen[first:last] - begin))
        begin += rows.num_rows


def _random_rows(total: int, most: int) -> NDArray[np.int64]:
    """Return ascending numbers of random rows: `_TOGETHER` rows of each run of adjacent rows.

    With one row from each of many short runs, adjacent equal values would repeat less often than in random rows. Rows
    drawn at random from the whole table could not be cut into pages.
    """
    length = -(-_TOGETHER * total // most)
    runs, random = -(-total // length), np.random.default_rng(most)
    places = random.random((runs, length)).argpartition(_TOGETHER, axis=1)[:, :_TOGETHER]
    chosen = np.sort(places + np.arange(runs)[:, None] * length, axis=1).ravel()
    rows: NDArray[np.int64] = chosen[chosen < total]
    return rows


def _is_read(plan: PlannedRead, name: str) -> bool:
    try:
        arrow_columns(plan, [name])
    except UnsupportedFeature:
        return False
    return True


def _blocks(row_count: NDArray[np.int64], most: int, length: int = _BLOCK) -> RangeList:
    """Return blocks of rows, evenly spread over all row groups, that have about `most` rows.

    The blocks cover all rows if the table has at most `most` rows.
    """
    first = np.cumsum(row_count) - row_count
    total = int(row_count.sum())
    block = length if total > most else max(total, 1)
    starts = np.arange(0, total, block * max(total / max(most, 1), 1.0)).astype(np.int64)
    # Blocks are cut where row groups begin, because a block may span several row groups.
    pieces = np.unique(np.concatenate([starts, first[_inside(first, starts, block) & (row_count > 0)]]))
    group = np.searchsorted(first, pieces, "right") - 1
    begun = starts[np.searchsorted(starts, pieces, "right") - 1]
    stops = np.minimum(np.minimum(begun + block, first[group] + row_count[group]), np.append(pieces[1:], total))
    return RangeList(group, pieces - first[group], stops - first[group])


def _inside(points: NDArray[np.int64], starts: NDArray[np.int64], block: int) -> NDArray[np.bool_]:
    before = np.searchsorted(starts, points, "right") - 1
    inside: NDArray[np.bool_] = (before >= 0) & (points < starts[np.maximum(before, 0)] + block)
    return inside
