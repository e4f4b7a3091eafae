"""Data classes of known writer faults: writer, versions, columns and wrong facts."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from dataclasses import dataclass
from enum import Enum, Flag, auto
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.format.column_chunk import NO_TRAITS, ChunkTraits
from parquet_core.format.schema import Physical, SortOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parquet_core.format.provenance import Provenance
    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.writer import Version, WriterVersion

_PRELIMINARY = re.compile(r"[-.]?(snapshot|rc|alpha|beta|dev|pre)", re.IGNORECASE)
_ARROW_SCHEMA = "ARROW:schema"
_MOST_FIELDS = 100
_UUID_BYTES = 16


class Fact(Flag):
    """Metadata that a writer got wrong."""

    LOWER_BOUND = auto()
    UPPER_BOUND = auto()
    BOUNDS = LOWER_BOUND | UPPER_BOUND
    PAGE_BOUNDS = auto()
    DEPRECATED_BOUNDS = auto()
    NULL_COUNT = auto()
    PAGE_NULLS = auto()
    EXACTNESS = auto()
    PAGE_EXACTNESS = auto()
    BLOOM_FILTER = auto()

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the wrong metadata for messages, such as "min/max"."""
        sides = Fact.BOUNDS in self
        return tuple(label for fact, label in _LABELS.items() if fact in self and not (sides and fact in _SIDES))


NOTHING_WRONG = Fact(0)
_SIDES = (Fact.LOWER_BOUND, Fact.UPPER_BOUND)
_LABELS = {
    Fact.BOUNDS: "min/max",
    Fact.LOWER_BOUND: "min",
    Fact.UPPER_BOUND: "max",
    Fact.PAGE_BOUNDS: "min/max of pages",
    Fact.DEPRECATED_BOUNDS: "deprecated min/max",
    Fact.NULL_COUNT: "null counts",
    Fact.PAGE_NULLS: "null counts of pages",
    Fact.EXACTNESS: "max",
    Fact.PAGE_EXACTNESS: "max of pages",
    Fact.BLOOM_FILTER: "bloom filters",
}


class Mark(Enum):
    """A file property that proves that the writer has the fix, for files that do not name its version."""

    SHARED_VTABLES = "an Arrow schema whose fields share their FlatBuffers vtable"

    def is_on(self, provenance: Provenance) -> bool:
        """True if files of this schema and writer have the mark."""
        return _shares_vtables(provenance.key_values.get(_ARROW_SCHEMA, ""))


@lru_cache(maxsize=64)
def _shares_vtables(encoded: str) -> bool:
    """True if two fields of an encoded Arrow schema share a vtable; False if not, or if the schema is missing.

    Source: Message.fbs and Schema.fbs of Arrow: the header is member 2 of a message, the fields member 1 of a schema.
    """
    try:
        message = base64.b64decode(encoded, validate=True)[8:]
        schema = _member(message, _target(message, 0), 2)
        fields = _member(message, schema, 1)
        count = min(int.from_bytes(message[fields : fields + 4], "little"), _MOST_FIELDS)
        vtables = [_vtable(message, _target(message, fields + 4 * (i + 1))) for i in range(count)]
    except (struct.error, ValueError, binascii.Error):
        return False
    return len(set(vtables)) < len(vtables)


def _target(buffer: bytes, position: int) -> int:
    return position + int(struct.unpack_from("<I", buffer, position)[0])


def _vtable(buffer: bytes, table: int) -> int:
    return table - int(struct.unpack_from("<i", buffer, table)[0])


def _member(buffer: bytes, table: int, index: int) -> int:
    offset = struct.unpack_from("<H", buffer, _vtable(buffer, table) + 4 + 2 * index)[0]
    return _target(buffer, table + int(offset))


class Columns(Enum):
    """The columns that a fault affects. The value of a member names them in messages."""

    ALL = "columns"
    BYTE_ARRAYS = "columns of byte arrays"
    DECIMALS = "decimal columns"
    FIXED_DECIMALS = "decimal columns stored as fixed bytes"
    INT32_DECIMALS = "decimal columns stored as INT32"
    FLOATS = "floating-point columns"
    UNSIGNED = "unsigned integer columns"
    STRINGS = "string and binary columns"
    BYTES = "string, binary and fixed-length columns"
    UUIDS = "columns of 16 fixed bytes"
    TIMESTAMPS = "timestamp columns"
    DICTIONARIES = "columns written from Arrow dictionaries"
    STRUCT_FIELDS = "fields of structs"

    def contains(self, leaf: LeafColumn, provenance: Provenance) -> bool:
        """True if the fault may affect a leaf in files of a kind (schema and writer)."""
        return _TESTS[self](leaf, provenance)


def _is_decimal(leaf: LeafColumn) -> bool:
    return leaf.type is not None and bool(pa.types.is_decimal(leaf.type))


def _may_be_arrow_dictionary(leaf: LeafColumn, provenance: Provenance) -> bool:
    """True if a leaf of byte arrays may have been written from an Arrow dictionary; False for other leaves."""
    # Arrow C++ writes dictionaries of all other types as plain values.
    if leaf.physical is not Physical.BYTE_ARRAY:
        return False
    flags = _arrow_dictionaries(provenance.key_values.get(_ARROW_SCHEMA, ""))
    stored = sum(element.physical is not None for element in provenance.elements)
    # A table may have other names for the columns of its files, so leaves are compared by position.
    return not flags or len(flags) != stored or flags[leaf.index]


