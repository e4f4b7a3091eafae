"""Dictionaries and bloom filters to come: which row groups would deny a value that an equality looks up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, numbers_from
from parquet_core.evidence.bloom import probes
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import Compare, Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import ColumnLeaf
    from prune_assets.advisor.cut import Cut
    from prune_assets.advisor.sample import SampledColumn

    Flags = NDArray[np.bool_]

# Sampled rows of a value in so few row groups, of those that chance would have them in, lie together.
_TOGETHER = 0.7
# Of values with more sampled rows their number tells.
_FEW = 3


def denied(cut: Cut, column: SampledColumn, leaf: ColumnLeaf, false_positives: float) -> OutcomeArray:
    """Return the outcomes that a dictionary (no false positives) or filter of each row group leaves of an equality."""
    outcomes = np.full(len(cut.group), Outcomes.UNKNOWN, np.uint8)
    values = probes(leaf)
    if values is None:
        return outcomes
    values = values.cast(column.values.type)
    codes = pc.index_in(values, column.values)
    if pa.types.is_floating(values.type):
        codes = pc.if_else(pc.is_nan(values), pa.scalar(len(column.values), pa.int32()), codes)
    held = np.zeros(len(cut.group), np.bool_)
    random = np.random.default_rng(len(cut.group))
    for code, is_sampled in zip(numbers_from(codes).tolist(), flags_from(codes.is_valid()), strict=True):
        held |= _holding(cut, column, code if is_sampled else None, random)
    held |= random.random(len(held)) < false_positives
    is_unequal = isinstance(leaf, Compare) and leaf.op is Op.NE
    outcomes[~held] &= np.uint8(Outcomes.UNKNOWN & ~(Outcomes.FALSE if is_unequal else Outcomes.TRUE))
    return outcomes


def _holding(cut: Cut, column: SampledColumn, code: int | None, random: np.random.Generator) -> Flags:
    """Tell which row groups hold a value: those of its sampled rows, and as many more as its other rows may be in."""
    groups = len(cut.group)
    met = np.zeros(groups, np.bool_)
    at = np.flatnonzero(column.codes[cut.order] == code) if code is not None else np.zeros(0, np.int64)
    met[np.searchsorted(cut.sampled(cut.group), at, "right") - 1] = True
    if cut.rate >= 1:
        return met
    sampled, rows = len(at), _rows_expected(column, len(at)) / cut.rate
    if met.sum() < _TOGETHER * _spread(groups, sampled):
        return met
    more = max(0, round(_spread(groups, rows) - met.sum()))
    others = np.flatnonzero(~met)
    met[random.choice(others, min(more, len(others)), replace=False)] = True
    return met


def _rows_expected(column: SampledColumn, sampled: int) -> float:
    """Return how many rows of a value another sample would have (Good and Turing), which has so many in this one."""
    if sampled > _FEW:
        return float(sampled)
    often = np.bincount(np.bincount(column.codes[column.codes >= 0]), minlength=_FEW + 3)
    once, twice = float(often[1]), float(max(often[2], 1))
    unseen = max(once * once / (2 * twice), 1.0)
    seen = often[sampled] if sampled else unseen
    return float((sampled + 1) * often[sampled + 1] / max(seen, 1)) or float(sampled)


def _spread(groups: int, rows: float) -> float:
    """Return in how many row groups so many rows are met that lie anywhere."""
    return float(groups * (1 - (1 - 1 / groups) ** rows))


def distinct_in(rows: float, known: float, of: float) -> float:
    """Return how many different values so many rows have, where `of` rows have `known`, all values equally frequent.

    >>> round(distinct_in(1_000_000, 1_000, 50_000)), round(distinct_in(100, 50_000, 50_000))
    (1000, 100)
    """
    if known >= 0.99 * of or known <= 0:
        return rows * known / max(of, 1)
    low, high = known, of * 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * -np.expm1(-of / middle) < known else (low, middle)
    return float(low * -np.expm1(-rows / low))
