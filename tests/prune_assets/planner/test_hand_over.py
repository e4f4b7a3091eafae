"""What a part of the predicate that Spark keeps to itself implies for plain columns is handed over to its reader."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from predicate_cases import random_predicate, random_table, truth

import prune_assets as pr
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import Constant, IsNaN, IsNull, Not, Or, Unsupported
from prune_assets.planner.hand_over import necessary
from prune_assets.planner.plan import plan
from prune_assets.spark.metrics import scan_metrics
from prune_assets.sql.render import render

NULL = IsNull(("x",))


@pytest.mark.parametrize(
    ("predicate", "why"),
    [
        (Unsupported("f(x)", "not known"), "nothing is known"),
        (Or((NULL, Unsupported("f(x)", "not known"))), "either arm may hold"),
        (Not(Unsupported("f(x)", "not known")), "nothing is known of the opposite either"),
        (Not(IsNaN(("x",))), "of what the reader is not asked, nor of its opposite"),
        (Or((NULL, Constant(Outcomes.UNKNOWN))), "a row on which it raises"),
    ],
)
def test_nothing_follows(predicate, why):
    assert necessary(predicate) is None, why


@pytest.mark.parametrize("seed", range(20))
def test_what_follows_holds_where_the_predicate_does(seed):
    chance = random.Random(seed)
    rows = random_table(chance, rows=60).to_pylist()
    follows = 0
    for _ in range(60):
        predicate = random_predicate(chance)
        found = necessary(predicate)
        if found is not None:
            follows += 1
            assert all(truth(found, row) is True for row in rows if truth(predicate, row) is True), predicate
    assert follows > 5


@pytest.mark.spark
@pytest.mark.parametrize(
    ("where", "handed"),
    [
        ("x + 5 > 9900", ["x >= 9896"]),
        ("x > 9895", []),
        ("cast(x as double) / 2 >= 4950", ["x >= 9900"]),
        ("substr(s, 1, 3) = 'r99'", ["s LIKE 'r99%'"]),
        ("coalesce(x, 0) > 9895 and rand() >= 0", ["x IS NOT NULL AND x >= 9896"]),
        ("x - 1 in (5, 9998)", ["x IN (6, 9999) OR x = -2147483648"]),
    ],
)
def test_spark_reads_less(spark, tmp_path, where, handed):
    ids = range(10_000)
    table = pa.table({"x": pa.array(ids, pa.int32()), "s": [f"r{i:04}" for i in ids]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=500)
    made = plan(tmp_path, where=where, session=spark)
    assert [render(part) for part in made.handed_over] == handed
    pruned = pr.read(spark, tmp_path, where=where, plan=made)
    whole = spark.read.parquet(str(tmp_path)).where(where)
    assert sorted(pruned.collect()) == sorted(whole.collect())
    (with_plan,), (alone,) = scan_metrics(pruned), scan_metrics(whole)
    assert with_plan.rows <= 1_000, "one row group or two"
    assert alone.rows == (with_plan.rows if not handed else 10_000)
