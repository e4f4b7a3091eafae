"""Parts of a predicate that Spark pushes to its Parquet reader.

Spark splits the topmost AND and adds `IS NOT NULL` for the columns of conditions that are NULL for null. Conditions
on partition directories alone decide which files are opened. An OR is pushed down whole or not at all. Then, per file,
operands of an AND that the file's types do not allow are dropped. Source: observed with Spark 3.5 to 4.3
(FileSourceStrategy, DataSourceStrategy.translateFilter, ParquetFilters).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.format.schema import Physical, SortOrder
from parquet_core.spark_rules.spark_schema import has_reliable_nulls
from prune_assets.planner.spark_reader.spark_filters import (
    AllOf,
    AnyOf,
    Filter,
    Opaque,
    Rel,
    all_of,
    any_of,
    array_of_values,
    conjuncts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from parquet_core.format.schema import LeafColumn, Path
    from prune_assets.planner.spark_reader.spark_filters import SparkFilter

# spark.sql.parquet.pushdown.inFilterThreshold: a longer IN list is pushed as a range, a shorter one as an OR.
IN_THRESHOLD = 10

_NULLS = frozenset({Rel.IS_NULL, Rel.NOT_NULL})
_EQUALITIES = frozenset({Rel.EQ, Rel.NE, Rel.IN, Rel.NOT_IN}) | _NULLS
_ORDERED = _EQUALITIES | {Rel.LT, Rel.LE, Rel.GT, Rel.GE}
_PATTERNS = frozenset({Rel.PREFIX, Rel.NOT_PREFIX, Rel.SUFFIX, Rel.NOT_SUFFIX, Rel.CONTAINS, Rel.NOT_CONTAINS})


def file_filters(tree: SparkFilter, directories: Collection[str]) -> tuple[SparkFilter, ...]:
    """Return the filters that Spark pushes to every file's reader."""
    parts = [*_not_nulls(tree), *conjuncts(tree)]
    of_columns = [_implied_filter(part, lambda leaf: leaf.column[0] not in directories) for part in parts]
    return tuple(part for part in of_columns if part is not None and _is_translated(part))


def pushed_to(filters: tuple[SparkFilter, ...], file: Mapping[Path, LeafColumn | None]) -> SparkFilter | None:
    """Return the filter that is pushed to parquet-java for one file; None if no part of it is pushed.

    `file`: leaf of this file by path; None if the file lacks the column or stores it as another type.
    """
    pushable = [part for each in filters if (part := _push_to_file(each, file)) is not None]
    return all_of(pushable) if pushable else None


def _not_nulls(tree: SparkFilter) -> list[SparkFilter]:
    paths: dict[Path, None] = {}
    for part in conjuncts(tree):
        match part:
            case Filter(column, strict=True):
                paths[column] = None
            case Opaque(not_null):
                paths |= dict.fromkeys(not_null)
            case _:
                pass
    return [Filter(path, Rel.NOT_NULL) for path in paths]


def _implied_filter(tree: SparkFilter, wanted: Callable[[Filter], bool]) -> SparkFilter | None:
    """Return an implied filter that has only wanted leaves; None if it has none."""
    match tree:
        case Filter():
            return tree if wanted(tree) else None
        case AllOf(children):
            implied = [part for child in children if (part := _implied_filter(child, wanted)) is not None]
            return all_of(implied) if implied else None
        case AnyOf(children):
            parts = [_implied_filter(child, wanted) for child in children]
            whole = [part for part in parts if part is not None]
            return any_of(whole) if len(whole) == len(parts) else None
        case _:
            return tree


def _is_translated(tree: SparkFilter) -> bool:
    match tree:
        case Opaque():
            return False
        case AllOf(children) | AnyOf(children):
            return all(_is_translated(child) for child in children)
        case _:
            return True


def _push_to_file(tree: SparkFilter, file: Mapping[Path, LeafColumn | None]) -> SparkFilter | None:
    match tree:
        case Filter():
            return _leaf(tree, file.get(tree.column))
        case AllOf(children):
            pushable = [part for child in children if (part := _push_to_file(child, file)) is not None]
            return all_of(pushable) if pushable else None
        case AnyOf(children):
            parts = [_push_to_file(child, file) for child in children]
            whole = [part for part in parts if part is not None]
            return any_of(whole) if len(whole) == len(parts) else None
        case _:
            return None


def _leaf(leaf: Filter, column: LeafColumn | None) -> SparkFilter | None:
    if column is None or leaf.rel not in _relations(column) or not _fit(leaf.values, column):
        return None
    if leaf.rel not in {Rel.IN, Rel.NOT_IN}:
        return leaf
    many = len(leaf.values) + leaf.with_null > IN_THRESHOLD
    if leaf.rel is Rel.NOT_IN:
        return None if many else all_of([Filter(leaf.column, Rel.NE, (value,)) for value in leaf.values])
    null: list[SparkFilter] = [Filter(leaf.column, Rel.IS_NULL)] if leaf.with_null else []
    if many:
        return any_of([*null, replace(leaf, with_null=False)])
    return any_of([*(Filter(leaf.column, Rel.EQ, (value,)) for value in leaf.values), *null])


def _fit(values: Sequence[pa.Scalar], column: LeafColumn) -> bool:
    """Return True if a file's type can hold the values. Otherwise Spark does not push them to the file."""
    arrow_type = column.type
    if arrow_type is None or not values or not pa.types.is_signed_integer(values[0].type):
        return True
    if not pa.types.is_signed_integer(arrow_type):
        return True
    half, ends = 1 << arrow_type.bit_width - 1, pc.min_max(array_of_values(values)).as_py()
    return bool(-half <= ends["min"] and ends["max"] < half)


def _relations(column: LeafColumn) -> frozenset[Rel]:
    """Return the relations that Spark can push down for a column."""
    arrow_type = column.type
    if arrow_type is None or column.max_repetition_level or column.physical is Physical.INT96:
        return frozenset()
    if column.type_length and column.physical is not Physical.FIXED_LEN_BYTE_ARRAY:
        return frozenset()  # fastparquet sets a type length for all types, which Spark does not push down
    if column.unsupported:
        return _NULLS if has_reliable_nulls(column) else frozenset()
    return _relations_of_type(arrow_type, column.order)


def _relations_of_type(arrow_type: pa.DataType, order: SortOrder) -> frozenset[Rel]:
    if pa.types.is_boolean(arrow_type):
        return _EQUALITIES
    if pa.types.is_string(arrow_type):
        return _ORDERED | _PATTERNS
    if pa.types.is_timestamp(arrow_type):
        return _ORDERED if arrow_type.tz is not None and arrow_type.unit in {"us", "ms"} else frozenset()
    if pa.types.is_decimal(arrow_type):
        return frozenset() if order is SortOrder.UNDEFINED else _ORDERED
    plain = pa.types.is_signed_integer(arrow_type) or pa.types.is_float32(arrow_type) or pa.types.is_float64(arrow_type)
    return _ORDERED if plain or pa.types.is_date32(arrow_type) or arrow_type == pa.binary() else frozenset()
