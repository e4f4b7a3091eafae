"""Write, read and optimize tables through Spark Connect, in a process that has no other session."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import prune_assets as pr

DAYS = pr.LayoutSpec(sort_by=["k DESC"], partition_by=["day"], bloom={"id": 0.01}, files=6)
WHERE = "day = DATE '2024-01-02' AND k < 10"


def main() -> None:
    (place,) = map(Path, sys.argv[1:])
    # Spark's own tests have a server on a free port by this.
    os.environ["SPARK_TESTING"] = "1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.remote("local[1]").getOrCreate()
    rows = session.range(9_000).selectExpr(
        "id", "id * 7919 % 1009 AS k", "date_add(DATE '2024-01-01', CAST(id % 3 AS INT)) AS day"
    )
    found = {}
    for layout_format in ("parquet", "delta"):
        days, curve, keys = (place / f"{layout_format}_{name}" for name in ("days", "curve", "keys"))
        pr.write(rows, days, layout=DAYS, format=layout_format)
        selected = pr.read(days, where=WHERE, session=session).count()
        plan = pr.plan(days, where=WHERE, session=session)
        frame = pr.read(days, where=WHERE, session=session, plan=plan)
        frame.collect()
        *_, foretold, _, actual = plan.report_after(frame).engines
        one = rows.where("day = DATE '2024-01-02'").limit(10)
        pr.write(one, days, layout=DAYS, mode="overwrite", where="day = DATE '2024-01-02'")
        curved = pr.write(rows, curve, layout=pr.LayoutSpec(zorder_by=["k", "id"], files=4), format=layout_format)
        layout = pr.LayoutSpec(sort_by=["k"])
        for i in range(3):
            pr.write(rows.where(f"id % 3 = {i}"), keys, layout=layout, format=layout_format)
        done = pr.optimize(keys, layout=layout, session=session)
        session.conf.set("spark.prune.executorFiles", "1")
        os.environ["PRUNE_CACHE_BYTES"] = "0"
        levels = pr.plan(days, where="k < 10", session=session).report.levels
        session.conf.unset("spark.prune.executorFiles")
        found[layout_format] = [
            selected == rows.where(WHERE).count() > 0,
            pr.read(days, where="true", session=session).count(),
            len(curved.files),
            [actual.kept.files, actual.kept.rows] == [foretold.kept.files, foretold.kept.rows],
            any(level.level == "executors" and "read in 1 task (" in level.why for level in levels),
            [len(done.picked), done.new_files, pr.read(keys, where="true", session=session).count()],
        ]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
