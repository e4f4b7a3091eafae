"""Row ids: every file has a range of its own, behind all that were given away before.

Source: the Delta protocol, "Row Tracking". The highest id that was given away stands in the table's
`delta.rowTracking` domain. Rows that are carried from file to file would have to keep theirs in columns of the files,
which is not done here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deltalog.errors import MalformedLog, RefusedCommit, UnsupportedTable
from deltalog.log.actions import DomainMetadata
from deltalog.log.paths import canonical_path

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from deltalog.log.actions import Add
    from deltalog.transaction.change import Change

ROW_TRACKING, DOMAIN = "rowTracking", "delta.rowTracking"
ENABLED, _SUSPENDED = "delta.enableRowTracking", "delta.rowTrackingSuspended"


class _Mark(msgspec.Struct, rename="camel"):
    row_id_high_water_mark: int


class _Count(msgspec.Struct, rename="camel"):
    num_records: int


def highest_row_id(domains: Mapping[str, str], *, place: str) -> int:
    """Return the highest row id that was given away, -1 when none was.

    >>> highest_row_id({"delta.rowTracking": '{"rowIdHighWaterMark": 9}'}, place="t"), highest_row_id({}, place="t")
    (9, -1)
    """
    if DOMAIN not in domains:
        return -1
    try:
        return msgspec.json.decode(domains[DOMAIN], type=_Mark).row_id_high_water_mark
    except msgspec.DecodeError as error:
        raise MalformedLog(f"{place}: the domain {DOMAIN} is damaged ({error}); commit with Spark") from None


def first_row_ids(adds: Sequence[Add], highest: int) -> tuple[list[int], DomainMetadata | None]:
    """Return the first row id of each file, and what the domain says then, None when no id was given away."""
    ids, last = [], highest
    for add in adds:
        ids.append(last + 1)
        last += msgspec.json.decode(str(add.stats), type=_Count).num_records
    said = msgspec.json.encode({"rowIdHighWaterMark": last}).decode()
    return ids, DomainMetadata(DOMAIN, said) if last > highest else None


def check_row_ids(
    change: Change, *, features: Collection[str], before: Mapping[str, str], after: Mapping[str, str], place: str
) -> None:
    """Raise what row tracking has against a change; `before` and `after` are the table's properties."""
    if _is_true(after, ENABLED) and not _is_true(before, ENABLED):
        raise UnsupportedTable(
            f"{place}: {ROW_TRACKING} is not enabled here; enable it with Spark, which does all of it"
        )
    if ROW_TRACKING not in features or not change.adds:
        return
    if _is_true(after, _SUSPENDED):
        raise UnsupportedTable(f"{place}: {ROW_TRACKING} is suspended, which is not understood; commit with Spark")
    removed = set(change.removes)
    carried = bool(removed) and not change.replaces and _is_true(after, ENABLED)
    if carried or not change.data_change or any(canonical_path(add.path) in removed for add in change.adds):
        raise UnsupportedTable(
            f"{place}: {ROW_TRACKING}: rows would have to keep their ids in the added files, which is not done here; "
            "commit with Spark"
        )
    for add in change.adds:
        if add.stats is None:
            raise RefusedCommit(
                f"{place}: add {add.path!r}: {ROW_TRACKING} gives every row an id; give statistics with numRecords"
            )


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").lower() == "true"
