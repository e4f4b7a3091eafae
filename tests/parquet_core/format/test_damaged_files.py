"""Damaged bytes end in one clear error or in unknown values, never in a wrong skip, a crash or a hang."""

from __future__ import annotations

import random
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_thrift import I64

from parquet_core.bloom import parse_filter
from parquet_core.dataset.opening import read_dataset
from parquet_core.dataset.page_batch import Source, join_indexes
from parquet_core.errors import MalformedFile, PruneError, TableNotFound, UnsupportedFeature, WrongUse
from parquet_core.format.chunk_decoding import ChunkRanges, decode_column_chunks
from parquet_core.format.compact import BINARY, INTEGER, decode, list_of, struct
from parquet_core.format.page_index import IndexBytes, decode_column_indexes, decode_offset_indexes
from parquet_core.format.provenance import Provenance
from parquet_core.format.schema import LeafColumn, Physical, SortOrder
from parquet_core.spark_rules.spark_schema import without_spark_comparisons
from parquet_core.storage import list_data_files
from parquet_core.trust.trust_policy import trust
from parquet_core.trust.trusted_bounds import trusted_bounds
from tests.numbered_cases.cases import META, chunks_of, edit_footer, put, value_of


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "good.parquet"
    table = pa.table({"a": list(range(1000)), "b": [str(i) for i in range(1000)]})
    options = {"bloom_filter_options": {"a": {"ndv": 1000}}, "write_page_index": True, "max_rows_per_page": 100}
    pq.write_table(table, path, row_group_size=500, **options)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda good: b"", "0 bytes are too few"),
        (lambda good: b"PAR1", "too few for a Parquet file"),
        (lambda good: b"name,age\nada,36\n" * 9, "does not end in PAR1"),
        (lambda good: good[:-100], "does not end in PAR1"),
        (lambda good: good[: len(good) // 2], "does not end in PAR1"),
        (lambda good: good[:-8] + b"\xff\xff\xff\x7fPAR1", "claims a footer of 2147483647 bytes"),
        (lambda good: good[:-8] + b"\x00\x00\x00\x00PAR1", "metadata ends early"),
        (lambda good: good[:-8] + b"\x10\x00\x00\x00PAR1", "good.parquet"),
    ],
)
def test_a_file_that_is_cut_or_foreign_is_named(file, make, message):
    file.write_bytes(make(file.read_bytes()))
    with pytest.raises(MalformedFile, match=re.escape(message)) as caught:
        read_dataset(str(file))
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "named"),
    [("a.csv", "CSV"), ("a.CSV", "CSV"), ("a.csv.gz", "CSV"), ("a.json", "JSON"), ("part-0.snappy.orc", "ORC")],
)
@pytest.mark.parametrize("rows", [1, 1000])
def test_a_file_of_another_format_is_named_as_such(tmp_path, name, named, rows):
    """This holds for files of any size: the error must not suggest that a few bytes are missing."""
    (tmp_path / name).write_bytes(b"1,a\n" * rows)
    message = rf"{re.escape(name)}: is not a Parquet file but {named}, by its name; "
    with pytest.raises(MalformedFile, match=message) as one:
        read_dataset(str(tmp_path / name))
    assert "too few" not in str(one.value)


@pytest.mark.parametrize("name", ["000000_0", "a.parquet", "a.parq", "data.0.", "v1.2"])
def test_a_name_that_tells_no_format_leaves_it_open(tmp_path, name):
    (tmp_path / name).write_bytes(b"1,a\n")
    with pytest.raises(MalformedFile, match="4 bytes are too few for a Parquet file; it is cut off or another format"):
        read_dataset([str(tmp_path / name)])


def test_a_parquet_file_with_any_name_is_read(file):
    """Spark ignores file names too."""
    assert len(read_dataset(str(file.rename(file.with_name("good.csv"))))) == 2


def test_an_encrypted_footer_is_refused(file):
    file.write_bytes(file.read_bytes()[:-4] + b"PARE")
    with pytest.raises(UnsupportedFeature, match="encrypted"):
        read_dataset(str(file))


