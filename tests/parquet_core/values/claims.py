"""Files with one column and one page whose header, chunk or schema contradicts the data."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import slow_thrift
from slow_thrift import FALSE, I32, I64, STRUCT, TRUE, get


def write(path, values, **options):
    """Write one column `x` without a dictionary or page index."""
    pq.write_table(pa.table({"x": values}), path, store_schema=False, **{"use_dictionary": False} | options)
    return path


def claim(path, *, page=(), chunk=(), column=(), rows=None, encoding_stats=None):
    """Set fields of the first page's header, of the chunk's metadata, of the schema's column: (field ids, number).

    `encoding_stats`: how many pages each of its entries counts, and how many entries there are.
    """
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    body, (footer, _) = data[: -8 - length], slow_thrift.parse(data[-8 - length : -8])
    (group,) = slow_thrift.elements(footer, 4)
    meta = get(slow_thrift.elements(group, 1)[0], 3, STRUCT)
    header, stop = slow_thrift.parse(body[4:])
    _set(header, page)
    encoded = slow_thrift.encode(header)
    grown = len(encoded) - stop
    _set(meta, [((7,), get(meta, 7, *slow_thrift.NUMBERS) + grown), *chunk])
    if encoding_stats is not None:
        count, entries = encoding_stats
        entry = [[1, I32, 0], [2, I32, 0], [3, I64, count]]
        _set(meta, [((13,), (STRUCT, [entry] * entries))])
    _set(slow_thrift.elements(footer, 2)[1], column)
    if rows is not None:
        _set(footer, [((3,), rows)])
        _set(group, [((3,), rows)])
    ending = slow_thrift.encode(footer)
    path.write_bytes(b"PAR1" + encoded + body[4 + stop :] + ending + len(ending).to_bytes(4, "little") + b"PAR1")
    return path


def _set(fields, changes):
    for ids, number in changes:
        inner = fields
        for number_of_field in ids[:-1]:
            inner = get(inner, number_of_field, STRUCT)
        (place,) = [place for place in inner if place[0] == ids[-1]]
        place[2] = number
        if isinstance(number, bool):
            place[1] = TRUE if number else FALSE
