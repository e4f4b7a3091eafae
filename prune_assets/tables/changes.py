"""Detect changes of a table; sensors of Dagster and Airflow keep the state of a table between two polls."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from prune_assets.tables.opening import recognize

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class PolledState:
    """Last known state of a table.

    `changes`: number of changes that were noticed.
    `version`: Delta version or Iceberg snapshot. None if it was not read or the table has no versions.
    """

    fingerprint: str
    changes: int
    version: int | None = field(default=None, compare=False)

    @property
    def state(self) -> tuple[str, int]:
        """Plain values to store in a cursor."""
        return self.fingerprint, self.changes


def poll(table: Path | str, before: PolledState | None) -> PolledState:
    """Poll a table; returns `before` if nothing changed.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(9)}), f"{table}/part-0.parquet")
    >>> first = poll(table, None)
    >>> poll(table, first) == first
    True
    >>> pq.write_table(pa.table({"id": range(9)}), f"{table}/part-1.parquet")
    >>> poll(table, first).changes
    2

    `changes` also grows if the table returns to an earlier state. Costs a listing; raises TableNotFound.
    """
    now = _fingerprint(table)
    fingerprint, version = fingerprint_text(now), now if isinstance(now, int) else None
    if before is None or before.fingerprint != fingerprint:
        return PolledState(fingerprint, 1 if before is None else before.changes + 1, version)
    return before if before.version == version else replace(before, version=version)


def table_fingerprint(table: Path | str) -> str:
    """Return the fingerprint of a table: its version, or a hash of the names, sizes and times of the files.

    Raises TableNotFound if the location has no table.
    """
    return fingerprint_text(_fingerprint(table))


def fingerprint_text(fingerprint: int | str) -> str:
    """Return a fingerprint as text for cursors and run keys.

    >>> fingerprint_text(12), fingerprint_text("0a1b2c3d")
    ('version 12', '0a1b2c3d')
    """
    return f"version {fingerprint}" if isinstance(fingerprint, int) else fingerprint


def _fingerprint(table: Path | str) -> int | str:
    table_format, path = recognize(table)
    return table_format.fingerprint(str(path))


def polled_states(cursor: str | None) -> dict[str, PolledState]:
    """Return the last known state of each table from a sensor's cursor.

    The cursor is a JSON object that maps each table name to a pair: its fingerprint and its number of changes.

    >>> polled_states('{"lake/a": ["version 3", 2]}')
    {'lake/a': PolledState(fingerprint='version 3', changes=2, version=None)}
    """
    by_label = json.loads(cursor) if cursor else {}
    # Cursors of version 0.1 have only the fingerprint.
    return {
        label: PolledState(seen, 0) if isinstance(seen, str) else PolledState(*seen) for label, seen in by_label.items()
    }
