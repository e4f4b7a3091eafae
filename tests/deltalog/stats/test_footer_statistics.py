"""Statistics from footers enclose the values of files from every writer, and skipping by them loses no row."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_writer import field
from row_truth import leaves, selected

from deltalog.snapshot.opening import open_snapshot
from deltalog.stats.data_skipping import skip_files
from deltalog.stats.footer_statistics import NewFile, adds_of
from deltalog.stats.written_json import lower_string, upper_string
from deltalog.table.schema import read_schema
from parquet_core.errors import TableNotFound, WrongUse
from parquet_core.pruning.predicate import Not

ROWS = 40
START = dt.datetime(2024, 1, 1, 12, 30, 15, 678_912, tzinfo=dt.UTC)
STRUCT = {"type": "struct", "fields": [field("a", "long"), field("t", "string")]}
COLUMNS = {
    "i": "integer",
    "big": "long",
    "small": "short",
    "d": "double",
    "f": "float",
    "clean": "double",
    "dec": "decimal(24,2)",
    "money": "decimal(9,2)",
    "s": "string",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "day": "date",
    "flag": "boolean",
    "raw": "binary",
    "st": STRUCT,
    "arr": {"type": "array", "elementType": "integer", "containsNull": True},
    "nothing": "long",
}
WRITERS = ("pyarrow", "polars", "duckdb", "delta-rs", "spark")


def schema_of(columns, *, partitioned=(), mapping="none"):
    fields = [
        kind if isinstance(kind, dict) and "name" in kind else field(name, kind) for name, kind in columns.items()
    ]
    text = json.dumps({"type": "struct", "fields": fields})
    return read_schema(text, partition_columns=partitioned, mapping=mapping, location="t")


@pytest.fixture(scope="module")
def rows():
    """Rows of every type, with nulls, NaN, zeros of both signs, blank and long strings."""
    numbers = range(ROWS)
    times = pa.array([START + dt.timedelta(hours=i, microseconds=7 * i) for i in numbers], pa.timestamp("us", "UTC"))
    texts = [
        None if i == 3 else ["", "long" * (i % 30), "é" * (i % 40), "\U0001f600" * (i % 36)][i % 4] for i in numbers
    ]
    return pa.table(
        {
            "i": pa.array([None if i % 7 == 0 else i * 1000 - 5 for i in numbers], pa.int32()),
            "big": pa.array([(1 << 62) + i * 1_000_003 for i in numbers], pa.int64()),
            "small": pa.array([i - 20 for i in numbers], pa.int16()),
            "d": pa.array([math.nan if i % 9 == 0 else i / 7 for i in numbers]),
            "f": pa.array([i / 7 for i in numbers], pa.float32()),
            "clean": pa.array([-0.0 if i % 8 == 0 else float(i % 8) for i in numbers]),
            "dec": pa.array([Decimal(f"{12345678901234567890 + i}.{i:02d}") for i in numbers], pa.decimal128(24, 2)),
            "money": pa.array([Decimal(f"{i}.{i:02d}") - 20 for i in numbers], pa.decimal128(9, 2)),
            "s": pa.array(texts),
            "ts": times,
            "ntz": times.cast(pa.timestamp("us")),
            "day": pa.array([dt.date(2024, 1, 1) + dt.timedelta(i) for i in numbers]),
            "flag": pa.array([i % 2 == 0 for i in numbers]),
            "raw": pa.array([bytes([i]) for i in numbers]),
            "st": pa.array([None if i % 5 == 0 else {"a": i, "t": f"t{i}"} for i in numbers]),
            "arr": pa.array([[1], [], None, [None]] * 10, pa.list_(pa.int32())),
            "nothing": pa.nulls(ROWS, pa.int64()),
        }
    )


def write(writer, table, path, request):
    """Write rows to one Parquet file."""
    match writer:
        case "pyarrow":
            pq.write_table(table, path, row_group_size=3)
        case "polars":
            polars = pytest.importorskip("polars")
            polars.from_arrow(table).write_parquet(path, row_group_size=4, statistics="full")
        case "duckdb":
            duckdb = pytest.importorskip("duckdb")
            connection = duckdb.connect()
            connection.register("rows_of_one_file", table)
            connection.execute(f"SET timezone='UTC'; COPY rows_of_one_file TO '{path}' (FORMAT parquet)")
        case "delta-rs":
            deltalake = pytest.importorskip("deltalake")
            place = path.with_suffix(".table")
            deltalake.write_deltalake(place, table)
            next(place.glob("*.parquet")).rename(path)
        case "spark":
            session = request.getfixturevalue("spark")
            source = path.with_suffix(".source")
            pq.write_table(table, source)
            session.read.parquet(str(source)).coalesce(1).write.parquet(str(path.with_suffix(".out")))
            next(path.with_suffix(".out").glob("*.parquet")).rename(path)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.spark, pytest.mark.deep] if name == "spark" else []) for name in WRITERS
    ],
)
def table(request, rows, tmp_path_factory):
    """A table of five files by one writer, whose log has our statistics; and what each file holds."""
    place = tmp_path_factory.mktemp("statistics") / "table"
    place.mkdir()
    contents = {}
    for i in range(5):
        some = rows.slice(i * 8, 8)
        path = place / f"part {i}.parquet"
        write(request.param, some, path, request)
        contents[path.name] = rows.slice(i * 8, 8)
    add_all(place, schema_of(COLUMNS), [NewFile(name) for name in contents], protocol=NTZ)
    return request.param, str(place), contents


NTZ = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["timestampNtz"],
    "writerFeatures": ["timestampNtz"],
}


def add_all(place, schema, files, *, protocol, **options):
    """Write the first commit of a table with our actions."""
    metadata = {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema.text,
        "partitionColumns": list(schema.partition_columns),
        "configuration": options.get("properties", {}),
    }
    adds = adds_of(str(place), schema, files, **options)
    lines = [{"protocol": protocol}, {"metaData": metadata}]
    lines += [{"add": {k: v for k, v in msgspec.to_builtins(add).items() if v is not None}} for add in adds]
    (place / "_delta_log").mkdir()
    (place / "_delta_log" / f"{0:020d}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return adds


def statistics_by_file(place):
    adds = [json.loads(line)["add"] for line in lines_of(Path(place)) if '"add"' in line[:8]]
    return {unquote(add["path"]): json.loads(add["stats"], parse_float=Decimal) for add in adds}


def flat(values, prefix=()):
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, (*prefix, name))
        else:
            yield (*prefix, name), value


def column_of(content, path):
    column = content[path[0]].combine_chunks()
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


def key(value):
    """Return a sort key for values in Spark's order, with NaN last."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def read_bound(text, column):
    """A bound of JSON as a value of the column's type, as a reader that knows no more than the type takes it."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        moment = dt.datetime.fromisoformat(text)
        assert (moment.tzinfo is None) == (kind.tz is None)
        return moment
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(text)
    if pa.types.is_floating(kind):
        return float(text)
    return text


def test_counts_are_those_of_the_rows_and_bounds_enclose_the_values(table):
    writer, place, contents = table
    bounded = counted = 0
    for name, said in statistics_by_file(place).items():
        content = contents[name]
        assert said["numRecords"] == len(content)
        assert said["tightBounds"] is True
        for path, count in flat(said["nullCount"]):
            assert count == column_of(content, path).null_count, (writer, path)
            counted += 1
        for part, better in (("minValues", min), ("maxValues", max)):
            for path, text in flat(said[part]):
                column = column_of(content, path)
                values = [key(value) for value in column.drop_null().to_pylist()]
                bound = key(read_bound(text, column))
                assert better([bound, *values]) == bound, (writer, name, part, path, text)
                if path[0] not in {"s", "ts", "ntz"}:
                    assert bound in values, (writer, name, part, path, text)
                bounded += 1
    assert counted > 60
    assert bounded > 90


def test_every_column_that_has_bounds_has_them(table):
    writer, place, _ = table
    wanted = {("i",), ("big",), ("small",), ("clean",), ("s",), ("ts",), ("ntz",), ("day",), ("st", "a"), ("st", "t")}
    wanted |= {("f",), ("dec",), ("money",)}
    # Its timestamps are INT96, which have no order.
    wanted -= {("ts",)} if writer == "spark" else set()
    for said in statistics_by_file(place).values():
        low = {path for path, _ in flat(said["minValues"])}
        high = {path for path, _ in flat(said["maxValues"])}
        assert wanted <= low | {("s",)}, writer
        # Bounds of the other floating-point columns may omit NaN.
        floating = {("d",), ("f",), ("clean",)}
        assert wanted - floating <= high | {("s",)}, writer
        assert not {("flag",), ("raw",), ("arr",), ("nothing",)} & (low | high)
        assert "arr" not in said["nullCount"]


@pytest.mark.spark
def test_of_files_by_spark_floating_bounds_are_known(table):
    writer, place, contents = table
    if writer != "spark":
        pytest.skip("other writers leave NaN out of bounds, and do not say so")
    for name, said in statistics_by_file(place).items():
        nan = any(value != value for value in contents[name]["d"].drop_null().to_pylist())  # noqa: PLR0124
        assert ("d" in said["maxValues"]) == (not nan)
        assert "f" in said["maxValues"]


@pytest.mark.sampled(2)
def test_no_row_is_lost(table, rows):
    _, place, contents = table
    mine = open_snapshot(place)
    flat_rows = rows.drop_columns(["st", "arr", "nothing"])
    skipped = 0
    for predicate in leaves(flat_rows, mine.schema):
        kept = set(mine.paths(skip_files(mine, predicate).kept))
        for name, content in contents.items():
            if isinstance(predicate, Not):
                column = predicate.child.column[0]
                wanted = content[column].null_count < len(content)
            else:
                wanted = selected(content, predicate)
            assert name in kept or not wanted, (predicate, name)
        skipped += len(contents) - len(kept)
    assert skipped > len(contents) * 40


def test_delta_rs_has_the_same_statistics_of_its_own_files(rows, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path / "t", rows)
    theirs = json.loads(next(line for line in lines_of(tmp_path / "t") if '"add"' in line))["add"]
    their_statistics = json.loads(theirs["stats"], parse_float=Decimal)
    (add,) = adds_of(str(tmp_path / "t"), schema_of(COLUMNS), [NewFile(unquote(theirs["path"]))])
    mine = json.loads(add.stats, parse_float=Decimal)
    assert mine["numRecords"] == their_statistics["numRecords"]
    assert dict(flat(mine["nullCount"])) == dict(flat(their_statistics["nullCount"])) | {("raw",): 0}
    differing = set()
    for part in ("minValues", "maxValues"):
        ours, others = dict(flat(mine[part])), dict(flat(their_statistics[part]))
        # Booleans have bounds to them; of NaN they know nothing, and say their largest number all the same.
        missing = {path[0] for path in others.keys() - ours.keys()}
        assert missing == ({"flag"} if part == "minValues" else {"flag", "d", "f", "clean"})
        differing |= {(part, path[0]) for path in ours.keys() & others.keys() if ours[path] != others[path]}
    # Decimals go through 64-bit floats there, the last millisecond is counted up here, and times without a zone have
    # a blank there.
    assert differing == {
        ("minValues", "dec"),
        ("maxValues", "dec"),
        ("maxValues", "ts"),
        ("minValues", "ntz"),
        ("maxValues", "ntz"),
    }


def lines_of(table):
    return (table / "_delta_log" / f"{0:020d}.json").read_text().splitlines()


def one_file(tmp_path, columns, kinds, **options):
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    (add,) = adds_of(str(tmp_path), schema_of(kinds), [NewFile("x.parquet")], **options)
    return json.loads(add.stats, parse_float=Decimal)


def test_a_row_group_without_a_bound_leaves_the_file_without_it(tmp_path):
    """Writers leave out bounds that are too long; a row group of nulls alone has none that could be missed."""
    texts = ["m", "z", "a" * 5_000, "n", None, None]
    pq.write_table(pa.table({"s": texts, "i": [1, 2, 3, 4, None, None]}), tmp_path / "x.parquet", row_group_size=2)
    footer = pq.read_metadata(tmp_path / "x.parquet")
    assert [footer.row_group(i).column(0).statistics.has_min_max for i in range(3)] == [True, False, False]
    (add,) = adds_of(str(tmp_path), schema_of({"s": "string", "i": "long"}), [NewFile("x.parquet")])
    said = json.loads(add.stats)
    assert said["minValues"] == {"i": 1}
    # The writer omits only one of the two bounds.
    assert said["maxValues"] == {"s": "z", "i": 4}
    assert said["nullCount"] == {"s": 2, "i": 2}


def test_times_are_cut_to_milliseconds_outward(tmp_path):
    micros = pa.array([-1, 1_999], pa.timestamp("us", "UTC"))
    said = one_file(tmp_path, {"t": micros}, {"t": "timestamp"})
    assert said["minValues"]["t"] == "1969-12-31T23:59:59.999Z"
    assert said["maxValues"]["t"] == "1970-01-01T00:00:00.002Z"


def test_a_time_or_date_beyond_four_digits_of_a_year_has_no_bound(tmp_path):
    last = 253_402_300_799_999_999  # the last microsecond of the year 9999
    columns = {"t": pa.array([0, last], pa.timestamp("us")), "d": pa.array([0, 2_932_897], pa.date32())}
    said = one_file(tmp_path, columns, {"t": "timestamp_ntz", "d": "date"})
    assert said["minValues"] == {"t": "1970-01-01T00:00:00.000", "d": "1970-01-01"}
    assert "maxValues" not in said


def test_decimals_keep_their_digits_and_their_scale(tmp_path):
    numbers = [Decimal("0.0000000000"), Decimal("1234567890123456789012345678.0000000001")]
    said = one_file(tmp_path, {"x": pa.array(numbers, pa.decimal128(38, 10))}, {"x": "decimal(38,10)"})
    assert str(said["maxValues"]["x"]) == "1234567890123456789012345678.0000000001"
    assert said["minValues"]["x"].as_tuple().exponent == -10


def test_a_file_without_rows_has_no_bounds(tmp_path):
    said = one_file(tmp_path, {"x": pa.array([], pa.int64())}, {"x": "long"})
    assert said == {"numRecords": 0, "tightBounds": True}


def test_infinities_are_told_by_name_and_reach_readers(tmp_path):
    pq.write_table(pa.table({"x": [-math.inf, 1.0]}), tmp_path / "x.parquet")
    add_all(
        tmp_path,
        schema_of({"x": "double"}),
        [NewFile("x.parquet")],
        protocol={"minReaderVersion": 1, "minWriterVersion": 2},
    )
    assert statistics_by_file(tmp_path)["x.parquet"]["minValues"] == {"x": "-Infinity"}
    deltalake = pytest.importorskip("deltalake")
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(tmp_path))
    assert pa.table(query.execute("SELECT x FROM t WHERE x < 0").read_all())["x"].to_pylist() == [-math.inf]


@pytest.mark.parametrize(
    ("properties", "columns"),
    [
        ({}, {("a",), ("s", "b"), ("s", "c"), ("d",)}),
        ({"delta.dataSkippingNumIndexedCols": "2"}, {("a",), ("s", "b")}),
        ({"delta.dataSkippingNumIndexedCols": "0"}, set()),
        ({"delta.dataSkippingNumIndexedCols": "-1"}, {("a",), ("s", "b"), ("s", "c"), ("d",)}),
        ({"delta.dataSkippingNumIndexedCols": "nonsense"}, {("a",), ("s", "b"), ("s", "c"), ("d",)}),
        ({"delta.dataSkippingStatsColumns": "S, d"}, {("s", "b"), ("s", "c"), ("d",)}),
        ({"delta.dataSkippingStatsColumns": "`s`.`c`", "delta.dataSkippingNumIndexedCols": "1"}, {("s", "c")}),
    ],
)
def test_properties_say_which_columns_have_statistics(tmp_path, properties, columns):
    kinds = {
        "p": "string",
        "a": "long",
        "s": {"type": "struct", "fields": [field("b", "long"), field("c", "long")]},
        "d": "long",
    }
    data = {"a": [1], "s": pa.array([{"b": 1, "c": 2}]), "d": [1]}
    pq.write_table(pa.table(data), tmp_path / "x.parquet")
    schema = schema_of(kinds, partitioned=["p"])
    (add,) = adds_of(str(tmp_path), schema, [NewFile("x.parquet", {"p": None})], properties=properties)
    said = json.loads(add.stats)
    assert {path for path, _ in flat(said.get("minValues", {}))} == columns
    assert {path for path, _ in flat(said.get("nullCount", {}))} == columns
    assert add.partition_values == {"p": None}


def test_columns_that_the_table_is_clustered_by_always_have_statistics(tmp_path):
    domains = {"delta.clustering": '{"clusteringColumns":[["b"]]}'}
    properties = {"delta.dataSkippingNumIndexedCols": "1"}
    columns = {name: [1] for name in "abc"}
    said = one_file(tmp_path, columns, dict.fromkeys("abc", "long"), properties=properties, domains=domains)
    assert said["minValues"] == {"a": 1, "b": 1}


def test_with_column_mapping_statistics_and_partition_values_have_physical_names(tmp_path):
    columns = [
        field("p", "string", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}),
        field("x", "long", **{"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}),
    ]
    schema = schema_of({column["name"]: column for column in columns}, partitioned=["p"], mapping="name")
    pq.write_table(pa.table({"col-2": [4, 5]}), tmp_path / "x.parquet")
    (add,) = adds_of(str(tmp_path), schema, [NewFile("x.parquet", {"p": "a"})])
    assert add.partition_values == {"col-1": "a"}
    assert json.loads(add.stats)["maxValues"] == {"col-2": 5}


def test_bounds_in_another_order_than_the_type_s_are_left_out(parquet_testing, tmp_path):
    """INT96 has no order of its instants; its nulls are counted all the same."""
    source = parquet_testing / "data" / "int96_from_spark.parquet"
    (tmp_path / "x.parquet").write_bytes(source.read_bytes())
    (add,) = adds_of(str(tmp_path), schema_of({"a": "timestamp"}), [NewFile("x.parquet")])
    said = json.loads(add.stats)
    assert said["numRecords"] == pq.read_metadata(source).num_rows
    assert "minValues" not in said
    assert "maxValues" not in said


def test_wrong_partition_values_and_missing_files_are_refused_by_name(tmp_path):
    schema = schema_of({"p": "string", "x": "long"}, partitioned=["p"])
    with pytest.raises(WrongUse, match=r"partitioned by p; give a value for exactly these columns"):
        adds_of(str(tmp_path), schema, [NewFile("x.parquet", {"q": "1"})])
    with pytest.raises(TableNotFound, match=r"x\.parquet: the file does not exist"):
        adds_of(str(tmp_path), schema, [NewFile("x.parquet", {"p": "1"})])


TEXTS = st.text(st.sampled_from("a\x7e\x7f\ud7ff\ue000é\U0001f600\U0010ffff"), max_size=12)


@given(TEXTS, st.integers(1, 5))
def test_cut_strings_enclose_the_whole(text, most):
    whole = text.encode()
    low, high = lower_string(whole, most), upper_string(whole, most)
    assert len(low) <= most
    assert low.encode() <= whole
    if high is not None:
        assert whole <= high.encode()
        assert len(high) <= 2 * most + 1


@given(TEXTS, TEXTS, st.integers(0, 30), st.integers(1, 5))
def test_bounds_that_a_writer_cut_within_a_character_enclose_what_they_enclosed(text, other, cut, most):
    """A writer cuts bytes, and counts the last one up."""
    whole, shortened = text.encode(), text.encode()[:cut]
    assert lower_string(shortened, most).encode() <= whole
    if shortened and shortened[-1] < 0xFF and cut < len(whole):
        counted_up = shortened[:-1] + bytes([shortened[-1] + 1])
        high = upper_string(counted_up, most)
        for value in (text, other):
            if high is not None and value.encode() <= counted_up:
                assert value.encode() <= high.encode()


def test_the_end_of_a_string_that_cannot_be_closed_off_is_no_bound():
    assert upper_string(("a" * 3 + "\U0010ffff" * 9).encode(), 3) is None
    assert upper_string(("a" * 3 + "\U0010ffffb").encode(), 3) == "aaa\U0010ffff\x7f"
    assert upper_string(b"ab\xf5", 3) is None
