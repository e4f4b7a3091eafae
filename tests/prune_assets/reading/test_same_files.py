"""`read` uses the same files as Spark for every directory shape; the expected files are checked with Spark itself."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

import pytest
from directory_cases import CASES, relative
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import prune_assets as pr
from parquet_core.errors import PruneError
from parquet_core.storage import list_data_files

pytestmark = pytest.mark.spark


@pytest.mark.sampled(16)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_spark(spark, tmp_path, case):
    table = case.make(tmp_path / "t")
    paths = [table] if isinstance(table, str) else table
    if case.outcome == "error":
        with pytest.raises((PySparkException, Py4JJavaError)):
            spark.read.parquet(*paths)
    else:
        plain = spark.read.parquet(*paths)
    if case.read is None:
        with pytest.raises(PruneError):
            pr.read(table, where="v >= 0", session=spark)
        return
    read = [unquote(urlsplit(row.file_path).path) for row in plain.select("_metadata.file_path").collect()]
    assert relative(read, tmp_path / "t") == case.read, "the case does not say what Spark does"
    # Spark's list also has files that Spark ignores: empty files, and files next to partition directories.
    named = {unquote(urlsplit(file).path) for file in plain.inputFiles()}
    assert {re.sub("/+", "/", file.path) for file in list_data_files(table)} - {*named} == set() or "/../" in table
    pruned = pr.read(table, where="v >= 0", session=spark)
    assert pruned.schema == plain.schema
    assert sorted(case.files[row.v] for row in pruned.select("v").collect()) == case.read
