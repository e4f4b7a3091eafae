"""`read_arrow` of every type: the rows that Spark's reader returns, and refusals by name."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.errors import PruneError, UnknownColumn, UnsupportedFeature
from prune_assets.spark.spark_versions import to_arrow
from tests.peers.delta_matrix import GOLDEN
from tests.peers.plain_rows import plain_rows

# Every type that is read, with what readers differ on: old dates, INT96, NaN, null, texts of no plain letters.
ODD = """
    SELECT id, timestamp'1900-01-01 00:00:00.123456' - make_dt_interval(id) AS at,
      date'1500-01-01' + CAST(id AS INT) AS day,
      timestamp_ntz'2020-01-01 00:00:00' AS local, IF(id % 3 = 0, NULL, concat('t\\u00e9', id)) AS text,
      CAST(IF(id = 4, double('nan'), -id) AS FLOAT) AS small, IF(id = 5, double('nan'), -0.0D * id) AS wide,
      CAST(id AS TINYINT) AS tiny, CAST(id AS SMALLINT) AS short, binary(CAST(id AS STRING)) AS bytes,
      CAST(id * 1.23 AS DECIMAL(9, 2)) AS price, CAST(id * 1.23 AS DECIMAL(20, 2)) AS total, id % 2 = 0 AS even,
      id % 4 AS part
    FROM range(20)
"""
WHERE = [
    "id BETWEEN 3 AND 9 AND part <> 1",
    "text LIKE 't_1%' OR NOT even AND id < 3",
    "wide = double('nan') OR small < -17 OR price > 22.0",
    "text IS NULL AND day >= DATE'1500-01-05'",
    "part = 2 AND id <= total",
    "id > 1000",
]


def rows_of(frame):
    return plain_rows(to_arrow(frame).to_pylist())


@pytest.fixture(scope="module")
def odd(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("odd") / "table")
    spark.sql(ODD).repartition(2, "part").write.partitionBy("part").parquet(place)
    return place


@pytest.mark.spark
@pytest.mark.parametrize("where", WHERE)
def test_rows_are_those_that_spark_selects(where, spark, odd):
    found = pr.read_arrow(odd, where=where).to_pylist()
    assert plain_rows(found) == rows_of(spark.read.parquet(odd).where(where))


def of_ids(place, count=1000, **columns):
    pq.write_table(pa.table({"id": range(count), **columns}), place / "part-0.parquet", row_group_size=100)
    return str(place)


REFUSED = {
    "time": ({"part": pa.array([1] * 1000, pa.time32("s"))}, {}, UnsupportedFeature, "column 'part'"),
    "nanoseconds": ({"part": pa.array([1] * 1000, pa.timestamp("ns"))}, {}, UnsupportedFeature, "column 'part'"),
    "left to Spark": ({}, {"where": "hash(id) = 3"}, UnsupportedFeature, "let Spark evaluate it"),
    "column": ({}, {"columns": ["idd"]}, UnknownColumn, "idd"),
}


@pytest.mark.parametrize(("columns", "given", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_read_is_refused_by_name(columns, given, error, said, tmp_path):
    with pytest.raises(error, match=said):
        pr.read_arrow(of_ids(tmp_path, **columns), **given)


def test_other_columns_of_such_a_table_are_read(tmp_path):
    table = of_ids(tmp_path, part=pa.array([1] * 1000, pa.time32("s")))
    assert pr.read_arrow(table, columns=["id"], where="id >= 998").to_pylist() == [{"id": 998}, {"id": 999}]


def test_a_column_that_is_filtered_need_not_be_returned(tmp_path):
    table = of_ids(tmp_path, at=pa.array(range(1000), pa.timestamp("us", "UTC")))
    where = "at >= TIMESTAMP '1970-01-01 01:00:00.000998'"
    found = pr.read_arrow(table, columns=["id"], where=where, semantics=pr.SparkSemantics(time_zone="+01:00"))
    assert found.to_pylist() == [{"id": 998}, {"id": 999}]


def test_a_file_that_stores_another_type_is_refused(tmp_path):
    table = of_ids(tmp_path)
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "part-1.parquet")
    with pytest.raises(UnsupportedFeature, match=r"part-1\.parquet stores it as another type"):
        pr.read_arrow(table)


def test_files_that_lack_a_column_have_null_there(tmp_path):
    table = of_ids(tmp_path, count=2, more=[1, 2])
    pq.write_table(pa.table({"id": [7]}), tmp_path / "part-1.parquet")
    assert pr.read_arrow(table, columns=["more"], where="id > 0").to_pylist() == [{"more": 2}, {"more": None}]


# Of pyspark 3.5, which asks distutils for the version of pandas.
@pytest.mark.filterwarnings("ignore:distutils Version classes:DeprecationWarning")
@pytest.mark.spark
@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "table", sorted(place.parent for place in GOLDEN.glob("*/_delta_log")), ids=lambda path: path.name
)
def test_golden_delta_tables_have_the_rows_of_read_or_are_refused(table, spark):
    try:
        wanted = pr.read(table, where="true", session=spark)
    except PruneError:
        with pytest.raises(PruneError):
            pr.read_arrow(str(table))
        return
    try:
        found = pr.read_arrow(str(table)).to_pylist()
    except UnsupportedFeature as refused:
        assert "column '" in str(refused)  # noqa: PT017 - or the rows are compared
        return
    assert plain_rows(found) == rows_of(wanted)
