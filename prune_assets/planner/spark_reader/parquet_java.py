"""Rules by which parquet-java, the reader of Spark 3.5 to 4.3, drops row groups and keeps pages.

These rules differ from the planner's: each level evaluates the whole predicate on its own; an IN list is evaluated as
the range from its smallest to its largest value; dictionaries and bloom filters distinguish -0.0 from 0.0; `<>` is true
of null; NaN has no special handling. Source, unchanged from 1.13 to 1.17: RowGroupFilter, StatisticsFilter,
DictionaryFilter, BloomFilterImpl, ColumnIndexBuilder and ColumnIndexFilter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.bloom import hash_values, may_contain
from parquet_core.spark_rules.type_promotion import as_stored
from prune_assets.planner.spark_reader.spark_filters import AllOf, AnyOf, Filter, Rel, array_of_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.bounds import Bounds
    from prune_assets.planner.spark_reader.spark_filters import SparkFilter

    Flags = NDArray[np.bool_]
    Blocks = NDArray[np.uint32]

_SIGN = np.int64(-(1 << 63))
_BY_PREFIX = frozenset({Rel.PREFIX, Rel.NOT_PREFIX})
_PATTERNS = frozenset({Rel.PREFIX, Rel.SUFFIX, Rel.CONTAINS})
_NOT_PATTERNS = frozenset({Rel.NOT_PREFIX, Rel.NOT_SUFFIX, Rel.NOT_CONTAINS})


class Evidence(NamedTuple):
    """Bounds of row groups or pages as parquet-java compares them. Either both bounds are known or none.

    `null_count` is -1 if unknown.
    """

    low: pa.Array
    high: pa.Array
    has_bounds: Flags
    null_count: NDArray[np.int64]
    row_count: NDArray[np.int64]

    @property
    def all_null(self) -> Flags:
        """Flags of containers that hold only nulls."""
        only_nulls: Flags = self.null_count == self.row_count
        return only_nulls


def evidence_of(bounds: Bounds, *, believed: Flags | None = None) -> Evidence:
    """Return bounds in the order of parquet-java.

    `believed`: flags of the row groups or pages whose bounds parquet-java uses; the result has no other bounds. None
    if it uses all.
    """
    has_bounds = flags_from(pc.and_(pc.is_valid(bounds.lower), pc.is_valid(bounds.upper)))
    nulls = np.where(flags_from(pc.is_valid(bounds.null_count)), numbers_from(bounds.null_count), -1)
    return Evidence(
        in_java_order(bounds.lower),
        in_java_order(bounds.upper),
        has_bounds if believed is None else has_bounds & believed,
        nulls,
        bounds.row_count,
    )


def in_java_order(values: pa.Array) -> pa.Array:
    """Return values in a type that Arrow orders as Java does, which is -0.0 < 0.0 < NaN for floats.

    >>> in_java_order(pa.array([0.0, -0.0])).to_pylist()
    [0, -1]
    """
    arrow_type = values.type
    if pa.types.is_boolean(arrow_type):
        return values.cast(pa.uint8())
    if not pa.types.is_floating(arrow_type):
        return values.cast(pa.binary()) if pa.types.is_string(arrow_type) else values
    doubles = numbers_from(values).astype(np.float64)
    # Java orders all NaN as one value, whatever their bits are.
    bits = np.where(np.isnan(doubles), np.nan, doubles).view(np.int64)
    return from_numpy(np.where(bits < 0, ~bits ^ _SIGN, bits), valid=flags_from(pc.is_valid(values)))


def folded(tree: SparkFilter, leaf: Callable[[Filter], Flags], *, dropping: bool) -> Flags:
    """Combine the flags of the leaves by the connectives of a filter.

    `dropping`: True if the flags mark dropped containers, False if they mark kept ones.
    """
    match tree:
        case Filter():
            return leaf(tree)
        case AllOf(children) | AnyOf(children):
            parts = np.stack([folded(child, leaf, dropping=dropping) for child in children])
            combined: Flags = np.any(parts, axis=0) if isinstance(tree, AllOf) == dropping else np.all(parts, axis=0)
            return combined
    raise TypeError(f"{type(tree).__name__} is never pushed down")


def dropped_by_statistics(leaf: Filter, of: Evidence) -> Flags:
    """Return flags of the row groups that the column's statistics exclude."""
    dropped: Flags = of.has_bounds & _outside(leaf, of)
    match leaf.rel:
        case Rel.IS_NULL:
            dropped = of.null_count == 0
        case Rel.NOT_NULL:
            dropped = of.all_null
        case Rel.NE:
            dropped &= of.null_count <= 0
        case Rel.NOT_PREFIX | Rel.NOT_SUFFIX | Rel.NOT_CONTAINS:
            dropped &= ~of.all_null
        case _:
            dropped |= of.all_null
    return dropped


def kept_by_pages(leaf: Filter, of: Evidence) -> Flags:
    """Return flags of the pages that the column index keeps. Without a column index, `of` has no bounds."""
    with_nulls: Flags = of.null_count != 0
    inside: Flags = ~of.all_null & ~(of.has_bounds & _outside(leaf, of))
    match leaf.rel:
        case Rel.IS_NULL:
            return with_nulls
        case Rel.NOT_NULL:
            return ~of.all_null
        case Rel.NE | Rel.NOT_PREFIX | Rel.NOT_SUFFIX | Rel.NOT_CONTAINS:
            return with_nulls | inside
        case _:
            return inside


