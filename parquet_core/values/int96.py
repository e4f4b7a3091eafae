"""INT96 timestamps whose nanoseconds of the day are negative, which Arrow decodes as unsigned.

pyarrow splits instants before 1970 into a day and negative nanoseconds. Spark adds them up; Arrow divides the
nanoseconds as unsigned when it makes microseconds, so 1963 becomes 2548. As nanoseconds the sum wraps around and is
right, but only from 1677 to 2262.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from

# Microseconds after which Arrow may have wrapped an instant, up to 1970 plus 2**64 nanoseconds.
_FIRST_WRAPPED, _LAST_WRAPPED = (1 << 63) // 1_000, (1 << 64) // 1_000
# An instant of whole microseconds that really is after 2262 has this remainder as wrapped nanoseconds.
_REMAINDER_OF_LATER = -(1 << 64) % 1_000


def may_be_wrapped(micros: pa.ChunkedArray) -> bool:
    """True if an instant is in the range in which Arrow may have wrapped it."""
    latest = pc.max(micros.cast(pa.int64())).as_py()
    return latest is not None and latest >= _FIRST_WRAPPED


def unwrapped(micros: pa.ChunkedArray, nanos: pa.ChunkedArray) -> pa.Array:
    """Return instants in microseconds as Spark reads them, from both of Arrow's forms."""
    count, wide = _joined(micros), _joined(nanos)
    raw, exact = numbers_from(count.view(pa.int64())), numbers_from(wide.view(pa.int64()))
    wrapped = (raw >= _FIRST_WRAPPED) & (raw <= _LAST_WRAPPED) & (exact % 1_000 != _REMAINDER_OF_LATER)
    # Java divides the nanoseconds towards zero.
    truncated = np.sign(exact) * (np.abs(exact) // 1_000)
    valid = flags_from(count.is_valid())
    return from_numpy(np.where(wrapped, truncated, raw), valid=valid).view(micros.type)


def _joined(chunks: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.nulls(0, chunks.type)
