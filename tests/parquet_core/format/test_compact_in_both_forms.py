"""The compiled and the pure-Python hot loop give the same results, on intact and damaged bytes."""

from __future__ import annotations

import importlib.util
import random
from array import array
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chunk_facts import chunk_at

from parquet_core import bloom
from parquet_core.errors import MalformedFile
from parquet_core.format import chunk_decoding, compact, footer, page_index, provenance
from parquet_core.format.footer import read_footer
from parquet_core.storage import Traffic, list_data_files

SOURCE = Path(__file__).parents[3] / "parquet_core/format/compact.py"


@pytest.fixture(scope="module")
def as_python():
    """Load the source of the hot loop as pure Python, even if a compiled build is installed."""
    spec = importlib.util.spec_from_file_location("compact_as_python", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not module.is_compiled()
    return module


def answer(module, data, spec):
    """Return the values that one build decodes from the bytes, or its error message."""
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
            lists.append(module.count_lists(data, array("q", [table[at]]), array("q", [end]), place=str).tolist())
            if of.is_plain or of.code in {compact.INTEGER.code, compact.BOOLEAN.code, compact.BINARY.code}:
                columns = module.decode_columns(data, array("q", [table[at]]), array("q", [end]), of, place=str)
                lists += [part.tolist() for part in columns]
    except MalformedFile as error:
        return str(error)
    return table.tolist(), lists


LISTS = {
    footer._FILE_META_DATA: [(2, provenance._SCHEMA_ELEMENT), (4, footer._ROW_GROUP), (5, provenance._KEY_VALUE)],
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
    found.append((b"\x19" + slots[0] + b"\x00", compact.struct({1: compact.list_of(provenance._SCHEMA_ELEMENT)})))
    found.append((footers.encoded[footers.chunk_start[0] : footers.chunk_stop[0]], chunk_decoding._COLUMN_CHUNK))
    for name in ("a", "b"):
        chunk = chunk_at(footers.chunks((name,))[0], 0)
        for place, spec in (
            (chunk.column_index, page_index._COLUMN_INDEX),
            (chunk.offset_index, page_index._OFFSET_INDEX),
            (chunk.bloom_filter, bloom.blocks._HEADER),
        ):
            if place is not None:
                found.append((data[place[0] : place[0] + min(place[1] or 64, 1000)], spec))
    assert len(found) == 8
    return found


def test_sound_bytes(structures, as_python):
    for data, spec in structures:
        slots, end = compact.decode(data, spec)
        assert (slots, end) == as_python.decode(data, spec)
        assert as_table(compact, data, spec) == as_table(as_python, data, spec)
        assert end <= len(data)


def rows_of_lists(form, data, starts, stops, of):
    """Return the elements of lists as rows of numbers, decoded by the Python build."""
    counts = form.count_lists(data, starts, stops, place=str)
    table, cell = array("q", [compact.MISSING]) * (of.width * sum(max(count, 0) for count in counts)), 0
    for start, stop, count in zip(starts, stops, counts, strict=True):
        if stop >= 0:
            form._rows(data, start, stop, of, table, cell)
            cell += of.width * count
    return counts, table


def test_columns_are_the_rows_of_lists(structures, as_python):
    seen = set()
    for data, spec in structures:
        if spec not in {page_index._COLUMN_INDEX, page_index._OFFSET_INDEX}:
            continue
        table = compact.decode_table(data, array("q", [0]), array("q", [len(data)]), spec, place=str)
        for field, of in LISTS[spec]:
            at = spec.offset(field)
            # The list twice, and none between.
            starts = array("q", [table[at], 0, table[at]])
            stops = array("q", [table[at] + table[at + 1], -1, table[at] + table[at + 1]])
            counts, rows = rows_of_lists(as_python, data, starts, stops, of)
            for form in (compact, as_python):
                counted, columns = form.decode_columns(data, starts, stops, of, place=str)
                skipped = of.width - (of.size if of.is_plain else of.width)
                expected = [rows[column :: of.width].tolist() for column in range(skipped, of.width)]
                assert counted == counts
                assert columns.tolist() == [number for column in expected for number in column]
            seen.add((spec.size, field))
    assert len(seen) == 5


@pytest.mark.parametrize("of", [compact.EMPTY, compact.struct({1: compact.INTEGER, 3: compact.INTEGER}, least=3)])
def test_structs_of_numbers_in_odd_forms(as_python, of):
    """Fields out of order, twice, of one byte, of other types, under long ids, and none at all."""
    elements = [
        b"\x15\x02\x25\x04\x00",
        b"\x35\x06\x05\x02\x08\x00",
        b"\x13\xff\x15\x0a\x00",
        b"\x18\x02ab\x25\x01\x00",
        b"\x05\x50\x02\x00",
        b"\x11\x25\x80\x01\x00",
    ]
    data = bytes([len(elements) << 4 | 12]) + b"".join(elements)
    starts, stops = array("q", [0]), array("q", [len(data)])
    if of is compact.EMPTY:
        answers = [form.decode_columns(data, starts, stops, of, place=str) for form in (compact, as_python)]
        assert answers[0] == answers[1] == (array("q", [6]), array("q"))
        return
    _, rows = rows_of_lists(as_python, data, starts, stops, of)
    for form in (compact, as_python):
        _, columns = form.decode_columns(data, starts, stops, of, place=str)
        assert columns == rows[1::3] + rows[2::3]
    assert columns.tolist()[:3] == [1, 4, -1]
    for size in range(1, len(data)):
        short = array("q", [size])
        messages = []
        for form in (compact, as_python):
            with pytest.raises(MalformedFile) as caught:
                form.decode_columns(data, starts, short, of, place=str)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


def test_lists_that_are_passed_over_end_where_they_are_cut_off(as_python):
    """Every kind of element, cut off at each byte, inside of a longer buffer whose next bytes look like more of it."""
    elements = {
        5: b"\x02\xac\x02\x04",
        8: b"\x01a\x00\x03abc",
        12: b"\x15\x02\x00\x00\x18\x01a\x00",
        9: b"\x25\x02\x04\x03\x28\x01a\x00",
        1: b"\x01\x02\x01",
        7: bytes(24),
    }
    spec = compact.struct({9: compact.INTEGER})
    for wire, encoded in elements.items():
        data = b"\x19" + bytes([3 << 4 | wire]) + encoded + b"\x85\x02\x00"
        for more in (b"", b"\x80" * 200, b"\x7f" * 200, b"\x01" * 200):
            for size in range(len(data) + 1):
                answers = []
                for form in (compact, as_python):
                    try:
                        found = form.decode_table(data + more, array("q", [0]), array("q", [size]), spec, place=str)
                        answers.append(found.tolist())
                    except MalformedFile as error:
                        answers.append(str(error))
                assert answers[0] == answers[1]
                assert isinstance(answers[0], list) == (size == len(data))


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
