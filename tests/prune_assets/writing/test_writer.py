from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from needs_spark import VERSION, needs_spark
from pyspark.sql import functions as fn

from parquet_core.errors import LayoutError, MalformedFile, PruneError, StorageFailure, UnsupportedFeature, WrongUse
from parquet_core.layout import LayoutSpec, check
from prune_assets.reading.reader import read
from prune_assets.tables.parquet import writing
from prune_assets.tables.writes import arrange, commit, staging
from prune_assets.writing.write import write

pytestmark = pytest.mark.spark

LAYOUT = LayoutSpec(
    sort_by=("k",), bloom={"id": 0.01}, page_rows=100, row_group_rows=500 if VERSION >= (4, 1) else None, files=3
)
TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


@pytest.fixture
def numbers(spark):
    """3,000 rows: a shuffled key with duplicates and nulls, a distinct id, a time, a decimal and a string."""
    return spark.range(3_000).select(
        "id",
        fn.when(fn.col("id") % 97 != 0, fn.col("id") * 7919 % 211).alias("k"),
        fn.timestamp_seconds(fn.col("id") + 1_600_000_000).alias("at"),
        (fn.col("id") / 4).cast("decimal(12,2)").alias("price"),
        fn.concat(fn.lit("row "), fn.col("id") % 5).alias("label"),
    )


def contents(df):
    return sorted(df.collect(), key=lambda row: row["id"])


def keys_in(file):
    return pq.read_table(file, columns=["k"])["k"].to_pylist()


def nulls_first(key):
    return (key is not None, key)


def visible(table):
    return sorted(path.name for path in Path(table).iterdir())


def test_the_rows_come_back(spark, numbers, tmp_path):
    result = write(numbers, tmp_path / "t", layout=LAYOUT)
    assert contents(spark.read.parquet(str(tmp_path / "t"))) == contents(numbers)
    assert result.rows == 3_000
    assert result.bytes == sum(Path(file).stat().st_size for file in result.files)
    assert result.removed == ()


def test_files_are_sorted_and_do_not_overlap(numbers, tmp_path):
    result = write(numbers, tmp_path / "t", layout=LAYOUT)
    assert len(result.files) == 3
    keys = [keys_in(file) for file in result.files]
    for inside in keys:
        assert inside == sorted(inside, key=nulls_first)
    assert keys[0][0] is None  # nulls come first
    for left, right in pairwise(keys):
        assert nulls_first(left[-1]) < nulls_first(right[0])  # equal keys share a file


@needs_spark(4, 1, "the rows of a row group can be limited")
def test_row_groups_pages_and_bloom_filters_are_as_asked(numbers, tmp_path):
    result = write(numbers, tmp_path / "t", layout=LAYOUT)
    groups = 0
    for file in result.files:
        footer = pq.read_metadata(file)
        groups += footer.num_row_groups
        for index in range(footer.num_row_groups):
            group = footer.row_group(index)
            assert group.num_rows <= 500
            columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
            assert columns["id"].bloom_filter_offset is not None
            assert all(columns[name].bloom_filter_offset is None for name in ("k", "at", "label"))
            assert all(column.has_column_index for column in columns.values())
            assert columns["at"].physical_type == "INT64"  # INT96 has no statistics
            assert columns["at"].statistics.has_min_max
        assert all(footer.row_group(i).num_rows == 500 for i in range(footer.num_row_groups - 1))
    assert groups == result.row_groups


def test_small_pages_are_respected(spark, tmp_path):
    result = write(spark.range(100), tmp_path / "t", layout=LayoutSpec(sort_by=("id",), page_rows=7, files=1))
    assert data_pages(spark, result.files[0]) == [7] * 14 + [2]


def test_pages_of_wide_rows_end_before_a_hundred_rows(spark, tmp_path):
    wide = spark.range(200).select("id", fn.repeat(fn.sha2(fn.col("id").cast("string"), 512), 16).alias("text"))
    layout = LayoutSpec(sort_by=("id",), page_rows=100, page_bytes=16 << 10, files=1)
    result = write(wide, tmp_path / "t", layout=layout)
    assert max(data_pages(spark, result.files[0], column=1)) <= 20  # 2,048 bytes a row, 16 KiB a page


