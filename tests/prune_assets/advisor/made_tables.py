"""Tables of several kinds, their workloads, and a writer that puts them into a layout without Spark."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from prune_assets.advisor.trial_write import with_dictionary
from prune_assets.tables.writes.curves import bits_per_column, curve_positions

DAY = dt.date(2024, 1, 1)


def uniform(rows, rng):
    """Columns that have nothing to do with each other."""
    data = {
        "a": rng.integers(0, 1_000_000, rows),
        "b": rng.integers(0, 1_000, rows),
        "c": rng.random(rows),
        "v": rng.integers(0, 1 << 40, rows),
    }
    wheres = [
        f"a BETWEEN {x} AND {x + w}"
        for x, w in zip(rng.integers(0, 900_000, 4), (50, 5_000, 50_000, 200_000), strict=True)
    ]
    wheres += [f"b = {x}" for x in rng.integers(0, 1_000, 2)] + ["b < 30", "c > 0.99", "c < 0.001", "a = -5", "a = 77"]
    wheres += ["a < 100000 AND b < 100", "b = 5 OR c > 0.95", "b IN (3, 500, 900)", "NOT a > 50000"]
    return pa.table(data), wheres


def dated(rows, rng):
    """Dates, ids and other dates that follow them."""
    day = np.sort(rng.integers(0, 730, rows))
    ship = day + rng.integers(1, 120, rows)
    data = {
        "day": pa.array(day.astype(np.int32)).cast(pa.date32()),
        "ship": pa.array(ship.astype(np.int32)).cast(pa.date32()),
        "arrived": pa.array((ship + rng.integers(1, 30, rows)).astype(np.int32)).cast(pa.date32()),
        "id": np.arange(rows) * 4 + rng.integers(0, 4, rows),
        "year": 1970 + day // 365,
        "customer": rng.integers(0, max(rows // 10, 10), rows),
        "v": rng.random(rows),
    }
    order = rng.permutation(rows)
    wheres = [f"day = DATE '1970-01-01' + {d}" for d in (5, 700)]
    wheres += [f"ship BETWEEN DATE '{_date(d)}' AND DATE '{_date(d + w)}'" for d, w in ((30, 7), (300, 60), (500, 1))]
    wheres += [f"arrived = DATE '{_date(d)}'" for d in (60, 420)]
    wheres += [
        f"day >= DATE '{_date(600)}' AND customer = {rows // 25}",
        f"id = {rows * 13 // 10}",
        f"id < {rows // 10}",
    ]
    wheres += ["year = 1971", f"customer = {rows // 30}", f"customer < {rows // 500}", "year(day) = 1970"]
    wheres += [f"ship < DATE '{_date(100)}' AND arrived > DATE '{_date(90)}'", "ship > arrived"]
    return pa.table(data).take(pa.array(order)), wheres


def skewed(rows, rng):
    """Return strings, a few of which are frequent, with a long common prefix in one column."""
    rank = np.minimum(rng.zipf(1.3, rows), 50_000)
    city = np.array([f"city-{(i * 7919) % 50_021:05}" for i in range(50_001)], object)[rank]
    url = np.array(
        [f"https://example.org/a/long/way/to/the/page/that/is/longer/than/64/{i:06}" for i in range(5_000)], object
    )
    data = {
        "city": city,
        "url": url[rng.integers(0, 5_000, rows)],
        "status": np.array(["active", "closed", "new", "void"], object)[
            rng.choice(4, rows, p=[0.9, 0.09, 0.009, 0.001])
        ],
        "n": rng.exponential(10.0, rows),
    }
    wheres = [f"city = '{c}'" for c in (city[0], city[rows // 2])] + ["city LIKE 'city-0%'", "city < 'city-001'"]
    wheres += [f"url = '{url[17]}'", "status = 'void'", "status <> 'active'", "n > 100", "n > 60 AND status = 'new'"]
    wheres += ["status = 'closed' AND city > 'city-4'", "city IN ('city-00001', 'city-49999')", "n < 0.01"]
    return pa.table(data), wheres


def with_nulls(rows, rng):
    """Columns with nulls and NaN, few or many, alone or together."""
    a = rng.integers(0, 100_000, rows)
    late = rng.random(rows) < 0.3
    data = {
        "a": pa.array(a, mask=rng.random(rows) < 0.05),
        "rare": pa.array(rng.integers(0, 50, rows), mask=rng.random(rows) < 0.9995),
        "closed": pa.array(a // 100, mask=late),
        "f": np.where(rng.random(rows) < 0.0002, np.nan, rng.normal(0, 1, rows)),
        "v": rng.random(rows),
    }
    wheres = ["a IS NULL", "a < 500", "rare = 7", "rare IS NOT NULL", "closed IS NULL AND a < 5000", "closed = 500"]
    wheres += [
        "closed IS NULL",
        "f > 3",
        "f < -4",
        "isnan(f)",
        "a > 99000 OR rare = 3",
        "a <=> NULL",
        "closed IS NOT NULL",
    ]
    return pa.table(data), wheres


KINDS = {"uniform": uniform, "dated": dated, "skewed": skewed, "with_nulls": with_nulls}


def noise(rows, size, rng):
    """Return `rows` binary values of `size` random bytes."""
    values = pa.py_buffer(rng.bytes(rows * size))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), rows, [None, values]).cast(pa.binary())


def _date(days):
    return dt.date(1970, 1, 1) + dt.timedelta(int(days))


def in_order(table, layout):
    """Return the rows in the order of a layout."""
    keys = [(key.column, "ascending", "at_start") for key in layout.sort_keys]
    if layout.curve_by:
        bits = bits_per_column(len(layout.curve_by))
        cell = np.zeros(len(table), np.int64)
        for name in layout.curve_by:
            rank = np.asarray(pc.rank(table[name], sort_keys=[("", "ascending", "at_start")], tiebreaker="max"))
            cell = cell << bits | np.minimum(((rank.astype(np.int64) - 1) << bits) // len(table), (1 << bits) - 1)
        at = curve_positions(len(layout.curve_by), hilbert=bool(layout.hilbert_by))[cell]
        return table.take(pa.array(np.argsort(at, kind="stable")))
    return table.take(pc.sort_indices(table, sort_keys=keys)) if keys else table


def put(table, directory, layout, *, files=1, group_rows=None):
    """Write rows in their order to files of equal size, with the pages and row groups of a layout.

    A column gets a dictionary if the dictionary of its first page is short, as in parquet-java.
    """
    directory.mkdir(parents=True)
    edges = [len(table) * i // files for i in range(files + 1)]
    for i, (start, stop) in enumerate(pairwise(edges)):
        part = table.slice(start, stop - start)
        pq.write_table(
            part,
            directory / f"part-{i:04}.parquet",
            row_group_size=group_rows or layout.row_group_rows,
            max_rows_per_page=layout.page_rows,
            write_batch_size=min(1_000, layout.page_rows),
            data_page_size=1 << 30,
            write_page_index=True,
            compression="zstd",
            use_dictionary=with_dictionary(part, layout, group_rows or layout.row_group_rows or len(part)),
        )
    return str(directory)
