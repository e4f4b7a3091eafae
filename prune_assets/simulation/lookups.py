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


class LookedUp(NamedTuple):
    """Where the sampled rows of one column have what is looked up, whatever order they are put in.

    `rows`, `which`: rows with a value of `asked.codes`, and its place there. `twice`: pairs of rows with a value that
    no other sampled row has. `often`: how many values have no row in the sample, one, two and so on.
    """

    asked: Asked
    rows: Numbers
    which: Numbers
    twice: Numbers
    often: Numbers


def looked_up(column: SampledColumn, wanted: Asked) -> LookedUp:
    """Find the rows of the values that conditions look up."""
    rows, which = _rows_with(column, wanted.codes[wanted.codes >= 0])
    count = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values) + 1)
    twice = np.flatnonzero(count == 2)
    of_pairs, pair = _rows_with(column, twice[:: max(1, len(twice) // _MOST_PAIRS)])
    pairs = of_pairs[np.argsort(pair, kind="stable")].reshape(-1, 2)
    # A value that was not sampled comes first among the codes, and has no row.
    which += int((wanted.codes < 0).sum())
    return LookedUp(wanted, rows, which, pairs, np.bincount(count, minlength=_FEW + 3))


def _rows_with(column: SampledColumn, codes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the rows that have values, and which of these each has."""
    number = np.full(len(column.values) + 2, -1)
    number[codes + 1] = np.arange(len(codes))
    which = number[column.codes + 1]
    rows = np.flatnonzero(which >= 0)
    return rows, which[rows]


def denied(cut: Cut, found: LookedUp, false_positives: float) -> OutcomeArray:
    """Return by condition the outcomes that a dictionary (no false positives) or filter of each row group leaves."""
    random, wanted = np.random.default_rng(len(cut.group)), found.asked
    outcomes = np.full((len(wanted.by_leaf), len(cut.group)), Outcomes.UNKNOWN, np.uint8)
    held = _holding(cut, found, random)
    for i, codes in enumerate(wanted.by_leaf):
        if codes is not None:
            some = np.logical_or.reduce(held[np.searchsorted(wanted.codes, codes)])
            some |= random.random(len(cut.group)) < false_positives
            absent = Outcomes.FALSE if wanted.unequal[i] else Outcomes.TRUE
            outcomes[i, ~some] &= np.uint8(Outcomes.UNKNOWN & ~absent)
    return outcomes


def _holding(cut: Cut, found: LookedUp, random: np.random.Generator) -> Flags:
    """Tell which row groups hold values: those of sampled rows, and as many more as the other rows may be in."""
    held = np.zeros((len(found.asked.codes), len(cut.group)), np.bool_)
    held[found.which, cut.group_of_sampled(found.rows)] = True
    if cut.rate >= 1:
        return held
    apart = _apart(cut, found.twice)
    for met, sampled in zip(held, np.bincount(found.which, minlength=len(held)).tolist(), strict=True):
        rows = _rows_expected(found.often, sampled) / cut.rate
        # A value that was not sampled has its first row in some row group.
        known, others = max(int(met.sum()), 1), np.flatnonzero(~met)
        more = (len(met) - known) * (1 - (1 - apart / len(met)) ** max(rows - max(sampled, 1), 0.0))
        more += known - met.sum()
        met[random.choice(others, min(round(more), len(others)), replace=False)] = True
    return held


def _apart(cut: Cut, twice: Numbers) -> float:
    """Return how often another row of a value is in a row group of its own, 1 where rows of a value lie anywhere."""
    first, second = cut.group_of_sampled(twice).T
    differ = float(np.mean(first != second)) if len(twice) else 1.0
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
