"""A predicate asked of rows: their values are all the evidence there is, and decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.errors import UnsupportedFeature
from parquet_core.evidence.many_leaves import bounds_of_values, outcomes_of_values
from parquet_core.evidence.two_columns import outcomes_from_two_bounds
from parquet_core.outcomes import Outcomes, may_match, must_match
from parquet_core.predicate import CompareColumns, Constant, OnPartitions, OnValues, Unsupported, leaves
from parquet_core.pruning import constant_answers, fold

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Path, Predicate


def selected_rows(predicate: Predicate, values: Mapping[Path, pa.Array], count: int) -> NDArray[np.bool_]:
    """Tell which of `count` rows a predicate selects.

    `values`: by column, in the type of its bounds. Raises UnsupportedFeature where they do not decide it.

    >>> import pyarrow as pa
    >>> from parquet_core.predicate import Compare, Op
    >>> selected_rows(Compare(("x",), Op.GT, pa.scalar(1)), {("x",): pa.array([1, 2, None])}, 3).tolist()
    [False, True, False]
    """
    answers = fold(predicate, [_answers(leaf, values, count) for leaf in leaves(predicate)])
    selected = must_match(answers)
    if not np.array_equal(selected, may_match(answers)):
        raise UnsupportedFeature(_undecided(predicate, answers, selected, values))
    return selected


def _answers(leaf: Leaf, values: Mapping[Path, pa.Array], count: int) -> OutcomeArray:
    match leaf:
        case Constant():
            return constant_answers(leaf, count)
        case Unsupported():
            return np.full(count, Outcomes.UNKNOWN, np.uint8)
        case OnPartitions(columns, _, test):
            return test(*(values[column] for column in columns))
        case CompareColumns(left, op, right):
            return outcomes_from_two_bounds(op, bounds_of_values(values[left]), bounds_of_values(values[right]))
    return outcomes_of_values(leaf, values[leaf.column])


def _undecided(
    predicate: Predicate, answers: OutcomeArray, selected: NDArray[np.bool_], values: Mapping[Path, pa.Array]
) -> str:
    """Name the part that is not decided, and the value of a row that does not decide it."""
    tested = [leaf for leaf in leaves(predicate) if isinstance(leaf, OnValues | OnPartitions)]
    limits = next((leaf.test.limits for leaf in tested if leaf.test.limits), "")
    row = int(np.flatnonzero(may_match(answers) & ~selected)[0])
    shown = ", ".join(f"{'.'.join(path)} = {_shown(array[row].as_py())}"[:100] for path, array in values.items())
    parts = ", ".join(leaf.part.sql for leaf in tested)
    why = limits or f"it is not known what Spark computes where {shown}"
    return f"{parts}: {why}; use pr.read" if parts else f"{why}; use pr.read"


def _shown(value: object) -> str:
    return repr(value.decode(errors="backslashreplace") if isinstance(value, bytes) else value)