def data_pages(spark, file, column=0):
    """Return the rows of each page of a column in the first row group, as parquet-java reads them back."""
    jvm = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(file)
    conf = spark._jsc.hadoopConfiguration()
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(
        jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, conf)
    )
    block = reader.getFooter().getBlocks().get(0)
    index = reader.readOffsetIndex(block.getColumns().get(column))
    rows = [index.getFirstRowIndex(i) for i in range(index.getPageCount())] + [block.getRowCount()]
    reader.close()
    return [after - before for before, after in pairwise(rows)]


def test_the_session_keeps_its_settings(spark, numbers, tmp_path):
    assert TIMESTAMPS not in spark.conf.getAll
    write(numbers, tmp_path / "unset", layout=LAYOUT)
    assert TIMESTAMPS not in spark.conf.getAll
    spark.conf.set(TIMESTAMPS, "INT96")
    try:
        write(numbers, tmp_path / "set", layout=LAYOUT)
        assert spark.conf.get(TIMESTAMPS) == "INT96"
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            write(numbers.select("id", (1 / (fn.col("id") - 2_000)).alias("k")), tmp_path / "no", layout=LAYOUT)
        assert spark.conf.get(TIMESTAMPS) == "INT96"
    finally:
        spark.conf.unset(TIMESTAMPS)


def test_adaptive_execution_and_a_record_limit_do_not_change_the_files(spark, numbers, tmp_path):
    settings = {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.coalescePartitions.minPartitionSize": "64m",
        "spark.sql.files.maxRecordsPerFile": "10",
    }
    before = {key: spark.conf.getAll.get(key) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        result = write(numbers, tmp_path / "t", layout=LAYOUT)
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)
    assert len(result.files) == 3
    for file in result.files:
        assert keys_in(file) == sorted(keys_in(file), key=nulls_first)


def test_append_adds_and_overwrite_replaces(spark, numbers, tmp_path):
    table = tmp_path / "t"
    first = write(numbers, table, layout=LAYOUT)
    second = write(numbers, table, layout=LAYOUT)
    assert visible(table) == sorted(Path(file).name for file in (*first.files, *second.files))
    assert spark.read.parquet(str(table)).count() == 6_000
    third = write(numbers.limit(10), table, layout=LAYOUT, mode="overwrite")
    assert set(third.removed) == {*first.files, *second.files}
    assert visible(table) == sorted(Path(file).name for file in third.files)
    assert spark.read.parquet(str(table)).count() == 10


@pytest.mark.parametrize("summary", ["_metadata", "_common_metadata"])
def test_an_overwritten_table_has_the_schema_of_the_new_data(spark, numbers, tmp_path, summary):
    table = tmp_path / "t"
    write(numbers, table, layout=LAYOUT)
    pq.write_metadata(pq.read_schema(next(table.glob("*.parquet"))), table / summary)
    assert spark.read.parquet(str(table)).columns == numbers.columns
    other = spark.range(10).withColumnRenamed("id", "k")
    result = write(other, table, layout=replace(LAYOUT, bloom={}), mode="overwrite")
    assert str(table / summary) in result.removed
    assert spark.read.parquet(str(table)).columns == ["k"]
    assert sorted(row.k for row in spark.read.parquet(str(table)).collect()) == list(range(10))


def test_a_table_can_be_overwritten_from_itself(spark, numbers, tmp_path):
    table = tmp_path / "t"
    write(numbers, table, layout=LAYOUT)
    write(spark.read.parquet(str(table)).where("id < 100"), table, layout=LAYOUT, mode="overwrite")
    assert contents(spark.read.parquet(str(table))) == contents(numbers.where("id < 100"))


def test_a_cached_table_is_refreshed(spark, numbers, tmp_path):
    table = tmp_path / "t"
    write(numbers, table, layout=LAYOUT)
    cached = spark.read.parquet(str(table)).cache()
    try:
        assert cached.count() == 3_000
        write(numbers.limit(10), table, layout=LAYOUT, mode="overwrite")
        assert spark.read.parquet(str(table)).count() == 10
    finally:
        cached.unpersist()