def test_a_footer_of_gigabytes_is_refused_until_it_is_allowed(file, monkeypatch):
    """The claim is cheap to make: a sparse file of 4 GiB takes one disk block."""
    claimed = (1 << 32) - 100
    with file.open("r+b") as sparse:
        sparse.truncate(1 << 32)
        sparse.seek((1 << 32) - 8)
        sparse.write(claimed.to_bytes(4, "little") + b"PAR1")
    with pytest.raises(UnsupportedFeature, match=f"a footer of {claimed} bytes.*PRUNE_FOOTER_BYTES={claimed}"):
        read_dataset(str(file))
    monkeypatch.setenv("PRUNE_FOOTER_BYTES", "much")
    with pytest.raises(WrongUse, match="PRUNE_FOOTER_BYTES='much': give a number"):
        read_dataset(str(file))


def test_a_footer_may_be_allowed_or_forbidden_by_its_length(file, monkeypatch):
    monkeypatch.setenv("PRUNE_FOOTER_BYTES", "100")
    with pytest.raises(UnsupportedFeature, match="more than 100"):
        read_dataset(str(file))
    monkeypatch.setenv("PRUNE_FOOTER_BYTES", "100000")
    assert len(read_dataset(str(file))) == 2


def test_a_missing_or_empty_table_is_named(tmp_path):
    with pytest.raises(TableNotFound, match="no such file or directory"):
        read_dataset(str(tmp_path / "nowhere"))
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "part-0.parquet").touch()
    with pytest.raises(TableNotFound, match="no data file"):
        read_dataset(str(tmp_path))


def test_what_spark_passes_over_is_no_data(tmp_path):
    for name in ("_SUCCESS", ".part.crc", "_temporary/x.parquet", "a.parquet", "day=1/b.parquet", "day=2/_d.parquet"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    found = [file.path.removeprefix(f"{tmp_path}/") for file in list_data_files(tmp_path)]
    assert found == ["day=1/b.parquet"]


SPEC = struct({1: INTEGER, 2: list_of(BINARY), 3: struct({1: INTEGER})})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x15", "ends early"),
        (b"\x15" + b"\xff" * 12 + b"\x01", "more than 64 bits"),
        (b"\x15" + b"\xff" * 9 + b"\x02", "more than 64 bits"),
        (b"\x15" + b"\xff" * 12, "ends early"),
        (b"\x29\xf8\xff\xff\xff\xff\x07", "a list of"),
        (b"\x29\x18\xff\xff\xff\x07", "a value of"),
        (b"\x1c" * 60, "nesting deeper"),
        (b"\x1b\xff\xff\xff\xff\x07\x88", "a map of"),
        (b"\x1f", "unknown wire type"),
    ],
)
def test_lengths_and_depths_are_bounded(data, message):
    with pytest.raises(MalformedFile, match=message):
        decode(data, SPEC, place="here")


@pytest.mark.parametrize("place", ["schema", "key-value metadata"])
def test_structs_without_fields_are_no_schema_and_no_metadata(tmp_path, place):
    """Each takes one byte in the file, but would take hundreds of bytes in memory."""
    many = bytes.fromhex("fcc0843d") + bytes(1_000_000)
    one_column = bytes.fromhex("2c 480172 1502 00 1502 2500 180161 00")
    no_groups = bytes.fromhex("1600 190c")
    in_schema = many + no_groups
    footer = in_schema if place == "schema" else one_column + no_groups + b"\x19" + many
    footer = bytes.fromhex("1502 19") + footer + b"\x00"
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(MalformedFile, match="a list of 1000000 elements"):
        read_dataset(str(path))


def test_fields_that_nobody_asked_for_are_passed_over():
    # field 1 = 7; field 4 map<i32, binary>; field 5 struct {double, bool}; field 6 list<bool>; field 2 of type i32.
    data = bytes.fromhex("150e3b01580201781c17" + "00" * 8 + "1100" + "1921010902" + "00" * 0)
    slots, _ = decode(data[:2] + b"\x00", SPEC)
    assert slots == [7, None, None]
    slots, end = decode(bytes.fromhex("150e15020000"), SPEC)
    assert slots == [7, None, None], "a field of another type is passed over"
    assert end == 5


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(4))
def test_mutated_files_end_in_an_error_or_keep_the_rows(file, part):
    """Flip bytes of footer and indexes: remaining claims must be numbers that numpy can hold."""
    good = file.read_bytes()
    length = int.from_bytes(good[-8:-4], "little")
    chance = random.Random(20261121 + part)
    errors = []
    for _ in range(100):
        data = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(good) - 8 - length - 900, len(good) - 8)] = chance.randrange(256)
        file.write_bytes(bytes(data))
        try:
            index = read_dataset(str(file))
            positions = np.arange(len(index))
            for column in index.groups.columns:
                assert len(index.footers.bounds(column)) == len(index)
                pages = index.page_indexes.read(column, positions)
                assert len(pages.bounds) == len(pages.row_group)
                index.bloom_filters.read(column, positions)
        except PruneError as error:
            errors.append(str(error))
    assert 0 < len(errors) < 100
    assert not [message for message in errors if "\n" in message]


