"""Sample of rows: columns as codes of distinct values, which suffice to sort and cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from, scalar_of
from parquet_core.ranks import ranks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn, Path

# The code of null is less than all other codes, as in Spark's ascending order.
NULL = -1


@dataclass(frozen=True, slots=True)
class SampledColumn:
    """A column of the sample as codes of its distinct values.

    `values`: distinct values, ascending.
    `codes`: index in `values` of each row; NULL for null, and `len(values)` for NaN, which bounds never include.
    `share`: for null, each value and NaN, the share of all rows up to the middle of the rows with this value.
    Differences of shares are distances, for values of any type.
    """

    column: LeafColumn
    values: pa.Array
    codes: NDArray[np.int64]
    share: NDArray[np.float64]

    def of_rows(self) -> pa.Array:
        """Return the value of each row; NaN counts as null."""
        return values_at(self.values, self.codes, (self.codes >= 0) & (self.codes < len(self.values)))

    def take(self, rows: NDArray[np.int64]) -> SampledColumn:
        """Return the column for chosen rows, with only the values of these rows."""
        codes, count = self.codes[rows] + 1, len(self.values)
        has_row = np.bincount(codes, minlength=count + 2)[1:-1] > 0
        if has_row.all():
            return sampled(self.column, self.values, codes - 1)
        new_codes = np.concatenate([[NULL], np.cumsum(has_row) - 1, [np.count_nonzero(has_row)]])
        return sampled(self.column, self.values.filter(from_numpy(has_row)), new_codes[codes])


def values_at(values: pa.Array, codes: NDArray[np.int64], has_value: NDArray[np.bool_]) -> pa.Array:
    """Return the values of codes, null where `has_value` is false.

    A column of nulls has no values.

    >>> values_at(pa.array([], pa.int32()), np.array([-1]), np.array([False])).to_pylist()
    [None]
    """
    if len(values) == 0:
        return pa.nulls(len(codes), values.type)
    return values.take(from_numpy(np.where(has_value, codes, 0), valid=has_value))


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a table in their order, as columns by path; `total`: rows of the whole table."""

    columns: Mapping[Path, SampledColumn]
    rows: int
    total: int

    @property
    def rate(self) -> float:
        """Sampled share of the rows."""
        return self.rows / max(self.total, 1)

    def take(self, rows: NDArray[np.int64]) -> Sample:
        """Return chosen rows, given by ascending row numbers."""
        return Sample({path: it.take(rows) for path, it in self.columns.items()}, len(rows), self.total)

    def thinned(self, most: int) -> Sample:
        """Return at most `most` rows, evenly spread."""
        if self.rows <= most:
            return self
        return self.take(np.arange(most, dtype=np.int64) * self.rows // most)


def coded(column: LeafColumn, values: pa.Array) -> SampledColumn:
    """Return the column as codes of its distinct values."""
    floating = pa.types.is_floating(values.type)
    nan = flags_from(pc.is_nan(values)) if floating else np.zeros(len(values), np.bool_)
    if floating:
        values = pc.if_else(from_numpy(~nan), values, scalar_of(None, values.type))
    encoded = values.dictionary_encode()
    (rank,) = ranks(encoded.dictionary)
    order = np.argsort(rank, kind="stable")
    ascending, new_codes = encoded.dictionary.take(from_numpy(order)), np.full(len(order) + 1, NULL)
    new_codes[order] = np.arange(len(order))
    has_value = flags_from(encoded.indices.is_valid())
    codes = new_codes[np.where(has_value, numbers_from(encoded.indices), len(order))]
    codes[nan] = len(ascending)
    return sampled(column, ascending, codes)


def sampled(column: LeafColumn, values: pa.Array, codes: NDArray[np.int64]) -> SampledColumn:
    """Return a column with distinct, ascending values and the code of each row."""
    count = np.bincount(codes[(codes >= 0) & (codes < len(values))], minlength=len(values))
    share = (np.cumsum(count) - count / 2) / max(int(count.sum()), 1)
    return SampledColumn(column, values, codes, np.concatenate([[0.0], share, [1.0]]))