def test_mode_error_refuses_a_table_with_files(numbers, tmp_path):
    result = write(numbers, tmp_path / "t", layout=LAYOUT, mode="error")
    with pytest.raises(WrongUse, match=r"the table has 3 files already; pass the mode append or overwrite"):
        write(numbers, tmp_path / "t", layout=LAYOUT, mode="error")
    assert visible(tmp_path / "t") == sorted(Path(file).name for file in result.files)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_failure_before_the_move_leaves_the_old_table(spark, numbers, tmp_path, monkeypatch, mode):
    table = tmp_path / "t"
    write(numbers, table, layout=LAYOUT)
    before = visible(table)
    monkeypatch.setattr(writing, "prove", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write(numbers, table, layout=LAYOUT, mode=mode)
    assert visible(table) == before
    assert contents(spark.read.parquet(str(table))) == contents(numbers)


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_failure_in_the_middle_of_the_move_takes_the_new_files_out(spark, numbers, tmp_path, monkeypatch, mode):
    table = tmp_path / "t"
    write(numbers, table, layout=LAYOUT)
    before = visible(table)
    moved = []
    rename = Path.rename

    def full_disk(self, target):
        moved.append(target)
        if len(moved) == 3:  # the journal, a file, and now the second file
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full_disk)
    with pytest.raises(StorageFailure, match=r"No space left on device; the table is unchanged"):
        write(numbers, table, layout=LAYOUT, mode=mode)
    monkeypatch.undo()
    assert len(moved) == 4, "what was moved is moved back"
    assert visible(table) == before
    assert contents(spark.read.parquet(str(table))) == contents(numbers)


def test_a_file_that_lost_rows_is_not_committed(numbers, tmp_path, monkeypatch):
    def lose_a_file(stage, *, rows):
        next(stage.glob("*.parquet")).unlink()
        return staging.prove(stage, rows=rows)

    monkeypatch.setattr(writing, "prove", lose_a_file)
    with pytest.raises(MalformedFile, match="Spark reports 3000 rows written, but"):
        write(numbers, tmp_path / "t", layout=LAYOUT)
    assert not (tmp_path / "t").exists()


def test_a_write_that_spark_cannot_finish_leaves_nothing(numbers, tmp_path):
    broken = numbers.withColumn("price", fn.raise_error(fn.lit("no")).cast("decimal(12,2)"))
    with pytest.raises(Exception, match="no"):
        write(broken, tmp_path / "deep" / "t", layout=LAYOUT)
    assert not (tmp_path / "deep").exists()


def test_one_key_value_makes_one_file(spark, tmp_path):
    skewed = spark.range(1_000).withColumn("k", fn.lit(7))
    result = write(skewed, tmp_path / "t", layout=replace(LAYOUT, files=4))
    assert [pq.read_metadata(file).num_rows for file in result.files if pq.read_metadata(file).num_rows] == [1_000]


def test_an_empty_dataframe_makes_a_table_with_a_schema(spark, numbers, tmp_path):
    result = write(numbers.where("false"), tmp_path / "t", layout=LAYOUT)
    assert result.rows == 0
    assert spark.read.parquet(str(tmp_path / "t")).columns == numbers.columns
    write(numbers, tmp_path / "t", layout=LAYOUT)
    files = visible(tmp_path / "t")
    write(numbers.where("false"), tmp_path / "t", layout=LAYOUT)
    assert visible(tmp_path / "t") == files  # nothing to add, nothing added


def test_without_a_number_of_files_the_size_decides(numbers, tmp_path):
    result = write(numbers, tmp_path / "t", layout=replace(LAYOUT, files=None))
    assert len(result.files) == 1


def test_without_a_sort_key_the_files_are_filled_evenly(numbers, tmp_path):
    result = write(numbers, tmp_path / "t", layout=replace(LAYOUT, sort_by=()))
    assert [pq.read_metadata(file).num_rows for file in result.files] == [1_000, 1_000, 1_000]


def test_a_column_is_found_whatever_its_case_and_written_as_it_is_spelled(numbers, tmp_path):
    renamed = numbers.withColumnRenamed("id", "Order#Key")
    layout = replace(LAYOUT, sort_by=("K",), bloom={"order#key": 0.01})
    result = write(renamed, tmp_path / "t", layout=layout)
    group = pq.read_metadata(result.files[0]).row_group(0)
    assert group.column(0).path_in_schema == "Order#Key"
    assert group.column(0).bloom_filter_offset is not None


def test_a_bloom_filter_reaches_into_a_struct(numbers, tmp_path):
    nested = numbers.withColumn("buyer", fn.struct(fn.col("id").alias("number")))
    result = write(nested, tmp_path / "t", layout=replace(LAYOUT, bloom={"buyer.number": 0.1}))
    group = pq.read_metadata(result.files[0]).row_group(0)
    present = {group.column(i).path_in_schema for i in range(group.num_columns) if group.column(i).bloom_filter_offset}
    assert present == {"buyer.number"}