def test_indexes_that_contradict_themselves_are_left_out():
    def varint_list(*numbers):
        return bytes([len(numbers) << 4 | 6]) + bytes(2 * number for number in numbers)

    def column_index(null_pages, low, high, null_counts):
        strings = [
            bytes([len(values) << 4 | 8]) + b"".join(bytes([len(v)]) + v for v in values) for values in (low, high)
        ]
        flags = bytes([len(null_pages) << 4 | 1]) + bytes(1 if flag else 2 for flag in null_pages)
        counts = b"" if null_counts is None else b"\x19" + varint_list(*null_counts)
        data = b"\x19" + flags + b"\x19" + strings[0] + b"\x19" + strings[1] + b"\x15\x02" + counts + b"\x00"
        return decode_column_indexes(encoded(data))

    def offset_index(*locations):
        rows = b"".join(
            b"\x16" + bytes([2 * o]) + b"\x15" + bytes([2 * s]) + b"\x16" + bytes([2 * r]) + b"\x00"
            for o, s, r in locations
        )
        data = b"\x19" + bytes([len(locations) << 4 | 12]) + rows + b"\x00"
        return decode_offset_indexes(encoded(data), np.array([10]), np.array([[0, 1 << 62]]))

    def encoded(data):
        return IndexBytes(data, np.array([0]), np.array([len(data)]), np.array([""], object), lambda _: "here")

    def joined(index, *, orders=(1,)):
        column = LeafColumn(("s",), 0, Physical.BYTE_ARRAY, pa.string(), SortOrder.UNSIGNED, max_definition_level=1)
        trusts = [trust(column, Provenance((column,), orders, {}, ""))]
        return join_indexes(Source(column, np.array([10]), trusts, np.array([0])), index, offsets)

    good = column_index([False, True], [b"a", b""], [b"b", b""], [0, 5])
    assert good.min_value.binary().to_pylist() == [b"a", None], "the placeholder of a null page is no bound"
    offsets = offset_index((4, 10, 0), (14, 10, 5))
    assert joined(good).bounds.null_count.to_pylist() == [0, 5]
    assert joined(good).bounds.lower.to_pylist() == [b"a", None]
    assert joined(good, orders=()).bounds.lower.to_pylist() == [None, None]

    def of_pages(*lists):
        (reason,) = joined(column_index(*lists)).reason
        return reason

    (reason,) = column_index([False, True], [b"a", b"x"], [b"b", b""], [0, 5]).reason
    assert "bounds to a page" in reason
    assert "contradicts its null pages" in of_pages([False, False], [b"a", b"c"], [b"b", b"d"], [5, 0])
    assert "differ in length" in of_pages([False, True], [b"a"], [b"b", b""], [0, 5])
    assert "all null" in of_pages([False, True], [b"a", b""], [b"b", b""], [0, 0])
    assert "null count that exceeds" in of_pages([False, True], [b"a", b""], [b"b", b""], [9, 5])
    assert "contradicts its null pages" in of_pages([False, True], [b"a", b""], [b"b", b""], [0, 4])
    assert "1 pages, the offset index 2" in of_pages([False], [b"a"], [b"b"], None)
    assert "cannot be" in offset_index((4, 10, 0), (14, 10, 10)).reason[0]
    assert "cannot be" in offset_index((4, 10, 1)).reason[0]
    assert "cannot be" in offset_index((4, 10, 0), (14, 10, 0)).reason[0]
    assert "no pages" in offset_index().reason[0]


def test_filters_that_would_deny_values_are_refused():
    header = bytes.fromhex("15401c1c00001c1c00001c1c000000")
    assert isinstance(parse_filter(header + bytes(31) + b"\x01", place="here"), np.ndarray)
    assert "empty" in parse_filter(header + bytes(32), place="here")
    assert "the footer gives" in parse_filter(header + bytes(31), place="here")
    assert "the footer gives" in parse_filter(header + bytes(33), place="here")
    assert "not the size of a filter" in parse_filter(b"\x15\x42" + header[2:] + bytes(33), place="here")
    assert "unknown algorithm" in parse_filter(header.replace(b"\x1c\x1c", b"\x1c\x2c", 1) + bytes(32), place="here")
    assert "ends early" in parse_filter(header[:4], place="here")


