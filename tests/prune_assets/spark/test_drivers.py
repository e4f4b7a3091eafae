"""A missing store driver is reported before Spark starts, if Spark will certainly lack it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from delta_tables import write_table

from parquet_core.errors import UnsupportedFeature
from prune_assets.cli import main
from prune_assets.spark import drivers, spark_session
from prune_assets.spark.drivers import check_drivers

VARIABLES = ("SPARK_HOME", "SPARK_REMOTE", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT")
CLASS_PATHS = ("SPARK_CLASSPATH", "SPARK_DIST_CLASSPATH", "HADOOP_CLASSPATH")
MESSAGE = (
    r"^s3://lake/t: this Spark has no driver for s3a://; put "
    r"spark\.jars\.packages=org\.apache\.hadoop:hadoop-aws:3\.9\.9 into spark-defaults\.conf "
    r"and set SPARK_CONF_DIR to its directory$"
)


@pytest.fixture
def spark_home(tmp_path, clean_environment, monkeypatch):
    """A Spark with the client of Hadoop and no driver."""
    for name in (*VARIABLES, *CLASS_PATHS):
        clean_environment.delenv(name, raising=False)
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "hadoop-client-api-3.9.9.jar").touch()
    clean_environment.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(drivers, "_runs", lambda: False)
    return tmp_path


def test_a_missing_driver_is_named_with_its_version(spark_home):
    with pytest.raises(UnsupportedFeature, match=MESSAGE):
        check_drivers("lake/orders", "s3://lake/t")


@pytest.mark.parametrize(
    ("table", "driver"),
    [
        ("s3n://lake/t", "org.apache.hadoop:hadoop-aws:3.9.9"),
        ("abfss://lake@acc.dfs.core.windows.net/t", "org.apache.hadoop:hadoop-azure:3.9.9"),
        ("gs://lake/t", "com.google.cloud.bigdataoss:gcs-connector:"),
    ],
)
def test_each_store_has_its_driver(spark_home, table, driver):
    with pytest.raises(UnsupportedFeature, match=rf"spark\.jars\.packages={driver}"):
        check_drivers(table)


@pytest.mark.parametrize("table", ["lake/orders", "db.orders", "glue:db.orders", "hdfs://lake/t", "file:///lake/t"])
def test_other_tables_need_none_of_them(spark_home, table):
    check_drivers(table)


def test_a_jar_of_the_driver_is_enough(spark_home):
    (spark_home / "jars" / "hadoop-aws-3.9.9.jar").touch()
    check_drivers("s3://lake/t")
    with pytest.raises(UnsupportedFeature, match="hadoop-azure"):
        check_drivers("abfss://lake@acc.dfs.core.windows.net/t")


@pytest.mark.parametrize(
    "line",
    [
        "spark.jars.packages org.apache.hadoop:hadoop-aws:3.9.9",
        "spark.jars.packages=org.apache.spark:spark-hadoop-cloud_2.13:4.1.0",
        "  spark.jars : /opt/jars/hadoop-aws.jar",
        "spark.driver.extraClassPath\t/opt/jars/*",
        "spark.master yarn",
        "spark.remote sc://host",
    ],
)
@pytest.mark.parametrize("by_variable", [True, False])
def test_settings_that_may_bring_jars_are_trusted(spark_home, clean_environment, line, by_variable):
    conf = spark_home / ("elsewhere" if by_variable else "conf")
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(f"# settings\n{line}\n")
    if by_variable:
        clean_environment.setenv("SPARK_CONF_DIR", str(conf))
    check_drivers("s3://lake/t")


@pytest.mark.parametrize("line", ["spark.driver.memory 4g", "# spark.jars.packages x:y:1", "spark.master local[4]", ""])
def test_settings_that_bring_none_are_no_reason_to_wait(spark_home, line):
    (spark_home / "conf").mkdir()
    (spark_home / "conf" / "spark-defaults.conf").write_text(line)
    with pytest.raises(UnsupportedFeature, match=MESSAGE):
        check_drivers("s3://lake/t")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPARK_REMOTE", "sc://host"),
        ("PYSPARK_GATEWAY_PORT", "1234"),
        ("PYSPARK_SUBMIT_ARGS", "--packages org.apache.hadoop:hadoop-aws:3.9.9 pyspark-shell"),
        ("PYSPARK_SUBMIT_ARGS", "--properties-file x.conf pyspark-shell"),
        *((name, "/opt/*") for name in CLASS_PATHS),
    ],
)
def test_an_environment_that_may_bring_jars_is_trusted(spark_home, clean_environment, name, value):
    clean_environment.setenv(name, value)
    check_drivers("s3://lake/t")


def test_a_session_that_runs_has_what_it_has(spark_home, monkeypatch):
    monkeypatch.setattr(drivers, "_runs", lambda: True)
    check_drivers("s3://lake/t")


def test_a_script_that_sets_the_environment_of_spark_is_not_read(spark_home):
    (spark_home / "conf").mkdir()
    (spark_home / "conf" / "spark-env.sh").touch()
    check_drivers("s3://lake/t")


def test_the_command_ends_before_spark_starts(spark_home, tmp_path, s3, monkeypatch):
    monkeypatch.setattr(spark_session, "spark_session", lambda: pytest.fail("Spark was started"))
    import pyarrow as pa

    write_table(f"{s3}/t", pa.table({"id": [3, 1, 2]}))
    (tmp_path / "layout.yaml").write_text("sort_by: [id]\n")
    layout = ["--layout", str(tmp_path / "layout.yaml")]
    for command in (["optimize", f"{s3}/t", "--full"], ["write", f"{s3}/t", "lake", "--format", "delta"]):
        ended = CliRunner().invoke(main, [*command, *layout])
        assert ended.exit_code == 2
        assert ended.stderr.startswith(f"error: {s3}/t: this Spark has no driver for s3a://; put spark.jars.packages=")
