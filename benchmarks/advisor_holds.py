"""Check advice on twelve tables modelled on public data sets: advise, write, plan, and advise again.

Advice is computed from a sample of the rows. The advised layout, the next layouts of the ranking and layouts that an
expert would choose are written without Spark and planned. Each output line contains the regret (bytes read with the
advised layout, divided by the fewest bytes of any layout), the error of the predicted total, the errors per query in
percentage points of the bytes of its columns, the largest ratio between predicted and planned bytes, the number of
queries that read more than twice as much without being named in the advice, and whether advice on the written table is
to change nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from benchmarks.advisor_tables import ROWS, SHAPES, workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from benchmarks.advisor_tables import Shape
    from prune_assets import LayoutSpec
    from prune_assets.advisor.result import LayoutAdvice

NAME = "advisor: it holds"
DIRECTORY = Path(".bench") / "advisor-holds"
SAMPLED = 400_000
# Below these bytes (one page of a few columns), the ratio of predicted to planned bytes is meaningless.
_SMALL = 128 << 10


def holds(names: Sequence[str] = tuple(SHAPES)) -> Table:
    """Advise, write, plan and advise again; one row per workload."""
    os.environ["PRUNE_CACHE_DIR"] = str((Path(".bench") / "cache").absolute())
    found = []
    for name in names:
        shape = SHAPES[name]
        source = _source(name, shape)
        rows = pq.read_table(source)
        for number in range(shape.workloads):
            found.append(_line(f"{name} {number}", source, rows, workload(shape, number)))
            print(json.dumps(found[-1]), flush=True)
    table = Table(*found[0], title=NAME)
    for row in found:
        table.add_row(*map(str, row.values()))
    table.caption = summary(found)
    return table


def summary(found: Sequence[dict[str, Any]]) -> str:
    """Return the figures over all workloads to which the bars apply."""
    regret = np.array([row["regret"] for row in found])
    total = np.array([abs(row["total"] - 1) for row in found])
    points = np.concatenate([row["errors"] for row in found])
    return (
        f"{len(found)} workloads: regret at most 1.1 in {np.mean(regret <= 1.1):.0%}, largest {regret.max():.2f}; "
        f"totals within 10% in {np.mean(total <= 0.1):.0%}, worst {total.max():.0%}; "
        f"queries within 5 points {np.mean(points <= 5):.1%}; "
        f"largest ratio {max(row['ratio'] for row in found):.1f}; "
        f"twice as dear and unsaid {sum(row['unsaid'] for row in found)}; "
        f"settled {sum(row['settled'] is True for row in found)}; "
        f"processor {sum(row['cpu'] for row in found):.0f} s"
    )


def _source(name: str, shape: Shape) -> Path:
    source = DIRECTORY / name
    if not (source / "_done").exists():
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir(parents=True)
        rows = shape.rows(np.random.default_rng(sum(name.encode())), ROWS)
        for i in range(4):
            part = rows.slice(len(rows) * i // 4, len(rows) * (i + 1) // 4 - len(rows) * i // 4)
            file = source / f"part-{i}.parquet"
            # Uses the codec of layouts, so that savings come from the order alone.
            sizes = {"row_group_size": 125_000, "max_rows_per_page": 20_000, "compression_level": 3}
            pq.write_table(part, file, write_page_index=True, compression="zstd", **sizes)
        (source / "_done").touch()
    return source


def _line(title: str, source: Path, rows: pa.Table, wheres: list[str]) -> dict[str, Any]:
    import prune_assets as pr

    # Plan first to fill the metadata cache, so that the time of advice is mostly the time of the simulation.
    today = _planned(source, wheres)[0]
    cpu = time.process_time()
    advice = pr.advise(str(source), workload=wheres, sample_rows=SAMPLED * len(rows) // ROWS)
    cpu = time.process_time() - cpu
    target = DIRECTORY / "written"
    layouts = {one.title: one.layout for one in advice.ranking[:2]} | _experts(rows, wheres)
    planned, settled = {}, True
    for i, (name, layout) in enumerate(layouts.items()):
        _write(rows, target, layout, source)
        planned[name] = _planned(target, wheres)
        if i == 0 and advice.advised is not None:
            again = pr.advise(str(target), workload=wheres, sample_rows=SAMPLED * len(rows) // ROWS)
            settled = again.advised is None or again.verdict
    first = advice.ranking[0]
    read, whole = planned[first.title]
    predicted = _predicted(source, wheres, first.layout, advice.sampled_rows)
    points = 100 * np.abs(predicted[0] / predicted[1] - read / whole)
    large = np.maximum(predicted[0], read) > _SMALL
    ratio = np.maximum(predicted[0], read)[large] / np.maximum(np.minimum(predicted[0], read)[large], 1)
    chosen = today if advice.advised is None else read
    best = min((today.sum(), "today"), *((it[0].sum(), name) for name, it in planned.items()))
    dear = [where for where, was, now in zip(wheres, today, chosen, strict=True) if now > 2 * was and now > _SMALL]
    return {
        "workload": title,
        "advised": "nothing" if advice.advised is None else first.title,
        "best": best[1],
        "regret": round(float(chosen.sum() / best[0]), 3),
        "today": round(today.sum() / 1e6, 1),
        "predicted": round(predicted[0].sum() / 1e6, 1),
        "measured": round(read.sum() / 1e6, 1),
        "total": round(float(predicted[0].sum() / read.sum()), 3),
        "median": round(float(np.median(points)), 1),
        "worst": round(float(points.max()), 1),
        "worst query": wheres[int(points.argmax())],
        "ratio": round(float(ratio.max(initial=1.0)), 1),
        "ratio query": wheres[int(np.flatnonzero(large)[ratio.argmax()])] if large.any() else "",
        "unsaid": len({where for where in dear if where not in _named(advice)}),
        "settled": settled,
        "cpu": round(cpu, 1),
        "errors": points.round(1).tolist(),
    }


def _named(advice: LayoutAdvice) -> set[str]:
    """Return the queries that the advice names because their bytes more than double."""
    return {one.where for one in getattr(advice, "dearer", ())}


def _experts(rows: pa.Table, wheres: Sequence[str]) -> dict[str, LayoutSpec]:
    import prune_assets as pr

    names = [name for name in rows.column_names if not pa.types.is_struct(rows.schema.field(name).type)]
    count = Counter(name for where in wheres for name in names if name in where.split())
    most = [name for name, _ in count.most_common(3)]
    base = {"page_rows": 5_000}
    found = {
        f"expert: sort by {most[0]}": pr.LayoutSpec(sort_by=most[:1], **base),
        f"expert: sort by {', '.join(most[:2])}": pr.LayoutSpec(sort_by=most[:2], **base),
    }
    if len(most) > 1:
        found[f"expert: z-order by {', '.join(most)}"] = pr.LayoutSpec(zorder_by=most, **base)
        found[f"expert: Hilbert by {', '.join(most[:2])}"] = pr.LayoutSpec(hilbert_by=most[:2], **base)
    return found


def _write(rows: pa.Table, target: Path, layout: LayoutSpec, source: Path) -> None:
    from prune_assets.advisor.queries import costs_of
    from prune_assets.advisor.trial_write import write_without_spark
    from prune_assets.spark.lower_predicate import semantics_for
    from prune_assets.tables.opening import open_table

    shutil.rmtree(target, ignore_errors=True)
    table = open_table(str(source), semantics=semantics_for(None))
    per_row = sum(cost.data for cost in costs_of(table.read_all()).values())
    write_without_spark(rows, target, layout, table=table, bytes_per_row=per_row)


def _planned(table: Path, wheres: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from prune_assets.planner.plan_read import plan_opened
    from prune_assets.spark.lower_predicate import semantics_for
    from prune_assets.tables.opening import open_table

    opened = open_table(str(table), semantics=semantics_for(None))
    plans = [plan_opened(opened, where=where, session=None, depth="pages") for where in wheres]
    kept = np.array([plan.kept.bytes.sum() for plan in plans], np.float64)
    return kept, np.array([plan.sizes.bytes.sum() for plan in plans], np.float64)


def _predicted(
    source: Path, wheres: Sequence[str], layout: LayoutSpec, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from dataclasses import replace

    from prune_assets.advisor.queries import costs_of, queries_of
    from prune_assets.advisor.sample import encoded_rows, take_sample
    from prune_assets.advisor.simulate import Workspace, simulate
    from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate
    from prune_assets.spark.lower_predicate import semantics_for
    from prune_assets.tables.opening import open_table

    table = open_table(str(source), semantics=semantics_for(None))
    shapes = [QueryShape(str(source), where, (), 1.0, (RanPredicate(where),)) for where in wheres]
    queries = queries_of(table, shapes, {})
    paths = dict.fromkeys(path for query in queries for path in query.paths())
    sample, costs = take_sample(table, list(paths), most), costs_of(table.read_all())
    workspace = Workspace(sample, queries, costs, encoded_rows(table, queries, list(sample.columns), costs))
    # Arrow wrote the layout, and Arrow does not truncate string bounds.
    return simulate(workspace, replace(layout, column_index_truncate_length=1 << 20))


if __name__ == "__main__":
    print(holds(sys.argv[1:] or tuple(SHAPES)).caption)
