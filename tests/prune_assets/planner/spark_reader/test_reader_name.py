"""Reports name the version of Spark that reads."""

import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.spark.spark_versions import installed_version


def names(table, **semantics):
    pq.write_table(pa.table({"id": range(9)}), table)
    report = pr.plan(str(table), where="id < 3", semantics=pr.SparkSemantics(**semantics)).report
    assert "with this plan" in str(report)
    return [engine.name for engine in report.engines]


@pytest.mark.parametrize(
    ("of_session", "reader"),
    [("4.3.0", "Spark 4.3"), ("3.5.7-amzn-1", "Spark 3.5"), ("4.4.0", "Spark 4.4 (modelled as 4.3)")],
)
def test_the_version_of_the_session_is_named(tmp_path, of_session, reader):
    found = names(tmp_path / "t.parquet", spark_version=of_session)
    assert found == [f"{reader} alone", f"{reader} with this plan", "best possible"]


def test_without_a_session_the_installed_version_is_named(tmp_path, monkeypatch):
    import pyspark

    assert installed_version() == pyspark.__version__
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("raise AssertionError('imported')")
    (tmp_path / "pyspark" / "version.py").write_text('__version__: str = "4.0.5"\n')
    monkeypatch.delitem(sys.modules, "pyspark")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert names(tmp_path / "t.parquet")[0] == "Spark 4.0 alone"


def test_a_warning_names_the_version_too(tmp_path):
    pq.write_table(pa.table({"x": [0.0, 1.0]}), tmp_path / "t.parquet")
    semantics = pr.SparkSemantics(spark_version="4.0.5")
    warnings = pr.plan(str(tmp_path / "t.parquet"), where="x = 0.0", semantics=semantics).warnings
    assert {warning.reader for warning in warnings} == {"Spark 4.0"}
