"""Runs that start together on a table that does not exist, as in the first backfill of a partitioned asset."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pyarrow.parquet as pq
import pytest

import deltalog
import prune_assets as pr
from deltalog.errors import ConcurrentAppend, MetadataChanged, TableExists
from parquet_core.errors import LayoutError, PruneError
from prune_assets.tables.delta import writing
from prune_assets.tables.writes import arrange

pytestmark = pytest.mark.spark

LAYOUT = pr.LayoutSpec(sort_by=["id"], partition_by=["day"], files=1)
ROWS = 50


def day(spark, number, rows=ROWS):
    return spark.sql(
        f"SELECT id + {1000 * number} AS id, TIMESTAMP_SECONDS(id) AS at, DATE_ADD(DATE '2024-01-01', {number}) AS day "
        f"FROM range({rows})"
    )


@pytest.fixture
def together(monkeypatch):
    """Block each writer after it has looked for the table, until all of them have looked."""

    def begin(writers):
        barrier = Barrier(writers, timeout=120)
        before = writing.arrange

        def waits(*arguments):
            barrier.wait()
            return before(*arguments)

        monkeypatch.setattr(writing, "arrange", waits)

    return begin


def all_at_once(writes):
    def one(write):
        try:
            return write()
        except PruneError as error:
            return error

    with ThreadPoolExecutor(len(writes)) as pool:
        return list(pool.map(one, writes))


def write_days(spark, place, numbers, **options):
    return all_at_once(
        [lambda i=i: pr.write(day(spark, i), place, layout=LAYOUT, **options) for i in numbers],
    )


def check_days(spark, place, writers):
    """Check that a table has exactly the rows of the first days, and timestamps with statistics."""
    found = pr.read(place, where="true", session=spark).groupBy("day").count().collect()
    assert sorted(row["count"] for row in found) == [ROWS] * writers
    for file in place.rglob("part-*.parquet"):
        assert pq.read_metadata(file).schema.column(1).physical_type == "INT64"


MODES = {
    "append": ({"mode": "append"}, lambda _: {}),
    "replace_partitions": ({"mode": "replace_partitions"}, lambda _: {}),
    "where": ({"mode": "overwrite"}, lambda i: {"where": f"day = DATE '2024-01-0{i + 1}'"}),
}


@pytest.mark.parametrize("mode", MODES)
def test_three_days_of_a_new_delta_table(spark, tmp_path, together, mode):
    together(3)
    options, of_day = MODES[mode]
    done = all_at_once(
        [
            lambda i=i: pr.write(day(spark, i), tmp_path, layout=LAYOUT, format="delta", **options, **of_day(i))
            for i in range(3)
        ]
    )
    assert not [one for one in done if isinstance(one, Exception)]
    assert len({one.version for one in done}) == 3
    check_days(spark, tmp_path, 3)


@pytest.mark.parametrize("mode", MODES)
def test_a_log_without_a_commit_yet_is_no_table(spark, tmp_path, mode):
    (tmp_path / "_delta_log").mkdir()  # as another writer leaves it for the moment before its first commit
    options, of_day = MODES[mode]
    pr.write(day(spark, 0), tmp_path, layout=LAYOUT, format="delta", **options, **of_day(0))
    check_days(spark, tmp_path, 1)


@pytest.mark.deep
@pytest.mark.parametrize("format", ["delta", "parquet"])
def test_eight_writers_of_a_new_table(spark, tmp_path, format):  # noqa: A002
    for number in range(5):
        place = tmp_path / str(number)
        done = write_days(spark, place, range(8), format=format, mode="replace_partitions")
        assert not [one for one in done if isinstance(one, Exception)]
        check_days(spark, place, 8)


def test_three_days_of_a_new_plain_table(spark, tmp_path):
    done = write_days(spark, tmp_path / "t", range(3), mode="replace_partitions")
    assert not [one for one in done if isinstance(one, Exception)]
    check_days(spark, tmp_path / "t", 3)


@pytest.mark.parametrize(("mode", "error"), [("overwrite", ConcurrentAppend), ("error", TableExists)])
def test_whoever_wants_the_new_table_alone_gives_way(spark, tmp_path, together, mode, error):
    together(2)
    done = write_days(spark, tmp_path, range(2), format="delta", mode=mode)
    (lost,) = (one for one in done if isinstance(one, Exception))
    assert isinstance(lost, error)
    assert "\n" not in str(lost)
    check_days(spark, tmp_path, 1)
    assert len(list(tmp_path.rglob("*.parquet"))) == 1  # files of the failed write are removed


def test_rows_of_another_shape_give_way(spark, tmp_path, monkeypatch):
    def late(*arguments):
        deltalog.create_table(tmp_path, OTHER)
        return before(*arguments)

    before = writing.arrange
    monkeypatch.setattr(writing, "arrange", late)
    with pytest.raises(MetadataChanged, match="partitioned by nothing, and the rows here are partitioned by day"):
        pr.write(day(spark, 0), tmp_path, layout=LAYOUT, format="delta")
    assert list(tmp_path.iterdir()) == [tmp_path / "_delta_log"]


OTHER = (
    '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"day","type":"date","nullable":true,"metadata":{}}]}'
)


def test_a_table_that_comes_before_a_condition_is_held_to_its_columns(spark, tmp_path, monkeypatch):
    before = deltalog.create_table

    def late(*arguments, **options):
        before(tmp_path, OTHER)
        return before(*arguments, **options)

    monkeypatch.setattr(deltalog, "create_table", late)
    with pytest.raises(LayoutError, match="partitioned by nothing"):
        pr.write(
            day(spark, 0), tmp_path, layout=LAYOUT, format="delta", mode="overwrite", where="day = DATE '2024-01-01'"
        )


def test_a_setting_of_the_session_holds_as_long_as_anybody_writes(spark):
    key, before = "spark.sql.parquet.outputTimestampType", spark.conf.get("spark.sql.parquet.outputTimestampType")
    first, second = (arrange.temporary_option(spark, key, "TIMESTAMP_MICROS") for _ in range(2))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert spark.conf.get(key) == "TIMESTAMP_MICROS"
    second.__exit__(None, None, None)
    assert spark.conf.get(key) == before
    assert before != "TIMESTAMP_MICROS"
