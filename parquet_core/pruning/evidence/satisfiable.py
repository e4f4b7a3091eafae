"""Satisfiability of predicates, such as `x > 5 AND x < 3`.

No row at all satisfies this example. A predicate on one column has the same outcome for all values between two
neighboring literals. Therefore testing each literal, the value after it, the extreme values of the type, null and NaN
is sufficient.
"""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of, flags_from, from_numpy, numbers_from, scalar_of
from parquet_core.pruning.evidence.many_leaves import outcomes_of_values
from parquet_core.pruning.outcomes import Outcomes, may_match, unknown
from parquet_core.pruning.predicate import (
    ColumnLeaf,
    Compare,
    Constant,
    In,
    Interval,
    IsNaN,
    OnValues,
    Op,
    Pattern,
    columns_of,
    conjuncts_of,
    leaves,
)
from parquet_core.pruning.trees import constant_answers, fold

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from numpy.typing import NDArray

    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Leaf, Predicate

MAX_DIGITS = 38
# Testing more literals is likely to cost more than it saves.
MAX_LITERALS = 1_000


def may_be_true(predicate: Predicate, *, columns: Container[Path] | None = None) -> bool:
    """True if some row may satisfy the predicate.

    Conditions of an AND on the same column are tested together. `columns`: columns whose values compare as their types
    do (strings by bytes), by default all; conditions on other columns are not tested.

    >>> from parquet_core.pruning.predicate import And, Compare, Op
    >>> above, below = (Compare(("x",), op, pa.scalar(5)) for op in (Op.GT, Op.LT))
    >>> may_be_true(above), may_be_true(And((above, below)))
    (True, False)
    """
    by_column: defaultdict[Path, list[Predicate]] = defaultdict(list)
    for part in conjuncts_of(predicate):
        named = columns_of(part)
        if len(named) != 1 or (columns is not None and named[0] not in columns):
            continue
        if all(isinstance(leaf, ColumnLeaf | Constant) for leaf in leaves(part)):
            by_column[named[0]].append(part)
    return all(_may_all_be_true(parts) for parts in by_column.values())


def _may_all_be_true(parts: Sequence[Predicate]) -> bool:
    every_leaf = [leaf for part in parts for leaf in leaves(part)]
    values = _values_to_try(every_leaf)
    return values is None or bool(may_fulfil(parts, values).any())


def may_fulfil(parts: Sequence[Predicate], values: pa.Array) -> NDArray[np.bool_]:
    """Flag the values of a column that may satisfy all `parts`.

    Null counts as a value. `values`: values in the type of the literals; strings as `BINARY`.
    """
    selected = np.ones(len(values), np.bool_)
    for part in parts:
        selected &= may_match(fold(part, [_answers(leaf, values) for leaf in leaves(part)]))
    return selected


def _answers(leaf: Leaf, values: pa.Array) -> Any:
    if isinstance(leaf, Constant):
        return constant_answers(leaf, len(values))
    assert isinstance(leaf, ColumnLeaf)
    if isinstance(leaf, OnValues):
        # The test accepts only values that occur in the data.
        return unknown(len(values))
    if isinstance(leaf, Pattern):
        # The tested values surround literals of comparisons, so they need not include a match of the pattern.
        undecided, null = np.uint8(Outcomes.TRUE | Outcomes.FALSE), np.uint8(Outcomes.NULL)
        return np.where(flags_from(pc.is_null(values)), null, undecided)
    return outcomes_of_values(leaf, values)


def reaches_beyond_type(leaf: Leaf) -> bool:
    """True if the leaf compares with the largest value of the type, perhaps in place of a larger literal.

    The leaf is then wrong for stored values beyond the type, which Spark reads: decimals with more digits
    than declared, up to 38, and UINT_8 and UINT_16 beyond their range.
    """
    match leaf:
        case Compare(_, Op.GT | Op.LE, value) | Interval(_, _, value):
            arrow_type = value.type
        case _:
            return False
    if pa.types.is_decimal128(arrow_type):
        return bool(arrow_type.precision < MAX_DIGITS and value.as_py() == _end(arrow_type.precision, arrow_type.scale))
    is_small = pa.types.is_uint8(arrow_type) or pa.types.is_uint16(arrow_type)
    return bool(is_small and value.as_py() == (1 << arrow_type.bit_width) - 1)


