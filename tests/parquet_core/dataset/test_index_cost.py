"""Costs of page indexes: memory for 1,000,000 pages, and requests for any number of columns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_thrift import BINARY, I32, I64, LIST, STRUCT, encode, varint

from parquet_core.dataset.opening import read_dataset

ROOT = Path(__file__).parents[3]
PAGES = 1_000_000
FIRST_PAGE = 1 << 28
MB = 1_000_000

MEASURED = """
import json, sys
import numpy as np
from parquet_core.dataset.opening import read_dataset

def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

def read(path):
    index = read_dataset(path)
    return index, index.page_indexes.read(index.groups.columns[0], np.array([0]))

read(sys.argv[1])
before = kilobytes("VmRSS")
index, pages = read(sys.argv[2])
found = {"grown": 1024 * (kilobytes("VmHWM") - before)}
found |= {"index": index.groups.traffic.bytes["index"], "pages": len(pages.bounds)}
found |= {"reason": pages.reason[0], "last": [pages.bounds.lower[-1].as_py(), pages.bounds.upper[-1].as_py()]}
print(json.dumps(found))
"""


def varints(numbers):
    """Write numbers as zigzag varints, shape (numbers, bytes); all of them take the same number of bytes."""
    zigzag = 2 * numbers.astype(np.uint64)
    width = len(varint(int(zigzag[-1])))
    parts = zigzag[:, None] >> (np.uint64(7) * np.arange(width, dtype=np.uint64)) & np.uint64(0x7F)
    parts[:, :-1] |= np.uint64(0x80)
    return parts.astype(np.uint8)


def constant(data, count):
    return np.tile(np.frombuffer(data, np.uint8), (count, 1))


def list_header(wire, count):
    return bytes([0xF0 | wire]) + varint(count)


def column_index(count):
    """Page i has the values 2 * i and 2 * i + 1 and no null."""
    lists = [list_header(1, count) + b"\2" * count]
    for add in (0, 1):
        bounds = (2 * np.arange(count) + add).astype("<i8").view(np.uint8).reshape(count, 8)
        lists.append(list_header(BINARY, count) + np.hstack([constant(b"\x08", count), bounds]).tobytes())
    nulls = b"\x19" + list_header(I64, count) + bytes(count)
    return b"".join(b"\x19" + encoded for encoded in lists) + b"\x15\x02" + nulls + b"\0"


def offset_index(count):
    """Encode an offset index in which page i begins at row i; neighbours are encoded in as many bytes."""
    edges = [edge for edge in (0, 64, 8192, 1 << 20) if edge < count]
    parts = []
    for low, high in zip(edges, [*edges[1:], count], strict=True):
        rows = np.arange(low, high)
        columns = [b"\x16", varints(FIRST_PAGE + 100 * rows), b"\x15\xc8\x01\x16", varints(rows), b"\0"]
        parts.append(np.hstack([constant(c, len(rows)) if isinstance(c, bytes) else c for c in columns]).tobytes())
    return b"\x19" + list_header(STRUCT, count) + b"".join(parts) + b"\0"


def write_pages(path, count):
    """Write a file of metadata alone, which claims pages of one row."""
    bounds, places = column_index(count), offset_index(count)
    meta = [[1, I32, 2], [2, LIST, (I32, [0])], [3, LIST, (BINARY, [b"a"])], [4, I32, 0]]
    meta += [[5, I64, count], [6, I64, 100 * count], [7, I64, 100 * count], [9, I64, FIRST_PAGE]]
    at = 4 + len(bounds)
    chunk = [[2, I64, 4], [3, STRUCT, meta], [4, I64, at], [5, I32, len(places)], [6, I64, 4], [7, I32, len(bounds)]]
    schema = [[[4, BINARY, b"schema"], [5, I32, 1]], [[1, I32, 2], [3, I32, 1], [4, BINARY, b"a"]]]
    group = [[1, LIST, (STRUCT, [chunk])], [2, I64, 100], [3, I64, count]]
    orders = [7, LIST, (STRUCT, [[[1, STRUCT, []]]])]
    fields = [[1, I32, 2], [2, LIST, (STRUCT, schema)], [3, I64, count], [4, LIST, (STRUCT, [group])], orders]
    footer = encode(fields)
    with path.open("wb") as file:
        file.write(b"PAR1" + bounds + places)
        file.seek(FIRST_PAGE + 100 * count)  # a hole, where the pages would be
        file.write(footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return len(bounds) + len(places)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_memory_for_a_million_pages(tmp_path):
    """Peak resident memory of a separate process is at most twice the index and 40 MB."""
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    write_pages(small, 10)
    stored = write_pages(large, PAGES)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(small), str(large)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    found = json.loads(done.stdout)
    assert found["reason"] == ""
    assert (found["pages"], found["last"]) == (PAGES, [2 * PAGES - 2, 2 * PAGES - 1])
    assert found["index"] == stored
    assert found["grown"] < 2 * stored + 40 * MB, f"{found['grown'] / MB:.0f} MB for {stored / MB:.0f} MB of index"


@pytest.mark.parametrize(("groups", "columns"), [(1, 1), (1, 20), (1, 150), (4, 1), (4, 20), (4, 150)])
def test_footer_and_page_indexes_take_two_requests(web, tmp_path, columns, groups):
    """If the footer hint covers the footer, two ranges per file suffice for any number of columns and row groups."""
    table = pa.table({f"c{i}": np.arange(200) for i in range(columns)})
    options = {"write_page_index": True, "max_rows_per_page": 10, "write_batch_size": 10, "store_schema": False}
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=200 // groups, use_dictionary=False, **options)
    data = (tmp_path / "t.parquet").read_bytes()
    web.files = {"/t.parquet": data}
    within_hint = int.from_bytes(data[-8:-4], "little") + 8 <= 64 << 10
    index = read_dataset([f"{web.url}/t.parquet"])
    assert len(web.reads()) == index.groups.traffic.requests == (1 if within_hint else 2)
    positions = np.arange(len(index))
    index.page_indexes.fetch(index.groups.columns, positions)
    assert len(web.reads()) == index.groups.traffic.requests == (2 if within_hint else 3)
    assert within_hint == (groups * columns < 600)
    for column in index.groups.columns:
        pages = index.page_indexes.read(column, positions)
        assert set(pages.reason) == {""}
        assert pages.bounds.lower.to_pylist() == list(range(0, 200, 10))
    assert len(web.reads()) == (2 if within_hint else 3), "what was read is kept"
