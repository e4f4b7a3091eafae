"""Batches: dataclasses of arrays with one value per row."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
    """Base of batches; the fields are numpy arrays, Arrow arrays and batches.

    `elements`: in a ragged batch, the fields with several values per row; the values of row i are the elements
    `first[i]` to `first[i + 1]`, and `first` is the first field. `batches`: the types of the fields that are batches.
    """

    elements: ClassVar[tuple[str, ...]] = ()
    batches: ClassVar[Mapping[str, type[Columnar]]] = {}

    def __len__(self) -> int:
        values = getattr(self, fields(self)[0].name)
        return len(values) - 1 if self.elements else len(values)

    def take(self, rows: Numbers) -> Self:
        """Return the chosen rows, in the order of `rows`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if not self.elements:
            return type(self)(**{name: _take(each, rows) for name, each in values.items()})
        first = values.pop("first")
        if np.array_equal(rows, np.arange(len(first) - 1)):
            return self
        inside = elements_of(first, rows)
        taken = {name: _take(each, inside if name in self.elements else rows) for name, each in values.items()}
        taken["first"] = firsts(first[rows + 1] - first[rows])
        return type(self)(**taken)

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Join successive batches; `parts` is not empty."""
        if len(parts) == 1:
            return parts[0]
        values = {field.name: [getattr(part, field.name) for part in parts] for field in fields(cls)}
        joined = {name: _concat(each) for name, each in values.items() if name != "first"}
        if "first" in values:
            joined["first"] = firsts(np.concatenate([np.diff(first) for first in values["first"]]))
        return cls(**joined)


def _take(values: Any, rows: Numbers) -> Any:
    if isinstance(values, Columnar):
        return values.take(rows)
    return values.take(from_numpy(rows)) if isinstance(values, pa.Array) else values[rows]


def _concat(values: Sequence[Any]) -> Any:
    if isinstance(values[0], Columnar):
        return values[0].concat(values)
    return pa.concat_arrays(values) if isinstance(values[0], pa.Array) else np.concatenate(values)
