"""Files of one table with different columns, compared with Spark's own answers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions

from prune_assets.planner.explain.plan import plan
from prune_assets.sql.semantics import SparkSemantics
from tests.numbered_cases.cases import check

pytestmark = pytest.mark.spark


def write(directory, *tables):
    directory.mkdir(exist_ok=True)
    for i, table in enumerate(tables):
        pq.write_table(table, directory / f"{i}.parquet", row_group_size=2, write_page_index=True)
    return directory


def structs(rows, **fields):
    return pa.array(rows, pa.struct(list(fields.items())))


LONG = {"x": pa.int64(), "y": pa.int64()}


def drifting(tmp_path):
    return write(
        tmp_path / "t",
        pa.table(
            {"a": [1, 2], "b": [5, None], "f": [1.0, float("nan")], "s": structs([{"x": 1, "y": 2}, None], **LONG)}
        ),
        pa.table({"a": [3, 4, 5]}),
        pa.table({"a": [6, 7], "s": structs([{"x": 1}, None], x=pa.int64())}),
        pa.table({"a": [8], "s": structs([{"z": 1}], z=pa.int64())}),
        pa.table({"a": [9], "b": [7], "f": [-1.0], "s": structs([{"x": 3, "y": 9}], **LONG)}),
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("b = 5", 2),
        ("b <> 5", 1),
        ("b IN (5, 7)", 3),
        ("NOT b IN (5, 7)", 0),
        ("b IS NULL", 8),
        ("b IS NOT NULL", 3),
        ("b <=> NULL", 8),
        ("NOT b <=> 5", 9),
        ("(b = 5) IS NULL", 8),
        ("b > a", 3),
        ("f > 100", 3),
        ("isnan(f)", 3),
        ("NOT isnan(f)", 10),
        ("s.y = 9", 1),
        ("s.y IS NULL", 8),
        ("s.y IS NOT NULL", 3),
        ("coalesce(b, 0) = 0", 8),
        ("b = 7 OR s.x = 1", 5),
    ],
)
def test_a_column_that_files_lack(spark, tmp_path, where, kept):
    assert check(spark, drifting(tmp_path), where)[1] <= kept


def test_nulls_of_files_without_the_column_are_proven(tmp_path):
    made = plan(drifting(tmp_path), where="b IS NULL OR s.y IS NULL")
    assert [len(file.row_groups[0].matches) for file in made.files][1:4] == [1, 1, 1]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("sensitive", ["true", "false"])
@pytest.mark.parametrize("where", ["b = 7", "b IS NULL", "b IS NOT NULL", "s.y = 7", "s.y IS NULL", "b <> 1"])
def test_names_in_other_letters(spark, tmp_path, sensitive, where):
    directory = write(
        tmp_path / "t",
        pa.table({"b": [1, 2], "s": structs([{"x": 1, "y": 2}, None], **LONG)}),
        pa.table({"B": [7, None], "s": structs([{"x": 1, "Y": 7}, None], x=pa.int64(), Y=pa.int64())}),
        pa.table({"c": [7], "S": structs([{"x": 1, "y": 7}], **LONG)}),
    )
    spark.conf.set("spark.sql.caseSensitive", sensitive)
    try:
        check(spark, directory, where)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize(("where", "selected"), [("b = 42", 2), ("b IS NULL", 0), ("b IS NOT NULL", 4), ("b <> 5", 3)])
def test_a_default_stands_in_for_a_column_that_files_lack(spark, tmp_path, where, selected):
    default = {"EXISTS_DEFAULT": "42", "CURRENT_DEFAULT": "42"}
    rows = spark.range(5, 7).select(functions.col("id").alias("b", metadata=default), functions.col("id").alias("a"))
    rows.coalesce(1).write.parquet(str(tmp_path / "new"))
    (new,) = (tmp_path / "new").glob("*.parquet")
    directory = write(tmp_path / "t", pa.table({"a": [1]}), pa.table({"a": [1, 2]}))
    new.rename(directory / "0.parquet")
    assert check(spark, directory, where)[0] == selected


def test_a_required_column_that_a_file_lacks(spark, tmp_path):
    required = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64(), nullable=False)])
    directory = write(tmp_path / "t", pa.table({"a": [1], "b": [2]}, schema=required), pa.table({"a": [1, 2]}))
    assert check(spark, directory, "b IS NULL") == (2, 2)
    assert check(spark, directory, "b = 2") == (1, 1)
    assert check(spark, directory, "b = 3") == (0, 0)


def test_a_column_of_files_that_directories_override(spark, tmp_path):
    for number, table in ((1, pa.table({"a": [1], "p": [9]})), (2, pa.table({"a": [1, 2]}))):
        (tmp_path / "t" / f"p={number}").mkdir(parents=True)
        pq.write_table(table, tmp_path / "t" / f"p={number}" / "0.parquet")
    for where in ("p = 2", "p IS NULL", "p = 9", "p IS NOT NULL"):
        check(spark, tmp_path / "t", where)
    assert check(spark, tmp_path / "t", "p = 2")[0] == 2


def test_a_file_with_two_kinds_of_letters_is_kept_where_case_counts(tmp_path):
    directory = write(tmp_path / "t", pa.table({"b": [1]}), pa.table({"B": [7], "BB": [8]}))
    assert plan(directory, where="b = 9", semantics=SparkSemantics(case_sensitive=True)).report.kept.rows == 1
    assert plan(directory, where="b = 9").report.kept.rows == 0


def test_a_value_where_a_struct_is_expected_is_kept(tmp_path):
    directory = write(tmp_path / "t", pa.table({"s": structs([{"x": 1}], x=pa.int64())}), pa.table({"s": [7]}))
    assert plan(directory, where="s.x = 9").report.kept.rows == 1


def test_a_summary_file_names_columns_that_no_file_has(spark, tmp_path):
    directory = write(tmp_path / "t", pa.table({"a": [1, 2]}), pa.table({"a": [3]}))
    pq.write_metadata(pa.schema([("a", pa.int64()), ("b", pa.int64())]), directory / "_common_metadata")
    assert check(spark, directory, "b IS NULL") == (3, 3)
    assert check(spark, directory, "b = 1 OR a = 3") == (1, 1)
    assert check(spark, directory, "b = 1") == (0, 0)
