"""Batches: dataclasses of arrays with one value per row."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from parquet_core.arrow_arrays import from_numpy
from parquet_core.ragged import elements_of, firsts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from parquet_core.arrays import Numbers


@dataclass(frozen=True, slots=True)
class Columnar:
    """Base class of batches, whose fields are numpy arrays, Arrow arrays and batches.

    `elements`: names of the fields with several values per row. A batch with such fields begins with a field of
    offsets, `first`: row i has the values from `first[i]` up to but not including `first[i + 1]`.
    `batches`: types of the fields that are batches.
    """

    elements: ClassVar[tuple[str, ...]] = ()
    batches: ClassVar[Mapping[str, type[Columnar]]] = {}

    def __len__(self) -> int:
        names: tuple[str, ...] = self.__match_args__
        return len(getattr(self, names[0])) - bool(self.elements)

    def take(self, rows: Numbers) -> Self:
        """Return the chosen rows, in the order of `rows`."""
        names: tuple[str, ...] = self.__match_args__
        values, inside, arrow_rows = [*attrgetter(*names)(self)], rows, None
        if self.elements:
            first: Numbers = values[0]
            if np.array_equal(rows, np.arange(len(first) - 1)):
                return self
            inside, values[0] = elements_of(first, rows), firsts(first[rows + 1] - first[rows])
        # This loop avoids function calls, since small batches are taken often.
        for i, name in enumerate(names):
            at = inside if name in self.elements else rows
            if name == "first":
                continue
            if values[i].__class__ is np.ndarray:
                values[i] = values[i][at]
            elif name in self.batches:
                values[i] = values[i].take(at)
            else:
                arrow_rows = from_numpy(at) if arrow_rows is None or self.elements else arrow_rows
                values[i] = values[i].take(arrow_rows)
        return type(self)(*values)

    def slice(self, start: int, stop: int) -> Self:
        """Return the rows `start` to `stop`, without a copy if each row has one value."""
        if start == 0 and stop == len(self):
            return self
        if self.elements:
            return self.take(np.arange(start, stop))
        names: tuple[str, ...] = self.__match_args__
        values = [getattr(self, name) for name in names]
        parts = [it.slice(start, stop) if isinstance(it, Columnar) else it[start:stop] for it in values]
        return type(self)(*parts)

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Join successive batches; `parts` is not empty."""
        if len(parts) == 1:
            return parts[0]
        names: tuple[str, ...] = cls.__match_args__
        joined = [_concat([getattr(part, name) for part in parts]) for name in names]
        if cls.elements:
            joined[0] = firsts(np.concatenate([np.diff(getattr(part, names[0])) for part in parts]))
        return cls(*joined)


def _concat(values: Sequence[Any]) -> Any:
    if isinstance(values[0], Columnar):
        return values[0].concat(values)
    return pa.concat_arrays(values) if isinstance(values[0], pa.Array) else np.concatenate(values)
