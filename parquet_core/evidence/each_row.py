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
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Path, Predicate

_LET_SPARK = "let Spark evaluate it, by pr.read"
# How the limits of a test end that was asked about more values than it takes.
TOO_MANY = "values to test"
# How a remedy begins by which a part is evaluated; others help metadata to skip alone, as `add a range` does.
_OTHERWISE = ("compare ", "pass ", "put ", "set ", "write ")


def selected_rows(
    predicate: Predicate, values: Mapping[Path, pa.Array], count: int, among: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Tell which of `count` rows a predicate selects.

    `values`: by column, in the type of its bounds. `among`: the rows that matter, by default all. Raises
    UnsupportedFeature where values do not decide it for one that does.

    >>> import pyarrow as pa
    >>> from parquet_core.predicate import Compare, Op
    >>> selected_rows(Compare(("x",), Op.GT, pa.scalar(1)), {("x",): pa.array([1, 2, None])}, 3).tolist()
    [False, True, False]
    """
    answers = [_answers(leaf, values, count) for leaf in leaves(predicate)]
    outcomes = fold(predicate, answers)
    selected = must_match(outcomes)
    undecided = np.flatnonzero(may_match(outcomes) & ~selected & (True if among is None else among))
    if len(undecided):
        row = int(undecided[0])
        found = [leaf for leaf, of_rows in zip(leaves(predicate), answers, strict=True) if not _is_one(of_rows[row])]
        raise UnsupportedFeature(_why(found, row, values))
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


def not_evaluated(part: Unsupported, why: str = "", then: str = _LET_SPARK) -> str:
    """Say that a part is not evaluated, `why` beside its own reason, and what to do instead.

    >>> not_evaluated(Unsupported("f(x) = 1", "f() is not known here"))
    'f(x) = 1: f() is not known here; let Spark evaluate it, by pr.read'
    """
    says = "; ".join(filter(None, (part.reason, why)))
    instead = f"{part.remedy}, or " if part.remedy.startswith(_OTHERWISE) else ""
    return f"{part.sql}: {says}; {instead}{then}"


def _is_one(outcomes: int) -> bool:
    return int(outcomes).bit_count() == 1


def _why(undecided: Sequence[Leaf], row: int, values: Mapping[Path, pa.Array]) -> str:
    """Name a part that is not decided, and the values of a row that do not decide it."""
    shown = ", ".join(f"{'.'.join(path)} = {_shown(array[row].as_py())}"[:100] for path, array in values.items())
    for leaf in undecided:
        if isinstance(leaf, Unsupported):
            return not_evaluated(leaf, f"there is a row where {shown}" if shown else "")
        if isinstance(leaf, OnValues | OnPartitions):
            # So many are not asked of a session either.
            then = "read it with pr.read" if leaf.test.limits.endswith(TOO_MANY) else _LET_SPARK
            why = leaf.test.limits or f"it is not known what Spark computes where {shown}"
            return not_evaluated(leaf.part, why, then)
    return f"it is not known what Spark computes where {shown}; {_LET_SPARK}"


def _shown(value: object) -> str:
    return repr(value.decode(errors="backslashreplace")) if isinstance(value, bytes) else str(value)
