from __future__ import annotations

import json
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from prune_assets.cli import main
from prune_assets.cli.row_selection import configured_time_zone

HERE = "at < TIMESTAMP '2024-01-02'"


@pytest.fixture
def table(tmp_path):
    hours = [datetime(2024, 1, 1) + timedelta(hours=hour) for hour in range(48)]  # noqa: DTZ001
    rows = pa.table({"at": pa.array(hours, pa.timestamp("us", "UTC"))})
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=1)
    return tmp_path / "a.parquet"


def kept_rows(table, *options, **environment):
    found = CliRunner().invoke(main, ["explain", str(table), "--where", HERE, "--json", *options], env=environment)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["kept"]["rows"]


def configured(directory, *lines):
    directory.mkdir()
    (directory / "spark-defaults.conf").write_text("\n".join(["# settings", "spark.master  local", *lines]))
    return str(directory)


def test_the_zone_comes_from_the_option_the_environment_or_the_settings_of_spark(table, tmp_path):
    settings = configured(tmp_path / "conf", "spark.sql.session.timeZone  +02:00")
    assert kept_rows(table) == 24 + 18, "any zone"
    assert kept_rows(table, SPARK_CONF_DIR=settings) == 24 - 2
    assert kept_rows(table, SPARK_CONF_DIR=settings, PRUNE_TIME_ZONE="-03:00") == 24 + 3
    assert kept_rows(table, "--time-zone", "UTC", SPARK_CONF_DIR=settings, PRUNE_TIME_ZONE="-03:00") == 24


@pytest.mark.parametrize(
    ("lines", "zone"),
    [
        (["spark.sql.session.timeZone=Asia/Tokyo"], "Asia/Tokyo"),
        (["spark.sql.session.timeZone : Asia/Tokyo"], "Asia/Tokyo"),
        (["spark.sql.session.timeZone UTC", "  spark.sql.session.timeZone\tAsia/Tokyo "], "Asia/Tokyo"),
        (["#spark.sql.session.timeZone UTC"], None),
        (["spark.sql.session.timeZone EST"], None),
        ([], None),
    ],
)
def test_settings_are_read_as_spark_reads_them(monkeypatch, tmp_path, lines, zone):
    monkeypatch.setenv("SPARK_CONF_DIR", configured(tmp_path / "conf", *lines))
    assert configured_time_zone() == zone


def test_a_directory_without_settings_says_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "absent"))
    assert configured_time_zone() is None


def test_a_zone_of_the_environment_that_is_none_is_refused(table):
    found = CliRunner().invoke(main, ["explain", str(table), "--where", HERE], env={"PRUNE_TIME_ZONE": "Europe/Pariss"})
    assert found.exit_code == 2
    assert "did you mean Europe/Paris?" in found.output