def test_timestamps_decimals_and_strings_keep_their_values(spark, numbers, tmp_path):
    write(numbers, tmp_path / "t", layout=LAYOUT)
    row = spark.read.parquet(str(tmp_path / "t")).where("id = 2999").collect()[0]
    assert (row["price"], row["label"]) == (Decimal("749.75"), "row 4")


def test_options_reach_the_writer_but_not_against_the_layout(numbers, tmp_path):
    options = {"parquet.column.statistics.enabled#price": "false"}
    result = write(numbers, tmp_path / "t", layout=LAYOUT, options=options)
    group = pq.read_metadata(result.files[0]).row_group(0)
    assert [group.column(i).has_column_index for i in range(5)] == [True, True, True, False, True]
    with pytest.raises(LayoutError, match=r"options\['parquet.block.size'\]: the layout sets it to 33554432"):
        write(numbers, tmp_path / "t", layout=LAYOUT, options={"parquet.block.size": "1"})


def test_appending_another_schema_is_refused(numbers, tmp_path):
    write(numbers, tmp_path / "t", layout=LAYOUT)
    with pytest.raises(WrongUse, match="column price string differs from the table's schema"):
        write(numbers.withColumn("price", fn.lit("dear")), tmp_path / "t", layout=LAYOUT)
    with pytest.raises(WrongUse, match="the data lacks the table's column label"):
        write(numbers.drop("label"), tmp_path / "t", layout=LAYOUT)


PARTED = LayoutSpec(sort_by=["k"], partition_by=["label"], files=3)


def test_partitions_are_directories_sorted_inside(spark, numbers, tmp_path):
    table = tmp_path / "t"
    with_null = numbers.withColumn("label", fn.when(fn.col("label") != "row 4", fn.col("label")))
    result = write(with_null, table, layout=PARTED)
    assert {Path(file).parent.name for file in result.files} == {*(f"label=row {i}" for i in range(4)), NULL_DIRECTORY}
    assert all(keys_in(file) == sorted(keys_in(file), key=nulls_first) for file in result.files)
    found = spark.read.parquet(str(table)).select(*with_null.columns)
    assert contents(found) == contents(with_null)
    assert [f.code for f in check(table, layout=PARTED) if f.severity == "error"] == []


NULL_DIRECTORY = f"label={arrange.NULL_DIRECTORY}"


