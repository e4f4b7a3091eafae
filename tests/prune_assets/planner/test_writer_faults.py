"""Files with wrong metadata from certain releases of other writers: no row is lost, correct metadata still prunes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import fastparquet
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.checks.health.health import OF_FILES

WRITERS = Path(__file__).parents[3].parent / "shared" / "data" / "writers"
SHARED = "pyarrow_10.0.1_shared_dictionary_two_chunks"
NULLS = "pyarrow_3.0.0_dictionary_nulls"
DECIMALS = "pyarrow_3.0.0_decimal20"
POLARS = "polars_1.38.1_refund"


@pytest.fixture(autouse=True)
def without_cache(monkeypatch):
    monkeypatch.setenv("PRUNE_CACHE_BYTES", "0")


def real(name):
    path = WRITERS / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"{path} is missing: it was written by an old release")
    return str(path)


FAULTY = [
    (SHARED, "field_1 = 'zzz'", 1, "parquet.filter.stats.enabled"),
    (SHARED, "field_1 IS NULL", 1, "parquet.filter.stats.enabled"),
    (SHARED, "field_1 > 'sean'", 1, "parquet.filter.stats.enabled"),
    (NULLS, "cat IS NULL", 2, "parquet.filter.stats.enabled"),
    (DECIMALS, "price = 1.00", 1, "parquet.filter.stats.enabled"),
    (DECIMALS, "price < 1.50", 1, "parquet.filter.stats.enabled"),
    (POLARS, "d < 0", 1, "parquet.filter.stats.enabled"),
]


@pytest.mark.parametrize(("name", "where", "rows", "option"), FAULTY)
def test_no_row_is_lost_and_the_plan_warns_of_spark(name, where, rows, option):
    path = real(name)
    assert pr.count(path, where=where) == rows
    assert pr.read_arrow(path, where=where).num_rows == rows
    plan = pr.plan(path, where=where)
    assert plan.report.kept.rows >= rows
    assert option in {warning.option for warning in plan.report.warnings}


@pytest.mark.spark
@pytest.mark.parametrize(("name", "where", "rows", "_option"), FAULTY)
def test_read_returns_the_rows_that_spark_loses(spark, name, where, rows, _option):
    assert pr.read(real(name), where=where, session=spark).count() == rows


@pytest.mark.spark
def test_spark_alone_loses_rows(spark):
    """The warning is correct: Spark's reader trusts the file and loses rows."""
    assert spark.read.parquet(real(POLARS)).where("d < 0").count() == 0


@pytest.mark.parametrize(
    ("name", "where"),
    [
        (NULLS, "cat = 'q'"),
        (NULLS, "id > 100"),
        (SHARED, "id > 100"),
        (SHARED, "field_1 = 'not in the dictionary'"),
        (POLARS, "d > 100000"),
        (POLARS, "d IS NULL"),
    ],
)
def test_what_is_right_still_skips(name, where):
    plan = pr.plan(real(name), where=where)
    assert plan.report.kept.rows == 0
    assert not plan.report.warnings


