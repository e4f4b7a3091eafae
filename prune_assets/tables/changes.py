"""Notice that a table changed: what the sensors of Dagster and of Airflow have between one look and the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.tables.opening import recognize

if TYPE_CHECKING:
    from pathlib import Path


class Seen(NamedTuple):
    """What a table was when it was last looked at, and how many changes of it were noticed."""

    fingerprint: str
    changes: int

    @property
    def version(self) -> int | None:
        """The version of a Delta table; None of plain files.

        >>> Seen("version 12", 1).version, Seen("0a1b2c3d", 1).version
        (12, None)
        """
        kind, _, number = self.fingerprint.partition(" ")
        return int(number) if kind == "version" else None


def look(table: Path | str, before: Seen | None) -> Seen:
    """Look at a table: what was seen before comes back as it is where nothing changed.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(9)}), f"{table}/part-0.parquet")
    >>> first = look(table, None)
    >>> look(table, first) == first
    True
    >>> pq.write_table(pa.table({"id": range(9)}), f"{table}/part-1.parquet")
    >>> look(table, first).changes
    2

    The number of changes tells files apart that come back. Costs a listing; TableNotFound where there is no table.
    """
    now = table_fingerprint(table)
    if before is not None and before.fingerprint == now:
        return before
    return Seen(now, 1 if before is None else before.changes + 1)


def table_fingerprint(table: Path | str) -> str:
    """Return the fingerprint of a table: its Delta version, or a hash of the names, sizes and times of its files.

    Raises TableNotFound if there is neither.
    """
    found, path = recognize(table)
    return found.fingerprint(str(path))


def seen_tables(cursor: str | None) -> dict[str, Seen]:
    """Return the last state seen of each table, from a cursor: JSON of pairs by the name of a table.

    >>> seen_tables('{"lake/a": ["version 3", 2]}')
    {'lake/a': Seen(fingerprint='version 3', changes=2)}
    """
    by_label = json.loads(cursor) if cursor else {}
    # Cursors of version 0.1 have the fingerprint alone.
    return {label: Seen(seen, 0) if isinstance(seen, str) else Seen(*seen) for label, seen in by_label.items()}