def _values_to_try(every_leaf: Sequence[Leaf]) -> pa.Array | None:
    """Return values that together produce every possible outcome of the leaves; None if other outcomes are possible.

    None for literals of several types, for too many literals, for types without a known successor, and if a leaf
    `reaches_beyond_type`.
    """
    if any(map(reaches_beyond_type, every_leaf)):
        return None
    candidates: list[pa.Array] = []
    for leaf in every_leaf:
        match leaf:
            case Compare(_, _, value):
                candidates.append(pa.repeat(value, 1))
            case Interval(_, low, high):
                candidates += [pa.repeat(low, 1), pa.repeat(high, 1)]
            case In(_, values):
                candidates.append(values)
    kinds = {array.type for array in candidates}
    if not kinds:
        is_float = any(isinstance(leaf, IsNaN) for leaf in every_leaf)
        candidates = [array_of([0.0, math.nan], pa.float64()) if is_float else array_of([0], pa.int64())]
    elif len(kinds) > 1 or sum(map(len, candidates)) > MAX_LITERALS:
        return None
    literals = pa.concat_arrays(candidates)
    literals = literals.cast(_as_wide(literals.type))
    around = _next_and_least(literals)
    return None if around is None else pa.concat_arrays([literals, *around, pa.nulls(1, literals.type)])


def _as_wide(arrow_type: pa.DataType) -> pa.DataType:
    """Return a type that holds every value Spark may read.

    That includes decimals with more digits than declared, and unsigned integers beyond the declared range.
    """
    if pa.types.is_decimal128(arrow_type):
        return pa.decimal128(MAX_DIGITS, arrow_type.scale)
    if pa.types.is_uint8(arrow_type) or pa.types.is_uint16(arrow_type):
        return pa.int32()
    return pa.binary() if pa.types.is_string(arrow_type) else arrow_type


def _next_and_least(values: pa.Array) -> list[pa.Array] | None:
    """Return the successor of each value, and extreme values of the type.

    None if the type is not supported. Binary values have no largest value.
    """
    arrow_type = values.type
    if pa.types.is_boolean(arrow_type):
        return [from_numpy(np.array([False, True]))]
    if pa.types.is_binary(arrow_type):
        return [
            pc.binary_join_element_wise(values, scalar_of(b"\0", arrow_type), scalar_of(b"", arrow_type)),
            array_of([b""], arrow_type),
        ]
    if pa.types.is_float32(arrow_type) or pa.types.is_float64(arrow_type):
        numbers = numbers_from(values)
        extremes = np.array([-np.inf, np.inf, np.nan], numbers.dtype)
        with np.errstate(over="ignore", under="ignore"):  # overflows after the largest value, underflows after zero
            after = np.nextafter(numbers, numbers.dtype.type(np.inf))
        return [from_numpy(after, arrow_type), from_numpy(extremes, arrow_type)]
    if pa.types.is_integer(arrow_type) or pa.types.is_date32(arrow_type) or pa.types.is_timestamp(arrow_type):
        numbers = numbers_from(values)
        ends = np.iinfo(numbers.dtype)
        after = numbers + (numbers < ends.max)
        return [from_numpy(after, arrow_type), from_numpy(np.array([ends.min, ends.max], numbers.dtype), arrow_type)]
    return _decimals(values) if pa.types.is_decimal128(arrow_type) else None


def _decimals(values: pa.Array) -> list[pa.Array]:
    arrow_type = values.type
    step, end = Decimal((0, (1,), -arrow_type.scale)), _end(arrow_type.precision, arrow_type.scale)
    after = [min(Context(prec=80).add(value, step), end) for value in values.to_pylist()]
    return [array_of(after, arrow_type), array_of([end.copy_negate(), end], arrow_type)]


def _end(digits: int, scale: int) -> Decimal:
    """Return the largest decimal with this number of digits and this scale."""
    return Decimal((0, (9,) * digits, -scale))
