"""Footer contents except row groups: schema, key-value metadata, writer and column orders.

Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from parquet_core.errors import MalformedFile, UnsupportedFeature
from parquet_core.format.compact import BINARY, BOOLEAN, EMPTY, INTEGER, decode_list, member, struct
from parquet_core.format.schema import LeafColumn, SchemaElement, in_any_case, leaf_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.format.compact import Slots
    from parquet_core.format.schema import Path
    from parquet_core.storage import DataFile

# Members of the union ColumnOrder.
TYPE_ORDER, IEEE_754_TOTAL_ORDER, INT96_TIMESTAMP_ORDER = 1, 2, 3

_TIME_UNIT = member({1: EMPTY, 2: EMPTY, 3: EMPTY})
_LOGICAL_TYPE = member(
    {
        **dict.fromkeys((1, 2, 3, 4, 6, 11, 12, 13, 14, 15), EMPTY),
        5: struct({1: INTEGER, 2: INTEGER}),  # DECIMAL scale, precision
        7: struct({1: BOOLEAN, 2: _TIME_UNIT}),  # TIME
        8: struct({1: BOOLEAN, 2: _TIME_UNIT}),  # TIMESTAMP
        10: struct({1: INTEGER, 2: BOOLEAN}),  # INTEGER bit width, signed
    }
)
_SCHEMA_ELEMENT = struct(
    {
        1: INTEGER,  # type
        2: INTEGER,  # type_length
        3: INTEGER,  # repetition_type
        4: BINARY,  # name
        5: INTEGER,  # num_children
        6: INTEGER,  # converted_type
        7: INTEGER,  # scale
        8: INTEGER,  # precision
        9: INTEGER,  # field_id
        10: _LOGICAL_TYPE,
    },
    least=5,  # name, and type or children
)
_KEY_VALUE = struct({1: BINARY, 2: BINARY}, least=3)  # key
_COLUMN_ORDER = member({TYPE_ORDER: EMPTY})

# Encoded schema, key-value metadata, created_by and column orders of a footer.
EncodedKind: TypeAlias = tuple[bytes | None, bytes | None, bytes | None, bytes | None]


@dataclass(frozen=True)
class Provenance:
    """Footer contents except row groups.

    Files with the same contents share an instance.
    `column_orders`: number of the ColumnOrder member per leaf, () if the writer gave none.
    `elements`: the schema as written, root first.
    `is_unnamed`: True if it is unknown which columns of the table the file has.
    `table_columns`: top-level columns of the table that the file has in any form.
    `hidden`: top-level columns of the table whose nested fields have other names in the file.
    """

    columns: tuple[LeafColumn, ...]
    column_orders: tuple[int, ...]
    key_values: dict[str, str]
    created_by: str
    elements: tuple[SchemaElement, ...] = field(default=(), repr=False, compare=False)
    is_unnamed: bool = False
    table_columns: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()

    @cached_property
    def by_path(self) -> dict[Path, LeafColumn]:
        """Leaves by path; the first wins."""
        return {leaf.path: leaf for leaf in reversed(self.columns)}

    @cached_property
    def top_numbers(self) -> dict[str, int | None]:
        """Field ids of top-level columns, by name."""
        field_ids: dict[str, int | None] = {}
        children = [1]
        for element in self.elements:
            while children[-1] == 0:
                children.pop()
            children[-1] -= 1
            if len(children) == 2:
                field_ids[element.name] = element.field_id
            children.append(element.children or 0)
        return field_ids

    @cached_property
    def by_any_case(self) -> dict[str, list[LeafColumn]]:
        """Leaves by case-folded name of their top-level column."""
        by_path: dict[str, list[LeafColumn]] = {}
        for leaf in self.columns:
            by_path.setdefault(in_any_case(leaf.path[0]), []).append(leaf)
        return by_path


def provenance_of(footer_kind: EncodedKind, file: DataFile) -> Provenance:
    """Decode footer contents except row groups; errors name `file`."""
    with naming(file):
        return decode_provenance(footer_kind)


@contextmanager
def naming(file: DataFile) -> Iterator[None]:
    """Prefix errors about a footer with the path of the file."""
    try:
        yield
    except (MalformedFile, UnsupportedFeature) as error:
        raise type(error)(f"{file.path}: {error}") from None


@lru_cache(maxsize=256)
def decode_provenance(footer_kind: EncodedKind) -> Provenance:
    """Decode footer contents except row groups; cached by their bytes."""
    schema, pairs, created_by, orders = footer_kind
    entries = [] if pairs is None else decode_list(pairs, _KEY_VALUE, place="footer")
    members = [] if orders is None else decode_list(orders, _COLUMN_ORDER, place="footer")
    columns, elements = parse_schema(b"" if schema is None else schema)
    return Provenance(
        columns=columns,
        column_orders=tuple(0 if order is None else order[0] for order in members),
        key_values={_text(key): _text(value) for key, value in entries},
        created_by=_text(created_by),
        elements=elements,
    )


# Cached separately, because files with different key-value metadata often have the same schema bytes.
@lru_cache(maxsize=64)
def parse_schema(schema: bytes) -> tuple[tuple[LeafColumn, ...], tuple[SchemaElement, ...]]:
    """Decode a schema; returns its leaves and all elements, root first."""
    elements = tuple(map(_schema_element, decode_list(schema, _SCHEMA_ELEMENT, place="schema")))
    return leaf_columns(elements, place="schema"), elements


def _schema_element(slots: Slots) -> SchemaElement:
    physical, length, repetition, name, children, converted, scale, precision, field_id, logical = slots
    return SchemaElement(
        name=_text(name),
        physical=physical,
        type_length=length,
        repetition=repetition,
        children=children,
        converted=converted,
        scale=scale,
        precision=precision,
        field_id=field_id,
        logical=logical,
    )


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")
