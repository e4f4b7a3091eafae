"""Accuracy of `pr.advise` on TPC-H lineitem: predicted bytes compared with bytes planned on written layouts.

The advised layout is compared with rules of thumb: sort by the most filtered column, z-order by the three most filtered
columns, partition by the date, and common hand-picked sort keys. Layouts are written without Spark, as
`advice.verify` does; `parity` measures how far those files differ from Spark's. Results are stored in a file, so
that an interrupted run resumes.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from prune_assets import LayoutSpec

from benchmarks.reads import generated

NAME = "advisor: accuracy"
DIRECTORY = Path(".bench") / "advisor"
CACHE = Path(".bench") / "cache"
MEASURED = DIRECTORY / "planned.json"
# The lineitem filters of queries 1, 3, 6, 7, 10, 12, 14, 15, 19 and 20, and lookups as an application makes them.
WORKLOAD = [
    "l_shipdate <= DATE '1998-09-02'",
    "l_shipdate > DATE '1995-03-15'",
    *(
        f"l_shipdate >= DATE '{year}-01-01' AND l_shipdate < DATE '{year + 1}-01-01' "
        "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
        for year in (1994, 1996)
    ),
    "l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'",
    "l_returnflag = 'R'",
    (
        "l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
        "AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'"
    ),
    *(f"l_shipdate >= DATE '1995-{month:02}-01' AND l_shipdate < DATE '1995-{month + 1:02}-01'" for month in (2, 5, 9)),
    "l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01'",
    "l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON' AND l_quantity BETWEEN 1 AND 11",
    *(f"l_partkey = {key}" for key in (155_190, 77_001)),
    *(f"l_suppkey = {key} AND l_shipdate >= DATE '1997-06-01'" for key in (1_234, 9_001)),
    *(f"l_orderkey = {key}" for key in (2_449_988, 5_000_001)),
    "l_orderkey BETWEEN 3000000 AND 3010000",
    "l_receiptdate BETWEEN DATE '1997-03-01' AND DATE '1997-03-07'",
    "l_commitdate = DATE '1993-05-05'",
    "l_extendedprice > 100000",
]
LAYOUTS = {
    "most filtered column": {"sort_by": ["l_shipdate"]},
    "z-order of the three most filtered": {"zorder_by": ["l_shipdate", "l_shipmode", "l_quantity"]},
    "the key of the table": {"sort_by": ["l_orderkey"]},
    "date, then key": {"sort_by": ["l_shipdate", "l_orderkey"]},
    "date, then part": {"sort_by": ["l_shipdate", "l_partkey"]},
    "mode, then date": {"sort_by": ["l_shipmode", "l_shipdate"]},
    "receipt": {"sort_by": ["l_receiptdate"]},
    "Hilbert by date and part": {"hilbert_by": ["l_shipdate", "l_partkey"]},
    "Hilbert by date, part and order": {"hilbert_by": ["l_shipdate", "l_partkey", "l_orderkey"]},
    "partition by date": {"partition_by": ["l_shipdate"], "files": 1},
}


def advisor() -> Table:
    """Advise, write the advised layout and the others, and compare bytes."""
    import prune_assets as pr

    os.environ["PRUNE_CACHE_DIR"] = str(CACHE.absolute())
    source = str(DIRECTORY / "source")
    if not Path(source).is_dir():
        _write(pr.LayoutSpec(files=4), source)
    started, cpu = time.perf_counter(), time.process_time()
    advice = pr.advise(source, workload=WORKLOAD)
    took = f"{time.perf_counter() - started:.0f} s, {time.process_time() - cpu:.0f} s of processor time"
    layouts = {f"ranked {i}: {one.title}": one.layout for i, one in enumerate(advice.ranking, 1)}
    layouts |= {name: pr.LayoutSpec(**options) for name, options in LAYOUTS.items()}
    predicted = _predicted(source, list(layouts.values()))
    table = Table(
        "layout", "planned", "predicted", "of the least", "median error", "within 5 points", title=f"advice in {took}"
    )
    errors, rows, read = [], [], []
    for (name, layout), (bytes_, share) in zip(layouts.items(), predicted, strict=True):
        kept, whole = _planned(layout)
        error = 100 * np.abs(share - kept / whole)
        errors.append(error)
        read.append(kept.sum())
        rows.append([name, f"{kept.sum() / 1e6:,.0f} MB", f"{bytes_.sum() / 1e6:,.0f} MB", *_errors(error)])
        print(rows[-1], [f"{WORKLOAD[i][:40]} {error[i]:.1f}" for i in np.argsort(-error)[:3]], flush=True)
    for row, size in zip(rows, read, strict=True):
        table.add_row(*row[:3], f"{size / min(read):.2f} x", *row[3:])
    every = np.concatenate(errors)
    table.add_row(f"all, today {advice.today / 1e6:,.0f} MB", "", "", "", *_errors(every))
    percentiles = ", ".join(f"{p} %: {np.percentile(every, p):.2f}" for p in (50, 75, 90, 95, 99, 100))
    table.caption = f"percentiles of {len(every)} errors in points: {percentiles}"
    return table


def parity() -> Table:
    """Write two layouts with Spark as well, and compare the planned bytes."""
    import prune_assets as pr
    from prune_assets.spark.spark_session import spark_session

    spark = spark_session(master="local[2]", conf={"spark.driver.memory": "4g"})
    table = Table("layout", "without Spark", "by Spark", "largest difference in points", "median")
    for name in ("the key of the table", "Hilbert by date and part"):
        layout, target = pr.LayoutSpec(**LAYOUTS[name]), DIRECTORY / f"by Spark, {name}"
        if not (target / "_SUCCESS").exists() and not any(target.glob("*.parquet")):
            pr.write(spark.read.parquet(str(generated())), str(target), layout=layout, mode="overwrite")
        (ours, our_whole), (theirs, their_whole) = _planned(layout), _bytes(str(target))
        points = 100 * np.abs(ours / our_whole - theirs / their_whole)
        table.add_row(
            name,
            *(
                f"{kept.sum() / 1e6:,.0f} of {whole.sum() / 1e6:,.0f} MB"
                for kept, whole in ((ours, our_whole), (theirs, their_whole))
            ),
            f"{points.max():.2f}",
            f"{np.median(points):.2f}",
        )
    spark.stop()
    return table


def _errors(error: np.ndarray) -> list[str]:
    return [f"{np.median(error):.2f}", f"{np.mean(error <= 5):.1%}"]


def _predicted(source: str, layouts: list[LayoutSpec]) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    from prune_assets.advisor.queries import costs_of, queries_of
    from prune_assets.advisor.sample import take_sample
    from prune_assets.advisor.simulate import Workspace, simulate
    from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate
    from prune_assets.spark.lower_predicate import semantics_for
    from prune_assets.tables.opening import open_table

    table = open_table(source, semantics=semantics_for(None))
    queries = queries_of(table, [QueryShape(source, w, (), 1.0, (RanPredicate(w),)) for w in WORKLOAD], {})
    paths = dict.fromkeys(path for query in queries for path in query.paths())
    workspace = Workspace(take_sample(table, list(paths)), queries, costs_of(table.read_all()))
    found = [simulate(workspace, layout) for layout in layouts]
    return [(it.read, it.read / it.whole) for it in found]


def _planned(layout: LayoutSpec) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the planned and total bytes per query in a layout; each layout is written once."""
    known = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    key = json.dumps([repr(layout), WORKLOAD])
    if key not in known:
        target = str(DIRECTORY / "written")
        shutil.rmtree(target, ignore_errors=True)
        _write(layout, target)
        known[key] = [part.tolist() for part in _bytes(target)]
        MEASURED.write_text(json.dumps(known))
        shutil.rmtree(target)
    kept, whole = (np.array(part) for part in known[key])
    return kept, whole


def _bytes(table: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import prune_assets as pr

    plans = [pr.plan(table, where=where) for where in WORKLOAD]
    kept = np.array([plan.kept.bytes.sum() for plan in plans], np.float64)
    return kept, np.array([plan.sizes.bytes.sum() for plan in plans], np.float64)


def _write(layout: LayoutSpec, target: str) -> None:
    from prune_assets.advisor.queries import costs_of
    from prune_assets.advisor.trial_write import write_without_spark
    from prune_assets.spark.lower_predicate import semantics_for
    from prune_assets.tables.opening import open_table

    table = open_table(str(generated()), semantics=semantics_for(None))
    per_row = sum(cost.data for cost in costs_of(table.read_all()).values())
    write_without_spark(_rows(), Path(target), layout, table=table, bytes_per_row=per_row)


@cache
def _rows() -> pa.Table:
    import prune_assets as pr

    return pr.read_arrow(str(generated()))
