"""Evaluate a predicate on rows whose values are known."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import UnsupportedFeature
from parquet_core.fix import Fix, Step
from parquet_core.pruning.evidence.many_leaves import bounds_of_values, outcomes_of_values
from parquet_core.pruning.evidence.several_columns import outcomes_from_several_bounds
from parquet_core.pruning.outcomes import Outcomes, may_match, must_match
from parquet_core.pruning.predicate import (
    CompareColumns,
    Constant,
    InTuples,
    OnPartitions,
    OnValues,
    SkippingRemedy,
    Unsupported,
    columns_of_leaf,
    leaves,
)
from parquet_core.pruning.trees import constant_answers, fold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.format.schema import Path
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Leaf, Predicate


class RowUse(Enum):
    """Purpose of a test of rows. Error messages begin with the value of the member."""

    COUNT = "rows are not counted"
    READ = "rows are not read"


def selected_rows(
    predicate: Predicate, values: Mapping[Path, pa.Array], count: int, use: RowUse = RowUse.READ
) -> NDArray[np.bool_]:
    """Return a flag per row: True if the predicate selects the row.

    `values`: one array per column, in the type of its bounds. `count`: number of rows. Raises UnsupportedFeature if a
    row cannot be decided.

    >>> import pyarrow as pa
    >>> from parquet_core.pruning.predicate import Compare, Op
    >>> selected_rows(Compare(("x",), Op.GT, pa.scalar(1)), {("x",): pa.array([1, 2, None])}, 3).tolist()
    [False, True, False]
    """
    answers = [outcomes_on_rows(leaf, values, count) for leaf in leaves(predicate)]
    outcomes = fold(predicate, answers)
    selected = must_match(outcomes)
    undecided = np.flatnonzero(may_match(outcomes) & ~selected)
    if len(undecided):
        row = int(undecided[0])
        undecided_leaves = [
            leaf for leaf, of_rows in zip(leaves(predicate), answers, strict=True) if int(of_rows[row]).bit_count() != 1
        ]
        raise _error(undecided_leaves, row, values, use)
    return selected


def outcomes_on_rows(leaf: Leaf, values: Mapping[Path, pa.Array], count: int) -> OutcomeArray:
    """Return the outcome set of a leaf for each row.

    `values`: one array per column, in the type of its bounds.
    """
    match leaf:
        case Constant():
            return constant_answers(leaf, count)
        case Unsupported():
            return np.full(count, Outcomes.UNKNOWN, np.uint8)
        case OnPartitions(columns, _, test):
            return test(*(values[column] for column in columns))
        case CompareColumns() | InTuples():
            bounds = {column: bounds_of_values(values[column]) for column in columns_of_leaf(leaf)}
            return outcomes_from_several_bounds(leaf, bounds, count)
    return outcomes_of_values(leaf, values[leaf.column])


def refuse_unsupported(predicate: Predicate, use: RowUse) -> None:
    """Raise UnsupportedFeature for a condition that cannot be evaluated on rows.

    >>> try:
    ...     refuse_unsupported(Unsupported("f(x) = 1", "f() is not known here", is_whole=True), RowUse.COUNT)
    ... except UnsupportedFeature as error:
    ...     print(error.problem)
    rows are not counted: f(x) = 1: f() is not known here
    """
    for leaf in leaves(predicate):
        if isinstance(leaf, Unsupported) and leaf.is_whole:
            raise _not_evaluated(leaf, use)


def _not_evaluated(part: Unsupported, use: RowUse, why: str = "") -> UnsupportedFeature:
    """Return the error for a condition that is not evaluated on rows.

    `why`: a second reason; may be empty.
    """
    reasons = "; ".join(filter(None, (part.reason, why)))
    instead = "" if not part.remedy or isinstance(part.remedy, SkippingRemedy) else f"{part.remedy}, or "
    return UnsupportedFeature(f"{use.value}: {part.sql}: {reasons}", Fix(instead, Step.EVALUATE_IN_SPARK))


def _error(undecided: Sequence[Leaf], row: int, values: Mapping[Path, pa.Array], use: RowUse) -> UnsupportedFeature:
    """Return the error for the first undecided condition, with the row's values."""
    shown = ", ".join(f"{'.'.join(path)} = {_shown(array[row])}"[:100] for path, array in values.items())
    why = f"without Spark its result is unknown where {shown}"
    for leaf in undecided:
        match leaf:
            case Unsupported():
                return _not_evaluated(leaf, use, f"there is a row where {shown}" if shown else "")
            case OnValues() | OnPartitions() if leaf.test.is_full:
                # A Spark session does not test this many values either.
                fix = Fix(step=Step.READ_IN_SPARK)
                return UnsupportedFeature(f"{use.value}: {leaf.part.sql}: {leaf.test.limits}", fix)
            case OnValues() | OnPartitions():
                return _not_evaluated(leaf.part, use, leaf.test.limits or why)
    return UnsupportedFeature(f"{use.value}: {why}", Fix(step=Step.EVALUATE_IN_SPARK))


def _shown(scalar: pa.Scalar) -> str:
    try:
        value = scalar.as_py()
    except (OverflowError, ValueError):  # Python's datetime cannot represent the value
        return str(scalar.value)
    return repr(value.decode(errors="backslashreplace")) if isinstance(value, bytes) else str(value)
