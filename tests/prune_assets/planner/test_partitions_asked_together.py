"""Conditions on several partition columns are evaluated on the combined values of directories or of a Delta log."""

from __future__ import annotations

import json
import shutil
from itertools import product
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.planner.explain.plan import plan
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.sql.semantics import SparkSemantics
from tests.fuzz.planner.truth import settings
from tests.prune_assets.planner.named_rows import named_rows

NULL = "__HIVE_DEFAULT_PARTITION__"
YEARS, MONTHS, DAYS, ZONES = ["2023", "2024"], ["1", "3", "12"], ["2024-03-01", "2024-03-31"], ["a", "b c", NULL]
# The own rules answer these, without a session; the others only Spark does.
BY_RULES = [
    "year * 100 + month BETWEEN 202303 AND 202401",
    "year * 12 + month >= 24288 AND x < 2",
]
BY_SPARK = [
    "concat(year, '-', month) = '2024-3'",
    "concat(dt, '-', zone) >= '2024-03-31-a'",
    "make_date(year, month, 1) >= DATE '2024-03-01'",
    "make_date(year, month, 1) BETWEEN '2023-03-01' AND '2024-02-01'",
    "to_date(concat(year, '-', month, '-01')) = DATE '2023-12-01'",
    "to_timestamp(concat_ws(' ', dt, '00:00:00')) >= '2024-03-31' AND length(concat(zone, dt)) = 11",
    "date_add(dt, month) > '2024-04-01'",
    "date_format(dt, 'yyyyMM') = concat(year, lpad(month, 2, '0'))",
    "struct(year, month) = struct(2024, 3)",
    "(year, month) IN ((2023, 12), (2024, 1))",
    "concat(year, zone) IS NULL",
    "NOT (concat(year, zone) = '2023a')",
    "(year + length(zone) > 2023) IS NOT TRUE OR x = 1",
    "coalesce(zone, CAST(dt AS STRING)) = '2024-03-01'",
    "year / (month - 3) > 0 AND x > 1",
    "YEAR % 2 = month % 2 AND `month` + length(ZONE) > 3",
    "hash(year, month, dt, zone) % 3 = 0",
    "concat(year, '-', x) = '2024-1'",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("together") / "t"
    adds = []
    for values in product(YEARS, MONTHS, DAYS, ZONES):
        named = dict(zip(("year", "month", "dt", "zone"), values, strict=True))
        name = "/".join(f"{key}={value}" for key, value in named.items()) + "/f.parquet"
        (path / name).parent.mkdir(parents=True)
        pq.write_table(pa.table({"x": pa.array(range(4), pa.int64())}), path / name)
        partition = {key: None if value == NULL else value for key, value in named.items()}
        add = {"path": name.replace(" ", "%20"), "partitionValues": partition, "modificationTime": 0}
        adds.append({"add": add | {"size": (path / name).stat().st_size, "dataChange": True}})
    kinds = {"x": "long", "year": "integer", "month": "integer", "dt": "date", "zone": "string"}
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    metadata = {"id": "1", "format": {"provider": "parquet", "options": {}}, "configuration": {}}
    metadata |= {"schemaString": json.dumps({"type": "struct", "fields": fields}), "partitionColumns": list(kinds)[1:]}
    actions = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}, *adds]
    return path, "\n".join(map(json.dumps, actions))


@pytest.fixture(scope="module", params=["directories", "log"])
def read_as(request, table):
    """The table with its directories alone, and with a Delta log; Spark reads it by its directories both times."""
    path, actions = table
    log = path / "_delta_log"
    if request.param == "log":
        log.mkdir()
        (log / f"{0:020}.json").write_text(actions)
    yield path
    for file in log.glob("*"):
        file.unlink()
    if log.exists():
        log.rmdir()


def rows_of(spark, path, where):
    rows = spark.read.parquet(str(path)).where(where).select("_metadata.file_path", "_metadata.row_index").collect()
    return {(unquote(urlsplit(file).path), row) for file, row in rows}


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_parts_on_partition_columns_skip_as_spark_selects(spark, read_as, ansi):
    from pyspark.errors import PySparkException

    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        for where in BY_RULES + BY_SPARK:
            made = plan(read_as, where=where, session=spark)
            kept = named_rows(made.index, made.evaluation.access.ranges)
            try:
                expected = rows_of(spark, read_as, where)
            except PySparkException:
                # It raises for one month, and rows on which it raises are never skipped.
                assert "month - 3" in where
                assert {file for file, _ in kept} >= {
                    file.path for file in made.index.groups.files if "month=3" in file.path
                }
                continue
            assert expected <= kept, where
            assert named_rows(made.index, made.evaluation.access.matches) <= expected, where
            files = {file for file, _ in kept}
            needless = files - {file for file, _ in expected}
            assert not needless or "x" in where, f"{where}: {len(files)} files are kept, {len(needless)} for nothing"
            assert made.report.kept.rows == len(kept)
            own = plan(read_as, where=where, semantics=semantics_of(spark))
            assert expected <= named_rows(own.index, own.evaluation.access.ranges), where


@pytest.mark.parametrize("where", BY_RULES)
def test_the_own_rules_answer_some_without_a_session(read_as, where):
    made = plan(read_as, where=where, semantics=SparkSemantics(time_zone="UTC"))
    assert 0 < len(made.surviving_files) < 72
    assert made.report.levels[0].skipped_bytes > 0


def test_a_reason_names_the_values_that_denied_a_file(read_as):
    made = plan(read_as, where="year * 100 + month = 202403")
    skipped = [group for file in made.report.files for group in file.row_groups if group.verdict == "skip"]
    assert all("year is" in group.reason and "month is" in group.reason for group in skipped)
    assert made.report.unsupported == ()


@pytest.mark.spark
def test_read_returns_the_rows_that_spark_selects(spark, table, tmp_path):
    path = shutil.copytree(table[0], tmp_path / "t", ignore=shutil.ignore_patterns("_delta_log"))
    for where in BY_SPARK[:4]:
        expected = spark.read.parquet(str(path)).where(where)
        read = pr.read(path, where=where, session=spark)
        assert read.columns == expected.columns
        assert sorted(map(str, read.collect())) == sorted(map(str, expected.collect()))
