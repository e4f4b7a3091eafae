"""The metadata of a Parquet file as parsed structs, to change and write back."""

from __future__ import annotations

import copy
import struct

import slow_thrift
from slow_thrift import I32, I64

from tests.numbered_cases.cases import META, ROW_GROUPS, STATISTICS, put, value_of

# Fields of a ColumnChunk: offset and length of an index.
OFFSET_INDEX, COLUMN_INDEX = (4, 5), (6, 7)


class RawMetadata:
    """The `footer` of a file and, by row group and column, its indexes: parsed structs to change in place."""

    def __init__(self, data):
        (length,) = struct.unpack("<i", data[-8:-4])
        self.body = data[: -8 - length]
        self.size = len(data)
        self.footer, _ = slow_thrift.parse(data[-8 - length : -8])
        self.groups = value_of(self.footer, ROW_GROUPS)[1]
        self.width = len(value_of(self.groups[0], 1)[1])
        self._indexes = {}

    def chunk(self, group, column):
        return value_of(self.groups[group], 1)[1][column]

    def meta(self, group, column):
        return value_of(self.chunk(group, column), META)

    def statistics(self, group, column):
        return value_of(self.meta(group, column), STATISTICS)

    def column_index(self, group, column):
        return self._index(group, column, COLUMN_INDEX)

    def offset_index(self, group, column):
        return self._index(group, column, OFFSET_INDEX)

    def pages(self, group, column):
        """Return the page locations of a chunk."""
        return value_of(self.offset_index(group, column), 1)[1]

    def rows(self, group):
        return value_of(self.groups[group], 3)

    def _index(self, group, column, slots):
        key = group, column, slots
        if key not in self._indexes:
            self._indexes[key] = slow_thrift.parse(self.body, value_of(self.chunk(group, column), slots[0]))[0]
        return self._indexes[key]

    def replace_index(self, group, column, other, slots):
        """Give a chunk a separate copy of the index of another chunk."""
        self._indexes[group, column, slots] = copy.deepcopy(self._index(*other, slots))

    def bytes(self):
        """Return the changed file; indexes that were accessed are written again before the footer."""
        body = self.body
        for (group, column, slots), index in self._indexes.items():
            encoded = slow_thrift.encode(index)
            put(self.chunk(group, column), slots[0], I64, len(body))
            put(self.chunk(group, column), slots[1], I32, len(encoded))
            body += encoded
        footer = slow_thrift.encode(self.footer)
        return body + footer + struct.pack("<i", len(footer)) + b"PAR1"
