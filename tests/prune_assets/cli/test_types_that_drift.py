"""Files with different types for a column: each command names the file and a remedy."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from prune_assets.cli import main
from prune_assets.spark import spark_session

WHY = "column zone is string there and int16 in the table"
REMEDY = "write that file again with the column as int16"


def prune(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def tickets(tmp_path):
    place = tmp_path / "tickets"
    place.mkdir()
    pq.write_table(pa.table({"id": [1, 2], "zone": pa.array([3, 4], pa.int16())}), place / "monday.parquet")
    pq.write_table(pa.table({"id": [3, 4], "zone": ["5", "6"]}), place / "tuesday.parquet")
    return place


@pytest.fixture
def layout(tmp_path):
    path = tmp_path / "layout.yaml"
    path.write_text("sort_by: [zone]\n")
    return path


def test_write_refuses_it_before_spark_starts(tickets, layout, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_session, "spark_session", lambda: pytest.fail("Spark was started"))
    done = prune("write", tickets, tmp_path / "t2", "--layout", layout)
    assert done.exit_code == 2
    assert done.stderr == f"error: {tickets}/tuesday.parquet: {WHY}, so Spark cannot read it; {REMEDY}\n"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("sort_by: [zome]", "sort_by: no column 'zome'; did you mean 'zone'?"),
        ("sort_by: [zone]\nbloom: {day: 0.01}", "bloom: no column 'day'; the columns are id, zone"),
        ("hilbert_by: [zone, x.y]", "hilbert_by: no column 'x.y'; the columns are id, zone"),
        ("partition_by: [day]", "partition_by: no column 'day'; the columns are id, zone"),
    ],
)
def test_write_refuses_columns_that_are_not_there_before_spark_starts(tickets, layout, monkeypatch, keys, message):
    monkeypatch.setattr(spark_session, "spark_session", lambda: pytest.fail("Spark was started"))
    layout.write_text(keys)
    done = prune("write", tickets / "monday.parquet", tickets / "t2", "--layout", layout)
    assert (done.exit_code, done.stderr) == (2, f"error: {layout}: {message}\n")


@pytest.fixture
def grown(tmp_path):
    place = tmp_path / "grown"
    place.mkdir()
    pq.write_table(pa.table({"id": [1, 2], "zone": [3, 4]}), place / "monday.parquet")
    pq.write_table(pa.table({"id": [3, 4], "zone": [5, 6], "source": ["a", "b"]}), place / "tuesday.parquet")
    return place


def test_write_refuses_to_drop_a_column_before_spark_starts(grown, layout, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_session, "spark_session", lambda: pytest.fail("Spark was started"))
    done = prune("write", grown, tmp_path / "t2", "--layout", layout)
    assert done.exit_code == 2
    lost = f"error: {grown}/tuesday.parquet: column source is not in the table's schema, so Spark would not copy it"
    merged = f"pr.write(spark.read.option('mergeSchema', True).parquet('{grown}'), ..)"
    assert done.stderr == f"{lost}; merge the schemas in Python: {merged}\n"


@pytest.mark.spark
def test_what_the_refusal_names_keeps_the_column(spark, grown, layout, tmp_path):
    assert spark.read.parquet(str(grown)).columns == ["id", "zone"]
    merged = spark.read.option("mergeSchema", "true").parquet(str(grown))
    pr.write(merged, tmp_path / "t2", layout=layout)
    assert pr.read(tmp_path / "t2", where="source = 'b'", session=spark).count() == 1
    done = prune("write", grown, tmp_path / "t3", "--layout", layout, "--select", "id < 3")
    assert done.exit_code == 0, done.output
    assert "column source is not in the table's schema, and is not copied" in done.stderr


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_write_leaves_files_to_spark_where_it_copies_some_rows(tickets, layout, tmp_path):
    done = prune("write", tickets, tmp_path / "t2", "--layout", layout, "--select", "id < 3")
    assert done.exit_code == 0, done.output
    done = prune("write", tickets, tmp_path / "t3", "--layout", layout, "--select", "id > 3")
    assert done.exit_code == 3
    *stages, error = done.stderr.splitlines()
    assert error.startswith("error: Spark failed: [FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] ")
    assert stages == ["starting Spark ..."]
    assert len(error) < 400


def test_check_tells_the_file_and_nothing_of_bounds(tickets, layout):
    assert [(each.code, each.severity, each.location, each.message, each.remedy) for each in _wrong(tickets)] == [
        (
            "files.type_mismatch",
            "error",
            "tuesday.parquet",
            "the file stores zone as string, the table has int16: Spark cannot read it",
            REMEDY,
        )
    ]
    (overlap,) = (each for each in pr.check(tickets, layout=pr.load_layout(layout)) if each.code == "overlap.unknown")
    assert overlap.message.endswith(f"overlap is unknown; tuesday.parquet: {WHY}")
    assert overlap.remedy == REMEDY


def _wrong(table):
    from prune_assets.checks.health.health import check_files

    return [finding for finding in check_files(table) if finding.severity != "info"]


def test_check_counts_further_files(tickets):
    pq.write_table(pa.table({"id": [1], "zone": ["7"]}), tickets / "wednesday.parquet")
    (finding,) = _wrong(tickets)
    assert finding.location == "tuesday.parquet (and 1 more file)"
    assert finding.remedy == "write these 2 files again with the column as int16"


def test_a_type_that_spark_widens_is_fine(tmp_path):
    for name, kind in (("0", pa.int32()), ("1", pa.int16())):
        pq.write_table(pa.table({"zone": pa.array([1], kind)}), tmp_path / f"{name}.parquet")
    assert _wrong(tmp_path) == []
    assert "fails on" not in str(pr.plan(tmp_path, where="zone = 1").report)


def test_explain_says_on_which_file_spark_fails(tickets):
    said = " ".join(str(pr.plan(tickets, where="zone = 3").report).split())
    assert f"Spark fails on tuesday.parquet: {WHY} ({REMEDY}); with this plan too" in said
    assert "Spark alone would read" not in said


def test_explain_says_nothing_where_spark_does_not_open_the_file_or_the_column(tickets):
    assert "fails on" not in str(pr.plan(tickets, where="id < 3").report)
    assert "fails on" not in str(pr.plan(tickets, where="id > 0", columns=["id"]).report)


def test_explain_says_where_only_the_plan_keeps_spark_from_failing(tickets):
    """Bloom filters, dictionaries or partial pushes aside: a condition that Spark does not push down."""
    said = " ".join(str(pr.plan(tickets, where="abs(id) < 3").report).split())
    assert f"Spark alone fails on tuesday.parquet: {WHY}" in said
    assert "with this plan" in said


@pytest.mark.spark
def test_spark_fails_where_explain_says_so_and_not_elsewhere(tickets, spark):
    from pyspark.errors import PySparkException

    from prune_assets.spark.spark_versions import java_error

    with pytest.raises((PySparkException, java_error()), match="PARQUET_COLUMN_DATA_TYPE_MISMATCH"):
        spark.read.parquet(str(tickets)).where("zone = 3").collect()
    assert len(spark.read.parquet(str(tickets)).where("id < 3").collect()) == 2
