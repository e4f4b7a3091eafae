"""Row groups that dictionaries and bloom filters exclude in a simulated layout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of, filled, numbers_from
from parquet_core.pruning.evidence.bloom import probes
from parquet_core.pruning.evidence.dictionary import can_decide
from parquet_core.pruning.evidence.many_leaves import outcomes_of_each_value
from parquet_core.pruning.outcomes import Outcomes
from prune_assets.simulation.cut import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import ColumnLeaf
    from prune_assets.simulation.cut import Cut
    from prune_assets.simulation.sample import SampledColumn

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

# A value with more than `_RARE_ROWS` sampled rows is assumed to have the same number of rows in another sample. This
# number is estimated for a rarer value, from the counts of values with few sampled rows. An estimate of 0 is used only
# if it is based on at least `_FEWEST_VALUES` values.
_RARE_ROWS = 3
_FEWEST_VALUES = 30
# Equal values count as randomly distributed if at least this share of pairs of equal values is in different row groups.
_RANDOM_SHARE = 0.8
# Maximum number of sampled pairs of rows with equal values, and of sampled rows that satisfy a condition.
_MOST_PAIRS = 5_000
_MOST_ROWS = 20_000


class MatchingValues(NamedTuple):
    """The sampled values for which a condition on a column can be true or false.

    `true`, `false`: flags for null, each value and NaN.
    `unsampled`: for an equality or IN list, number of its values that no sampled row has.
    `is_lookup`: True for an equality or an IN list, which a bloom filter can exclude too.
    """

    true: Flags
    false: Flags
    unsampled: int
    is_lookup: bool


def matching_values(column: SampledColumn, leaves: Sequence[ColumnLeaf]) -> list[MatchingValues | None]:
    """Evaluate conditions on the values of a column; None for a condition that the values alone do not decide."""
    values = column.values
    if pa.types.is_floating(values.type):
        values = pa.concat_arrays([values, array_of([np.nan], values.type)])
    return [_matching_values_of(column, values, leaf) if can_decide(leaf) else None for leaf in leaves]


def _matching_values_of(column: SampledColumn, values: pa.Array, leaf: ColumnLeaf) -> MatchingValues:
    (outcomes,) = outcomes_of_each_value([leaf], values) if len(values) else (np.zeros(0, np.uint8),)
    sampled_matches = probes(leaf)
    unsampled = 0
    if sampled_matches is not None:
        indexes = filled(pc.index_in(sampled_matches.cast(column.values.type), column.values), -1)
        unsampled = int((numbers_from(indexes) < 0).sum())
    # The first entry is for null and has no outcome. The last entry is for NaN and has outcomes only in floating
    # columns.
    padded = np.full(len(column.values) + 2, Outcomes.NONE, np.uint8)
    padded[1 : 1 + len(outcomes)] = outcomes
    true, false = ((padded & side) > 0 for side in (Outcomes.TRUE, Outcomes.FALSE))
    return MatchingValues(true, false, unsampled, sampled_matches is not None)


class SampledMatches(NamedTuple):
    """The sampled rows for which conditions on a column can be true or false, independent of the order of rows.

    `true`, `false`: for each condition, the sampled rows for which it can be true or false.
    `pairs`: pairs of rows with equal values.
    `values_by_rows`: number of values that have 0, 1, 2 and more sampled rows.
    """

    conditions: list[MatchingValues | None]
    true: list[Numbers]
    false: list[Numbers]
    pairs: Numbers
    values_by_rows: Numbers


def sampled_matches(column: SampledColumn, wanted: list[MatchingValues | None]) -> SampledMatches:
    """Return the sampled rows for which conditions can be true or false."""
    count = np.bincount(column.codes + 1, minlength=len(column.values) + 2)
    rows, ends = in_order([column.codes], len(column.codes)), np.cumsum(count)
    return SampledMatches(
        wanted,
        [_rows(rows, ends, it.true) if it else _NO_ROWS for it in wanted],
        [_rows(rows, ends, it.false) if it else _NO_ROWS for it in wanted],
        _pairs(rows, ends[:-1], count[1:]),
        np.bincount(count[1:], minlength=_RARE_ROWS + 3),
    )


_NO_ROWS = np.zeros(0, np.int64)


def _rows(rows: Numbers, ends: Numbers, chosen: Flags) -> Numbers:
    """Return the rows that have one of the chosen values, at most about `_MOST_ROWS`.

    `rows`: all sampled rows, sorted by value.
    `ends`: end of each value's rows in `rows`.
    `chosen`: flags of the values.
    """
    values = np.flatnonzero(chosen)
    of_value = np.diff(ends, prepend=0)[values]
    before = np.cumsum(of_value) - of_value
    total = int(of_value.sum())
    places = np.arange(0, total, max(1, total // _MOST_ROWS))
    value = np.searchsorted(before, places, "right") - 1
    chosen_rows: Numbers = rows[(ends[values] - of_value - before)[value] + places]
    return chosen_rows


def _pairs(rows: Numbers, first: Numbers, count: Numbers) -> Numbers:
    """Draw pairs of rows with equal values, at most `_MOST_PAIRS` pairs.

    `rows`: all sampled rows, sorted by value.
    `first`, `count`: start and number of each value's rows in `rows`.
    """
    random, several = np.random.default_rng(len(count)), np.flatnonzero(count >= 2)
    if not len(several):
        return np.zeros((0, 2), np.int64)
    drawn = (
        random.choice(several, _MOST_PAIRS) if len(several) < _MOST_PAIRS else several[:: len(several) // _MOST_PAIRS]
    )
    first, offset = first[drawn], random.integers(0, count[drawn])
    other = (offset + random.integers(1, count[drawn])) % count[drawn]
    return np.column_stack([rows[first + offset], rows[first + other]])


def outcomes_of_lookups(
    cut: Cut, lookup: SampledMatches, possible: Flags, false_positives: float | None
) -> OutcomeArray:
    """Return the outcomes that the dictionaries or bloom filters of row groups allow.

    `possible`: for each condition, flags of the row groups whose bounds allow it.
    `false_positives`: false-positive probability of bloom filters, which only exclude single values; None for
    dictionaries.
    """
    random = np.random.default_rng(len(cut.group))
    outcomes = np.full((len(lookup.conditions), len(cut.group)), Outcomes.UNKNOWN, np.uint8)
    spread = _Spread(cut, lookup.values_by_rows, 1.0 if cut.rate >= 1 else _share_apart(cut, lookup.pairs))
    for i, condition in enumerate(lookup.conditions):
        if condition is None or (false_positives is not None and not condition.is_lookup):
            continue
        holds, more = spread.groups(lookup.true[i], condition)
        others = np.flatnonzero(~holds & possible[i])
        holds[random.choice(others, min(more, len(others)), replace=False)] = True
        if false_positives is not None:
            holds |= random.random(len(cut.group)) < false_positives
        outcomes[i, ~holds] &= np.uint8(Outcomes.UNKNOWN & ~Outcomes.TRUE)
        if false_positives is None:
            fails, more = spread.groups(lookup.false[i])
            others = np.flatnonzero(~fails)
            fails[random.choice(others, min(more, len(others)), replace=False)] = True
            outcomes[i, ~fails] &= np.uint8(Outcomes.UNKNOWN & ~Outcomes.FALSE)
    return outcomes


class _Spread(NamedTuple):
    """How the values of a column are spread over row groups.

    `values_by_rows`: number of values that have 0, 1, 2 and more sampled rows.
    `share_apart`: share of pairs of equal values whose rows are in different row groups; 1 for values spread randomly.
    """

    cut: Cut
    values_by_rows: Numbers
    share_apart: float

    def groups(self, rows: Numbers, lookup: MatchingValues | None = None) -> tuple[Flags, int]:
        """Flag the row groups of the sampled `rows`, and estimate how many others have rows with the same values.

        `lookup`: the condition that these rows satisfy.
        """
        met = np.bincount(self.cut.group_of_sampled[rows], minlength=len(self.cut.group))
        known, rate = met > 0, self.cut.rate
        if rate >= 1:
            return known, 0
        more = _more_groups(met, len(rows) * (1 / rate - 1))
        if self.share_apart > _RANDOM_SHARE and len(rows):
            more = max(more, _more_groups_at_random(int(known.sum()), len(met), len(rows) * (1 / rate - 1)))
        if lookup is not None and lookup.is_lookup and len(rows) <= _RARE_ROWS:
            # If the sample lacks a listed value, the value's first row is in one more row group.
            expected = max(_rows_expected(self.values_by_rows, len(rows)) / rate - max(len(rows), 1), 0.0)
            more = _more_groups_at_random(int(known.sum()), len(met), expected * self.share_apart)
            more += lookup.unsampled > 0 and not len(rows)
        return known, round(more)


def _more_groups(met: Numbers, rows: float) -> float:
    """Estimate how many row groups that the sample missed hold at least one of `rows` further rows.

    Source: Chao and Jost 2012. `met`: number of sampled rows in each row group.

    >>> _more_groups(np.array([5, 5, 0, 0]), 10), _more_groups(np.array([1, 1, 1, 0, 0, 0]), 3) > 1
    (0.0, True)
    """
    total, once, twice = int(met.sum()), int((met == 1).sum()), int((met == 2).sum())
    unmet = min(once * (once - 1) / (2 * (twice + 1)), float((met == 0).sum()))
    if unmet <= 0:
        return 0.0
    return float(unmet * (1 - (1 - once / (total * unmet + once)) ** rows))


def _more_groups_at_random(known: int, groups: int, rows: float) -> float:
    """Return the number of further row groups that hold some of `rows` further rows, if these are spread randomly.

    `groups`: number of all row groups.
    `known`: number of row groups that are known to hold rows.
    """
    return float((groups - known) * (1 - (1 - 1 / groups) ** rows))


def _share_apart(cut: Cut, pairs: Numbers) -> float:
    """Return the share of pairs in different row groups, divided by this share in random order; at most 1."""
    first, second = cut.group_of_sampled[pairs].T
    differ = float(np.mean(first != second)) if len(pairs) else 1.0
    return min(1.0, differ / max(1 - 1 / len(cut.group), 1e-9))


def _rows_expected(values_by_rows: Numbers, sampled: int) -> float:
    """Estimate how many rows a value would have in another sample of the same size (Good and Turing).

    `sampled`: number of its rows in this sample.
    `values_by_rows`: number of values that have 0, 1, 2 and more sampled rows.
    """
    if sampled > _RARE_ROWS:
        return float(sampled)
    once, twice = float(values_by_rows[1]), float(max(values_by_rows[2], 1))
    seen = values_by_rows[sampled] if sampled else once * once / (2 * twice)
    expected = float((sampled + 1) * values_by_rows[sampled + 1] / max(seen, 1))
    # With few values, an estimate of 0 is chance. With many values, 0 means that another sample would lack the value.
    return expected if expected or seen >= _FEWEST_VALUES else float(sampled)


def dictionary_pays(rows: float, values: float, entry: float) -> bool:
    """True if a dictionary and its indexes take fewer bytes than the plain values.

    `entry`: bytes of a value.

    >>> dictionary_pays(20_000, 1_000, 8.0), dictionary_pays(20_000, 19_000, 8.0)
    (True, False)
    """
    return values * entry + rows * math.log2(max(values, 2.0)) / 8 < rows * entry


def distinct_in(rows: float, distinct: float, of: float) -> float:
    """Estimate the number of distinct values among `rows` rows.

    `distinct`: number of distinct values among `of` rows. All values are taken as equally frequent.

    >>> round(distinct_in(1_000_000, 1_000, 50_000)), round(distinct_in(100, 50_000, 50_000))
    (999, 100)
    """
    return float(distinct_in_each(*(np.array([it], np.float64) for it in (rows, distinct, of, math.nan)))[0])


def distinct_in_each(rows: Floats, distinct: Floats, of: Floats, of_half: Floats) -> Floats:
    """Estimate the number of distinct values among `rows` rows, for each element of the arrays.

    `distinct`: number of distinct values among `of` rows.
    `of_half`: number of distinct values in a random half of these rows; if NaN, all values are equally frequent.

    The frequencies of values are taken from the gamma distribution that yields both numbers, as in estimates of the
    number of species. If half of the rows have fewer values than under the most uneven distribution, the number of
    values is a power of the number of rows (Heaps).

    >>> estimate = [distinct_in_each(*map(np.atleast_1d, (40_000, 1_000, 10_000, half))) for half in (600, 980)]
    >>> np.round(estimate).ravel().tolist()
    [2778.0, 1002.0]
    """
    of, rows, values, evenness = np.maximum(of, 1), np.maximum(rows, 1), np.maximum(distinct, 1), _EVENNESS[:, None]
    per_value = np.array([np.interp(-distinct / of, -shares, _ROWS_PER_VALUE) for shares in _SHARES])
    estimates = rows * _distinct_share(per_value * rows / of, evenness)
    expected = of / 2 * _distinct_share(per_value / 2, evenness)
    uneven = distinct * (rows / of) ** np.log2(values / np.maximum(of_half, values / 2))
    between = [np.interp(-it[0], -it[1], it[2]) for it in zip(of_half, expected.T, estimates.T, strict=True)]
    is_simple = [(distinct >= 0.99 * of) | (distinct <= 0), np.isnan(of_half), of_half < expected[-1]]
    return np.select(is_simple, [rows * distinct / of, estimates[0], uneven], np.array(between))


def _distinct_share(rows_per_value: Floats, evenness: Floats) -> Floats:
    """Return the number of distinct values per row if the frequencies of values have a gamma distribution.

    `evenness`: shape of the distribution; large values mean equal frequencies.
    """
    share: Floats = -np.expm1(-evenness * np.log1p(rows_per_value / evenness)) / rows_per_value
    return share


_EVENNESS = np.array([1e6, 10, 3, 1, 0.5, 0.25, 0.1, 0.03, 0.01])
_ROWS_PER_VALUE = np.logspace(-4, 8, 600)
_SHARES = _distinct_share(_ROWS_PER_VALUE, _EVENNESS[:, None])
