"""Predictions depend on the Spark version, and filters by which an older reader loses rows are not passed to it."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.cli import main
from prune_assets.planner.spark_reader.predicted_scan import PAGES
from prune_assets.planner.spark_reader.spark_profile import PROFILES, profile_of, version_of_engine
from tests.corrupt_metadata.raw_metadata import RawMetadata
from tests.numbered_cases.cases import value_of

EVERY = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")


def semantics(version, **settings):
    return pr.SparkSemantics.of(version, time_zone="UTC", **settings)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A hundred days and words in order, ten to a row group."""
    path = tmp_path_factory.mktemp("versions") / "t.parquet"
    days = [dt.date(2024, 1, 1) + dt.timedelta(day) for day in range(100)]
    words = [f"{number:02d} is it" for number in range(100)]
    pq.write_table(pa.table({"day": days, "word": words, "number": range(100)}), path, row_group_size=10)
    return path


def rows_alone(table, where, version, **settings):
    return pr.plan(table, where=where, semantics=semantics(version, **settings)).report.engines[0].kept.rows


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("day >= TIMESTAMP '2024-04-01 00:00:00'", [100, 10, 10, 10, 10]),
        ("cast(day AS TIMESTAMP) >= TIMESTAMP '2024-04-01 00:00:00'", [100, 10, 10, 10, 10]),
        ("word LIKE '07%%'", [100, 100, 10, 10, 10]),
        ("word LIKE '07%'", [10, 10, 10, 10, 10]),
        ("day >= DATE '2024-04-01'", [10, 10, 10, 10, 10]),
        ("day IN ('2024-04-01', '2024-04-02')", [100, 10, 10, 10, 10]),
    ],
)
def test_versions_push_down_otherwise(table, where, rows):
    assert [rows_alone(table, where, version) for version in EVERY] == rows


@pytest.mark.parametrize("version", EVERY)
def test_a_list_of_strings_casts_the_column_without_ansi(table, version):
    """Spark casts the column for IN lists of strings, but casts the string of a comparison.

    String columns are not cast.
    """
    for where, rows in (
        ("day IN ('2024-04-01', '2024-04-02')", 100),
        ("number IN ('7', '8')", 100),
        ("number IN (7, 8)", 10),
        ("word IN ('07 is it', '08 is it')", 10),
    ):
        assert rows_alone(table, where, version, ansi=False) == rows, where


def test_a_version_has_the_newest_profile_that_it_is_not_older_than():
    found = {version: profile_of(version).release for version in ("3.4.1", "3.5.2-amzn-1", "4.1.9", "4.4.0", "5.0")}
    assert list(found.values()) == [(3, 5), (3, 5), (4, 1), (4, 3), (4, 3)]
    assert [profile.release for profile in PROFILES] == sorted({profile.release for profile in PROFILES})


def test_explain_takes_the_engine_by_its_name(table):
    def explained(*engine):
        return CliRunner().invoke(main, ["explain", str(table), "--where", "word LIKE '07%%'", *engine])

    assert "Spark 4.0 alone" in explained("--engine", "spark-4.0").stdout
    assert "modelled as" not in explained("--engine", "spark-3.5").stdout
    unknown = explained("--engine", "flink")
    assert unknown.exit_code == 2
    known = "spark-3.5, spark-4.0, spark-4.1, spark-4.2, spark-4.3"
    assert unknown.stderr == f"error: engine 'flink': unknown; give one of {known}\n"
    with pytest.raises(WrongUse, match=r"'spark-2\.4'"):
        version_of_engine("spark-2.4")


def with_fewer_pages_in_its_column_index(path):
    pq.write_table(
        pa.table({"a": range(100), "b": range(100)}),
        path,
        write_page_index=True,
        max_rows_per_page=10,
        write_batch_size=1,
        use_dictionary=False,
    )
    told = RawMetadata(path.read_bytes())
    index = told.column_index(0, 0)
    index[:] = [part for part in index if part[0] <= 5]  # newer readers hold the histograms to the pages
    for number in {part[0] for part in index} & {1, 2, 3, 5}:
        value_of(index, number)[1].pop()
    path.write_bytes(told.bytes())
    return path


def test_an_older_reader_is_kept_from_a_column_index_of_other_pages(tmp_path):
    path = with_fewer_pages_in_its_column_index(tmp_path / "t.parquet")
    found = [
        {warning.option for warning in pr.plan(path, where="a >= 95", semantics=semantics(version)).warnings}
        for version in EVERY
    ]
    assert found == [{PAGES}] * 3 + [set()] * 2


@pytest.mark.spark
def test_no_row_is_lost_to_a_column_index_of_other_pages(spark, tmp_path):
    path = with_fewer_pages_in_its_column_index(tmp_path / "t.parquet")
    for where, rows in (("a >= 95", 5), ("a >= 0", 100), ("a = 99 OR b = 0", 2)):
        assert pr.read(path, where=where, session=spark).count() == rows, where
        of_the_newest = pr.plan(path, where=where, semantics=pr.SparkSemantics.of("4.3.0", **_settings_of(spark)))
        assert pr.read(path, where=where, session=spark, plan=of_the_newest).count() == rows, where


def _settings_of(spark):
    from dataclasses import asdict

    from prune_assets.spark.semantics_of_session import semantics_of

    return {name: value for name, value in asdict(semantics_of(spark)).items() if name != "spark_version"}
