"""Names, changed files, missing keys, and long lists in Spark (cases 25, 43, 44, 47)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_reader_names import ALONE

import prune_assets as pr
from prune_assets.planner.explain.plan import plan
from prune_assets.spark.scan_metrics import scan_metrics
from tests.numbered_cases.cases import check, number_of_alone

pytestmark = [pytest.mark.spark, pytest.mark.deep]


def test_case_25_a_dotted_name_is_not_a_path(spark, tmp_path):
    rows = spark.range(100).selectExpr("id + 1000 AS `a.b`", "named_struct('b', id) AS a").coalesce(1)
    options = {"parquet.bloom.filter.enabled": "true", "parquet.enable.dictionary": "false"}
    options |= {"parquet.bloom.filter.expected.ndv#a.b": "100"}
    rows.write.options(**options).parquet(str(tmp_path / "t"))
    lost = [where for where in ("`a.b` = 1050", "a.b = 50") if number_of_alone(spark, tmp_path / "t", where) == 0]
    assert lost, "Spark probes the filter of the other column"
    for where in ("`a.b` = 1050", "a.b = 50"):
        assert check(spark, tmp_path / "t", where)[0] == 1
        (warning,) = plan(tmp_path / "t", where=where).report.warnings
        assert warning.option == "parquet.filter.bloom.enabled"


def test_case_25_leaves_are_known_by_their_paths(spark, tmp_path):
    table = pa.table({"a.b": [1, 2], "a": pa.array([{"b": 7}, {"b": 8}])})
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=False)
    assert check(spark, tmp_path / "t.parquet", "`a.b` = 1")[0] == 1
    assert check(spark, tmp_path / "t.parquet", "a.b = 7")[0] == 1


def test_case_43_a_file_that_was_replaced_is_not_read_by_an_old_plan(spark, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    made = plan(path, where="a = 1", session=spark)
    pq.write_table(pa.table({"a": [3, 1, 1]}), path)
    with pytest.raises(pr.PruneError, match="plan again"):
        pr.read(path, where="a = 1", session=spark, plan=made)
    assert pr.read(path, where="a = 1", session=spark).count() == 2


def test_case_44_what_is_encrypted_is_unknown(parquet_testing):
    with pytest.raises(pr.PruneError):
        plan(parquet_testing / "data/encrypt_columns_and_footer.parquet.encrypted", where="double_field = 1")
    made = plan(parquet_testing / "data/encrypt_columns_plaintext_footer.parquet.encrypted", where="double_field = -5D")
    assert made.report.kept.rows == made.report.total.rows > 0


def test_case_47_spark_takes_the_hull_of_more_than_ten_values(spark, tmp_path):
    numbers = pa.array(range(0, 4_000, 2), pa.int64())
    pq.write_table(pa.table({"a": numbers}), tmp_path / "t.parquet", row_group_size=500, use_dictionary=False)
    for count in (10, 11):
        where = f"a IN ({', '.join(str(i * 390 - 5000) if i % 2 else str(i * 390 + 5000) for i in range(count))})"
        made = plan(tmp_path / "t.parquet", where=where, session=spark)
        alone = next(engine for engine in made.report.engines if engine.name == ALONE)
        df = spark.read.parquet(str(tmp_path / "t.parquet")).where(where)
        df.collect()
        assert scan_metrics(df)[0].rows == alone.kept.rows == (0 if count == 10 else 2_000)
        assert made.report.kept.rows == 0, "value by value nothing is left"