def _outside(leaf: Filter, of: Evidence) -> Flags:
    """Return flags of containers whose bounds exclude the leaf; meaningless without bounds."""
    if leaf.rel in _BY_PREFIX:
        return _prefix_outside(leaf, of)
    if not leaf.values or leaf.rel in _PATTERNS | _NOT_PATTERNS:
        return np.zeros(len(of.has_bounds), np.bool_)
    if leaf.rel is Rel.NE:
        # Each value of NOT IN is a filter of its own, so one matching value is enough.
        listed = pc.is_in(of.low, _literals(leaf).cast(of.low.type))
        return flags_from(pc.and_(listed, pc.equal(of.low, of.high)))
    least, most = _least_and_most(_literals(leaf))
    match leaf.rel:
        case Rel.LT:
            outside = pc.greater_equal(of.low, least)
        case Rel.LE:
            outside = pc.greater(of.low, least)
        case Rel.GT:
            outside = pc.less_equal(of.high, least)
        case Rel.GE:
            outside = pc.less(of.high, least)
        case _:
            outside = pc.or_(pc.greater(of.low, most), pc.less(of.high, least))
    return flags_from(outside)


def _prefix_outside(leaf: Filter, of: Evidence) -> Flags:
    (prefix,) = _literals(leaf)
    low, high = (pc.binary_slice(side, 0, len(prefix.as_py())) for side in (of.low, of.high))
    if leaf.rel is Rel.NOT_PREFIX:
        return flags_from(pc.and_(pc.equal(low, prefix), pc.equal(high, prefix)))
    return flags_from(pc.or_(pc.less(high, prefix), pc.greater(low, prefix)))


def _literals(leaf: Filter) -> pa.Array:
    return in_java_order(array_of_values(leaf.values))


def _least_and_most(values: pa.Array) -> tuple[pa.Scalar, pa.Scalar]:
    order = pc.sort_indices(values)
    return values[order[0].as_py()], values[order[-1].as_py()]


def dropped_by_dictionaries(leaf: Filter, dictionaries: Sequence[pa.Array | None], no_nulls: Flags) -> Flags:
    """Return flags of the row groups that dictionaries exclude.

    `dictionaries`: values of each row group's dictionary. None for an incomplete or unread dictionary.
    `no_nulls`: flags of the row groups whose statistics count no nulls.
    """
    dropped = np.zeros(len(dictionaries), np.bool_)
    present = [(i, values) for i, values in enumerate(dictionaries) if values is not None and len(values)]
    if not present or not leaf.values or pa.types.is_boolean(leaf.values[0].type):
        return dropped
    positions = np.array([i for i, _ in present], np.int64)
    lengths = np.array([len(values) for _, values in present], np.int64)
    entries = in_java_order(pa.concat_arrays([values for _, values in present]))
    satisfied = _satisfied(leaf, entries)
    any_one = np.logical_or.reduceat(satisfied, np.cumsum(lengths) - lengths)
    dropped[positions] = ~any_one & no_nulls[positions] if leaf.rel is Rel.NE else ~any_one
    return dropped


def _satisfied(leaf: Filter, entries: pa.Array) -> Flags:
    values = _literals(leaf)
    compare = {Rel.LT: pc.less, Rel.LE: pc.less_equal, Rel.GT: pc.greater, Rel.GE: pc.greater_equal}
    match leaf.rel:
        case Rel.EQ | Rel.IN:
            return flags_from(pc.is_in(entries, values.cast(entries.type)))
        case Rel.NE:
            return ~flags_from(pc.is_in(entries, values.cast(entries.type)))
        case Rel.LT | Rel.LE | Rel.GT | Rel.GE:
            return flags_from(compare[leaf.rel](entries, values[0]))
        case _:
            matches = flags_from(_MATCHES[leaf.rel](entries, pattern=values[0].as_py()))
            return ~matches if leaf.rel in _NOT_PATTERNS else matches


_MATCHES = {
    Rel.PREFIX: pc.starts_with,
    Rel.NOT_PREFIX: pc.starts_with,
    Rel.SUFFIX: pc.ends_with,
    Rel.NOT_SUFFIX: pc.ends_with,
    Rel.CONTAINS: pc.match_substring,
    Rel.NOT_CONTAINS: pc.match_substring,
}


def dropped_by_filters(leaf: Filter, column: LeafColumn, filters: Sequence[Blocks | None]) -> Flags:
    """Return flags of the row groups that bloom filters exclude.

    `filters`: bloom filter of each row group. None for a missing or unread filter.
    """
    dropped = np.zeros(len(filters), np.bool_)
    present = np.flatnonzero([blocks is not None for blocks in filters])
    if leaf.rel not in {Rel.EQ, Rel.IN} or len(present) == 0 or pa.types.is_boolean(leaf.values[0].type):
        return dropped
    held = as_stored(array_of_values(leaf.values), column)
    if held is None or len(held) == 0:
        return dropped
    hashes = hash_values(column, held)
    may_hold = may_contain([blocks for blocks in filters if blocks is not None], hashes)
    dropped[present] = ~may_hold.any(axis=1)
    return dropped
