"""Intact and deliberately broken layouts; each finding has a location and a reason."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import LayoutError, StorageFailure
from parquet_core.layout import check
from parquet_core.layout.order import first_unsorted
from parquet_core.layout.sort_key import SortKey, parse_sort_key
from parquet_core.layout.spec import LayoutSpec, Severity

LAYOUT = LayoutSpec(sort_by=["day"], bloom={"key": 0.01}, row_group_rows=100, page_rows=20)


def write(path, days, **options):
    keys = [i * 7919 % 1000 for i in range(len(days))]
    table = pa.table({"day": pa.array(days, pa.int64()), "key": keys, "word": [f"w{key}" for key in keys]})
    defaults = {
        "row_group_size": 100,
        "max_rows_per_page": 20,
        "write_batch_size": 1,
        "write_page_index": True,
        "bloom_filter_options": {"key": {"ndv": 100}},
    }
    pq.write_table(table, path, **defaults | options)


def errors(findings):
    return {finding.code: finding for finding in findings if finding.severity is not Severity.INFO}


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t").mkdir()
    return tmp_path / "t"


def test_a_sorted_table_is_proven_at_every_strength(table):
    write(table / "0.parquet", [*range(250), 249])  # the files touch at 249
    write(table / "1.parquet", range(249, 600))
    findings = check(table, layout=LAYOUT)
    assert errors(findings) == {}
    said = {finding.code: finding.message for finding in findings}
    assert said["order.row_groups"] == "row groups are ascending by their bounds in 2 files"
    assert "pages are ascending without overlap in 7 row groups" in said["order.pages"]
    assert said["order.rows"] == "all 602 rows ascend inside their files"
    assert (
        said["overlap.files"]
        == "2 files do not overlap, but share values where one ends and the next begins; overlap depth 2.00"
    )
    assert (
        said["overlap.row_groups"]
        == "7 row groups do not overlap, but share values where one ends and the next begins; overlap depth 1.29"
    )
    assert "in 7 of 7 row groups" in said["bloom_filter.present"]
    margins = [finding for finding in findings if finding.code == "column_index.present"]
    assert [finding.location for finding in margins] == ["column day", "column key", "column word"]
    assert (
        "min and max of a page take 16.0 bytes on average, 16.0 in the worst row group; writers drop"
        in margins[0].message
    )


def test_each_strength_sees_what_the_weaker_ones_cannot(table):
    days = list(range(300))
    days[41], days[42] = days[42], days[41]  # inside one page
    write(table / "0.parquet", days)
    found = errors(check(table, layout=LAYOUT))
    assert set(found) == {"order.rows"}
    assert found["order.rows"].location == "0.parquet, row 42, column day"
    days[45], days[75] = days[75], days[45]  # across pages of one row group
    write(table / "0.parquet", days)
    found = errors(check(table, layout=LAYOUT))
    assert set(found) == {"order.rows", "order.pages"}
    assert "row group 0, column day" in found["order.pages"].location
    days[45], days[275] = days[275], days[45]  # across row groups
    write(table / "0.parquet", days)
    assert set(errors(check(table, layout=LAYOUT))) == {
        "order.rows",
        "order.pages",
        "order.row_groups",
        "overlap.row_groups",
    }


def test_files_that_overlap_are_named_with_their_depth(table):
    write(table / "0.parquet", range(300))
    write(table / "1.parquet", range(150, 450))
    found = errors(check(table, layout=LAYOUT))
    assert set(found) == {"overlap.files", "overlap.row_groups"}
    assert found["overlap.files"].location == "column day: 1.parquet"
    said = "overlaps 0.parquet; 2 of 2 files overlap another; overlap depth 2.00 (1 if none overlap)"
    assert found["overlap.files"].message == said
    assert found["overlap.files"].remedy


def test_one_row_group_a_file_proves_no_order(table):
    for number in range(3):
        write(table / f"{number}.parquet", range(number * 50, number * 50 + 50))
    said = {finding.code: finding for finding in check(table, layout=LAYOUT)}
    assert said["order.row_groups"].message == "not applicable: each file has one row group"
    write(table / "3.parquet", range(150, 400))
    said = {finding.code: finding for finding in check(table, layout=LAYOUT)}
    assert said["order.row_groups"].message == (
        "row groups are ascending by their bounds in 1 file; 3 files with a single row group are left out"
    )


def test_one_page_proves_no_order(table):
    write(table / "0.parquet", range(100), max_rows_per_page=1000)
    findings = check(table, layout=LAYOUT)
    assert set(errors(findings)) == {"size.pages"}
    pages = next(finding for finding in findings if finding.code == "order.pages")
    assert pages.message == "not applicable: each row group has one page"


def test_cut_strings_prove_no_order_by_pages(table):
    write(table / "0.parquet", range(100))
    findings = check(table, layout=LayoutSpec(sort_by=["word"], row_group_rows=100, page_rows=20))
    pages = next(finding for finding in findings if finding.code == "order.pages")
    assert "not applicable: a column index may hold shortened strings" in pages.message
    assert errors(findings)["order.rows"].location == "0.parquet, row 2, column word"


def test_an_absent_filter_of_pyarrow_is_explained_by_pyarrow(table):
    write(table / "0.parquet", range(100), bloom_filter_options=None, use_dictionary=False)
    found = errors(check(table, layout=LAYOUT))["bloom_filter.absent"]
    assert "not requested when pyarrow, or Arrow's C++ library, wrote the file (inferred)" in found.message
    assert "bloom_filter_options={'key': True}" in found.remedy
    write(table / "0.parquet", range(100), bloom_filter_options=None, use_dictionary=True)
    found = errors(check(table, layout=LAYOUT))["bloom_filter.absent"]
    assert "wrote the file (inferred); every data page uses the dictionary" in found.message
    assert found.remedy.startswith("remove key from `bloom` in the layout, or rewrite the files: ")
    assert "bloom_filter_options={'key': True}" in found.remedy


def test_each_cause_of_an_absent_filter_is_one_finding(table):
    import polars as pl

    for number in range(3):
        write(table / f"{number}.parquet", range(100), bloom_filter_options=None, row_group_size=50)
    pl.DataFrame({"key": range(100)}).write_parquet(table / "3.parquet")
    found = [f for f in check(table, layout=LayoutSpec(bloom={"key": 0.01})) if f.code == "bloom_filter.absent"]
    assert [finding.message[:36] for finding in found] == [
        "no bloom filter in 6 of 7 row groups",
        "no bloom filter in 1 of 7 row groups",
    ]
    assert ["pyarrow" in found[0].message, "Polars" in found[1].message] == [True, True]
    assert found[1].location == "3.parquet, row group 0, column key"


def test_the_remedy_for_an_absent_filter_of_pyarrow_helps(table):
    write(table / "0.parquet", range(100), bloom_filter_options={"key": True})
    assert "bloom_filter.absent" not in errors(check(table, layout=LAYOUT))


def test_an_absent_filter_of_duckdb_is_explained_by_duckdb(table):
    import duckdb

    layout = LayoutSpec(bloom={"key": 0.01})
    copy = f"COPY (SELECT hash(i) AS key FROM range(100000) r(i)) TO '{table}/0.parquet' (FORMAT parquet"
    duckdb.execute(f"{copy})")
    found = errors(check(table, layout=layout))["bloom_filter.absent"]
    assert "DuckDB writes filters only for dictionary-encoded chunks" in found.message
    assert "raise DICTIONARY_SIZE_LIMIT" in found.remedy
    assert "parquet-java" not in found.message
    duckdb.execute(f"{copy}, DICTIONARY_SIZE_LIMIT 1000000)")
    assert "bloom_filter.absent" not in errors(check(table, layout=layout))


def test_an_absent_filter_of_arrow_rs_is_explained_by_it(table):
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"key": [f"k{i}" for i in range(100)]})
    layout = LayoutSpec(bloom={"key": 0.01})
    deltalake.write_deltalake(str(table / "d"), rows)
    (file,) = (table / "d").glob("*.parquet")
    found = errors(check(str(file), layout=layout))["bloom_filter.absent"]
    assert "when arrow-rs wrote the file" in found.message
    assert "{'key': ColumnProperties(bloom_filter_properties=BloomFilterProperties(True))}" in found.remedy
    asked = deltalake.ColumnProperties(bloom_filter_properties=deltalake.BloomFilterProperties(True))  # noqa: FBT003 - as it says
    properties = deltalake.WriterProperties(column_properties={"key": asked})
    deltalake.write_deltalake(str(table / "e"), rows, writer_properties=properties)
    (file,) = (table / "e").glob("*.parquet")
    assert "bloom_filter.absent" not in errors(check(str(file), layout=layout))


def test_an_absent_filter_of_another_writer_is_blamed_on_no_one_else(table):
    import polars as pl

    pl.DataFrame({"key": range(100)}).write_parquet(table / "0.parquet")
    found = errors(check(table, layout=LayoutSpec(bloom={"key": 0.01})))["bloom_filter.absent"]
    assert "Polars" in found.message
    assert "parquet-java" not in found.message
    assert "prune optimize TABLE" in found.remedy


@pytest.mark.spark
def test_an_absent_filter_of_spark_is_explained_by_parquet_java(spark, table):
    for name, rows in (("same", "7L"), ("own", "id")):
        spark.range(30_000).selectExpr(f"{rows} AS key").coalesce(1).write.option(
            "parquet.enable.dictionary", str(name == "same").lower()
        ).parquet(str(table / name))
    layout = LayoutSpec(bloom={"key": 0.01})
    found = errors(check(table / "same", layout=layout))["bloom_filter.absent"]
    assert "every data page is dictionary-encoded, and parquet-java writes no filter then" in found.message
    assert "(confirmed by the encodings)" in found.message
    assert found.remedy.startswith("remove key from `bloom` in the layout, or rewrite the files: ")
    found = errors(check(table / "own", layout=layout))["bloom_filter.absent"]
    assert "not requested when the file was written (inferred)" in found.message
    assert "parquet.bloom.filter.enabled#key=true" in found.remedy


def test_an_absent_column_index_is_named_with_its_cause(table):
    write(table / "0.parquet", range(100), write_page_index=False)
    found = [finding for finding in check(table, layout=LAYOUT) if finding.code == "column_index.absent"]
    assert [(finding.location, finding.columns) for finding in found] == [
        ("0.parquet, row group 0, 3 columns", ("day", "key", "word"))
    ]
    assert found[0].message.startswith("no page index in 1 of 1 row group; written by parquet-cpp-arrow")
    assert found[0].message.endswith("(confirmed) (3 columns: day, key, word)")


def test_nan_without_column_index_is_confirmed_by_the_values(table):
    # parquet-cpp leaves the column index out when a page has no bounds.
    floats = pa.table({"day": [1, 2, 3], "key": [1, 2, 3], "f": [math.nan] * 3})
    pq.write_table(floats, table / "0.parquet", write_page_index=True, use_dictionary=False)
    layout = LayoutSpec()
    found = [finding for finding in check(table, layout=layout) if finding.code == "column_index.absent"]
    assert [finding.location for finding in found] == ["0.parquet, row group 0, column f"]
    assert "NaN" in found[0].message
    assert "(confirmed by the values)" in found[0].message
    assert (found[0].severity, found[0].remedy) == (
        "info",
        "write NaN as null if it means a missing value: nullif(f, double('NaN')) in Spark",
    )
    for named in (LayoutSpec(bloom={"F": 0.01}), LayoutSpec(zorder_by=["key", "f"])):
        assert "column_index.absent" in errors(check(table, layout=named)), "a column that the layout names"
    (found,) = [finding for finding in check(table, layout=layout, rows=False) if finding.code == "column_index.absent"]
    assert found.message.endswith("(inferred from statistics that count nulls and have no bounds)")
    assert found.severity == "info"


def test_nan_explains_only_the_row_groups_that_hold_it(table):
    for name, statistics in (("0", True), ("1", False)):
        rows = pa.table({"f": [math.nan] * 3 if statistics else [1.0] * 3})
        pq.write_table(rows, table / f"{name}.parquet", write_page_index=True, write_statistics=statistics)
    found = [finding for finding in check(table, layout=LayoutSpec()) if finding.code == "column_index.absent"]
    assert [(finding.location.partition(",")[0], finding.severity) for finding in found] == [
        ("0.parquet", "info"),
        ("1.parquet", "error"),
    ]
    assert "NaN" not in found[1].message


def absent(path, **options):
    findings = check(path, layout=LayoutSpec(), **options)
    return [(f.severity, f.message.partition(": ")[2]) for f in findings if f.code == "column_index.absent"]


NESTED = {
    "struct": lambda value: {"f": value},
    "deep struct": lambda value: {"d": {"f": value}},
    "list": lambda value: [value, value],
    "list of structs": lambda value: [{"f": value}],
    "map": lambda value: [("k", value)],
}


@pytest.mark.parametrize("within", NESTED)
def test_nan_inside_of_structs_lists_and_maps_is_confirmed_by_the_values(table, within):
    kind = pa.map_(pa.string(), pa.float64()) if within == "map" else None
    nest, path = NESTED[within], table / "0.parquet"
    options = {"write_page_index": True, "max_rows_per_page": 1, "write_batch_size": 1}

    def write_ending_in(value, **more):
        values = pa.array([nest(1.0), None, nest(value)], kind)
        pq.write_table(pa.table({"s": values, "other": [1, 2, 3]}), path, **options | more)

    write_ending_in(math.nan)
    assert absent(path) == [("info", "a page holds NaN, so the writer gives no bounds (confirmed by the values)")]
    # There are bounds, so that statistics were not switched off.
    assert absent(path, rows=False) == [("warn", "a page holds NaN, so the writer gives no bounds (inferred)")]
    write_ending_in(1.0, write_statistics=["other"])
    assert [(severity, "NaN" in said) for severity, said in absent(path)] == [("error", False)]


def test_nan_in_half_floats_and_beside_a_name_with_a_dot_is_no_error(table):
    halves = pa.table({"h": pa.array([math.nan], pa.float16())})
    pq.write_table(halves, table / "0.parquet", write_page_index=True)
    assert absent(table) == [("info", "a page holds NaN, so the writer gives no bounds (confirmed by the values)")]
    # Arrow reads both columns if one of them is requested.
    twice = pa.table({"a.b": ["x"], "a": [{"b": math.nan}]})
    pq.write_table(twice, table / "0.parquet", write_page_index=True)
    assert [severity for severity, _ in absent(table)] == ["info"]


@pytest.mark.spark
def test_nan_in_a_struct_that_spark_wrote_is_no_error(spark, table):
    rows = spark.range(200).selectExpr("id AS k", "named_struct('v', if(id % 50 = 7, double('NaN'), id)) AS g")
    rows.coalesce(1).write.mode("overwrite").parquet(str(table))
    assert absent(table) == [("info", "a page holds NaN, so the writer gives no bounds (confirmed by the values)")]
    assert [severity for severity, _ in absent(table, rows=False)] == ["warn"]


@pytest.mark.spark
def test_long_strings_lose_their_column_index_by_the_rule_of_max_stats_size(spark, table):
    rows = spark.range(200).selectExpr("id AS day", "id AS key", "concat(repeat('x', 3000), id) AS word")
    options = {"parquet.columnindex.truncate.length": "100000", "parquet.page.row.count.limit": "20"}
    rows.coalesce(1).write.options(**options).mode("overwrite").parquet(str(table))
    (found,) = [finding for finding in check(table, layout=LayoutSpec()) if finding.code == "column_index.absent"]
    assert found.location.endswith("row group 0, column word")
    assert (
        "more than MAX_STATS_SIZE = 4096, so the writer dropped it (confirmed by the values read, uncut)"
        in found.message
    )
    assert "truncate.length=64" in found.remedy
    unread = [f for f in check(table, layout=LayoutSpec(), rows=False) if f.code == "column_index.absent"]
    assert "(inferred from the mean size of a value)" in unread[0].message
    # With the default length the same values keep their index, and its margin is far from the limit.
    rows.coalesce(1).write.option("parquet.page.row.count.limit", "20").mode("overwrite").parquet(str(table))
    assert "column_index.absent" not in {finding.code for finding in check(table, layout=LayoutSpec())}


@pytest.mark.spark
def test_int96_cannot_have_a_column_index(spark, table):
    rows = spark.sql("SELECT timestamp '2024-01-01 00:00:00' AS ts, 1 AS a")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    try:
        rows.write.mode("overwrite").parquet(str(table))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    found = errors(check(table, layout=LayoutSpec()))["column_index.not_applicable"]
    assert "INT96 has no defined order" in found.message


def test_row_groups_larger_than_asked_are_named(table):
    write(table / "0.parquet", range(300), row_group_size=150)
    found = errors(check(table, layout=LAYOUT))["size.row_groups"]
    assert "2 of 2 row groups have more than 100 rows, at most 150" in found.message


@pytest.mark.parametrize("layout", [LayoutSpec(sort_by=["dya"]), LayoutSpec(bloom={"dya": 0.1})])
def test_a_layout_of_another_table_is_refused(table, layout):
    write(table / "0.parquet", range(10))
    with pytest.raises(LayoutError, match="no column dya: did you mean day"):
        check(table, layout=layout)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(None, 1), (None, 2), (0, 0)], None),
        ([(0, 1), (None, 2)], 1),
        ([(1, 2), (1, 3), (1, 1)], 2),
        ([(1, 9), (2, 1), (2, 1)], None),
        ([], None),
    ],
)
def test_rows_are_compared_by_all_keys_nulls_first(rows, expected):
    table = pa.table({"a": pa.array([a for a, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows], pa.int64())})
    assert first_unsorted(table, [SortKey("a"), SortKey("b")]) == expected


def test_columns_are_found_in_another_case_and_inside_structs(table):
    nested = pa.table({"Day": list(range(10)), "buyer": [{"number": i} for i in range(10)]})
    pq.write_table(
        nested, table / "0.parquet", write_page_index=True, bloom_filter_options={"buyer.number": {"ndv": 10}}
    )
    findings = check(table, layout=LayoutSpec(sort_by=["DAY"], bloom={"Buyer.Number": 0.1}))
    assert errors(findings) == {}
    assert "bloom_filter.present" in {finding.code for finding in findings}


def partitioned(table, **days):
    for name, values in days.items():
        directory = table / name.replace("_", "=", 1)
        directory.mkdir(parents=True)
        write(directory / "0.parquet", values)


def test_files_are_compared_within_their_partition(table):
    partitioned(table, p_1=range(300), p_2=range(150, 450), p_3=range(300))
    findings = check(table, layout=LAYOUT)
    assert errors(findings) == {}
    said = {finding.code: finding.message for finding in findings}
    assert said["overlap.files"] == "3 files do not overlap within their partitions; overlap depth 1.00"
    assert said["overlap.row_groups"].startswith("9 row groups do not overlap within their partitions")


def test_files_that_overlap_in_one_partition_are_named_with_it(table):
    partitioned(table, p_1=range(300), p_2=range(300))
    write(table / "p=2" / "1.parquet", range(150, 450))
    found = errors(check(table, layout=LAYOUT))
    assert set(found) == {"overlap.files", "overlap.row_groups"}
    assert found["overlap.files"].location == "column day: p=2/1.parquet"
    said = "overlaps p=2/0.parquet; 2 of 3 files overlap another within their partitions; overlap depth 1.67 "
    assert found["overlap.files"].message == f"{said}(1 if none overlap)"
    assert found["overlap.row_groups"].location == "column day: p=2/1.parquet, row group 0"


def test_disorder_in_a_file_of_a_partition_is_named_with_it(table):
    partitioned(table, p_1=[0, 2, 1, 3])
    found = errors(check(table, layout=LAYOUT))
    assert found["order.rows"].location == "p=1/0.parquet, row 2, column day"


def test_partitions_of_several_columns_are_those_of_all_of_them(table):
    for p, q in ((1, 1), (1, 2), (2, 1)):
        partitioned(table / f"p={p}", **{f"q_{q}": range(100)})
    assert errors(check(table, layout=LAYOUT)) == {}


@pytest.mark.parametrize("sort_by", [["p"], ["P"], ["p", "day"], ["day", "p"]])
def test_a_partition_column_of_the_key_holds_by_the_directories(table, sort_by):
    partitioned(table, p_1=range(300), p_2=range(150, 450))
    findings = check(table, layout=LayoutSpec(sort_by=sort_by, row_group_rows=100, page_rows=20))
    assert errors(findings) == {}
    (found,) = [finding for finding in findings if finding.code == "order.partitions"]
    assert (found.location, found.message) == ("column p", "a partition column: every file holds one value of it")
    assert ("overlap.files" in {finding.code for finding in findings}) == ("day" in sort_by)


def test_the_rest_of_a_key_is_still_judged(table):
    partitioned(table, p_1=[5, 4, 3])
    assert "order.rows" in errors(check(table, layout=LayoutSpec(sort_by=["p", "day"])))


def test_a_file_beside_partition_folders_is_not_judged(table):
    """Spark does not read such a file."""
    partitioned(table, p_1=range(10))
    write(table / "0.parquet", range(10, 0, -1))
    assert errors(check(table, layout=LayoutSpec(sort_by=["p", "day"]))) == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sort_by": "id"}, "give a list of column names"),
        ({"sort_by": [1]}, "give a list of column names"),
        ({"bloom": ["id"]}, "give each column its false-positive probability"),
        ({"bloom": {"id": 1.5}}, "is between 0 and 1"),
        ({"bloom": {"id": "0.1"}}, "is between 0 and 1"),
        ({"page_rows": "5"}, "a whole number of at least 1"),
        ({"page_rows": None}, "a whole number of at least 1"),
        ({"files": 0}, "a whole number of at least 1"),
        ({"compression": "foo"}, "compression = 'foo': choose one of zstd, snappy, gzip, "),
        ({"compression": None}, "compression = None: choose one of"),
    ],
)
def test_a_layout_of_wrong_types_is_refused(arguments, message):
    with pytest.raises(LayoutError, match=message):
        LayoutSpec(**arguments)


def test_a_layout_keeps_what_it_was_given():
    columns, bloom = ["a"], {"a": 0.5}
    layout = LayoutSpec(sort_by=columns, bloom=bloom)
    columns.append("b")
    bloom["b"] = 0.1
    assert (layout.sort_by, layout.bloom) == (("a",), {"a": 0.5})


def test_columns_that_a_table_cannot_be_sorted_by_are_named(table):
    (table / "p=1").mkdir()
    pq.write_table(pa.table({"st": [{"a": 1}], "id": [1]}), table / "p=1/0.parquet")
    for name, message in (("st", "is a struct"), ("st.a", "is inside of st")):
        with pytest.raises(LayoutError, match=message):
            check(table, layout=LayoutSpec(sort_by=[name]))
    with pytest.raises(LayoutError, match="bloom: p is a partition column"):
        check(table, layout=LayoutSpec(bloom={"p": 0.1}))
    with pytest.raises(LayoutError, match="give a LayoutSpec"):
        check(table, layout={"sort_by": ["id"]})


def test_a_directory_that_cannot_be_read_is_named(table, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("parquet_core.storage.local.os.open", refuse)
    with pytest.raises(StorageFailure, match=r"/t: Permission denied; check its permissions"):
        check(table, layout=LayoutSpec())


@pytest.mark.spark
def test_order_and_overlap_of_long_strings_are_told_from_their_pages(spark, table):
    """Spark omits chunk statistics with long bounds, but writes truncated bounds of pages."""
    rows = spark.range(400).selectExpr("concat(format_string('%04d', id), repeat('x', 3000)) AS word")
    options = {"parquet.block.row.count.limit": "100", "parquet.page.row.count.limit": "20"}
    rows.coalesce(1).write.mode("overwrite").options(**options).parquet(str(table))
    index = read_dataset(table)
    (column,) = index.groups.columns
    assert index.footers.bounds(column).lower.null_count == len(index) == 4
    bounds = index.page_indexes.filled_bounds(column)
    assert [low[:4] for low in bounds.lower.to_pylist()] == [b"0000", b"0100", b"0200", b"0300"]
    assert [high[:4] for high in bounds.upper.to_pylist()] == [b"0099", b"0199", b"0299", b"0399"]
    assert bounds.null_count.to_pylist() == [0] * 4
    found = {finding.code: finding for finding in check(table, layout=LayoutSpec(sort_by=["word"]))}
    assert found["overlap.row_groups"].severity is Severity.INFO
    assert found["order.row_groups"].severity is Severity.INFO


@pytest.mark.parametrize(
    ("rows", "key", "expected"),
    [
        ([3, 2, 2, None], "a DESC", None),
        ([None, 3, 2], "a DESC", 1),
        ([None, 3, 2], "a DESC NULLS FIRST", None),
        ([1, 2, None], "a NULLS LAST", None),
        ([1, None, 2], "a NULLS LAST", 2),
        ([2, 1, 3], "a DESC", 2),
        ([math.nan, math.nan, 2.0, None], "a DESC", None),
        ([2.0, math.nan], "a DESC", 1),
        ([2.0, math.nan, None, None], "a NULLS LAST", None),
        ([None, math.nan], "a NULLS LAST", 1),
    ],
)
def test_rows_are_compared_in_the_direction_of_the_key(rows, key, expected):
    assert first_unsorted(pa.table({"a": rows}), [parse_sort_key(key)]) == expected


def test_a_descending_table_is_proven_and_an_ascending_one_is_not(table):
    layout = LayoutSpec(sort_by=["day DESC"], row_group_rows=100, page_rows=20)
    write(table / "0.parquet", range(500, 250, -1))
    write(table / "1.parquet", range(250, 0, -1))
    findings = check(table, layout=layout)
    assert errors(findings) == {}
    said = {finding.code: finding.message for finding in findings}
    assert said["order.row_groups"] == "row groups are descending by their bounds in 2 files"
    assert "pages are descending without overlap in 6 row groups" in said["order.pages"]
    assert said["order.rows"] == "all 500 rows descend inside their files"
    write(table / "1.parquet", range(250))
    found = errors(check(table, layout=layout))
    assert {"order.row_groups", "order.pages", "order.rows"} <= set(found)
    assert (
        "2 row groups begin above the end of the row group before them in their file"
        in found["order.row_groups"].message
    )


def test_a_key_of_few_values_says_what_it_costs(table):
    write(table / "0.parquet", [1] * 500 + [2] * 100)
    (found,) = (f for f in check(table, layout=LayoutSpec(sort_by=["day"])) if f.code == "order.low_cardinality")
    assert found.severity is Severity.WARN
    assert found.message.startswith("4 of 6 row groups repeat the only value of day in the previous row group")
    assert "600 rows" in found.message
    for other in (LayoutSpec(sort_by=["day", "key"]), LayoutSpec(sort_by=["word"])):
        assert all(f.code != "order.low_cardinality" for f in check(table, layout=other, rows=False))


def test_a_curve_is_judged_by_what_an_equality_keeps(table):
    layout = LayoutSpec(zorder_by=["day", "key"])
    write(table / "0.parquet", [i * 7919 % 2000 for i in range(2000)])
    found = [f for f in check(table, layout=layout) if f.code.startswith("clustering.")]
    assert [f.code for f in found] == ["clustering.ineffective", "clustering.ineffective"]
    assert all("prune optimize TABLE --layout layout.yaml --full" in f.remedy for f in found)
    write(table / "0.parquet", range(2000))
    kept, other = (f for f in check(table, layout=layout) if f.code.startswith("clustering."))
    assert kept.code == other.code == "clustering.effective"
    assert "an equality on day keeps 1.0 of 20 row groups" in kept.message


@pytest.mark.parametrize(("row_groups", "severity"), [(3, "info"), (4, "warn"), (12, "warn"), (16, "error")])
def test_few_row_groups_in_no_order_are_no_proof_of_a_curve(table, row_groups, severity):
    shuffled = {name: [i * by % 1009 for i in range(1008)] for name, by in (("a", 541), ("b", 733))}
    pq.write_table(pa.table(shuffled), table / "0.parquet", row_group_size=-(-1008 // row_groups))
    layout = LayoutSpec(hilbert_by=["a", "b"])
    found = [f for f in check(table, layout=layout) if f.code.startswith("clustering.")]
    assert {f.severity.value for f in found} == {severity}


@pytest.mark.parametrize(("row_groups", "severity"), [(1, "info"), (4, "warn"), (16, "error")])
def test_a_curve_is_judged_inside_of_a_partition(table, row_groups, severity):
    shuffled = {name: [i * by % 1009 for i in range(1008)] for name, by in (("a", 541), ("b", 733))}
    for day in range(20):
        (table / f"day={day}").mkdir()
        path = table / f"day={day}" / "0.parquet"
        pq.write_table(pa.table(shuffled), path, row_group_size=1008 // (row_groups if day == 7 else 1))
    layout = LayoutSpec(partition_by=["day"], hilbert_by=["a", "b"])
    found = [f for f in check(table, layout=layout) if f.code.startswith("clustering.")]
    assert {f.severity.value for f in found} == {severity}
    assert all(f"of {row_groups} row groups of the largest partition" in f.message for f in found)


def test_a_curve_of_few_row_groups_is_one(table):
    corners = [(x + dx, y + dy) for x in (0, 500) for y in (0, 500) for dx in range(16) for dy in range(16)]
    rows = pa.table({"a": [a for a, _ in corners], "b": [b for _, b in corners]})
    pq.write_table(rows, table / "0.parquet", row_group_size=256)
    found = [f for f in check(table, layout=LayoutSpec(zorder_by=["a", "b"])) if f.code.startswith("clustering.")]
    assert {f.severity.value for f in found} == {"info"}
