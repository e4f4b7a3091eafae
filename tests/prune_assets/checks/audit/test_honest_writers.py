"""Files of correct writers cause no false alarms; known wrong metadata is reported, or not used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import prune_assets as pr

ROOT = Path(__file__).parents[4]
REAL_FILES = ROOT.parent / "shared" / "data" / "parquet-testing" / "data"
sys.path.insert(0, str(ROOT / "tests" / "deltalog"))

from golden import GOLDEN, MISSING, REFUSED, tables  # noqa: E402 - beside the tests of the log

# Tables without data files, because only their logs are tested.
WITHOUT_FILES = {"checkpoint", "delete-re-add-same-file-different-transactions", "table_a"}
WRONG = {
    "fixed_length_decimal.parquet": "it is wrong: min 2.00, row 0 holds 1.00",
    "repeated_no_annotation.parquet": "the number of rows; it is wrong: both cannot hold",
}
NOT_RELIED_ON = {
    "nan_in_stats.parquet": "parquet-cpp: a NaN hides smaller or larger values from the bounds (PARQUET-1225)",
    "int32_decimal.parquet": "the writer did not say how its bounds compare",
    "data_index_bloom_encoding_with_length.parquet": "the writer did not say how its bounds compare",
    "datapage_v1-snappy-compressed-checksum.parquet": "marks a page as all null that it counts no null in",
}


def real_files():
    return sorted(REAL_FILES.glob("*.parquet"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", real_files(), ids=lambda path: path.stem)
def test_no_false_alarm_about_files_of_many_writers(path):
    report = pr.audit(path)
    assert report.is_true, report.findings
    wrong = [finding.message for finding in report.findings if finding.severity == "warn"]
    assert len(wrong) == (path.name in WRONG)
    assert all(WRONG[path.name] in message for message in wrong)


@pytest.mark.parametrize("name", NOT_RELIED_ON)
def test_a_writer_that_is_known_to_be_wrong_is_named(parquet_testing, name):
    said = [finding.message for finding in pr.audit(parquet_testing / "data" / name).findings]
    assert any(NOT_RELIED_ON[name] in message for message in said)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("table", sorted({*tables()} - {*REFUSED} - WITHOUT_FILES))
def test_no_false_alarm_about_golden_tables(table):
    if not GOLDEN.is_dir():
        pytest.skip(MISSING)
    report = pr.audit(GOLDEN / table)
    assert not [finding for finding in report.findings if finding.severity != "info"]


KINDS = """
SELECT id, CAST(id % 7 AS INT) AS few, CAST(id AS STRING) AS text, repeat('é', CAST(id % 90 AS INT)) AS long_text,
  CASE WHEN id % 3 = 0 THEN NULL ELSE CAST(id AS DECIMAL(20, 3)) END AS money, CAST(id AS DOUBLE) / 7 AS x,
  CASE id % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D ELSE CAST(id AS DOUBLE) END AS odd, id % 2 = 0 AS even,
  date_add(DATE '1500-01-01', CAST(id * 50 AS INT)) AS day, timestamp_micros(id * 1000000007 - 3000000000000000) AS at,
  CAST(timestamp_micros(id * 1000003) AS TIMESTAMP_NTZ) AS local, named_struct('a', id, 'b', CAST(NULL AS STRING)) AS s,
  CAST(NULL AS INT) AS nothing
FROM range(0, 5000, 1, 2)
"""


@pytest.mark.spark
@pytest.mark.parametrize("timestamps", ["TIMESTAMP_MICROS", "INT96"])
def test_no_false_alarm_about_files_of_spark(spark, tmp_path, timestamps):
    filters = {f"parquet.bloom.filter.enabled#{name}": "true" for name in ("id", "text", "money", "x", "odd", "day")}
    rows = spark.sql(KINDS).sortWithinPartitions("id")
    spark.conf.set("spark.sql.parquet.outputTimestampType", timestamps)
    try:
        rows.write.options(**filters, **{"parquet.page.row.count.limit": "500"}).parquet(str(tmp_path / "t"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    report = pr.audit(tmp_path / "t")
    assert not [finding for finding in report.findings if finding.severity != "info"]
    assert report.claims["page_bounds"] > 100


def test_a_table_in_a_store_is_read_as_a_local_one_is(s3, tmp_path):
    from parquet_core.storage import put_if_absent
    from tests.corrupt_metadata.corrupt_file import write_correct

    write_correct(tmp_path / "t.parquet")
    put_if_absent(f"{s3}/t/a.parquet", (tmp_path / "t.parquet").read_bytes())
    report = pr.audit(f"{s3}/t")
    assert not report.findings
    assert report.claims == pr.audit(tmp_path / "t.parquet").claims
