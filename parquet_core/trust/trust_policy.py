"""Decide which statistics of a column are trusted.

The decision depends on schema, writer and column order. `min_value` and `max_value` are each trusted under a column
order that is defined for the type. If the writer gave neither, the deprecated `min` and `max` are trusted if their
signed comparison is the order of the column, or if both are the same value. Facts that a writer is known to get wrong
are not trusted (`known_faults`).
Source: `parquet.thrift` of parquet-format.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import or_

import pyarrow as pa

from parquet_core.format.column_chunk import ALL_TRAITS, ChunkTraits
from parquet_core.format.comparable_values import timestamp_step
from parquet_core.format.provenance import IEEE_754_TOTAL_ORDER, TYPE_ORDER, Provenance
from parquet_core.format.schema import LeafColumn, Physical, SortOrder, in_any_case
from parquet_core.spark_rules.calendars import SPARK_VERSION_KEY, is_rebased, may_be_rebased
from parquet_core.spark_rules.columns_in_files import leaf_as_read, leaf_in_file
from parquet_core.trust.known_faults import faults_in, reason_of_faults
from parquet_core.trust.writer import counts_nan_in
from parquet_core.trust.writer_fault import NOTHING_WRONG, Fact, KnownFault

# Key under which parquet-mr's file rewriter records the original writers.
_COPIED = "original.created.by"
OTHER_TYPE = "the file lacks the column or stores it as another type"


class Deprecated(Enum):
    """When deprecated min and max are trusted, for files without min_value and max_value."""

    NEVER = 0
    WHEN_EQUAL = 1
    ALWAYS = 2


@dataclass(frozen=True, slots=True)
class Trust:
    """Which statistics of one column are trusted in files of one kind.

    `counts`: null and NaN counts.
    `bounds`: min_value and max_value of column chunks.
    `page_bounds`: min_values and max_values of column indexes.
    `deprecated`: min and max.
    `required`: True if the column has no nulls, whatever the file claims.
    `rebased`: True if bounds before the start of the common calendar may be read as other values.
    `column_order`: number of the column order in the footer. None if missing.
    `reason`: why bounds are not trusted; "" if they are.
    `step`: units of bounds per unit of stored timestamps (`timestamp_step`).
    `nan_in_bounds`: True if non-NaN min_value and max_value prove that no value is NaN.
    `stored`: the leaf in the file if Spark reads its type as the type of the column. None if both have the same type.
    `nulls_alone`: True if the file stores another type, so that only the claim that all values are null is trusted,
    which is valid in any type.
    `faults`: known faults of the writer that may affect the column.
    `wrong`: the facts that these faults make wrong.
    `prefix_from`: length in bytes from which an upper bound may be a prefix of the maximum. None if no bound is one.
    `zeros_are_right`: True if a null count of 0 is trusted, even if other null counts are not.
    """

    counts: bool
    bounds: bool
    page_bounds: bool
    deprecated: Deprecated
    required: bool
    rebased: bool
    column_order: int | None
    reason: str
    step: int = 1
    nan_in_bounds: bool = False
    stored: LeafColumn | None = None
    nulls_alone: bool = False
    faults: tuple[KnownFault, ...] = ()
    wrong: Fact = NOTHING_WRONG
    prefix_from: int | None = None
    zeros_are_right: bool = False

    @property
    def distrust(self) -> str:
        """Why some statistics are not trusted; "" if all are."""
        return self.reason or reason_of_faults(self.faults)


def trust(
    column: LeafColumn, provenance: Provenance, *, traits: ChunkTraits = ALL_TRAITS, believing: bool = False
) -> Trust:
    """Decide which statistics of a column are trusted.

    `column`: column of the table.
    `provenance`: footer contents of one kind of files.
    `traits`: traits of the chunks. By default all traits, so that the trust is valid for every chunk.
    `believing`: True to ignore known faults of the writer that Spark's reader ignores too.
    """
    alike = leaf_in_file(column, provenance)
    leaf = leaf_as_read(column, provenance) if alike is None else alike
    if leaf is None:
        return _no_trust(OTHER_TYPE, nulls_alone=_may_be_null(column, provenance))
    stored = leaf if alike is None else None
    faults = tuple(
        fault
        for fault in faults_in(leaf, provenance)
        if fault.only_in in traits and (fault.is_avoided_by_spark or not believing)
    )
    return _judge(leaf, provenance, faults, stored)


def _judge(
    leaf: LeafColumn, provenance: Provenance, faults: tuple[KnownFault, ...], stored: LeafColumn | None
) -> Trust:
    wrong = reduce(or_, (fault.wrong for fault in faults), NOTHING_WRONG)
    orders = provenance.column_orders
    order = orders[leaf.index] if leaf.index < len(orders) else None
    untrusted = _wrong_bounds(leaf, provenance)
    without_order = _order_reason(leaf, order)
    reason = untrusted or reason_of_faults(f for f in faults if Fact.BOUNDS in f.wrong) or without_order
    no_deprecated = untrusted or wrong & (Fact.BOUNDS | Fact.DEPRECATED_BOUNDS | Fact.EXACTNESS)
    return Trust(
        counts=True,
        bounds=not reason,
        page_bounds=not (untrusted or without_order or Fact.PAGE_BOUNDS in wrong),
        deprecated=Deprecated.NEVER if no_deprecated else _deprecated(leaf),
        required=leaf.max_definition_level == 0,
        rebased=may_be_rebased(leaf, provenance),
        column_order=order,
        reason=reason,
        step=timestamp_step(leaf),
        nan_in_bounds=_has_nan_in_bounds(leaf, order, provenance),
        stored=stored,
        faults=faults,
        wrong=wrong,
        zeros_are_right=all(it.zeros_are_right for it in faults if it.wrong & (Fact.NULL_COUNT | Fact.PAGE_NULLS)),
        prefix_from=min((fault.prefix_from for fault in faults if fault.prefix_from is not None), default=None),
    )


def _has_nan_in_bounds(leaf: LeafColumn, order: int | None, provenance: Provenance) -> bool:
    # Spark's writer copies no row groups. Other tools of parquet-mr copy row groups of writers whose bounds omit NaN.
    by_spark = SPARK_VERSION_KEY in provenance.key_values and _COPIED not in provenance.key_values
    is_float = order == TYPE_ORDER and leaf.physical in {Physical.FLOAT, Physical.DOUBLE}
    return by_spark and is_float and counts_nan_in(provenance.created_by)


def _may_be_null(column: LeafColumn, provenance: Provenance) -> bool:
    """True if the column is an optional, unrepeated leaf of the file, of any type.

    False if the writer is known to miscount its nulls.
    """
    alike = provenance.by_any_case.get(in_any_case(column.path[0]), [])
    named = [leaf for leaf in alike if leaf.path == column.path]
    flat = not any(leaf.max_repetition_level for leaf in (column, *named))
    miscounted = any(Fact.NULL_COUNT in fault.wrong for leaf in named for fault in faults_in(leaf, provenance))
    return bool(named) and flat and not miscounted and all(leaf.max_definition_level for leaf in named)


def _no_trust(reason: str, *, nulls_alone: bool) -> Trust:
    return Trust(
        counts=False,
        bounds=False,
        page_bounds=False,
        deprecated=Deprecated.NEVER,
        required=False,
        rebased=False,
        column_order=None,
        reason=reason,
        nulls_alone=nulls_alone,
    )


def _wrong_bounds(leaf: LeafColumn, provenance: Provenance) -> str:
    """Return why bounds of a leaf are never trusted, whatever its column order is; "" if they may be."""
    if leaf.type is None:
        return "the type of this column is unknown"
    if leaf.physical is Physical.INT96:
        # INT96_TIMESTAMP_ORDER compares days first, but nothing keeps the nanoseconds within one day.
        return "INT96 values do not sort like their timestamps"
    if leaf.order is SortOrder.UNDEFINED:
        return "a decimal stored as BYTE_ARRAY has no trusted bounds"
    if is_rebased(leaf, provenance):
        return "the file stores dates of another calendar"
    return ""


def _order_reason(leaf: LeafColumn, order: int | None) -> str:
    if order is None:
        return "the writer did not say how its bounds compare"
    has_this_order = order == TYPE_ORDER or (order == IEEE_754_TOTAL_ORDER and leaf.order is SortOrder.FLOATING)
    return "" if has_this_order else f"column order {order} does not apply to this type"


def _deprecated(leaf: LeafColumn) -> Deprecated:
    if leaf.type is None or pa.types.is_decimal(leaf.type):
        return Deprecated.NEVER
    if leaf.physical in {Physical.BYTE_ARRAY, Physical.FIXED_LEN_BYTE_ARRAY}:
        # Writers compared bytes as signed or as unsigned. Equal bounds are equal in both orders.
        return Deprecated.WHEN_EQUAL
    return Deprecated.WHEN_EQUAL if leaf.order is SortOrder.UNSIGNED else Deprecated.ALWAYS
