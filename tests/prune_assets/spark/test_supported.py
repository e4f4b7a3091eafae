"""A Spark that is not supported, and two that do not fit, are refused in one line before they are used."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from parquet_core.errors import PruneError, UnsupportedFeature
from prune_assets.cli import installation as doctor
from prune_assets.cli import main
from prune_assets.spark import spark_session as starting
from prune_assets.spark import spark_versions, supported
from prune_assets.spark.spark_session import spark_session
from prune_assets.spark.stores import explaining


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """A function that puts a pyspark of a version before the installed one."""

    def put(version):
        (tmp_path / "front" / "pyspark").mkdir(parents=True)
        (tmp_path / "front" / "pyspark" / "__init__.py").touch()
        (tmp_path / "front" / "pyspark" / "version.py").write_text(f"__version__: str = {version!r}\n")
        monkeypatch.delitem(sys.modules, "pyspark", raising=False)
        monkeypatch.syspath_prepend(str(tmp_path / "front"))
        monkeypatch.setattr(starting, "_running", lambda: None)  # it cannot be imported
        assert spark_versions.installed_version() == version

    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    return put


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A function that makes SPARK_HOME one of a version."""

    def put(version):
        (tmp_path / "home" / "jars").mkdir(parents=True)
        (tmp_path / "home" / "jars" / f"spark-core_2.13-{version}.jar").touch()
        monkeypatch.setenv("SPARK_HOME", str(tmp_path / "home"))

    return put


@pytest.fixture
def table(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")


class SparkSession(SimpleNamespace):
    """An object of the class that public functions take."""


class DataFrame(SimpleNamespace):
    """A DataFrame of such a session."""


def classic(version):
    return SparkSession(version=version, _jsparkSession=None, read=None)


@pytest.mark.parametrize("version", ["3.4.4", "2.4.8-amzn-1", "5.0.0.dev1", "5.0.0-preview1"])
def test_a_session_of_another_spark_is_refused_by_all_that_use_one(version, table):
    session = classic(version)
    wanted = f"this session runs Spark {version}, but only Spark 3.5 to 4.3 is supported; start one of these"
    frame = DataFrame(sparkSession=session)
    for call in (
        lambda: pr.plan(table, where="x = 1", session=session),
        lambda: pr.write(frame, table, layout={"sort_by": ["x"]}),
        lambda: pr.optimize(table, layout={"sort_by": ["x"]}, session=session),
    ):
        with pytest.raises(UnsupportedFeature) as found:
            call()
        assert str(found.value) == wanted


@pytest.mark.parametrize("version", ["3.5.0", "3.5.6-amzn-1", "4.0.0", "4.3.0", "4.9.1"])
def test_a_session_of_a_supported_spark_is_not(version, monkeypatch):
    monkeypatch.setattr(supported, "installed_version", lambda: version)
    assert supported.check_session(classic(version)) == version


@pytest.mark.parametrize(("pyspark", "spark", "fits"), [("4.1.4", "4.0.5", False), ("4.0.5", "4.1.4", True)])
def test_a_pyspark_that_is_newer_than_its_spark_is_refused(monkeypatch, pyspark, spark, fits):
    """It calls what its Java does not have; an older one was tried, and its Java has all that it calls."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(supported, "installed_version", lambda: pyspark)
    if fits:
        assert supported.check_session(classic(spark)) == spark
    else:
        with pytest.raises(UnsupportedFeature, match=r'does not fit Spark 4\.0\.5, .* "pyspark==4\.0\.\*"$'):
            supported.check_session(classic(spark))


def test_a_client_of_connect_that_is_newer_plans_and_sends_no_rows(monkeypatch):
    session = SimpleNamespace(version="4.0.5")
    monkeypatch.setattr(supported, "installed_version", lambda: "4.1.4")
    monkeypatch.setattr(spark_versions, "installed_version", lambda: "4.1.4")
    assert supported.check_session(session) == "4.0.5"
    with pytest.raises(UnsupportedFeature, match=r"server runs Spark 4\.0\.5, and its client, pyspark 4\.1\.4, cannot"):
        spark_versions.from_arrow(session, pa.table({"x": [1]}))


def test_rows_are_put_into_tasks_as_the_server_can_and_not_as_the_client():
    asked = []
    frame = SimpleNamespace(
        sparkSession=SimpleNamespace(version="4.0.5"),
        repartitionById=lambda *_: asked.append("by id"),
        repartitionByRange=lambda *_: asked.append("by range"),
    )
    spark_versions.in_tasks_by_number(frame, 2, None)
    assert asked == ["by range"]


def test_writes_through_a_client_that_observes_nothing_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(spark_versions, "installed_version", lambda: "3.5.9")
    with pytest.raises(UnsupportedFeature, match=r"write: Spark Connect counts .* since Spark 4\.0, .* 3\.5\.9"):
        spark_versions.observation(SimpleNamespace())


@pytest.mark.parametrize("version", ["3.4.4", "5.0.0.dev1"])
def test_an_installed_pyspark_that_is_not_supported_is_not_started(installed, version):
    installed(version)
    with pytest.raises(UnsupportedFeature) as found:
        spark_session()
    assert str(found.value) == (
        f'pyspark {version} is installed, but only Spark 3.5 to 4.3 is supported; pip install "pyspark>=3.5,<5"'
    )


@pytest.mark.parametrize(("version", "fits"), [("3.4.4", False), ("4.0.5", False), ("4.3.0", True)])
def test_a_spark_home_that_does_not_fit_is_not_started(installed, home, version, fits):
    installed("4.3.0")
    home(version)
    if fits:
        supported.check_start(remote=False)
        return
    with pytest.raises(UnsupportedFeature, match=rf"4\.3\.0 does not fit Spark {version}, .* or unset SPARK_HOME"):
        spark_session()
    supported.check_start(remote=True)


def test_pyspark_client_cannot_start_spark(installed, monkeypatch):
    installed("4.1.3")
    monkeypatch.setattr(supported, "is_client_only", lambda: True)
    with pytest.raises(PruneError, match=r"pyspark-client is installed, which cannot start Spark; set SPARK_REMOTE to"):
        spark_session()


def test_a_session_that_pyspark_client_has_is_returned(monkeypatch):
    session = SimpleNamespace(version="4.1.3")
    for module in (supported, starting):
        monkeypatch.setattr(module, "is_client_only", lambda: True)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: session)
    assert spark_session() is session


def test_without_py4j_an_error_of_a_store_is_still_explained(monkeypatch):
    """As with pyspark-client, which has no Java and no py4j."""
    monkeypatch.setitem(sys.modules, "py4j", None)
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    with explaining(SimpleNamespace(), "/lake"):
        pass


def test_a_machine_without_any_pyspark(monkeypatch):
    monkeypatch.setattr(supported, "installed_version", lambda: None)
    with pytest.raises(PruneError, match=r"pyspark is not installed; run pip install 'prune-assets\[spark\]'"):
        spark_session()


def test_doctor_names_a_pyspark_that_hides_the_installed_one(installed):
    installed("3.4.4")
    told = CliRunner().invoke(main, ["doctor"])
    assert told.exit_code == 1
    text = " ".join(told.stdout.split())
    assert "problem: pyspark 3.4.4 is installed, but only Spark 3.5 to 4.3 is supported" in text
    assert "problem: pyspark 3.4.4 is imported from a directory that precedes the installed pyspark" in text


def test_the_spark_of_a_cluster_needs_no_metadata_of_pip(installed, monkeypatch):
    installed("4.1.3")
    versions = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "pyspark" else versions(name))
    assert supported.check_installed() == "4.1.3"
    doctored = CliRunner().invoke(main, ["doctor", "--json"])
    assert json.loads(doctored.stdout)["libraries"]["pyspark"] == "4.1.3"
    assert doctored.exit_code == 0
    assert "Spark 4.1.3" in CliRunner().invoke(main, ["--version"]).stdout


def test_doctor_names_packages_that_overwrite_each_other(monkeypatch):
    monkeypatch.delenv("SPARK_HOME", raising=False)
    found = {"pyspark": spark_versions.installed_version(), "pyspark-client": "4.1.3"}
    versions = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: found[name] if name in found else versions(name))
    told = CliRunner().invoke(main, ["doctor"])
    assert told.exit_code == 1
    assert "and pyspark-client 4.1.3 are installed, and overwrite each other's files" in " ".join(told.stdout.split())


def test_doctor_names_a_spark_home_of_another_version(home, monkeypatch):
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    home("3.5.9")
    told = CliRunner().invoke(main, ["doctor"])
    assert told.exit_code == 1
    assert "does not fit Spark 3.5.9, which it controls" in " ".join(told.stdout.split())
