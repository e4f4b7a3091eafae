"""The leaf columns of a schema: how values are stored and what they are to a query."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_core.predicate import Path


class Physical(IntEnum):
    """Physical types, numbered as in parquet.thrift."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


class SortOrder(StrEnum):
    """How bounds of a column compare."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A leaf of the schema tree.

    `index`: position among the leaves, the same as in every row group. `type`: the Arrow type of the
    values, None when it is not understood. `unsupported`: why predicates on this column cannot
    prune, empty when they can. `type_length` is in bytes, for FIXED_LEN_BYTE_ARRAY alone.
    """

    path: Path
    index: int
    physical: Physical
    type: pa.DataType | None
    order: SortOrder
    type_length: int = 0
    max_definition_level: int = 0
    max_repetition_level: int = 0
    unsupported: str = ""
