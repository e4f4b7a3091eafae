"""Values that a part of a predicate does not tell apart: one of each class is asked about, in place of all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import filled, numbers_from
from prune_assets.sql.evaluate_on_values import divisor_of, shows_clock
from prune_assets.sql.types.zones import DAY, SECOND, Clocks, Zone

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from parquet_core.format.schema import LeafColumn
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.syntax.parsed import ParsedPredicate

    # The class of each value, nulls aside, whose class is any.
    Classes = Callable[[pa.Array], NDArray[np.int64]]


def classes_of(
    written: ParsedPredicate, column: LeafColumn, semantics: SparkSemantics, is_builtin: Callable[[str], bool] | None
) -> Classes | None:
    """Return the classes of a column's values for a part that names it alone; None where each value is its own."""
    name, kind = column.path[-1], column.type
    if kind is not None and pa.types.is_signed_integer(kind):
        divisor = divisor_of(written, name)
        return None if divisor is None or divisor >= 1 << 63 else partial(_remainders, divisor)
    if isinstance(kind, pa.TimestampType) and kind.tz is not None and kind.unit in {"ms", "us"}:
        zone = Clocks.of(semantics).zone
        return partial(_minutes, zone) if zone is not None and shows_clock(written, name, is_builtin) else None
    return None


def _remainders(divisor: int, values: pa.Array) -> NDArray[np.int64]:
    rests: NDArray[np.int64] = np.fmod(numbers_from(filled(values.cast(pa.int64()), 0)), divisor)
    return rests


def _minutes(zone: Zone, values: pa.Array) -> NDArray[np.int64]:
    """Return the minute of the day that clocks show; an instant that the zone's rules are not certain of is its own."""
    instants = numbers_from(filled(values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64()), 0))
    ends = np.iinfo(np.int64)
    last = zone.last if zone.is_fixed else min(zone.last, zone.scanned_until)
    first, last = max(zone.first, int(ends.min)), min(last, int(ends.max))
    changes = [change for change in zone.changes() if first < change.instant <= last]
    offsets = np.array([zone.offset(first), *(change.after for change in changes)])
    offset = offsets[np.searchsorted([change.instant for change in changes], instants, side="right")]
    # Far from all times, so that no sum overflows and no class is that of an instant.
    shown = (instants % DAY + offset) % DAY // (60 * SECOND) - (1 << 62)
    found: NDArray[np.int64] = np.where((first <= instants) & (instants <= last), shown, instants)
    return found
