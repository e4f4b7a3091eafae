"""Row-group statistics that may be trusted.

Used are `min_value` and `max_value` under TYPE_ORDER, each side for itself. Not used yet, so unknown:
the deprecated `min` and `max`, other column orders, and dates of files whose calendar Spark rebases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_core.bounds import Bounds, EncodedBounds, decode_bounds, without_dates_before_gregorian
from parquet_core.compact import MISSING

TYPE_ORDER = 1
from parquet_core.schema import LeafColumn, SortOrder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.plain import PlainValues

    Footer = Any

_LEGACY_DATES = "org.apache.spark.legacyDateTime"
_SPARK_VERSION = "org.apache.spark.version"


def leaf_in_file(column: LeafColumn, footer: Footer) -> LeafColumn | None:
    """Find the table's column in one file; None when the file lacks it or stores it as another type."""
    index = column.index
    if 0 <= index < len(footer.columns) and footer.columns[index].path == column.path:
        return _if_alike(footer.columns[index], column)
    return next((_if_alike(leaf, column) for leaf in footer.columns if leaf.path == column.path), None)


def _if_alike(leaf: LeafColumn, column: LeafColumn) -> LeafColumn | None:
    alike = (leaf.physical, leaf.type, leaf.type_length, leaf.max_repetition_level) == (
        column.physical,
        column.type,
        column.type_length,
        column.max_repetition_level,
    )
    return leaf if alike else None


def order_is_defined(leaf: LeafColumn, footer: Footer) -> bool:
    """Tell whether bounds of this column compare as its type does."""
    if leaf.order is SortOrder.UNDEFINED or leaf.index >= len(footer.column_orders):
        return False
    return footer.column_orders[leaf.index] == TYPE_ORDER


def is_date(leaf: LeafColumn) -> bool:
    """Tell whether the column holds dates."""
    return str(leaf.type) == "date32[day]"


def is_rebased(leaf: LeafColumn, footer: Footer) -> bool:
    """Tell whether Spark reads other dates than the file stores: those of its hybrid calendar."""
    if not is_date(leaf):
        return False
    version = footer.key_values.get(_SPARK_VERSION)
    if _LEGACY_DATES in footer.key_values:
        return True
    major = None if version is None else version.split(".")[0]
    return major is not None and not (major.isdigit() and int(major) >= 3)


def may_be_rebased(leaf: LeafColumn, footer: Footer) -> bool:
    """Tell whether a session's setting decides in which calendar dates of this file are read."""
    return is_date(leaf) and _SPARK_VERSION not in footer.key_values


@dataclass(frozen=True, slots=True)
class Provenance:
    """What of a footer decides about trust; the files of one writer share it."""

    columns: tuple[LeafColumn, ...]
    column_orders: tuple[int, ...]
    key_values: dict[str, str]
    created_by: str


@dataclass(frozen=True, slots=True)
class WrittenStatistics:
    """Statistics as written."""

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


@dataclass(frozen=True, slots=True)
class Trust:
    """Interim."""

    believed: bool
    ordered: bool
    required: bool
    calendar_unsure: bool = False


def trust(column: LeafColumn, provenance: Provenance) -> Trust:
    """Interim."""
    leaf = leaf_in_file(column, provenance)
    if leaf is None or leaf.unsupported or column.unsupported:
        return Trust(False, False, False)
    return Trust(
        True, order_is_defined(leaf, provenance) and not is_rebased(leaf, provenance), leaf.max_definition_level == 0
    )


def trusted_bounds(column, written, trusts, kind) -> Bounds:
    """Interim."""
    n = len(written.num_values)
    believed = np.array([t.believed for t in trusts] or [False])[kind] & (written.num_values == written.row_count)
    ordered = np.array([t.ordered for t in trusts] or [False])[kind] & believed
    required = np.array([t.required for t in trusts] or [False])[kind]

    def values(v, ok):
        if written.all_null is not None:
            ok = ok & ~written.all_null
        return v.only(ok).binary().to_pylist()

    counts = [
        None if not b else 0 if r else (None if c == MISSING else int(c))
        for c, b, r in zip(written.null_count, believed, required)
    ]
    if written.all_null is not None:
        counts = [
            int(rc) if (an and b and c is None) else c
            for c, an, b, rc in zip(counts, written.all_null, believed, written.row_count)
        ]
    found = decode_bounds(
        column,
        [
            EncodedBounds(
                values(written.min_value, ordered),
                values(written.max_value, ordered),
                counts,
                written.row_count.tolist(),
            )
        ],
    )
    return without_dates_before_gregorian(found) if any(t.calendar_unsure for t in trusts) else found