@lru_cache(maxsize=64)
def _arrow_dictionaries(encoded: str) -> tuple[bool, ...]:
    """Return, for each leaf of an encoded Arrow schema, True if it is a dictionary; () if there is no schema."""
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(encoded, validate=True)))
    except (pa.ArrowException, OSError, ValueError, binascii.Error):
        return ()
    return tuple(flag for field in schema for flag in _dictionary_flags(field.type))


def _dictionary_flags(data_type: pa.DataType) -> Iterator[bool]:
    if isinstance(data_type, pa.BaseExtensionType):
        yield from _dictionary_flags(data_type.storage_type)
    elif data_type.num_fields == 0 or pa.types.is_dictionary(data_type):
        yield pa.types.is_dictionary(data_type)
    else:
        for i in range(data_type.num_fields):
            yield from _dictionary_flags(data_type.field(i).type)


_BYTE_ARRAYS = frozenset({Physical.BYTE_ARRAY, Physical.FIXED_LEN_BYTE_ARRAY})
_TESTS: dict[Columns, Callable[[LeafColumn, Provenance], bool]] = {
    Columns.ALL: lambda _leaf, _: True,
    Columns.BYTE_ARRAYS: lambda leaf, _: leaf.physical in _BYTE_ARRAYS,
    Columns.DECIMALS: lambda leaf, _: _is_decimal(leaf),
    Columns.FIXED_DECIMALS: lambda leaf, _: _is_decimal(leaf) and leaf.physical is Physical.FIXED_LEN_BYTE_ARRAY,
    Columns.INT32_DECIMALS: lambda leaf, _: _is_decimal(leaf) and leaf.physical is Physical.INT32,
    Columns.FLOATS: lambda leaf, _: leaf.order is SortOrder.FLOATING,
    Columns.UNSIGNED: lambda leaf, _: leaf.type is not None and pa.types.is_unsigned_integer(leaf.type),
    Columns.STRINGS: lambda leaf, _: leaf.physical is Physical.BYTE_ARRAY and not _is_decimal(leaf),
    Columns.BYTES: lambda leaf, _: leaf.physical in _BYTE_ARRAYS and not _is_decimal(leaf),
    Columns.UUIDS: lambda leaf, _: leaf.byte_width == _UUID_BYTES and not _is_decimal(leaf),
    Columns.TIMESTAMPS: lambda leaf, _: leaf.type is not None and bool(pa.types.is_timestamp(leaf.type)),
    Columns.DICTIONARIES: _may_be_arrow_dictionary,
    Columns.STRUCT_FIELDS: lambda leaf, _: len(leaf.path) > 1 and leaf.max_repetition_level == 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFault:
    """A known fault of a writer.

    A file whose `created_by` has no version counts as written by an affected release.

    `code`: id of the bug report in the writer's issue tracker.
    `application`: name of the writer in `created_by`.
    `columns`: columns that are affected.
    `wrong`: metadata that is wrong.
    `what`: the fault in words.
    `source`: address of the report.
    `proof`: how the fault was reproduced.
    `first`: first release with the fault. None if every early release has it.
    `fixed`: first release without the fault. None if unknown.
    `unversioned_only`: if True, only files without a version are affected.
    `or_unknown`: if True, files of an unknown writer or version are affected too.
    `backports`: pattern of versions below `fixed` that have the fix.
    `unless`: mark of unaffected files. None if the fault leaves no such mark.
    `prefix_from`: length in bytes from which an upper bound may be a prefix of the maximum. None if no bound is one.
    `only_in`: traits of the affected column chunks. By default all chunks are affected.
    `is_avoided_by_spark`: True if Spark's reader also ignores the wrong metadata.
    `zeros_are_right`: True if a null count of 0 can be trusted despite the fault.
    """

    code: str
    application: str
    columns: Columns
    wrong: Fact
    what: str
    source: str
    proof: str
    first: Version | None = None
    fixed: Version | None = None
    unversioned_only: bool = False
    or_unknown: bool = False
    backports: re.Pattern[str] | None = None
    unless: Mark | None = None
    prefix_from: int | None = None
    only_in: ChunkTraits = NO_TRAITS
    is_avoided_by_spark: bool = False
    zeros_are_right: bool = False

    def is_of(self, writer: WriterVersion) -> bool:
        """True if the release that wrote a file has the fault."""
        if self.or_unknown and not writer.is_known:
            return True
        if writer.application.casefold() != self.application.casefold():
            return False
        return writer.version is None or self._has_version(writer.version, writer.suffix)

    def _has_version(self, version: Version, suffix: str) -> bool:
        if self.unversioned_only or (self.first is not None and version < self.first):
            return False
        if self.backports and self.backports.match(".".join(map(str, version)) + suffix):
            return False
        # A preliminary version of the fixed release may precede the fix.
        preliminary = version == self.fixed and _PRELIMINARY.match(suffix) is not None
        return self.fixed is None or version < self.fixed or preliminary

    @property
    def versions(self) -> str:
        """The affected versions, as text."""
        if self.unversioned_only:
            return "files that name no version"
        first = "" if self.first is None else f"from {_dotted(self.first)} "
        return f"{first}before {_dotted(self.fixed)}" if self.fixed else first.strip() or "all"


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