def test_partitions_take_more_files_and_are_replaced_alone(spark, numbers, tmp_path):
    table = tmp_path / "t"
    write(numbers, table, layout=PARTED)
    before = set(table.rglob("*.parquet"))
    write(numbers.where("id < 5"), table, layout=PARTED, mode="append")
    assert spark.read.parquet(str(table)).count() == 3_005
    result = write(numbers.where("id = 6"), table, layout=PARTED, mode="replace_partitions")
    assert {Path(file).parent.name for file in result.removed} == {"label=row 1"}
    left = spark.read.parquet(str(table))
    assert left.where("label = 'row 1'").count() == 1
    assert left.where("label <> 'row 1'").count() == 2_404
    assert {file for file in before if "row 1" not in str(file)} <= set(table.rglob("*.parquet"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", [{"sort_by": ["id"]}, {"hilbert_by": ["id", "x"]}])
def test_files_begin_where_partitions_do(spark, tmp_path, order):
    rows = spark.range(30_000).selectExpr("id", "hash(id) AS x", "IF(id % 7 = 0, NULL, id % 6) AS part")
    layout = LayoutSpec(partition_by=["part"], files=14, **order)
    write(rows, tmp_path / "t", layout=layout)
    files = [pq.read_metadata(path).num_rows for path in (tmp_path / "t").rglob("*.parquet")]
    assert sum(files) == 30_000
    assert len(files) <= 16
    assert min(files) > 1_000, "half of a file of the 14, about"


def test_overwriting_partitions_leaves_none_of_them(spark, numbers, tmp_path):
    table = tmp_path / "t"
    write(numbers, table, layout=PARTED)
    write(numbers.where("label = 'row 2'"), table, layout=PARTED, mode="overwrite")
    assert {path.parent.name for path in table.rglob("*.parquet")} == {"label=row 2"}
    write(numbers, table, layout=LAYOUT, mode="overwrite")
    assert spark.read.parquet(str(table)).count() == 3_000


def test_a_write_of_partitions_that_fails_leaves_no_directory(numbers, tmp_path, monkeypatch):
    table = tmp_path / "t"
    write(numbers.where("label = 'row 0'"), table, layout=PARTED)
    before = sorted(table.rglob("*"))
    monkeypatch.setattr(commit, "_remove", lambda *_: None)
    monkeypatch.setattr(commit, "_move", fail_half_way(commit._move))
    with pytest.raises(StorageFailure):
        write(numbers, table, layout=PARTED, mode="append")
    assert sorted(table.rglob("*")) == before


def fail_half_way(real):
    """Move all, and then find no room."""

    def move(journal, table):
        real(journal, table)
        raise OSError(28, "No space left on device")

    return move


def test_files_of_other_partition_columns_are_not_mixed(numbers, tmp_path):
    numbers.write.partitionBy("label").parquet(str(tmp_path / "t"))
    for layout in (LAYOUT, LayoutSpec(partition_by=["id"], files=1)):
        with pytest.raises(WrongUse, match="the file is partitioned by label, and partition_by is"):
            write(numbers, tmp_path / "t", layout=layout)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (LayoutSpec(partition_by=["nothing"]), "partition_by: no column 'nothing'"),
        (LayoutSpec(sort_by=["K"], partition_by=["k"]), "partition_by: k is also in sort_by or bloom"),
        (LayoutSpec(partition_by=["id", "k", "at", "price", "label"]), "are all columns"),
    ],
)
def test_partition_columns_that_cannot_be_are_refused_before_a_job(numbers, tmp_path, layout, message):
    with pytest.raises(LayoutError, match=message):
        write(numbers, tmp_path / "t", layout=layout)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sort_by": ("kk",)}, "sort_by: no column 'kk'; did you mean 'k'?"),
        ({"bloom": {"idd": 0.1}}, "bloom: no column 'idd'; did you mean 'id'?"),
        ({"sort_by": ("k", "K")}, "names a column twice"),
    ],
)
def test_a_layout_of_other_columns_is_refused_before_anything_is_written(numbers, tmp_path, changes, message):
    with pytest.raises(LayoutError) as caught:
        write(numbers, tmp_path / "t", layout=replace(LAYOUT, **changes))
    assert message in str(caught.value)
    assert not (tmp_path / "t").exists()


def test_other_formats_schemes_and_modes_are_refused(numbers, tmp_path):
    with pytest.raises(WrongUse, match="format='orc': choose 'parquet' or 'iceberg' or 'delta'"):
        write(numbers, tmp_path / "t", layout=LAYOUT, format="orc")
    with pytest.raises(WrongUse, match="only for mode 'overwrite'"):
        write(numbers, tmp_path / "t", layout=LAYOUT, where="id = 1")
    with pytest.raises(WrongUse, match="df: dict is not a DataFrame of Spark"):
        write({"id": [1]}, tmp_path / "t", layout=LAYOUT)
    with pytest.raises(LayoutError, match="write 'id DESC' for descending order"):
        write(numbers, tmp_path / "t", layout=LayoutSpec(sort_by=["id down"]))
    with pytest.raises(WrongUse, match="session is a PosixPath; pass a SparkSession as session="):
        read(tmp_path / "t", where="id = 1", session=tmp_path / "t")
    with pytest.raises(UnsupportedFeature, match=r"s3://bucket/t: .*format='delta'"):
        write(numbers, "s3://bucket/t", layout=LAYOUT, format="parquet")
    with pytest.raises(WrongUse, match="mode='ignore'"):
        write(numbers, tmp_path / "t", layout=LAYOUT, mode="ignore")
    (tmp_path / "file").write_text("not a table")
    with pytest.raises(WrongUse, match="is a file"):
        write(numbers, tmp_path / "file", layout=LAYOUT)


def test_a_file_uri_is_a_local_path(spark, numbers, tmp_path):
    table = tmp_path / "with space"
    write(numbers, table.as_uri(), layout=LAYOUT)
    assert spark.read.parquet(str(table)).count() == 3_000


