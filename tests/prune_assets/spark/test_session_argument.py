"""`session=` and `semantics=`: the active session is the default, and neither keyword takes the other's object."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.spark import spark_session
from prune_assets.spark.lower_predicate import semantics_for


@pytest.mark.spark
def test_the_active_session_reads_and_rewrites(spark, tmp_path):
    for name in ("a", "b"):
        pq.write_table(pa.table({"id": range(10)}), tmp_path / f"{name}.parquet")
    assert pr.read(tmp_path, where="id < 3").sparkSession is spark
    assert pr.read(tmp_path, where="id < 3").count() == 6
    assert pr.optimize(tmp_path, layout={"sort_by": ["id"]}).new_files == 1


def test_without_an_active_session_a_read_and_a_rewrite_are_refused(monkeypatch):
    monkeypatch.setattr(spark_session, "_running", lambda: None)
    for call in (lambda: pr.read("t", where="id < 3"), lambda: pr.optimize("t", layout={"sort_by": ["id"]})):
        with pytest.raises(WrongUse, match=r"^no Spark session is active; .*pass session=SparkSession\.builder"):
            call()


@pytest.mark.parametrize(
    ("session", "semantics", "message"),
    [
        (pr.SparkSemantics(), None, "session is a SparkSemantics; pass it as semantics="),
        (None, SimpleNamespace(), "semantics is a SimpleNamespace; pass a SparkSession as session="),
        (SimpleNamespace(), pr.SparkSemantics(), "session, semantics: .* pass one of the two"),
    ],
)
def test_one_keyword_does_not_take_the_object_of_the_other(session, semantics, message):
    with pytest.raises(WrongUse, match=message):
        semantics_for(session, semantics)
