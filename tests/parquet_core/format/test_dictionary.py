"""Dictionary pages: complete ones return every value; unusable ones return a reason and never an empty dictionary."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from chunk_facts import chunk_at
from hypothesis import given
from hypothesis import strategies as st
from slow_thrift import I32, STRUCT, encode_list

from parquet_core.dataset.opening import read_dataset
from parquet_core.format.column_chunk import absent_chunks
from parquet_core.format.compact import INTEGER, decode, list_of, struct
from parquet_core.format.dictionary import GUESS_BYTES, dictionary_range, is_complete, page_bytes, read_dictionary
from parquet_core.format.plain import PlainValues
from parquet_core.format.schema import LeafColumn, Physical, SortOrder

ROWS = 4_000
_OFFSET_INDEX = struct({1: list_of(struct({1: INTEGER}))})
_NUMBERS = {Physical.INT32: "<i4", Physical.INT64: "<i8", Physical.FLOAT: "<f4", Physical.DOUBLE: "<f8"}


def sample(distinct=50):
    chance = random.Random(5)
    words = [f"{chance.randrange(10**6)} {'é' * chance.randint(0, 20)}" for _ in range(distinct - 1)] + [""]
    numbers = [chance.randint(-(2**31), 2**31 - 1) for _ in range(distinct)]

    def column(make, arrow_type):
        return pa.array([None if chance.random() < 0.1 else make() for _ in range(ROWS)], arrow_type)

    def number():
        return chance.choice(numbers)

    return pa.table(
        {
            "int": column(number, pa.int32()),
            "long": column(lambda: number() * 2**31, pa.int64()),
            "float": column(lambda: float(number() % 1000), pa.float32()),
            "double": column(lambda: number() / 7, pa.float64()),
            "word": column(lambda: chance.choice(words), pa.string()),
            "day": column(lambda: dt.date(1970, 1, 1) + dt.timedelta(number() % 30_000), pa.date32()),
            "huge": column(lambda: Decimal(number()) * 10**20, pa.decimal128(38, 3)),
            "key": column(lambda: chance.choice(words).encode()[:5].ljust(5), pa.binary(5)),
        }
    )


def first_page(data, chunk):
    place = chunk_at(chunk, 0).offset_index
    if place is None:
        return None
    slots, _ = decode(data[place[0] :], _OFFSET_INDEX)
    return slots[0][0][0]


def read(data, chunk, leaf, *, known=None):
    """Read the dictionary of a chunk in one or two requests, as a reader would."""
    where = dictionary_range(chunk, 0, known)
    if isinstance(where, str):
        return where
    offset, length = where
    needed = page_bytes(data[offset : offset + length], chunk, 0, leaf, place="here")
    if isinstance(needed, int) and needed > length:
        length = needed
    return read_dictionary(data[offset : offset + length], chunk, 0, leaf, place="here")


def dictionaries(path):
    """Yield leaf, position, chunk and dictionary (or the reason) of every column chunk of a file.

    Each chunk is alone in its batch.
    """
    data, index = path.read_bytes(), read_dataset(str(path))
    for leaf in index.groups.columns:
        for position in range(len(index)):
            chunk = index.footers.chunks(leaf).take(np.array([position]))
            found = read(data, chunk, leaf)
            with_index = read(data, chunk, leaf, known=first_page(data, chunk))
            if isinstance(found, str):
                assert isinstance(with_index, str), leaf.name
            else:
                assert with_index.binary().equals(found.binary()), leaf.name
            yield leaf, position, chunk, found


def plain_values(found, leaf):
    """Return the values of a dictionary as Python values; a reason is returned unchanged."""
    if isinstance(found, str):
        return found
    if leaf.physical in _NUMBERS:
        dtype = np.dtype(_NUMBERS[leaf.physical])
        values, valid = found.fixed(dtype.itemsize)
        assert valid.all()
        return values.view(dtype)[:, 0].tolist()
    return found.binary().to_pylist()


def stored_values(path, leaf, position):
    """Return the distinct non-null values of a chunk, in their physical form, as pyarrow reads them."""
    with pq.ParquetFile(path) as file:
        values = file.read_row_group(position, columns=[leaf.path[0]]).column(0).combine_chunks().drop_null().unique()
    if pa.types.is_date(values.type):
        values = values.view(pa.int32())
    if pa.types.is_floating(values.type):
        # NaN is not equal to any value, including itself.
        values = values.filter(pc.invert(pc.is_nan(values)))
    if pa.types.is_string(values.type):
        values = values.cast(pa.binary())
    if not pa.types.is_decimal(values.type):
        return set(values.to_pylist())
    unscaled = [int(value.scaleb(values.type.scale)) for value in values.to_pylist()]
    if leaf.physical in _NUMBERS:
        return set(unscaled)
    return {value.to_bytes(leaf.type_length, "big", signed=True) for value in unscaled}


def assert_every_value_is_there(path):
    complete = 0
    for leaf, position, chunk, found in dictionaries(path):
        assert is_complete(chunk, 0) is None, leaf.name
        assert stored_values(path, leaf, position) <= set(plain_values(found, leaf)), leaf.name
        complete += 1
    return complete


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_dictionaries_of_pyarrow(tmp_path, codec):
    path = tmp_path / "t.parquet"
    pq.write_table(sample(), path, compression=codec, row_group_size=1500, write_page_checksum=True)
    assert assert_every_value_is_there(path) == 3 * 8


@pytest.mark.parametrize(
    "options",
    [
        {"write_page_index": True, "max_rows_per_page": 100},
        {"data_page_version": "2.0"},
        {"version": "1.0"},
        {"store_decimal_as_integer": True},
    ],
)
def test_dictionaries_of_pyarrow_in_other_layouts(tmp_path, options):
    path = tmp_path / "t.parquet"
    pq.write_table(sample(), path, **options)
    assert assert_every_value_is_there(path) == 8


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"])
def test_dictionaries_of_duckdb(tmp_path, codec):
    path = tmp_path / "t.parquet"
    table = sample().select(["int", "long", "double", "word", "day"])
    duckdb.from_arrow(table).write_parquet(str(path), row_group_size=2048, compression=codec)
    judged = [is_complete(chunk, 0) for _, _, chunk, _ in dictionaries(path)]
    assert judged == [None] * 10
    assert assert_every_value_is_there(path) == 10


@pytest.mark.sampled(3)
@pytest.mark.spark
@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_dictionaries_of_spark(spark, tmp_path, codec, version):
    rows = tmp_path / "rows.parquet"
    # Spark writes fixed-length values only for decimals, in format version 1 without a dictionary.
    table = sample().drop_columns(["key"] if version == "v2" else ["key", "huge"])
    pq.write_table(table, rows)
    options = {"compression": codec, "parquet.writer.version": version, "parquet.page.row.count.limit": "500"}
    spark.read.parquet(str(rows)).coalesce(1).write.options(**options).parquet(str(tmp_path / "spark"))
    path = next((tmp_path / "spark").glob("part-*.parquet"))
    assert assert_every_value_is_there(path) == table.num_columns


def test_a_dictionary_that_was_given_up_is_not_complete(tmp_path):
    path = tmp_path / "t.parquet"
    options = {"dictionary_pagesize_limit": 1000, "data_page_size": 1000, "max_rows_per_page": 100}
    pq.write_table(sample(distinct=2_000).select(["int", "word"]), path, **options)
    for leaf, position, chunk, found in dictionaries(path):
        assert "not dictionary-encoded" in is_complete(chunk, 0)
        assert isinstance(found, PlainValues), "it is there, with a part of the values"
        assert stored_values(path, leaf, position) - set(plain_values(found, leaf))


@pytest.mark.spark
def test_a_dictionary_that_spark_gave_up_is_not_complete(spark, tmp_path):
    rows = tmp_path / "rows.parquet"
    pq.write_table(sample(distinct=2_000).select(["int", "word"]), rows)
    options = {"parquet.dictionary.page.size": "1000", "parquet.page.row.count.limit": "100"}
    spark.read.parquet(str(rows)).coalesce(1).write.options(**options).parquet(str(tmp_path / "spark"))
    for _, _, chunk, _ in dictionaries(next((tmp_path / "spark").glob("part-*.parquet"))):
        assert is_complete(chunk, 0) is not None


def test_without_a_dictionary_there_is_none(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(sample(), path, use_dictionary=False, write_page_index=True)
    for _, _, chunk, found in dictionaries(path):
        assert "not dictionary-encoded" in is_complete(chunk, 0)
        assert "begins with" in found


def chunk_of(**facts):
    plain = {"present": True, "num_values": 10, "compressed_bytes": 1_000, "first_page_offset": 4, "codec": 0}
    absent = absent_chunks(1)
    columns = plain | {"data_page_offset": 100} | facts
    return replace(absent, **{name: np.array([it], getattr(absent, name).dtype) for name, it in columns.items()})


def encoded_stats(stats):
    rows = [[(field, I32, it) for field, it in enumerate(row, 1) if it is not None] for row in stats]
    return encode_list(STRUCT, rows)


PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED, DELTA, RLE_DICTIONARY = 0, 2, 3, 4, 5, 8
DATA, INDEX, DICTIONARY, DATA_V2 = 0, 1, 2, 3
MANY = 1 << 40  # takes as many bytes as the decoder requires of two entries, one of which lacks a number


@pytest.mark.parametrize(
    ("encodings", "stats", "complete", "why"),
    [
        ((PLAIN_DICTIONARY, RLE, BIT_PACKED), None, True, "nothing else is there"),
        ((PLAIN_DICTIONARY,), None, True, "nothing else is there"),
        ((PLAIN_DICTIONARY, PLAIN, RLE), None, False, "PLAIN may be of data pages"),
        ((PLAIN_DICTIONARY, DELTA), None, False, "another encoding of data pages"),
        ((RLE_DICTIONARY, RLE), None, False, "the dictionary's own encoding is missing: the list is not believed"),
        ((RLE_DICTIONARY, PLAIN, RLE), None, False, "PLAIN is of the dictionary page, or of data pages too"),
        ((PLAIN_DICTIONARY, RLE_DICTIONARY), None, False, "no writer does it"),
        ((), None, False, "nothing is known"),
        ((RLE, BIT_PACKED), None, False, "no dictionary"),
        ((PLAIN, RLE), [(DICTIONARY, PLAIN, 1), (DATA, RLE_DICTIONARY, 3)], True, "every data page is"),
        ((PLAIN, RLE), [(DICTIONARY, PLAIN, 1), (DATA_V2, RLE_DICTIONARY, 3)], True, "every data page is"),
        ((), [(DATA, PLAIN_DICTIONARY, 1), (DATA_V2, RLE_DICTIONARY, 3)], True, "every data page is"),
        ((), [(INDEX, PLAIN, 1), (DATA, PLAIN_DICTIONARY, 1)], True, "an index page holds no values"),
        ((PLAIN_DICTIONARY, RLE), [(DATA, PLAIN_DICTIONARY, 9), (DATA, PLAIN, 1)], False, "one page is not"),
        ((PLAIN_DICTIONARY, RLE), [(DATA, PLAIN_DICTIONARY, 9), (DATA_V2, DELTA, 1)], False, "one page is not"),
        ((PLAIN_DICTIONARY, RLE), [(DATA, PLAIN_DICTIONARY, 9), (DATA, PLAIN, 0)], False, "contradicts itself"),
        ((PLAIN_DICTIONARY, RLE), [], False, "the statistics leave pages out, which ones is not known"),
        ((PLAIN_DICTIONARY, RLE), [(DICTIONARY, PLAIN, 1)], False, "the statistics leave pages out"),
        ((), [(4, PLAIN, 1), (DATA, RLE_DICTIONARY, 1)], False, "a page of a kind that is not known"),
        ((), [(None, PLAIN, 1), (DATA, RLE_DICTIONARY, MANY)], False, "a page of a kind that is not told"),
        ((), [(DATA, None, 1), (DATA, RLE_DICTIONARY, MANY)], False, "a page of an encoding that is not told"),
    ],
)
def test_completeness(encodings, stats, complete, why):
    bits = sum(1 << encoding for encoding in encodings)
    chunk = chunk_of(encodings=bits, encoding_stats=None if stats is None else encoded_stats(stats))
    assert (is_complete(chunk, 0) is None) == complete, why


def test_encrypted_columns_have_no_dictionary():
    stats = ((DATA, RLE_DICTIONARY, 3),)
    assert "encrypted" in is_complete(chunk_of(encoding_stats=encoded_stats(stats), encrypted=True), 0)


@pytest.mark.parametrize(
    ("dictionary", "data", "first", "expected", "why"),
    [
        (4, 100, None, (4, 96), "as it should be"),
        (4, 100, 100, (4, 96), "as it should be"),
        (4, 50, 100, (4, 96), "the offset index knows the first data page better"),
        (-1, 100, 153, (100, 53), "left out by an old writer"),
        (0, 100, 153, (100, 53), "0 is none"),
        (-7, 100, 153, (100, 53), "no place"),
        (100, 100, 153, (100, 53), "the data page offset is the dictionary's"),
        (900, 100, 153, (100, 53), "a dictionary behind the data is none"),
        (-1, 100, None, (100, 1_000), "no longer than the chunk"),
        (-1, 100, 100, "begins with a data page", "the offset index says so"),
        (0, 100, 50, "cannot be", "the first page lies before the chunk"),
        (4, 100, 4, "begins with a data page", "the offset index says so"),
        (4, 2_000, None, "cannot be", "the dictionary would be longer than the chunk"),
        (-1, 0, None, "lacks the position", "no place"),
    ],
)
def test_where_the_dictionary_lies(dictionary, data, first, expected, why):
    found = dictionary_range(chunk_of(dictionary_page_offset=dictionary, data_page_offset=data), 0, first)
    assert found == expected if isinstance(expected, tuple) else expected in found, why


NUMBERS = st.integers(-(2**63), 2**63 - 1)


@given(NUMBERS, NUMBERS, st.none() | NUMBERS, st.integers(0, 2**40))
def test_no_offset_asks_for_more_than_the_chunk(dictionary, data, first, size):
    chunk = chunk_of(dictionary_page_offset=dictionary, data_page_offset=data, compressed_bytes=size)
    found = dictionary_range(chunk, 0, first)
    if not isinstance(found, str):
        assert found[0] > 0
        assert 0 < found[1] <= min(size, 64 << 20)
        assert first is not None or found[0] == dictionary or found[1] <= GUESS_BYTES


def header(*, kind=2, plain=8, stored=8, count=2, encoding=0, crc=None):
    """Encode the header of a dictionary page, or of a data page."""

    def varint(number):
        zigzag = (number << 1) ^ (number >> 63)
        encoded = bytearray()
        while zigzag >= 0x80:
            encoded.append(zigzag & 0x7F | 0x80)
            zigzag >>= 7
        return bytes([*encoded, zigzag])

    described = 5 if kind == DATA else 7
    sizes = b"\x15" + varint(kind) + b"\x15" + varint(plain) + b"\x15" + varint(stored)
    sizes += b"" if crc is None else b"\x15" + varint(crc)
    sizes += bytes([(described - (3 if crc is None else 4)) << 4 | 12])
    return sizes + b"\x15" + varint(count) + b"\x15" + varint(encoding) + b"\x00\x00"


INT = LeafColumn(("a",), 0, Physical.INT32, pa.int32(), SortOrder.SIGNED)
TWO = np.array([5, -7], "<i4").tobytes()


def test_a_dictionary_made_by_hand():
    assert plain_values(read_dictionary(header() + TWO, chunk_of(), 0, INT, place="here"), INT) == [5, -7]
    assert plain_values(read_dictionary(header(encoding=2) + TWO + b"behind", chunk_of(), 0, INT, place="here"), INT)


@pytest.mark.parametrize(
    ("data", "facts", "reason"),
    [
        (header(kind=0) + TWO, {}, "another page"),
        (header(encoding=8) + TWO, {}, "encoding 8"),
        (header(count=0) + TWO, {}, "empty"),
        (header(count=0, plain=0, stored=0), {}, "empty"),
        (header(count=-2) + TWO, {}, "implausible"),
        (header(count=1) + TWO, {}, "does not hold the 1 values"),
        (header(count=3) + TWO, {}, "does not hold the 3 values"),
        (header(count=2**40) + TWO, {}, "implausible"),
        (header(plain=-8) + TWO, {}, "implausible"),
        (header(stored=-8) + TWO, {}, "implausible"),
        (header(plain=4) + TWO, {}, "implausible"),
        (header(plain=8 << 20) + TWO, {"codec": 6}, "implausible"),
        (header(plain=80 << 20, stored=80 << 20) + TWO, {"compressed_bytes": 1 << 40}, "implausible"),
        (header() + TWO, {"compressed_bytes": 10}, "implausible"),
        (header() + TWO[:-1], {}, "cut off"),
        (header()[:5], {}, "ends early"),
        (b"", {}, "ends early"),
        (header(crc=1) + TWO, {}, "checksum"),
        (header() + TWO, {"codec": 6}, "decompress"),
        (header() + TWO, {"codec": 3}, "codec 3"),
        (header() + TWO, {"codec": 5}, "codec 5"),
        (header() + TWO, {"codec": -1}, "codec None"),
        (header() + TWO, {"codec": 99}, "codec 99"),
    ],
)
def test_odd_pages_are_refused(data, facts, reason):
    assert reason in read_dictionary(data, chunk_of(**facts), 0, INT, place="here")


@pytest.mark.parametrize("physical", [Physical.BOOLEAN, Physical.INT96])
def test_types_without_dictionaries(physical):
    leaf = LeafColumn(("a",), 0, physical, None, SortOrder.UNDEFINED)
    assert "are not read" in read_dictionary(header() + TWO, chunk_of(), 0, leaf, place="here")


def test_values_of_no_width_are_refused():
    leaf = LeafColumn(("a",), 0, Physical.FIXED_LEN_BYTE_ARRAY, pa.binary(0), SortOrder.UNSIGNED, type_length=0)
    assert "does not hold" in read_dictionary(header() + TWO, chunk_of(), 0, leaf, place="here")


@pytest.mark.parametrize(("number", "codec"), [(1, "snappy"), (2, "gzip"), (4, "brotli"), (6, "zstd"), (7, "lz4_raw")])
def test_a_page_that_is_shorter_or_longer_than_it_claims(number, codec):
    plain = np.arange(1000, dtype="<i4").tobytes()
    stored = pa.Codec(codec).compress(plain).to_pybytes()
    chunk = chunk_of(codec=number, compressed_bytes=10_000)
    for count in (1, 999, 1000, 1001, 2000):
        data = header(plain=4 * count, stored=len(stored), count=count) + stored
        found = read_dictionary(data, chunk, 0, INT, place="here")
        assert isinstance(found, PlainValues) == (count == 1000), count


def test_gzip_members_that_follow_each_other():
    plain = np.arange(1000, dtype="<i4").tobytes()
    gzip = pa.Codec("gzip")
    stored = gzip.compress(plain[:1000]).to_pybytes() + gzip.compress(plain[1000:]).to_pybytes()
    chunk = chunk_of(codec=2, compressed_bytes=10_000)
    data = header(plain=4000, stored=len(stored), count=1000) + stored
    assert plain_values(read_dictionary(data, chunk, 0, INT, place="here"), INT) == list(range(1000))
    data = header(plain=4000, stored=len(stored) + 5, count=1000) + stored + b"other"
    assert "decompress" in read_dictionary(data, chunk, 0, INT, place="here")


@pytest.fixture(scope="module", params=["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def pages(request, tmp_path_factory):
    """Dictionary pages with a checksum, each with its chunk, leaf and values."""
    path = tmp_path_factory.mktemp("dictionary") / "t.parquet"
    pq.write_table(sample().select(["int", "word", "key"]), path, compression=request.param, write_page_checksum=True)
    data = path.read_bytes()
    found = []
    for leaf, _, chunk, dictionary in dictionaries(path):
        offset, length = dictionary_range(chunk, 0, None)
        found.append((data[offset : offset + length], chunk, leaf, plain_values(dictionary, leaf)))
    return found


def test_a_changed_byte_changes_no_value(pages):
    """Pages that still decode with a valid checksum return the written values."""
    chance = random.Random(1)
    refused = 0
    for data, chunk, leaf, values in pages:
        for position in [*range(40), *(chance.randrange(len(data)) for _ in range(100))]:
            mutated = bytearray(data)
            mutated[position] ^= 1 << chance.randrange(8)
            found = plain_values(read_dictionary(bytes(mutated), chunk, 0, leaf, place="here"), leaf)
            assert isinstance(found, str) or found == values, position
            refused += isinstance(found, str)
    assert refused > 300


def test_any_damage_ends_in_an_answer(pages):
    """The header is not trusted: several bytes are changed, cut or inserted."""
    chance = random.Random(2)
    refused = 0
    for data, chunk, leaf, _ in pages:
        for _ in range(150):
            mutated = bytearray(data)
            for _ in range(chance.randint(1, 6)):
                mutated[chance.randrange(min(60, len(data)))] = chance.choice([0, 255, 128, chance.randrange(256)])
            mutated = bytes(mutated[: chance.choice([len(data), chance.randrange(len(data))])])
            assert isinstance(page_bytes(mutated, chunk, 0, leaf, place="here"), (int, str))
            found = read_dictionary(mutated, chunk, 0, leaf, place="here")
            if isinstance(found, str):
                refused += 1
            else:
                assert (found.start + found.length <= len(found.buffer)).all()
                assert len(found) > 0
    assert refused > 200


@given(st.binary(max_size=80))
def test_any_bytes_end_in_an_answer(data):
    for codec in (0, 1, 2, 4, 6, 7):
        for prefix in (b"", header(stored=len(data), plain=2 * len(data), count=3)):
            for leaf in (INT, LeafColumn(("a",), 0, Physical.BYTE_ARRAY, pa.string(), SortOrder.UNSIGNED)):
                found = read_dictionary(prefix + data, chunk_of(codec=codec), 0, leaf, place="here")
                assert isinstance(found, (str, PlainValues))


def chunks_of(parquet_testing, name):
    return list(dictionaries(parquet_testing / name))


def test_an_offset_of_zero_is_no_dictionary(parquet_testing):
    ((_, _, chunk, found),) = chunks_of(parquet_testing, "data/dict-page-offset-zero.parquet")
    assert chunk.dictionary_page_offset[0] == 0
    assert is_complete(chunk, 0) is not None
    assert "begins with another page" in found


def test_an_offset_that_was_left_out(parquet_testing):
    path = parquet_testing / "data/alltypes_tiny_pages.parquet"
    read_ones = 0
    for leaf, position, chunk, found in dictionaries(path):
        assert chunk.dictionary_page_offset[0] < 0
        if is_complete(chunk, 0) is None and leaf.physical is not Physical.INT96:
            assert stored_values(path, leaf, position) <= set(plain_values(found, leaf)), leaf.name
            read_ones += 1
    assert read_ones == 10


def test_a_negative_number_of_values(parquet_testing):
    index = read_dataset(str(parquet_testing / "bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet"))
    data = (parquet_testing / "bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet").read_bytes()
    leaf = next(leaf for leaf in index.groups.columns if leaf.name == "n_name" or leaf.physical is Physical.BYTE_ARRAY)
    found = read(data, index.footers.chunks(leaf).take(np.array([0])), leaf)
    assert "-26 values" in found


def test_a_corrupt_checksum(parquet_testing):
    found = chunks_of(parquet_testing, "data/rle-dict-uncompressed-corrupt-checksum.parquet")
    assert ["checksum" in dictionary for _, _, _, dictionary in found] == [True, True]
    assert all(is_complete(chunk, 0) is None for _, _, chunk, _ in found)


def test_complete_dictionaries_of_other_writers_hold_every_value(parquet_testing):
    compared = 0
    for path in sorted((parquet_testing / "data").glob("*.parquet")):
        for leaf, position, chunk, found in dictionaries(path):
            known = not leaf.unsupported or leaf.physical in {Physical.FLOAT, Physical.DOUBLE}
            if len(leaf.path) > 1 or not known or is_complete(chunk, 0) is not None or isinstance(found, str):
                continue
            missing = stored_values(path, leaf, position) - set(plain_values(found, leaf))
            assert not missing, (path.name, leaf.name)
            compared += 1
    assert compared >= 20