def test_a_path_may_look_like_a_pattern(numbers, tmp_path):
    table = tmp_path / "v[1]{a,b}*"
    write(numbers, table, layout=LAYOUT)
    write(numbers, table, layout=LAYOUT)
    assert sum(pq.read_metadata(table / name).num_rows for name in visible(table)) == 6_000


def test_texts_that_spark_takes_for_one_number_are_partitions_of_their_own(tmp_path, spark):
    layout = LayoutSpec(partition_by=["p"], sort_by=["id"], files=1)
    texts = spark.sql("SELECT id, CASE id % 3 WHEN 0 THEN '01' WHEN 1 THEN '1' END AS p FROM range(9)")
    write(texts, tmp_path / "t", layout=layout)
    write(texts.where("p = '01'").limit(1), tmp_path / "t", layout=layout, mode="overwrite", where="p = '01'")
    rows = {path.parent.name: pq.read_metadata(path).num_rows for path in (tmp_path / "t").rglob("*.parquet")}
    assert rows == {"p=01": 1, "p=1": 3, "p=__HIVE_DEFAULT_PARTITION__": 3}


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_partitions_of_a_table_without_them_are_not_replaced(tmp_path, spark, kind):
    layout = LayoutSpec(sort_by=["id"], files=1)
    write(spark.range(9), tmp_path / "t", layout=layout, format=kind)
    for options in (
        {"mode": "replace_partitions"},
        {"mode": "overwrite", "where": "id = 1"},
        {"mode": "overwrite", "where": "nosuch = 1"},
        {"mode": "overwrite", "where": "true"},
    ):
        with pytest.raises(PruneError) as refused:
            write(spark.range(3), tmp_path / "t", layout=layout, **options)
        assert kind == "delta" or "the table has no partition columns to select replaced rows" in str(refused.value)
    assert read(tmp_path / "t", where="true", session=spark).count() == 9


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_column_is_not_taken_for_a_function_of_its_name(tmp_path, spark, kind):
    """Spark has functions that are called without brackets: user, current_user, current_date."""
    layout = LayoutSpec(partition_by=["day"], sort_by=["id"], files=1)
    rows = spark.sql(
        "SELECT id, date_add(current_date(), CAST(id % 3 AS INT)) AS day, current_user() AS user, "
        "current_date() AS current_date FROM range(9)"
    )
    write(rows, tmp_path / "t", layout=layout, format=kind)
    for where in ("user = current_user()", "current_date >= day", fn.col("user") == fn.current_user()):
        with pytest.raises(PruneError):
            write(rows.limit(1), tmp_path / "t", layout=layout, mode="overwrite", where=where)
    assert read(tmp_path / "t", where="true", session=spark).count() == 9
    write(
        rows.where("day = current_date()"),
        tmp_path / "t",
        layout=layout,
        mode="overwrite",
        where="day = current_date()",
    )
    assert read(tmp_path / "t", where="true", session=spark).count() == 9


def test_an_overwrite_of_some_partitions_leaves_the_others(tmp_path, spark):
    layout = LayoutSpec(partition_by=["day"], sort_by=["id"], files=1)
    days = spark.sql("SELECT id, date_add(DATE '2024-01-01', CAST(id % 3 AS INT)) AS day FROM range(9)")
    write(days, tmp_path / "t", layout=layout, mode="overwrite", where="day >= DATE '2024-01-01'")
    second = days.where("day = DATE '2024-01-02'").limit(1)
    done = write(second, tmp_path / "t", layout=layout, mode="overwrite", where="day = DATE '2024-01-02'")
    assert (done.rows, len(done.removed)) == (1, 1)
    rows = {
        str(row.day): row["count"] for row in spark.read.parquet(str(tmp_path / "t")).groupBy("day").count().collect()
    }
    assert rows == {"2024-01-01": 3, "2024-01-02": 1, "2024-01-03": 3}
    before = sorted((tmp_path / "t").rglob("*.parquet"))
    for where, said in (
        ("day = DATE '2024-01-02'", "but the data has rows of it"),
        ("id + day(day) > 4", "must be a condition on only the partition columns"),
        ("WHERE day > 4", "must be a condition on only the partition columns"),
        ("nosuch = 4", "must be a condition on only the partition columns"),
    ):
        with pytest.raises(WrongUse, match=said):
            write(days, tmp_path / "t", layout=layout, mode="overwrite", where=where)
    assert sorted((tmp_path / "t").rglob("*.parquet")) == before
