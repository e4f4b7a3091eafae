"""Ranks of values of any ordered type.

Ranks are integers in the order of the values, which numpy can search and merge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import numbers_from

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ranks(*arrays: pa.Array) -> list[NDArray[np.int64]]:
    """Rank arrays of one type together.

    Equal values share a rank; nulls get ranks above all values.

    >>> [r.tolist() for r in ranks(pa.array(["b", "a"]), pa.array(["c", "b"]))]
    [[2, 1], [3, 2]]
    """
    together = pa.concat_arrays(arrays)
    if pa.types.is_boolean(together.type):
        together = together.cast(pa.uint8())
    # Nulls are last by default. The argument that requests it differs between versions of pyarrow.
    joint_ranks = numbers_from(pc.rank(together, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    return np.split(joint_ranks, np.cumsum([len(array) for array in arrays])[:-1])
