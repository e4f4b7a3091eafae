"""`x <= least` is `x = least`, and `x >= greatest` is `x = greatest`: of a tinyint `x <= -128` is `x = -128`.

An equality is looked up in dictionaries and bloom filters, an order is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.predicate import Compare, Op

if TYPE_CHECKING:
    from parquet_core.predicate import Predicate

_AT_LEAST = {Op.LE: Op.EQ, Op.GT: Op.NE}
_AT_MOST = {Op.GE: Op.EQ, Op.LT: Op.NE}


def equal_at_ends(condition: Predicate) -> Predicate:
    """Return a comparison with the least or greatest value of a type as one of equality, all else as it is.

    >>> equal_at_ends(Compare(("x",), Op.LE, pa.scalar(-128, pa.int8()))).op
    <Op.EQ: '='>
    """
    if not isinstance(condition, Compare) or not pa.types.is_integer(condition.value.type):
        return condition
    if pa.types.is_uint8(condition.value.type) or pa.types.is_uint16(condition.value.type):
        return condition  # Spark reads them wider than they are declared, and so what does not fit them
    ends = np.iinfo(condition.value.type.to_pandas_dtype())
    number = condition.value.as_py()
    ops = _AT_LEAST if number == ends.min else _AT_MOST if number == ends.max else {}
    op = ops.get(condition.op)
    return condition if op is None else Compare(condition.column, op, condition.value)
