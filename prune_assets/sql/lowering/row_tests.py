"""Evaluate conditions on functions of columns row by row, also for functions that are not monotone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import filled, numbers_from, valid_flags
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, OnPartitions, conjuncts_of, leaves
from prune_assets.sql.functions.terms import fixed_scalar
from prune_assets.sql.syntax.nodes import HOLDS
from prune_assets.sql.types.floats import INFINITIES
from prune_assets.sql.types.ranges import ValueRanges, complement, span
from prune_assets.sql.types.spark_types import type_of_column
from prune_assets.sql.types.zones import UncertainTime

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Op, Predicate
    from prune_assets.sql.functions.function import Function
    from prune_assets.sql.functions.terms import Chain

    # Arrays of 64-bit integers, or of Python integers if 64 bits are too few.
    Ordinals = NDArray[Any]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RowTest:
    """A condition on chains of one type, evaluated on rows.

    `by`: a set of results of one chain, or an operator that compares two chains. None for a test that is TRUE where the
    results are known.

    The outcome is unknown where Spark raises or may raise an error.
    """

    chains: tuple[Chain, ...]
    by: ValueRanges | Op | None
    limits: ClassVar[str] = ""
    is_full: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[Path, ...]:
        """Columns of the chains, each once, in the order of the values."""
        return tuple(dict.fromkeys(chain.column.path for chain in self.chains))

    def __call__(self, *values: pa.Array) -> OutcomeArray:
        """Return the outcome for each row.

        `values`: one array per column, in the type of its bounds.
        """
        by_path = dict(zip(self.columns, values, strict=True))
        results, certain, valid = zip(*(_evaluate(chain, by_path) for chain in self.chains), strict=True)
        outcomes = np.full(len(certain[0]), Outcomes.TRUE, np.uint8)
        if self.by is not None:
            holds = _contains(self.by, *results) if isinstance(self.by, ValueRanges) else HOLDS[self.by](*results)
            outcomes[~np.asarray(holds, np.bool_)] = Outcomes.FALSE
            outcomes[~np.logical_and.reduce(valid)] = Outcomes.NULL
        outcomes[~np.logical_and.reduce(certain)] = Outcomes.UNKNOWN
        return outcomes


def is_known(tested: OnPartitions) -> OnPartitions:
    """Return a condition that is TRUE where the outcome of a `RowTest` is known, else unknown."""
    assert isinstance(tested.test, RowTest)
    return replace(tested, test=replace(tested.test, by=None))


def guarded(predicate: Predicate) -> Predicate:
    """Restrict a predicate so that it is not TRUE where a `RowTest` in it is unknown.

    Spark may raise an error there.
    """
    conjuncts: list[Predicate] = []
    for conjunct in conjuncts_of(predicate):
        parts = list(leaves(conjunct))
        tested = [part for part in parts if isinstance(part, OnPartitions) and isinstance(part.test, RowTest)]
        guards = [is_known(part) for part in tested] if len(parts) > 1 else []
        conjuncts.append(And((conjunct, *guards)) if guards else conjunct)
    return And(tuple(conjuncts)) if len(conjuncts) > 1 else conjuncts[0]


class _Results(NamedTuple):
    """Results as ordinals.

    `certain`: False where Spark raises or may raise an error.
    `valid`: False for NULL.
    """

    ordinals: Ordinals
    certain: Flags
    valid: Flags


def _evaluate(chain: Chain, values: Mapping[Path, pa.Array]) -> _Results:
    """Return the result of a chain for each row."""
    column = values[chain.column.path]
    results = _Results(_ordinals(column), np.ones(len(column), np.bool_), valid_flags(column))
    for function in chain.functions:
        for step in function.steps or (function,):
            results = _applied(step, results)
    return results


def _applied(function: Function, arguments: _Results) -> _Results:
    """Apply a function to rows; each distinct argument is evaluated once."""
    distinct, codes = np.unique(arguments.ordinals, return_inverse=True)
    values: list[int | None] = [None] * len(distinct)
    for first, last in _defined(function, distinct):
        values[first:last] = _evaluate_piece(function, distinct[first:last])
    certain = np.array([result is not None for result in values], np.bool_)
    results = _array([0 if result is None else result for result in values])
    within = _contains(span(function.result.least, function.result.greatest), results)
    null = _contains(function.nulls, distinct) | (certain & ~within & function.overflows_to_null)
    return _Results(
        np.where(within, results, 0)[codes],
        arguments.certain & (~arguments.valid | (certain & within | null)[codes]),
        arguments.valid & ~null[codes],
    )


def _defined(function: Function, ordinals: Ordinals) -> Iterator[tuple[int, int]]:
    """Yield the slices of ascending ordinals at which a function has values, one slice per piece."""
    pieces: Iterable[tuple[int, int]] = [piece[:2] for piece in function.pieces]
    if function.image is not None:
        pieces = complement(function.uncertain, int(ordinals[0]), int(ordinals[-1])).pairs if len(ordinals) else ()
    for first, last in pieces:
        yield bisect_left(ordinals, first), bisect_right(ordinals, last)


def _evaluate_piece(function: Function, arguments: Ordinals) -> Sequence[int | None]:
    """Return the function's value at each argument of one piece; None if uncertain.

    `arguments` must ascend. A function is monotone on a piece, so between two arguments with the same value it is not
    evaluated. A periodic function is evaluated at every argument.
    """
    if function.each is not None:
        values: list[int] = function.each(arguments).tolist()
        return values
    ordinals: list[int] = arguments.tolist()
    if function.image is not None:
        return [_value(function, ordinal) for ordinal in ordinals]
    results: list[int | None] = [None] * len(ordinals)
    stack = [(0, len(ordinals) - 1)] if ordinals else []
    for i in {0, len(ordinals) - 1} if ordinals else ():
        results[i] = function.value(ordinals[i])
    while stack:
        first, last = stack.pop()
        if last - first < 2:
            continue
        if results[first] == results[last]:
            results[first:last] = [results[first]] * (last - first)
            continue
        middle = (first + last) // 2
        results[middle] = function.value(ordinals[middle])
        stack += ((first, middle), (middle, last))
    return results


def _value(function: Function, ordinal: int) -> int | None:
    try:
        return function.value(ordinal)
    except UncertainTime:
        return None


def _ordinals(values: pa.Array) -> Ordinals:
    """Return the ordinal of each value; an arbitrary ordinal for null."""
    arrow_type = values.type
    if pa.types.is_floating(arrow_type):
        return _float_ordinals(numbers_from(filled(values, 0)))
    if pa.types.is_decimal(arrow_type) or arrow_type == pa.uint64():
        type_ = type_of_column(arrow_type)
        assert type_ is not None
        return _array([fixed_scalar(value, type_).ordinal or 0 if value.is_valid else 0 for value in values])
    whole = (
        values.view(pa.int64() if arrow_type.bit_width == 64 else pa.int32())
        if pa.types.is_temporal(arrow_type)
        else values
    )
    ordinals: Ordinals = numbers_from(filled(whole.cast(pa.int64()), 0))
    return ordinals


def _float_ordinals(floats: NDArray[Any]) -> Ordinals:
    """Return the ordinal of each float, in Spark's order: -0.0 equals 0.0, and NaN is above infinity."""
    bits = np.abs(floats).view(np.dtype(f"i{floats.itemsize}")).astype(np.int64)
    return np.where(np.isnan(floats), INFINITIES[8 * floats.itemsize] + 1, np.where(floats < 0, -bits, bits))


def _array(ordinals: list[int]) -> Ordinals:
    try:
        return np.array(ordinals, np.int64)
    except OverflowError:
        return np.array(ordinals, object)


def _contains(ranges: ValueRanges, ordinals: Ordinals) -> Flags:
    """Return whether each ordinal is in a set."""
    if not ranges.pairs:
        return np.zeros(len(ordinals), np.bool_)
    firsts, lasts = (_array(list(ends)) for ends in zip(*ranges.pairs, strict=True))
    pair = np.searchsorted(lasts, ordinals)
    return ((pair < len(lasts)) & (firsts[np.minimum(pair, len(lasts) - 1)] <= ordinals)).astype(np.bool_)
