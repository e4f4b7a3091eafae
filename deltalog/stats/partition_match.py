"""Match files with partitions by the meaning of values, not their spelling.

`1.1` and `1.10` are the same decimal, and a time without a zone may denote several instants. So a file is certainly,
possibly or not in a partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from deltalog.log.file_block import ABSENT
from deltalog.log.paths import path_array
from deltalog.stats.partition_values import partition_bounds
from parquet_core.arrow_arrays import flags_from, numbers_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deltalog.log.file_block import FileBlock
    from deltalog.table.schema import TableColumn, TableSchema


class Placed(NamedTuple):
    """Flags of the files of a block: certainly in a partition, and possibly in one."""

    certain: NDArray[np.bool_]
    possible: NDArray[np.bool_]


class Meaning(NamedTuple):
    """The values that a partition value may denote: null, and values from `low` to `high`.

    `low`, `high`: None if unknown.
    """

    null: bool
    value: bool
    low: Any = None
    high: Any = None

    @property
    def exact(self) -> tuple[bool, Any] | None:
        """The only value that the text may denote, as (is null, value); None if there are several."""
        if self.null != self.value and (self.null or (self.low is not None and self.low == self.high)):
            return self.null, self.low
        return None


_ANYTHING = Meaning(null=True, value=True)
_NULL = Meaning(null=True, value=False)


def partition_columns(schema: TableSchema) -> dict[str, TableColumn]:
    """Return the partition columns by their names in the log."""
    return {column.partition: column for column in schema.columns if column.partition is not None}


def meanings(column: TableColumn, value_strings: Sequence[str]) -> list[Meaning]:
    """Return what each text of a partition column may denote."""
    if not value_strings:
        return []
    bounds = partition_bounds(column, path_array(value_strings))
    low, high = _comparable(bounds.lower), _comparable(bounds.upper)
    nulls, has_null_count = numbers_from(bounds.null_count), flags_from(bounds.null_count.is_valid())
    return [
        # `nulls` has a placeholder where it is unknown whether a value is null.
        Meaning(
            null=not has_null_count[i] or bool(nulls[i]),
            value=not has_null_count[i] or not nulls[i],
            low=low[i],
            high=high[i],
        )
        for i in range(len(value_strings))
    ]


def _comparable(values: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    elif pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    # Python compares the two zeros as equal, as Spark does.
    comparable: list[Any] = values.to_pylist()
    return comparable


def place_files(schema: TableSchema, partitions: Sequence[Mapping[str, str | None]], block: FileBlock) -> Placed:
    """Return which files are certainly, and which are possibly, in one of the partitions.

    A column that a partition does not name matches any value.
    """
    columns = partition_columns(schema)
    combos, of_file = _combinations(block, list(columns))
    wanted = _Wanted(columns, partitions)
    answers = [wanted.holds(combo) for combo in _combination_meanings(columns, block, combos)]
    certain = np.array([answer[0] for answer in answers], np.bool_)
    possible = np.array([answer[1] for answer in answers], np.bool_)
    return Placed(certain[of_file], possible[of_file])


def _combinations(block: FileBlock, names: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the distinct combinations of value codes, and for each file the index of its combination."""
    codes = [block.partition[name].codes if name in block.partition else np.full(len(block), ABSENT) for name in names]
    if not codes:
        return np.zeros((1, 0), np.int32), np.zeros(len(block), np.intp)
    combos, of_file = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    return combos, of_file.reshape(-1)


_Combo = list[tuple[str | None, Meaning]]


def _combination_meanings(
    columns: Mapping[str, TableColumn], block: FileBlock, combos: NDArray[np.int32]
) -> Iterator[_Combo]:
    """Yield the text and the meaning of each value of each combination."""
    by_column: list[_Combo] = []
    for name, column in columns.items():
        value_strings = block.partition[name].values.to_pylist() if name in block.partition else []
        # NULL (-1) indexes the last entry, ABSENT (-2) the entry before it.
        by_column.append(
            [*zip(value_strings, meanings(column, value_strings), strict=True), (None, _ANYTHING), (None, _NULL)]
        )
    for combo in combos.tolist():
        yield [entries[code] for entries, code in zip(by_column, combo, strict=True)]


class _Wanted:
    """The partitions to match. A partition with one possible meaning is looked up by this meaning."""

    def __init__(self, columns: Mapping[str, TableColumn], partitions: Sequence[Mapping[str, str | None]]) -> None:
        meant: dict[tuple[str, str], Meaning] = {}
        for name, column in columns.items():
            value_strings = sorted(
                {value_string for values in partitions if (value_string := values.get(name)) is not None}
            )
            meant |= {
                (name, value_string): meaning
                for value_string, meaning in zip(value_strings, meanings(column, value_strings), strict=True)
            }
        self._all: list[_Combo] = []
        for values in partitions:
            combo: _Combo = []
            for name in columns:
                value_string = values.get(name)
                absent = _ANYTHING if name not in values else _NULL
                combo.append((value_string, absent if value_string is None else meant[name, value_string]))
            self._all.append(combo)
        self._exact = {exact for combo in self._all if (exact := _exact(combo)) is not None}
        self._texts = {_texts(combo) for combo in self._all if all(meaning != _ANYTHING for _, meaning in combo)}
        self._inexact = [combo for combo in self._all if _exact(combo) is None]

    def holds(self, combo: _Combo) -> tuple[bool, bool]:
        """Return whether a combination of values certainly, and possibly, is one of the partitions."""
        exact = _exact(combo)
        if all(meaning is not _ANYTHING for _, meaning in combo) and _texts(combo) in self._texts:
            return True, True
        if exact is not None and exact in self._exact:
            return True, True
        rivals = self._inexact if exact is not None else self._all
        certain = any(all(_covers(b, a) for (_, a), (_, b) in zip(combo, rival, strict=True)) for rival in rivals)
        possible = certain or any(
            all(_overlap(a, b) for (_, a), (_, b) in zip(combo, rival, strict=True)) for rival in rivals
        )
        return certain, possible


def _exact(combo: _Combo) -> tuple[tuple[bool, Any], ...] | None:
    exact = [meaning.exact for _, meaning in combo]
    return None if None in exact else tuple(value for value in exact if value is not None)


def _texts(combo: _Combo) -> tuple[str | None, ...]:
    return tuple(value_string for value_string, _ in combo)


def _covers(wanted: Meaning, held: Meaning) -> bool:
    """True if every value that `held` may denote is wanted."""
    return wanted == _ANYTHING or (held.exact is not None and held.exact == wanted.exact)


def _overlap(a: Meaning, b: Meaning) -> bool:
    if a.null and b.null:
        return True
    if not (a.value and b.value):
        return False
    if any(side is None for side in (a.low, a.high, b.low, b.high)):
        return True
    return bool(a.low <= b.high and b.low <= a.high)
