"""Which statistics of a file may be trusted: a judgement by column and kind of file, not by container.

Trusted are `min_value` and `max_value` under an order that is defined for the type, each side for itself.
Where a writer gave neither, the deprecated `min` and `max` are, if their signed comparison is the column's
own, or if both are the same value. A rule that a writer is known to have broken trusts nothing of it.
Sources: `parquet.thrift` of parquet-format; PARQUET-251 and PARQUET-1225.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquet_core.format.schema import LeafColumn, Physical, SortOrder, in_any_case
from parquet_core.trust.bound_values import timestamp_step
from parquet_core.trust.bounds import bounds_type
from parquet_core.trust.stored_types import is_read_as
from parquet_core.trust.writer import counts_nan_in, mixes_up_bytes, mixes_up_nan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.format.plain import PlainValues
    from parquet_core.format.schema import SchemaElement
    from parquet_core.predicate import Path

# Members of the union ColumnOrder.
TYPE_ORDER, IEEE_754_TOTAL_ORDER, INT96_TIMESTAMP_ORDER = 1, 2, 3

_LEGACY_DATES = "org.apache.spark.legacyDateTime"
_LEGACY_INT96 = "org.apache.spark.legacyINT96"
_SPARK_VERSION = "org.apache.spark.version"
# What parquet-mr's rewriter of files puts beside the names of those who wrote them.
_COPIED = "original.created.by"


@dataclass(frozen=True)
class Provenance:
    """What of a footer decides about trust; one stands for all files that share it.

    `column_orders` holds a member of the union ColumnOrder per leaf, () when the writer gave none. `elements`: the
    schema as it is written, root first.
    """

    columns: tuple[LeafColumn, ...]
    column_orders: tuple[int, ...]
    key_values: dict[str, str]
    created_by: str
    elements: tuple[SchemaElement, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def by_path(self) -> dict[Path, LeafColumn]:
        """The leaves by path; of two the first."""
        return {leaf.path: leaf for leaf in reversed(self.columns)}

    @cached_property
    def by_any_case(self) -> dict[str, list[LeafColumn]]:
        """The leaves by the first of their names, those together that may be one to a session."""
        found: dict[str, list[LeafColumn]] = {}
        for leaf in self.columns:
            found.setdefault(in_any_case(leaf.path[0]), []).append(leaf)
        return found


@dataclass(frozen=True, slots=True)
class WrittenStatistics:
    """Statistics of successive column chunks of one leaf, or ColumnIndex entries of successive pages, as written.

    The deprecated pair and `all_null` (null_pages) are None where the structure has no such field. A count
    that was not given is `compact.MISSING`. `min_exact`, `max_exact`: 1 True, 0 False, -1 unknown. `num_values` counts
    level entries of a chunk, rows of a page.
    """

    min_value: PlainValues
    max_value: PlainValues
    deprecated_min: PlainValues | None
    deprecated_max: PlainValues | None
    null_count: NDArray[np.int64]
    nan_count: NDArray[np.int64]
    min_exact: NDArray[np.int8]
    max_exact: NDArray[np.int8]
    num_values: NDArray[np.int64]
    row_count: NDArray[np.int64]
    all_null: NDArray[np.bool_] | None

    def __len__(self) -> int:
        return len(self.row_count)

    def __getitem__(self, entries: slice | NDArray[np.int64]) -> WrittenStatistics:
        parts: list[Any] = [getattr(self, part.name) for part in fields(self)]
        cut: list[Any] = [None if part is None else part[entries] for part in parts]
        return WrittenStatistics(*cut)


class Deprecated(Enum):
    """When the deprecated pair is believed, where the writer gave no other."""

    NEVER = 0
    WHEN_EQUAL = 1
    ALWAYS = 2


@dataclass(frozen=True, slots=True)
class Trust:
    """What may be believed of one column in files of one kind.

    `counts`: null and NaN counts. `bounds`: min_value and max_value. `deprecated`: min and max. `required`: the
    column has no nulls, whatever is claimed. `rebased`: bounds before the start of the common calendar may be
    read as other values. `column_order`: the member in the footer, None without one. `reason`: why bounds are
    not believed, empty when they are. `step`: the microseconds that its stored timestamps count in. `nan_in_bounds`:
    min_value and max_value that are no NaN prove that there is none. `stored`: the file's leaf where its type is
    another one, which Spark reads as the column's; None where they are alike. `nulls_alone`: of a type that is read
    otherwise nothing is believed but that all values are null, which they are in any.
    """

    counts: bool
    bounds: bool
    deprecated: Deprecated
    required: bool
    rebased: bool
    column_order: int | None
    reason: str
    step: int = 1
    nan_in_bounds: bool = False
    stored: LeafColumn | None = None
    nulls_alone: bool = False


def trust(column: LeafColumn, provenance: Provenance) -> Trust:
    """Judge a column of the table in files of one kind, by the leaf that it is there."""
    alike = leaf_in_file(column, provenance)
    leaf = leaf_as_read(column, provenance) if alike is None else alike
    if leaf is None:
        return _nothing(
            "the file lacks the column or stores it as another type", nulls_alone=_may_be_null(column, provenance)
        )
    orders = provenance.column_orders
    order = orders[leaf.index] if leaf.index < len(orders) else None
    wrong = _wrong_bounds(leaf, provenance)
    reason = wrong or _order_reason(leaf, order)
    return Trust(
        counts=True,
        bounds=not reason,
        deprecated=Deprecated.NEVER if wrong else _deprecated(leaf, provenance.created_by),
        required=leaf.max_definition_level == 0,
        rebased=may_be_rebased(leaf, provenance),
        column_order=order,
        reason=reason,
        step=timestamp_step(leaf),
        nan_in_bounds=_has_nan_in_bounds(leaf, order, provenance),
        stored=leaf if alike is None else None,
    )


def _has_nan_in_bounds(leaf: LeafColumn, order: int | None, provenance: Provenance) -> bool:
    # Tools of the same library copy row groups of other writers, whose bounds leave NaN out: Spark's writer is none.
    by_spark = _SPARK_VERSION in provenance.key_values and _COPIED not in provenance.key_values
    is_float = order == TYPE_ORDER and leaf.physical in {Physical.FLOAT, Physical.DOUBLE}
    return by_spark and is_float and counts_nan_in(provenance.created_by)


def _may_be_null(column: LeafColumn, provenance: Provenance) -> bool:
    """Tell whether a file has the column as no list, in whatever type, and may have nulls of it."""
    alike = provenance.by_any_case.get(in_any_case(column.path[0]), [])
    named = [leaf for leaf in alike if leaf.path == column.path]
    flat = not any(leaf.max_repetition_level for leaf in (column, *named))
    return bool(named) and flat and all(leaf.max_definition_level for leaf in named)


def _nothing(reason: str, *, nulls_alone: bool) -> Trust:
    return Trust(
        counts=False,
        bounds=False,
        deprecated=Deprecated.NEVER,
        required=False,
        rebased=False,
        column_order=None,
        reason=reason,
        nulls_alone=nulls_alone,
    )


def _wrong_bounds(leaf: LeafColumn, provenance: Provenance) -> str:
    """Say why no bounds of the leaf are believed under any order, empty when they may be."""
    if leaf.type is None:
        return "the type of this column is not understood"
    if leaf.physical is Physical.INT96:
        # Even under INT96_TIMESTAMP_ORDER: it compares days first, and nothing keeps the nanoseconds within one.
        return "INT96 has no order that is the order of its instants"
    if leaf.order is SortOrder.UNDEFINED:
        return "a decimal stored as BYTE_ARRAY has no bounds that may be trusted"
    if is_rebased(leaf, provenance):
        return "the file stores dates of another calendar"
    if leaf.order is SortOrder.FLOATING and mixes_up_nan(provenance.created_by):
        return "its writer lost other values beside a NaN"
    return ""


def _order_reason(leaf: LeafColumn, order: int | None) -> str:
    if order is None:
        return "the writer did not say how its bounds compare"
    known = order == TYPE_ORDER or (order == IEEE_754_TOTAL_ORDER and leaf.order is SortOrder.FLOATING)
    return "" if known else f"column order {order} is not one of this type"


def _deprecated(leaf: LeafColumn, created_by: str) -> Deprecated:
    if leaf.type is None or pa.types.is_decimal(leaf.type):
        return Deprecated.NEVER
    if leaf.physical in {Physical.BYTE_ARRAY, Physical.FIXED_LEN_BYTE_ARRAY}:
        # Some writers compared the bytes signed, some unsigned: equal bytes are equal in both.
        return Deprecated.NEVER if mixes_up_bytes(created_by) else Deprecated.WHEN_EQUAL
    return Deprecated.WHEN_EQUAL if leaf.order is SortOrder.UNSIGNED else Deprecated.ALWAYS


def leaf_in_file(column: LeafColumn, provenance: Provenance) -> LeafColumn | None:
    """Find the table's column in one file; None when the file lacks it or stores it as another type.

    Timestamps of milliseconds and of microseconds are alike: what is stored counts in `timestamp_step`.
    """
    index = column.index
    if 0 <= index < len(provenance.columns) and provenance.columns[index].path == column.path:
        return _if_alike(provenance.columns[index], column)
    named = provenance.by_path.get(column.path)
    return None if named is None else _if_alike(named, column)


def _if_alike(leaf: LeafColumn, column: LeafColumn) -> LeafColumn | None:
    alike = (leaf.physical, _comparable(leaf), leaf.type_length, leaf.max_repetition_level) == (
        column.physical,
        _comparable(column),
        column.type_length,
        column.max_repetition_level,
    )
    return leaf if alike else None


def _comparable(leaf: LeafColumn) -> pa.DataType | None:
    is_time = leaf.type is not None and pa.types.is_timestamp(leaf.type)
    return bounds_type(leaf) if is_time else leaf.type


def leaf_as_read(column: LeafColumn, provenance: Provenance) -> LeafColumn | None:
    """Find the table's column in one file in any type that Spark reads as the table's without a loss."""
    alike = leaf_in_file(column, provenance)
    if alike is not None:
        return alike
    named = provenance.by_path.get(column.path)
    return named if named is not None and is_read_as(named, column) else None


def is_rebased(leaf: LeafColumn, provenance: Provenance) -> bool:
    """Tell whether Spark reads other dates or timestamps than the file stores: those of its hybrid calendar."""
    if not _is_calendrical(leaf):
        return False
    key_values = provenance.key_values
    int96 = leaf.physical is Physical.INT96
    if (_LEGACY_INT96 if int96 else _LEGACY_DATES) in key_values:
        return True
    version = key_values.get(_SPARK_VERSION)
    return version is not None and not _is_at_least(version, (3, 1) if int96 else (3, 0))


def may_be_rebased(leaf: LeafColumn, provenance: Provenance) -> bool:
    """Tell whether a session's setting decides in which calendar dates and timestamps of this file are read."""
    return _is_calendrical(leaf) and _SPARK_VERSION not in provenance.key_values


def _is_calendrical(leaf: LeafColumn) -> bool:
    return leaf.type is not None and (pa.types.is_date(leaf.type) or pa.types.is_timestamp(leaf.type))


def _is_at_least(version: str, least: tuple[int, int]) -> bool:
    major, minor, *_ = (*version.split("."), "", "")
    return (_number(major, -1), _number(minor, 0)) >= least


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise
