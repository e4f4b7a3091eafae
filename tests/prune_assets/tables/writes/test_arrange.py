"""Orders and encodings that are written, proven from the bytes."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as fn

import prune_assets as pr
from parquet_core.layout.spec import Severity
from prune_assets.tables.writes.curves import bits_per_column, curve_positions

# One column a type, each with nulls, and one value in half of the rows.
TYPES = {
    "flag": "n % 2 = 0",
    "tiny": "CAST(n % 100 AS TINYINT)",
    "amount": "CAST(n / 7 AS DECIMAL(20, 3))",
    "ratio": "CAST(n - 500 AS FLOAT)",
    "day": "date_add(DATE '1969-06-01', CAST(n AS INT))",
    "at": "timestamp_micros(n * 86400000001 - 1)",
    "local": "CAST(timestamp_micros(n * 3600000000) AS TIMESTAMP_NTZ)",
    "word": "concat('w\u00e9', n)",
    "bytes": "CAST(concat(char(n % 256), 'b') AS BINARY)",
}


def rows_of(spark, count):
    scattered = spark.range(count).selectExpr("id", f"IF(id % 2 = 0, 5, id * 7919 % {count}) AS n")
    return scattered.selectExpr("id", *(f"IF(id % 13 = 0, NULL, {sql}) AS {name}" for name, sql in TYPES.items()))


def said(findings):
    assert [f for f in findings if f.severity is Severity.ERROR] == []
    return {(f.code, f.location): f.message for f in findings}


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("order", ["DESC", "ASC NULLS LAST"])
def test_every_type_is_sorted_in_each_direction(spark, tmp_path, name, order):
    layout = pr.LayoutSpec(sort_by=[f"{name} {order}", "id DESC"], files=3)
    done = pr.write(rows_of(spark, 1_000), tmp_path / "t", layout=layout)
    messages = said(pr.check(tmp_path / "t", layout=layout))
    assert "1,000 rows" in messages["order.rows", f"column {name}, id"]
    assert done.rows == 1_000
    assert len(done.files) == 3


@pytest.mark.spark
def test_a_curve_takes_any_types_and_every_row_comes_back(spark, tmp_path):
    df = rows_of(spark, 1_000).withColumn("ratio", fn.expr("IF(id % 11 = 0, float('NaN'), ratio)"))
    pr.write(df, tmp_path / "t", layout=pr.LayoutSpec(zorder_by=[*TYPES][:5], files=3))
    pr.write(df, tmp_path / "u", layout=pr.LayoutSpec(hilbert_by=[*TYPES][5:], files=3))
    for table in ("t", "u"):
        assert pq.read_table(tmp_path / table).column_names == df.columns
        assert sorted(pq.read_table(tmp_path / table)["id"].to_pylist()) == list(range(1_000))


@pytest.mark.deep
@pytest.mark.spark
def test_an_equality_on_each_column_of_a_curve_keeps_far_fewer_row_groups_than_a_sort(spark, tmp_path):
    # Half of the rows have one `a`, and large values of `b` are rare.
    df = spark.range(40_000).selectExpr(
        "IF(id % 2 = 0, 7, id * 7919 % 40000) AS a", "(id * 7907 % 40000) * (id * 7907 % 40000) AS b"
    )
    surviving = {}
    for option in ("sort_by", "zorder_by", "hilbert_by"):
        layout = pr.LayoutSpec(**{option: ["a", "b"]}, files=2, row_group_rows=625)
        pr.write(df.select("a", "b"), tmp_path / option, layout=layout)
        wheres = [f"b = {(i * 7907 % 40_000) ** 2}" for i in range(0, 40_000, 4_001)]
        reports = [
            pr.plan(tmp_path / option, where=where, session=spark, depth="row_groups").report for where in wheres
        ]
        surviving[option] = sum(report.kept.row_groups for report in reports) / len(wheres)
        groups = reports[0].total.row_groups
    assert surviving["zorder_by"] < surviving["sort_by"] / 2
    assert surviving["hilbert_by"] < surviving["sort_by"] / 2
    for option in ("zorder_by", "hilbert_by"):
        report = pr.plan(tmp_path / option, where="a = 12345", depth="row_groups").report
        assert report.kept.row_groups < groups / 4


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")
def test_the_data_are_read_twice(spark, tmp_path):
    reads = spark.sparkContext.accumulator(0)

    @fn.udf("bigint")
    def seen(value):
        reads.add(1)
        return value

    df = spark.range(3_000).select(seen.asNondeterministic()("id").alias("id"), (fn.col("id") % 7).alias("few"))
    layout = pr.LayoutSpec(sort_by=["few", "id DESC"], bloom={"id": 0.01})
    pr.write(df, tmp_path / "t", layout=layout)
    assert reads.value == 2 * 3_000
    said(pr.check(tmp_path / "t", layout=layout))


@pytest.mark.spark
def test_encodings_are_those_of_the_layout(spark, tmp_path):
    df = spark.range(20_000).selectExpr("id", "id % 5 AS few", "concat(repeat('x', 100), id * 7919 % 20000) AS word")

    def written(name, **options):
        pr.write(df, tmp_path / name, layout=pr.LayoutSpec(sort_by=["id"], files=1, **options))
        (file,) = (tmp_path / name).glob("*.parquet")
        group = pq.read_metadata(file).row_group(0)
        return {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}

    plain = written("plain", compression_level=1)
    assert plain["few"].dictionary_page_offset is not None
    assert len(plain["word"].statistics.min) > 100
    other = written(
        "other", compression_level=19, dictionary={"few": False, "word": False}, statistics_truncate_length=10
    )
    assert other["few"].dictionary_page_offset is None
    assert len(other["word"].statistics.min) == 10
    assert other["word"].total_compressed_size < plain["word"].total_compressed_size
    fast, small = (written(f"gzip{n}", compression="gzip", compression_level=n)["word"] for n in (1, 9))
    assert small.total_compressed_size < fast.total_compressed_size


@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_each_step_along_hilberts_curve_goes_to_a_neighbour(columns):
    import numpy as np

    cells, bits = np.argsort(curve_positions(columns, hilbert=True)), bits_per_column(columns)
    axes = [(cells >> (bits * i)) & ((1 << bits) - 1) for i in range(columns)]
    assert (sum(np.abs(np.diff(axis)) for axis in axes) == 1).all()
