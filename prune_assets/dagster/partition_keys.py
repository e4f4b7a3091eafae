"""Partition keys of the files of a table, by the values of their partition columns."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import dagster as dg

from parquet_core.errors import LayoutError
from prune_assets.dagster.partitions import is_window, kind_of, time_type, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class PartitionKeys:
    """Partition keys by the values of partition columns.

    `columns`: as of `partition_predicate`; `kinds`: the columns of the table, each with Spark's name of its type.
    """

    def __init__(
        self, partitions: dg.PartitionsDefinition[Any], columns: str | Mapping[str, str], kinds: Mapping[str, str]
    ) -> None:
        if isinstance(columns, str):
            self._dimensions = {"": _Dimension(partitions, columns, kind_of(kinds, columns))}
        elif isinstance(partitions, dg.MultiPartitionsDefinition):
            self._dimensions = {
                name: _Dimension(partitions.get_partitions_def_for_dimension(name), column, kind_of(kinds, column))
                for name, column in columns.items()
            }
        else:
            raise LayoutError(
                "partition_expr: it names columns by dimension, but the asset has one dimension; name one column"
            )

    def of(self, values: Mapping[str, str | None]) -> list[str]:
        """Return the keys of the partitions whose predicates select files with these values of partition columns.

        `values`: texts by column, from the log or from the names of folders; None is null.
        """
        keys = [dimension.keys_of(values[dimension.column]) for dimension in self._dimensions.values()]
        if "" in self._dimensions:
            return keys[0]
        return [str(dg.MultiPartitionKey(dict(zip(self._dimensions, each, strict=True)))) for each in product(*keys)]


@dataclass(frozen=True)
class _Dimension:
    """Partitions of one dimension, and the column that has their values."""

    partitions: dg.PartitionsDefinition[Any]
    column: str
    kind: str

    def keys_of(self, text: str | None) -> list[str]:
        """Return the keys of the partitions that have a value."""
        if text is None:
            return []
        if isinstance(self.partitions, dg.TimeWindowPartitionsDefinition):
            if is_window(self.partitions, {self.column: self.kind}, self.column):
                return self._windows_with(self.partitions, text)
            if self.partitions.has_partition_key(text):
                return [text]  # without a list of all keys
        value = value_of(self.column, self.kind, text)
        return [] if value is None else self._keys_by_value.get(value.as_py(), [])

    @cached_property
    def _keys_by_value(self) -> dict[Any, list[str]]:
        """Keys by the value that their predicate selects: `01` and `1` select the same number."""
        found = defaultdict(list)
        for key in self.partitions.get_partition_keys():
            value = value_of(self.column, self.kind, key)
            if value is not None:
                found[value.as_py()].append(key)
        return found

    def _windows_with(self, partitions: dg.TimeWindowPartitionsDefinition, text: str) -> list[str]:
        """Return the keys of the windows that have a date or time."""
        of_type = time_type(self.column, self.kind)
        try:
            value, instants = of_type.instants_of(datetime.fromisoformat(text), ZoneInfo(partitions.timezone))
        except ValueError:
            return []
        times = {instant.timestamp() for instant in instants}
        keys = {partitions.get_partition_key_for_timestamp(time) for time in times}
        return sorted(
            key
            for key in keys
            if partitions.has_partition_key(key)
            and value in of_type.values_of(partitions.time_window_for_partition_key(key))
        )
