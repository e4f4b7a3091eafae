"""Poll a table once, for the sensor and for its trigger.

While a deferred sensor waits, the trigger polls the table instead of the sensor's task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# The state of a missing table; any table that appears counts as a change.
NO_TABLE: tuple[str, int, dict[str, str]] = ("", 0, {})


def poll_table(
    table: str, before: Sequence[Any] | None, version: int | None
) -> tuple[list[Any], dict[str, Any] | None]:
    """Poll a table; return its state, and the event if one is due, else None.

    `before`: the previous state, None for the first poll: a fingerprint, the number of changes, and if known the
    fingerprint of each partition.
    `version`: an event is due once a Delta table has this version or a later one, whatever the previous state. None: an
    event is due if the table has changed.

    All values are plain, so that Airflow can store them. With `version`, raises WrongUse for a table that has no
    versions, or has versions without an order, such as Iceberg snapshots.
    """
    from parquet_core.errors import WrongUse
    from prune_assets.tables.changed_partitions import partition_changes, partition_state
    from prune_assets.tables.changes import PolledState, poll
    from prune_assets.tables.opening import recognize

    seen = None if before is None else PolledState(*before[:2])
    partitions = before[2] if before is not None and len(before) > 2 else None
    now = poll(table, seen)
    if version is None:
        due = seen is not None and now != seen
    elif now.version is None or (seen is None and not recognize(table)[0].versions_grow):
        raise WrongUse(f"{table}: not a Delta table, so it has no versions; leave out `version` to wait for any change")
    else:
        due = now.version >= version
    if version is not None or (now == seen and partitions is not None):
        now_partitions = partitions
    else:
        now_partitions = partition_state(table)
    event = None
    if due:
        changed = partition_changes(table, partitions, now_partitions)
        event = {"table": table, "version": now.version, "fingerprint": now.fingerprint, "changes": now.changes}
        event |= changed._asdict()
    return [*now.state, now_partitions], event