def lying(path, table, created_by, change, *, row_groups=1, **options):
    """Write a file whose footer names another writer and has changed statistics."""
    pq.write_table(table, path, row_group_size=-(-len(table) // row_groups), **options)
    footer = fastparquet.ParquetFile(str(path)).fmd
    footer.created_by = created_by
    for group in footer.row_groups:
        for chunk in group.columns:
            change(chunk.meta_data.path_in_schema[-1], chunk.meta_data.statistics)
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    encoded = bytes(footer.to_bytes())
    path.write_bytes(data[:start] + encoded + len(encoded).to_bytes(4, "little") + b"PAR1")
    assert pq.read_metadata(path).created_by == (created_by if isinstance(created_by, str) else created_by.decode())
    return str(path)


def cut(length):
    def change(_name, statistics):
        statistics.min_value, statistics.max_value = statistics.min_value[:length], statistics.max_value[:length]

    return change


@pytest.mark.parametrize("text", ["a" * 15 + "bc", "a" * 15 + "é" * 9, "a" * 40])
def test_texts_that_were_cut_and_stored_as_exact(tmp_path, text):
    table = pa.table({"s": ["a" * 3, text], "n": [1, 2]})

    def change(name, statistics):
        if name == "s":
            cut(16)(name, statistics)

    path = lying(tmp_path / "t.parquet", table, "hyparquet", change, use_dictionary=False)
    assert pr.count(path, where=f"s = '{text}'") == 1
    assert pr.count(path, where=f"s >= '{text}'") == 1
    assert pr.count(path, where="s > 'b'") == 0
    assert pr.plan(path, where="s > 'b'").report.kept.rows == 0, "the prefix still bounds the values"


def test_decimals_of_clickhouse_compared_as_unsigned(tmp_path):
    table = pa.table({"d": pa.array([Decimal(-1), Decimal(2)], pa.decimal128(20, 0)), "n": [1, 2]})

    def change(name, statistics):
        if name == "d":
            statistics.min_value = statistics.max_value

    path = lying(tmp_path / "t.parquet", table, "ClickHouse v24.8.4.1-lts", change, use_dictionary=False)
    assert pr.count(path, where="d < 0") == 1
    assert pr.plan(path, where="n > 5").report.kept.rows == 0
    fixed = lying(tmp_path / "f.parquet", table, "ClickHouse v25.8.1.1-lts", lambda *_: None, use_dictionary=False)
    assert pr.plan(fixed, where="d < -5").report.kept.rows == 0


def test_an_old_writer_is_no_reason_to_distrust_another_column(tmp_path):
    """The bounds of a dictionary column of pyarrow 8 are not trusted; bounds of a plain string column are."""
    table = pa.table({"plain": ["a", "b", "c", "d"], "coded": pa.array(["a", "b", "c", "d"]).dictionary_encode()})
    path = lying(tmp_path / "t.parquet", table, "parquet-cpp-arrow version 8.0.0", lambda *_: None, row_groups=2)
    assert pr.plan(path, where="plain = 'd'").report.kept.rows == 2
    assert pr.plan(path, where="plain > 'd'").report.kept.rows == 0
    assert pr.plan(path, where="coded IS NULL").report.kept.rows == 4
    dictionary = pr.plan(path, where="coded > 'd'").report
    assert dictionary.kept.rows == 0, "the dictionary is complete"
    assert {level.level for level in dictionary.levels if level.skipped_rows} == {"dictionary"}


def test_check_names_writer_columns_and_cost(tmp_path):
    table = pa.table({name: pa.array([Decimal(1), Decimal(2)], pa.decimal128(20, 0)) for name in "abc"})
    path = lying(tmp_path / "t.parquet", table, "parquet-cpp version 1.5.1-SNAPSHOT", lambda *_: None)
    (finding,) = [it for it in pr.check(path) if it.code == "statistics.writer_fault"]
    assert finding.columns == ("a", "b", "c")
    assert finding.message.startswith(
        "min/max of 3 decimal columns stored as fixed bytes (a, b, c) by parquet-cpp are not"
    )
    assert "PARQUET-1655" in finding.message
    assert "prune write" in finding.remedy


def test_each_code_of_a_finding_is_registered():
    assert "statistics.writer_fault" in {code for check in OF_FILES for code in check.codes}


def test_counts_of_real_files_are_those_of_their_values():
    """The file of polars has one row below 0, which its bounds deny."""
    values = pq.read_table(real(POLARS))["d"]
    assert pc.sum(pc.less(values, pa.scalar(Decimal(0), values.type))).as_py() == 1


def test_a_length_of_integers_is_no_other_type(tmp_path):
    """fastparquet writes a type_length of 64 for INT64 columns, which has no meaning."""
    fastparquet.write(str(tmp_path / "b.parquet"), pd.DataFrame({"n": [5, 6], "f": [0.5, 1.5]}))
    pq.write_table(pa.table({"n": [1, 2], "f": [2.5, 3.5]}), tmp_path / "a.parquet")
    assert pr.count(tmp_path, where="n > 1 AND f > 0") == 3
    assert pr.plan(tmp_path, where="n > 5").report.kept.rows == 2
    assert pr.plan(tmp_path, where="n > 6").report.kept.rows == 0
