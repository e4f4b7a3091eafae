"""A file of four row groups with all kinds of metadata, in which corruptions are planted."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from tests.corrupt_metadata.corruptions import Place
from tests.corrupt_metadata.raw_metadata import RawMetadata

ROWS, PAGE = 100, 20
COLUMNS = {"a": 0, "n": 1, "s": 2, "d": 3}


def rows_of(group):
    """Return rows for pages with only nulls, without nulls, and with some nulls."""
    numbers = range(ROWS)
    return {
        "a": pa.array([1000 * group + 2 * i for i in numbers], pa.int64()),
        "n": pa.array([None if i < PAGE or (i >= 2 * PAGE and i % 7 == 0) else 1000 * group + i for i in numbers]),
        "s": pa.array([f"g{group}-{i:04}" for i in numbers]),
        "d": pa.array([100 * group + i / 2 for i in numbers], pa.float64()),
    }


def write_correct(path):
    """Write the file."""
    filters = {name: {"ndv": ROWS} for name in COLUMNS}
    groups = [pa.table(rows_of(group)) for group in range(4)]
    options = {"use_dictionary": ["s", "n"], "write_page_index": True, "bloom_filter_options": filters}
    with pq.ParquetWriter(path, groups[0].schema, max_rows_per_page=PAGE, write_batch_size=1, **options) as writer:
        for group in groups:
            writer.write_table(group)


def planted(correct, path, corruption, column):
    """Write the file with a corruption in a column of its second row group."""
    raw = RawMetadata(correct.read_bytes())
    corruption(raw, Place(1, COLUMNS[column], 2, (COLUMNS[column] + 1) % len(COLUMNS)))
    path.write_bytes(raw.bytes())
