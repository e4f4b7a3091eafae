"""Columns of the null type, which pyarrow writes for columns without values; other files have another type."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature

NULLS = pa.table({"id": [1, 2], "c": pa.nulls(2)})
TEXTS = pa.table({"id": [3, 4], "c": ["x", None]})
INTS = pa.table({"id": [3, 4], "c": pa.array([7, None], pa.int32())})
LONGS = pa.table({"id": [3, 4], "c": pa.array([7, None], pa.int64())})


def written(folder, *tables):
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return str(folder)


WHERES = ("c IS NULL", "c IS NOT NULL", "c IS NULL AND id > 1", "NOT (c IS NULL)", "id > 0")


@pytest.mark.parametrize("other", [TEXTS, INTS, LONGS, pa.table({"id": [3, 4], "c": [b"\xff", None]})])
@pytest.mark.parametrize("is_first", [True, False])
def test_null_tests_are_answered_in_both_orders(is_first, other, tmp_path):
    """The expected rows are read by polars file by file, because polars cannot combine files with different types."""
    table = written(tmp_path, NULLS, other) if is_first else written(tmp_path, other, NULLS)
    files = [pl.read_parquet(f"{table}/{number}.parquet") for number in range(2)]
    for where in WHERES:
        counted = sum(len(file.filter(pl.sql_expr(where))) for file in files)
        assert pr.count(table, where=where) == counted, where
        assert pr.read_arrow(table, columns=["id"], where=where).num_rows == counted, where


def test_null_tests_of_a_column_that_is_returned_need_its_type(tmp_path):
    table = written(tmp_path, NULLS, TEXTS)
    message = r"column 'c': .*1\.parquet stores it as string, .*0\.parquet as null, .*write .*0\.parquet again .*string"
    for where in ("c IS NULL", "c = 'x'"):
        with pytest.raises(UnsupportedFeature, match=message):
            pr.read_arrow(table, columns=["c"], where=where)
    with pytest.raises(UnsupportedFeature, match=message):
        pr.count(table, where="c = 'x'")


def test_files_of_the_null_type_are_null_in_a_column_of_any_type(tmp_path):
    table = written(tmp_path, TEXTS, NULLS)
    assert pr.read_arrow(table).to_pylist() == [*TEXTS.to_pylist(), *NULLS.to_pylist()]
    assert pr.count(table, where="c = 'x'") == 1
    assert [file.verdict for file in pr.plan(table, where="c = 'x'").files] == ["scan", "skip"]


def test_integers_are_read_beside_the_null_type(tmp_path):
    table = written(tmp_path, NULLS, INTS)
    assert pr.read_arrow(table).to_pylist() == [*NULLS.to_pylist(), *INTS.to_pylist()]
    assert pr.read_arrow(table).schema.field("c").type == pa.int32()
    assert pr.count(table, where="c = 7") == 1


@pytest.mark.parametrize(("tables", "stored", "wanted", "remedy"), [
    ((NULLS, TEXTS), "string", "null, as in 0.parquet", "write the 1 other file again with the column as string"),
    ((NULLS, LONGS), "int64", "null, as in 0.parquet", "write the 1 other file again with the column as int64"),
    ((TEXTS, NULLS), "null", "string, as in 0.parquet", "write that file again with the column as string"),
])  # fmt: skip
def test_check_names_both_files_and_the_one_to_write_again(tables, stored, wanted, remedy, tmp_path):
    findings = [each for each in pr.check(written(tmp_path, *tables)) if each.code == "files.type_mismatch"]
    (finding,) = findings
    assert "1.parquet" in finding.location
    assert finding.message == f"the file stores c as {stored}, the table has {wanted}: Spark cannot read it"
    assert finding.remedy == remedy


@pytest.mark.parametrize("tables", [(NULLS, INTS), (INTS, NULLS), (NULLS, NULLS), (LONGS, NULLS)])
def test_check_finds_nothing_where_spark_reads_the_null_type(tables, tmp_path):
    findings = pr.check(written(tmp_path, *tables))
    assert [each.code for each in findings if each.severity != pr.Severity.INFO] == []


@pytest.mark.spark
@pytest.mark.parametrize("tables", [
    (NULLS, TEXTS), (TEXTS, NULLS), (NULLS, INTS), (INTS, NULLS), (NULLS, LONGS), (LONGS, NULLS), (NULLS, NULLS)
])  # fmt: skip
def test_what_check_finds_is_what_spark_refuses(spark, tables, tmp_path):
    table = written(tmp_path, *tables)
    is_found = any(each.code == "files.type_mismatch" for each in pr.check(table))
    frame = spark.read.parquet(table).where("c IS NULL")
    if is_found:
        with pytest.raises(Exception, match=r"FAILED_READ_FILE|Parquet column cannot be converted"):
            frame.collect()
    else:
        assert frame.count() == pr.count(table, where="c IS NULL")
