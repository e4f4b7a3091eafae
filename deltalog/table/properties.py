"""Properties and domains of a table: switches, durations, clustering and indexed columns.

Source: the Delta protocol, "Per-file Statistics" and "Clustered Table"; `delta.dataSkippingNumIndexedCols` and
`delta.dataSkippingStatsColumns` of its reference implementation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from deltalog.errors import MalformedLog
from parquet_core.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deltalog.log.actions import Metadata
    from deltalog.table.schema import TableColumn, TableSchema
    from parquet_core.format.schema import Path


_PARTS = re.compile(r"(\d{1,9})\s*(microsecond|millisecond|second|minute|hour|day|week)s?\b")
_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
DAY_MS = 86_400_000
CLUSTERING = "delta.clustering"
NAMED = "delta.dataSkippingStatsColumns"
COUNTED = "delta.dataSkippingNumIndexedCols"
COUNTED_BY_DEFAULT = 32
APPEND_ONLY, CHANGE_FEED = "delta.appendOnly", "delta.enableChangeDataFeed"
DELETION_VECTORS = "delta.enableDeletionVectors"
IN_COMMIT_TIMESTAMPS = "delta.enableInCommitTimestamps"
# The first version with in-commit timestamps, and its time.
SINCE_VERSION = "delta.inCommitTimestampEnablementVersion"
SINCE_TIME = "delta.inCommitTimestampEnablementTimestamp"
ROW_IDS_ENABLED = "delta.enableRowTracking"
COLUMN_MAPPING, LAST_COLUMN_ID = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"
CHECKPOINT_POLICY = "delta.checkpointPolicy"
TOMBSTONE_RETENTION, TOMBSTONE_RETENTION_DEFAULT = "delta.deletedFileRetentionDuration", "interval 1 week"
CONSTRAINT = "delta.constraints."


def is_true(properties: Mapping[str, str], name: str) -> bool:
    """Return True if a property is set to true.

    >>> is_true({"delta.appendOnly": "True"}, "delta.appendOnly")
    True
    """
    return properties.get(name, "").lower() == "true"


@dataclass(frozen=True, slots=True)
class _Switch:
    """Descriptor for a boolean property."""

    name: str

    def __get__(self, properties: Mapping[str, str], _: object = None) -> bool:
        return is_true(properties, self.name)


class TableProperties(dict[str, str]):
    """The properties of a table by name; some are also typed attributes.

    >>> TableProperties({"delta.appendOnly": "true"}).append_only
    True
    """

    append_only = _Switch(APPEND_ONLY)
    change_feed = _Switch(CHANGE_FEED)
    deletion_vectors = _Switch(DELETION_VECTORS)
    in_commit_timestamps = _Switch(IN_COMMIT_TIMESTAMPS)
    row_tracking = _Switch(ROW_IDS_ENABLED)
    row_tracking_suspended = _Switch("delta.rowTrackingSuspended")
    statistics_as_struct = _Switch("delta.checkpoint.writeStatsAsStruct")

    @classmethod
    def of(cls, metadata: Metadata) -> TableProperties:
        """Return the properties that have a value."""
        return cls((name, value) for name, value in (metadata.configuration or {}).items() if value is not None)

    @property
    def column_mapping(self) -> str:
        """Column naming in files: none, name or id."""
        return self.get(COLUMN_MAPPING, "none").lower()

    @property
    def last_column_id(self) -> int | None:
        """The highest column id ever assigned; None if unknown."""
        value = self.get(LAST_COLUMN_ID, "")
        return int(value) if value.isdecimal() else None


def milliseconds(text: str) -> int | None:
    """Parse an interval to milliseconds; None if invalid or of variable length, such as a month.

    >>> [milliseconds(text) for text in ("interval 30 days", "1 week 2 HOURS", "interval 1 month", "")]
    [2592000000, 612000000, None, None]
    """
    words = text.strip().lower().removeprefix("interval").strip()
    parts = list(_PARTS.finditer(words))
    if not parts or _PARTS.sub("", words).strip():
        return None
    return sum(int(part[1]) * _MICROS[part[2]] for part in parts) // 1_000


def duration_of(properties: Mapping[str, str], name: str, otherwise: str) -> int:
    """Return the duration in a table property, in milliseconds. Raises WrongUse if invalid."""
    value = properties.get(name, otherwise)
    duration = milliseconds(value)
    if duration is None:
        raise WrongUse(f"table property {name} is {value!r}, which is not a duration; set it to one like {otherwise!r}")
    return duration


class _ClusteringDomain(msgspec.Struct, rename="camel"):
    clustering_columns: list[tuple[str, ...]]


def clustering_columns(domains: Mapping[str, str], *, location: str) -> tuple[tuple[str, ...], ...]:
    """Return the physical paths of the clustering columns; empty if the table is not clustered.

    >>> clustering_columns({"delta.clustering": '{"clusteringColumns": [["a", "b"]]}'}, location="t")
    (('a', 'b'),)
    """
    if CLUSTERING not in domains:
        return ()
    try:
        return tuple(msgspec.json.decode(domains[CLUSTERING], type=_ClusteringDomain).clustering_columns)
    except msgspec.DecodeError as error:
        raise MalformedLog(
            f"{location}: the domain {CLUSTERING} is damaged ({error}); cluster the table again"
        ) from None


def indexed_columns(
    schema: TableSchema, properties: Mapping[str, str], domains: Mapping[str, str] | None = None
) -> tuple[TableColumn, ...]:
    """Return the leaves that files should have statistics for, in schema order.

    An array or a map counts as one column, a struct as its leaves, and partition columns are not counted. Clustering
    columns (in `domains`) are always included. Raises MalformedLog if their domain is damaged.
    """
    data = [column for column in schema.columns if column.partition is None]
    clustered = frozenset(clustering_columns(domains or {}, location="the table"))
    if NAMED in properties:
        names = named_columns(properties[NAMED])
        return tuple(column for column in data if is_named(column, names) or _is_below(column.physical, clustered))
    most = indexed_count(properties)
    return tuple(
        column for i, column in enumerate(data) if most < 0 or i < most or _is_below(column.physical, clustered)
    )


def indexed_count(properties: Mapping[str, str]) -> int:
    """Return the number of indexed columns; negative means all. Non-numeric values are ignored."""
    try:
        return int(properties.get(COUNTED, COUNTED_BY_DEFAULT))
    except ValueError:
        return COUNTED_BY_DEFAULT


def named_columns(text: str) -> frozenset[Path]:
    """Return the column paths in a property, case folded.

    >>> sorted(named_columns("a, `b,c`.`d.e`, S.x"))
    [('a',), ('b,c', 'd.e'), ('s', 'x')]
    """
    return frozenset(_paths(text))


def _paths(text: str) -> Iterator[Path]:
    path, quoted = [""], False
    for sign in f"{text},":
        if sign == "`":
            quoted = not quoted
        elif quoted or sign not in ",.":
            path[-1] += sign
        elif sign == ".":
            path.append("")
        else:
            folded = tuple(name.strip().casefold() for name in path)
            path = [""]
            if all(folded):
                yield folded


def is_named(column: TableColumn, names: frozenset[Path]) -> bool:
    """True if a column or an enclosing struct is in `names`."""
    path = tuple(name.casefold() for name in column.leaf.path)
    return _is_below(path, names)


def _is_below(path: Path, places: frozenset[Path]) -> bool:
    return any(path[:length] in places for length in range(1, len(path) + 1))
