"""The hot loop gives the same answers compiled and as Python, on sound bytes and on damaged ones."""

from __future__ import annotations

import importlib.util
import random
from array import array
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core import bloom
from parquet_core.errors import MalformedFile
from parquet_core.format import column_chunk, compact, footer, page_index
from parquet_core.format.footer import read_footer
from parquet_core.storage import Traffic, list_data_files

SOURCE = Path(__file__).parents[3] / "parquet_core/format/compact.py"


@pytest.fixture(scope="module")
def as_python():
    """The source of the hot loop, run as Python whatever is installed."""
    spec = importlib.util.spec_from_file_location("compact_as_python", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not module.is_compiled()
    return module


def answer(module, data, spec):
    """Return what a form makes of the bytes: the values, or the message of its error."""
    try:
        return module.decode(data, spec)
    except MalformedFile as error:
        return str(error)


def as_table(module, data, spec):
    """The same, as rows of numbers: the struct, and every list of it that `LISTS` names."""
    start, stop = array("q", [0]), array("q", [len(data)])
    try:
        table = module.decode_table(data, start, stop, spec, place=str)
        lists = []
        for field, of in LISTS.get(spec, ()):
            at = spec.offset(field)
            end = table[at] + table[at + 1] if table[at + 1] >= 0 else -1
            found = module.decode_lists(data, array("q", [table[at]]), array("q", [end]), of, place=str)
            lists += [part.tolist() for part in found]
            if of.is_plain or of.code in {compact.INTEGER.code, compact.BOOLEAN.code, compact.BINARY.code}:
                columns = module.decode_columns(data, array("q", [table[at]]), array("q", [end]), of, place=str)
                lists += [part.tolist() for part in columns]
    except MalformedFile as error:
        return str(error)
    return table.tolist(), lists


LISTS = {
    footer._FILE_META_DATA: [(2, footer._SCHEMA_ELEMENT), (4, footer._ROW_GROUP), (5, footer._KEY_VALUE)],
    page_index._COLUMN_INDEX: [(1, compact.BOOLEAN), (2, compact.BINARY), (3, compact.BINARY), (5, compact.INTEGER)],
    page_index._OFFSET_INDEX: [(1, page_index._PAGE_LOCATION)],
}


@pytest.fixture(scope="module")
def structures(tmp_path_factory):
    """A footer, its schema, and a chunk, column index, offset index and filter header, each with its specification."""
    path = tmp_path_factory.mktemp("compact") / "t.parquet"
    table = pa.table({"a": range(-500, 500), "b": [None if i % 7 == 0 else f"{i:040}" for i in range(1000)]})
    options = {"write_page_index": True, "max_rows_per_page": 50, "bloom_filter_options": {"a": {"ndv": 100}}}
    pq.write_table(table, path, row_group_size=400, **options)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footers = read_footer(list_data_files(path)[0], traffic=Traffic())
    found = [(data[-8 - length : -8], footer._FILE_META_DATA)]
    (slots, _) = compact.decode(*found[0])
    found.append((b"\x19" + slots[0] + b"\x00", compact.struct({1: compact.list_of(footer._SCHEMA_ELEMENT)})))
    found.append((footers.encoded[footers.chunk_start[0] : footers.chunk_stop[0]], column_chunk._COLUMN_CHUNK))
    for name in ("a", "b"):
        chunk = footers.chunks((name,))[0].chunk(0)
        for place, spec in (
            (chunk.column_index, page_index._COLUMN_INDEX),
            (chunk.offset_index, page_index._OFFSET_INDEX),
            (chunk.bloom_filter, bloom.parse._HEADER),
        ):
            if place is not None:
                found.append((data[place.offset : place.offset + min(place.length or 64, 1000)], spec))
    assert len(found) == 8
    return found


def test_sound_bytes(structures, as_python):
    for data, spec in structures:
        slots, end = compact.decode(data, spec)
        assert (slots, end) == as_python.decode(data, spec)
        assert as_table(compact, data, spec) == as_table(as_python, data, spec)
        assert end <= len(data)


def test_damaged_bytes(structures, as_python):
    chance = random.Random(7)
    errors = 0
    for _ in range(5_000):
        data, spec = chance.choice(structures)
        mutated = bytearray(data)
        for _ in range(chance.randint(1, 5)):
            mutated[chance.randrange(len(mutated))] = chance.choice([0, 0xFF, 0x80, chance.randrange(256)])
        mutated = bytes(mutated[: chance.choice([len(mutated), chance.randrange(len(mutated))])])
        found = answer(compact, mutated, spec)
        assert found == answer(as_python, mutated, spec)
        assert as_table(compact, mutated, spec) == as_table(as_python, mutated, spec)
        errors += isinstance(found, str)
    assert 500 < errors < 4_900


@pytest.mark.parametrize("number", [0, 1, -1, 63, -64, 64, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
def test_numbers_of_every_width(as_python, number):
    zigzag = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while zigzag >= 0x80:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    data = b"\x16" + bytes([*encoded, zigzag]) + b"\x29\x16" + bytes([*encoded, zigzag]) + b"\x00"
    spec = compact.struct({1: compact.INTEGER, 3: compact.list_of(compact.INTEGER)})
    for form in (compact, as_python):
        assert form.decode(data, spec)[0] == [number, [number]]
