"""Correct INT96 timestamps with negative nanoseconds of the day.

pyarrow writes instants before 1970 as a day and negative nanoseconds. Spark adds the two. Arrow, when it decodes to
microseconds, divides the nanoseconds as an unsigned number, so that 1963 becomes 2548. When Arrow decodes to
nanoseconds, the sum wraps around and is correct, but only from 1677 to 2262.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from

# Range of microseconds in which Arrow may have wrapped an instant; it ends at 1970 plus 2**64 nanoseconds.
_FIRST_WRAPPED, _LAST_WRAPPED = (1 << 63) // 1_000, (1 << 64) // 1_000
# An instant that really is after 2262 wraps in nanoseconds too. With whole microseconds, it leaves this remainder.
_REMAINDER_OF_LATER = -(1 << 64) % 1_000


def may_be_wrapped(micros: pa.ChunkedArray) -> bool:
    """Return True if Arrow may have wrapped any of the instants."""
    latest = pc.max(micros.cast(pa.int64())).as_py()
    return latest is not None and latest >= _FIRST_WRAPPED


def unwrapped(micros: pa.ChunkedArray, nanos: pa.ChunkedArray) -> pa.Array:
    """Return instants in microseconds as Spark reads them.

    `micros`, `nanos`: the same instants as Arrow decodes them to microseconds and to nanoseconds.
    """
    count, wide = _joined(micros), _joined(nanos)
    raw, exact = numbers_from(count.view(pa.int64())), numbers_from(wide.view(pa.int64()))
    wrapped = (raw >= _FIRST_WRAPPED) & (raw <= _LAST_WRAPPED) & (exact % 1_000 != _REMAINDER_OF_LATER)
    # Integer division in Java truncates towards zero.
    truncated = np.sign(exact) * (np.abs(exact) // 1_000)
    valid = flags_from(count.is_valid())
    return from_numpy(np.where(wrapped, truncated, raw), valid=valid).view(micros.type)


def _joined(chunks: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.nulls(0, chunks.type)
