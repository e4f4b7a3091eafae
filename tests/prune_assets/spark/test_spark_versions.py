"""Features that a Spark version lacks are refused by name, and no rule of another version prunes."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from needs_spark import needs_spark

import prune_assets as pr
from parquet_core.errors import UnsupportedFeature, WrongUse
from prune_assets.spark import lower_predicate, spark_versions
from prune_assets.sql.semantics import SparkSemantics


def installed(monkeypatch, version):
    # Both modules are imported above, because a later import would keep the patched version.
    for module in (spark_versions, lower_predicate):
        monkeypatch.setattr(module, "installed_version", lambda: version)


def test_the_version_is_read_where_spark_s_workers_find_their_pyspark(monkeypatch, tmp_path):
    with ZipFile(tmp_path / "pyspark.zip", "w") as packed:
        packed.writestr("pyspark/__init__.py", "")
        packed.writestr("pyspark/version.py", '__version__: str = "3.9.7"')
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    monkeypatch.setattr("sys.path", [str(tmp_path / "pyspark.zip"), *sys.path])
    assert spark_versions.installed_version() == "3.9.7"


@pytest.mark.parametrize(("version", "is_refused"), [("3.5.9", True), ("4.0.5", True), ("4.1.0", False)])
def test_a_limit_that_the_writer_passes_over_is_refused(version, is_refused):
    session = SimpleNamespace(version=version)
    spark_versions.check_row_group_rows(session, None)
    if is_refused:
        with pytest.raises(UnsupportedFeature, match=r"row_group_rows: .* needs Spark 4\.1, and this is"):
            spark_versions.check_row_group_rows(session, 500)
    else:
        spark_versions.check_row_group_rows(session, 500)


def test_without_a_session_a_predicate_means_what_it_does_in_the_installed_spark(monkeypatch, tmp_path):
    """In Spark 3 a quote that is written twice is no quote."""
    pq.write_table(pa.table({"word": ["its"]}), tmp_path / "t.parquet")
    where = "word = 'it''s'"
    assert pr.plan(tmp_path, where=where).report.kept.rows == 0
    installed(monkeypatch, "3.5.9")
    planned = pr.plan(tmp_path, where=where)
    assert planned.semantics == SparkSemantics.of("3.5.9")
    assert planned.report.kept.rows == 1


@pytest.mark.parametrize(
    ("sql", "is_known"),
    [
        ("word = ''", True),
        ("word = '' AND other = ''", True),
        ("word = 'it''s'", False),
        ('word = "a""b"', False),
        ("word = '''a'", False),
        (r"word = 'it\'s'", True),
        ("word = '' -- it's", False),
        ("word = '' AND `it's` = 1", True),
        ("word = '' AND `a b` = 1", True),
        ("`a``b` = ''", True),
        ("`it''s` = 1", True),
        ("`a` = 'it''s'", False),
        ("`a'` = '''a'", False),
        ("word = '`' AND other = '' -- `", False),
        ("word = r'a\\' OR word = ''", False),
    ],
)
def test_quotes_that_are_written_twice_are_another_text_in_spark_3(sql, is_known):
    assert SparkSemantics.of("3.5.9").knows_literals_of(sql) is is_known
    assert SparkSemantics.of("4.0.5").knows_literals_of(sql)


@pytest.mark.spark
@needs_spark(4, 0, "a session has variables")
def test_a_variable_of_the_session_is_seen_in_what_spark_resolved(spark):
    def resolved(sql):
        return spark.sql(f"SELECT {sql} AS c")._jdf.queryExecution().analyzed().expressions().head()

    spark.sql("DECLARE OR REPLACE VARIABLE least INT DEFAULT 5")
    try:
        assert spark_versions.names_variables(spark, resolved("abs(least) + 1"))
    finally:
        spark.sql("DROP TEMPORARY VARIABLE least")
    assert not spark_versions.names_variables(spark, resolved("abs(4) + 1"))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"spark_version": "abc"}, "spark_version='abc'; give a version of Spark"),
        ({"spark_version": 3.5}, "spark_version=3.5; give a version of Spark"),
        ({"spark_version": "9"}, "spark_version='9'; give a version of Spark"),
        ({"spark_version": "4.1.0", "time_zone": 3}, "time_zone=3; give the name of a time zone"),
        ({"spark_version": None, "ansi": "no"}, "ansi='no'; give True or False"),
    ],
)
def test_settings_of_another_type_are_refused(settings, problem):
    with pytest.raises(WrongUse, match=re.escape(problem)):
        SparkSemantics.of(**settings)
