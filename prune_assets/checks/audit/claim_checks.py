"""Claims about containers of one column, compared with values.

Containers are a file, a row group or pages; values come in batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from, valid_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_core.trust.bounds import Bounds

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]


class Outside(NamedTuple):
    """A value outside its bound.

    `containers`: number of containers with such values.
    """

    container: int
    row: int
    value: pa.Scalar
    bound: pa.Scalar
    containers: int


class Miscount(NamedTuple):
    """A wrong count.

    `what`: what is counted, such as "null".
    `loses_rows`: True if predicates lose rows because of it.
    `containers`: number of containers with a wrong count.
    """

    container: int
    what: str
    claimed: int
    actual: int
    loses_rows: bool
    containers: int


@dataclass(slots=True)
class CheckedClaims:
    """Claimed bounds of containers, and running counts of the compared values."""

    claimed: Bounds
    nulls: Numbers = field(init=False)
    nans: Numbers = field(init=False)
    rows: Numbers = field(init=False)
    _outside: dict[str, tuple[Outside, set[int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nulls, self.nans, self.rows = (np.zeros(len(self.claimed), np.int64) for _ in range(3))

    @property
    def claims(self) -> tuple[int, int]:
        """Number of bounds and number of counts that are claimed."""
        sides = [self.claimed.lower, self.claimed.upper]
        counts = [self.claimed.null_count]
        if pa.types.is_floating(self.claimed.lower.type):
            counts.append(self.claimed.nan_count)
        return _known(sides), _known(counts)

    def take(self, values: pa.Array, of: Numbers, row: Numbers) -> None:
        """Compare values with the claims about their containers.

        `of`: the container of each value.
        `row`: row number of each value, for messages.
        """
        count = len(self.claimed)
        null = ~valid_flags(values)
        self.rows += np.bincount(of, minlength=count)
        self.nulls += np.bincount(of[null], minlength=count)
        if pa.types.is_floating(values.type):
            self.nans += np.bincount(of[flags_from(pc.is_nan(values))], minlength=count)
        for side, outside in (("min", pc.less), ("max", pc.greater)):
            bounds = self.claimed.lower if side == "min" else self.claimed.upper
            if bounds.null_count < len(bounds):
                self._compare(side, outside, bounds, values, of, row)

    def _compare(  # noqa: PLR0917 - all inputs of one comparison
        self, side: str, outside: Callable[..., pa.Array], bounds: pa.Array, values: pa.Array, of: Numbers, row: Numbers
    ) -> None:
        ordered, limits = _ordered(values), _ordered(bounds)
        limit = limits[0] if len(limits) == 1 else limits.take(from_numpy(of))
        wrong = np.flatnonzero(flags_from(outside(ordered, limit)))
        if len(wrong) == 0:
            return
        first = int(wrong[0])
        container = int(of[first])
        violation = Outside(container, int(row[first]), values[first], bounds[container], 1)
        _, containers = self._outside.setdefault(side, (violation, set()))
        containers.update(np.unique(of[wrong]).tolist())

    def outside(self) -> Iterator[tuple[str, Outside]]:
        """Yield, for "lower" and "upper", the first value outside its bound of this side."""
        for side, (violation, containers) in self._outside.items():
            yield side, violation._replace(containers=len(containers))

    def miscounts(self, *, whole: bool, extremes_alone: bool = False) -> Iterator[Miscount]:
        """Yield wrong counts of nulls and of NaN.

        `whole`: True if all rows of the containers were compared.
        `extremes_alone`: True if plans rely only on counts of 0 and of all rows, so that other counts are not reported.
        """
        kinds = [("null", self.claimed.null_count, self.nulls, self.rows)]
        if pa.types.is_floating(self.claimed.lower.type):
            kinds.append(("NaN", self.claimed.nan_count, self.nans, self.rows - self.nulls))
        for what, counts, seen, most in kinds:
            claimed, is_claimed = numbers_from(counts), valid_flags(counts)
            others, rows = most - seen, self.claimed.row_count
            loses = is_claimed & (((claimed == 0) & (seen > 0)) | ((claimed == rows) & (others > 0) & (rows > 0)))
            wrong = is_claimed & ((seen != claimed) if whole else ((seen > claimed) | (others > rows - claimed)))
            wrong = loses if extremes_alone else wrong | loses
            if wrong.any():
                first = int(np.argmax(loses if loses.any() else wrong))
                actual, expected = int(seen[first]), int(claimed[first])
                yield Miscount(first, what, expected, actual, bool(loses.any()), int(wrong.sum()))


def _known(parts: Sequence[pa.Array]) -> int:
    return sum(len(part) - part.null_count for part in parts)


def _ordered(values: pa.Array) -> pa.Array:
    return values.cast(pa.uint8()) if pa.types.is_boolean(values.type) else values
