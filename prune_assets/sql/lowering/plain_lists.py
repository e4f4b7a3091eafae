"""Lower `column IN (...)` for a long list of values of the column's own type, without work per value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.pruning.predicate import In
from parquet_core.ragged import distinct
from prune_assets.sql.functions.terms import Chain
from prune_assets.sql.lowering.column_values import is_text, values_of
from prune_assets.sql.types.spark_types import STRING

if TYPE_CHECKING:
    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.functions.terms import Term
    from prune_assets.sql.syntax import nodes

_WHOLE = {pa.int8(): np.int8, pa.int16(): np.int16, pa.int32(): np.int32, pa.int64(): np.int64}


def in_plain_list(term: Term, node: nodes.ListTest) -> Predicate | None:
    """Return `column IN (...)`; None if Spark casts, or fewer than two values fit the type."""
    value = term.single
    if not isinstance(value, Chain) or value.functions:
        return None
    if value.type == STRING and (strings := node.strings()) is not None:
        return is_text(value.column, sorted(strings))
    if value.column.type in _WHOLE and (integers := node.numbers()) is not None:
        return _lower_integers(value.column, integers)
    return None


def _lower_integers(column: LeafColumn, integers: list[int]) -> Predicate | None:
    values = values_of(column)
    listed = distinct(np.sort(np.array(integers, np.int64)))
    inside = listed[(listed >= values.least) & (listed <= values.greatest)]
    if len(inside) < 2:
        return None
    return In(column.path, from_numpy(inside.astype(_WHOLE[values.arrow])))
