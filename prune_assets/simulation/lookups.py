"""Dictionaries and bloom filters to come: which row groups would deny a value that an equality looks up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, flags_from, numbers_from
from parquet_core.evidence.bloom import probes
from parquet_core.outcomes import Outcomes
from parquet_core.predicate import Compare, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import ColumnLeaf
    from prune_assets.simulation.cut import Cut
    from prune_assets.simulation.sample import SampledColumn

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]

# Of values with more sampled rows their number tells.
_FEW = 3
# Values with two sampled rows that are looked at.
_MOST_PAIRS = 5_000


class Asked(NamedTuple):
    """The values that conditions on a column look up: by condition their numbers among those sampled, -1 for another.

    None: a condition that looks up none. `codes`: all of them, each once.
    """

    by_leaf: list[Numbers | None]
    unequal: list[bool]
    codes: Numbers


def asked(column: SampledColumn, leaves: Sequence[ColumnLeaf]) -> Asked:
    """Number the values that conditions look up."""
    looked_up = [probes(leaf) for leaf in leaves]
    values = [it.cast(column.values.type) for it in looked_up if it is not None]
    together = pa.concat_arrays([column.values[:0], *values])
    codes = filled(pc.index_in(together, column.values), -1)
    numbers = numbers_from(codes).astype(np.int64)
    if pa.types.is_floating(together.type):
        numbers = np.where(flags_from(pc.is_nan(together)), len(column.values), numbers)
    parts = iter(np.split(numbers, np.cumsum([len(it) for it in values])[:-1])) if values else iter(())
    by_leaf = [None if it is None else next(parts) for it in looked_up]
    unequal = [isinstance(leaf, Compare) and leaf.op is Op.NE for leaf in leaves]
    return Asked(by_leaf, unequal, np.unique(numbers))


def denied(cut: Cut, column: SampledColumn, wanted: Asked, false_positives: float) -> OutcomeArray:
    """Return by condition the outcomes that a dictionary (no false positives) or filter of each row group leaves."""
    random = np.random.default_rng(len(cut.group))
    outcomes = np.full((len(wanted.by_leaf), len(cut.group)), Outcomes.UNKNOWN, np.uint8)
    held = _holding(cut, column, wanted.codes, random)
    for i, codes in enumerate(wanted.by_leaf):
        if codes is not None:
            some = np.logical_or.reduce(held[np.searchsorted(wanted.codes, codes)])
            some |= random.random(len(cut.group)) < false_positives
            absent = Outcomes.FALSE if wanted.unequal[i] else Outcomes.TRUE
            outcomes[i, ~some] &= np.uint8(Outcomes.UNKNOWN & ~absent)
    return outcomes


def _holding(cut: Cut, column: SampledColumn, codes: Numbers, random: np.random.Generator) -> Flags:
    """Tell which row groups hold values: those of sampled rows, and as many more as the other rows may be in."""
    number = np.full(len(column.values) + 2, -1)
    number[codes + 1] = np.arange(len(codes))
    # Null has the code of a value that was not sampled.
    number[0] = -1
    which = number[column.codes[cut.order] + 1]
    at = np.flatnonzero(which >= 0)
    group = np.searchsorted(cut.sampled(cut.group), at, "right") - 1
    held = np.zeros((len(codes), len(cut.group)), np.bool_)
    held[which[at], group] = True
    if cut.rate >= 1:
        return held
    count = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values) + 1)
    often, apart = np.bincount(count, minlength=_FEW + 3), _apart(cut, column, count)
    for met, sampled in zip(held, np.bincount(which[at], minlength=len(codes)).tolist(), strict=True):
        rows = _rows_expected(often, sampled) / cut.rate
        # A value that was not sampled has its first row in some row group.
        known, others = max(int(met.sum()), 1), np.flatnonzero(~met)
        more = (len(met) - known) * (1 - (1 - apart / len(met)) ** max(rows - max(sampled, 1), 0.0))
        more += known - met.sum()
        met[random.choice(others, min(round(more), len(others)), replace=False)] = True
    return held


def _apart(cut: Cut, column: SampledColumn, count: Numbers) -> float:
    """Return how often another row of a value is in a row group of its own, 1 where rows of a value lie anywhere."""
    twice = np.flatnonzero(count == 2)
    twice = twice[:: max(1, len(twice) // _MOST_PAIRS)]
    number = np.full(len(count) + 1, -1)
    number[twice + 1] = np.arange(len(twice))
    which = number[column.codes[cut.order] + 1]
    at = np.flatnonzero(which >= 0)
    group = np.searchsorted(cut.sampled(cut.group), at, "right") - 1
    total, alike = np.bincount(which[at], group), np.bincount(which[at], group**2)
    # Two numbers are the same where twice the sum of their squares is the square of their sum.
    differ = float(np.mean(2 * alike != total**2)) if len(twice) else 1.0
    return min(1.0, differ / max(1 - 1 / len(cut.group), 1e-9))


def _rows_expected(often: Numbers, sampled: int) -> float:
    """Return how many rows of a value another sample would have, which has so many in this one (Good and Turing).

    `often`: how many values have no row in the sample, one, two and so on.
    """
    if sampled > _FEW:
        return float(sampled)
    once, twice = float(often[1]), float(max(often[2], 1))
    seen = often[sampled] if sampled else once * once / (2 * twice)
    return float((sampled + 1) * often[sampled + 1] / max(seen, 1)) or float(sampled)


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