def test_chunks_that_are_not_the_columns_of_the_schema_are_refused(tmp_path):
    """parquet-java finds a chunk by its path, other readers by its position; if these differ, the file is ambiguous."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1], "b": [2]}), path, store_schema=False)
    data = path.read_bytes()
    a, b = (b"\x19\x18\x01" + name for name in (b"a", b"b"))
    assert data.count(a) == data.count(b) == 1
    path.write_bytes(data.replace(a, b"\x19\x18\x01?").replace(b, a).replace(b"\x19\x18\x01?", b))
    index = read_dataset(str(path))
    with pytest.raises(MalformedFile, match="is not the column"):
        index.footers.bounds(index.groups.columns[0])


@pytest.mark.parametrize(
    "schema",
    [
        "not json",
        "[" * 100_000,
        '{"fields": 5}',
        '{"fields": [5, "abc", {"name": "s"}]}',
        '{"fields": [{"name": "s", "type": "string", "metadata": [1]}]}',
        '{"fields": [{"name": "b"}, {"name": "s", "type": "string", "metadata": {"__COLLATIONS": {}}}]}',
        '{"fields": [{"name": "s", "type": "string", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}}]}',
    ],
)
def test_strings_that_spark_may_compare_in_its_own_way_are_left_alone(schema):
    columns = [
        LeafColumn(("s",), 0, Physical.BYTE_ARRAY, pa.string(), SortOrder.UNSIGNED),
        LeafColumn(("n",), 1, Physical.INT32, pa.int32(), SortOrder.SIGNED),
    ]
    found = without_spark_comparisons(columns, schema)
    assert [bool(column.unsupported) for column in found] == [True, False]


def test_plain_strings_of_spark_are_pruned_on():
    columns = [LeafColumn(("s",), 0, Physical.BYTE_ARRAY, pa.string(), SortOrder.UNSIGNED)]
    schema = '{"type": "struct", "fields": [{"name": "s", "type": "string", "nullable": true, "metadata": {}}]}'
    assert not without_spark_comparisons(columns, schema)[0].unsupported


def test_structures_that_share_bytes_are_not_believed(file):
    def share(footer):
        first, *others = chunks_of(footer, 0)
        for chunk in others:
            put(value_of(chunk, META), 14, I64, value_of(value_of(first, META), 14))
            put(chunk, 6, I64, value_of(first, 6))

    edit_footer(file, share)
    index = read_dataset(str(file))
    column, positions = index.groups.columns[0], np.arange(len(index))
    before = index.groups.traffic.requests
    for position in positions:
        (blocks,), (reason,) = (
            index.bloom_filters.read(column, positions[[position]]),
            index.page_indexes.read(column, positions[[position]]).reason,
        )
        assert "same bytes" in blocks
        assert "same bytes" in reason
    assert index.groups.traffic.requests == before


def test_encrypted_columns_have_no_indexes(file):
    index = read_dataset(str(file))
    column = index.groups.columns[0]
    (footers,) = index.footers.source._kept
    chunks = [footers.encoded[i:j] for i, j in zip(footers.chunk_start[::2], footers.chunk_stop[::2], strict=True)]
    # Appends field 8, crypto_metadata, to each chunk; the footer still has all metadata unencrypted.
    marked = [chunk[:-1] + bytes.fromhex("1c0000") for chunk in chunks]
    stops = np.cumsum([len(chunk) for chunk in marked])
    found, statistics = decode_column_chunks(
        ChunkRanges(
            buffer=b"".join(marked),
            start=stops - [len(chunk) for chunk in marked],
            stop=stops,
            physical=np.array([column.physical] * 2),
            row_count=index.groups.row_count,
            file_size=np.array([10**9] * 2),
            path=column.path,
            place=str,
        )
    )
    assert found.encrypted.all()
    assert not found.present.any()
    for ranges in (found.column_index, found.offset_index, found.bloom_filter):
        assert (ranges == -1).all()
    trusts = [trust(column, index.groups.provenance(0))]
    bounds = trusted_bounds(column, statistics, trusts, np.array([0, 0]))
    assert bounds.lower.null_count == bounds.null_count.null_count == len(index)


def test_only_the_columns_asked_for_are_decoded(file):
    index = read_dataset(str(file))
    index.footers.bounds(index.groups.columns[1])
    assert list(index.footers._columns) == [("b",)]
