"""Lines of a commit: one JSON action per line, `commitInfo` first.

Fields that the protocol requires are always written, others only if they have a value. Source: the Delta protocol,
"Actions", "Row Tracking" and "In-Commit Timestamps".

With row tracking, every file gets its own range of row ids, above all ids assigned before. The highest id is stored in
the table's `delta.rowTracking` domain. Rows copied between files would have to keep their ids in columns of the files;
this is not supported. An in-commit timestamp is later than the previous commit's, whatever the clocks show.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import msgspec

from deltalog.errors import MalformedLog, RefusedCommit, UnsupportedTable
from deltalog.log.actions import DomainMetadata, RecordCount
from deltalog.log.commit_file import IN_COMMIT, in_commit_time
from deltalog.log.paths import canonical_path
from deltalog.table.properties import IN_COMMIT_TIMESTAMPS, SINCE_TIME, SINCE_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltalog.log.actions import Add, DeletionVector, Metadata, Protocol, Transaction
    from deltalog.transaction.change import Change, CommitContext
    from deltalog.transaction.live_files import LiveFile


_ENCODER = msgspec.json.Encoder()
ROW_TRACKING, DOMAIN = "rowTracking", "delta.rowTracking"


class _Add(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    path: str
    partition_values: dict[str, str | None]
    size: int
    modification_time: int
    data_change: bool
    stats: str | None = None
    tags: dict[str, str | None] | None = None
    deletion_vector: dict[str, Any] | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None


class _Remove(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    path: str
    deletion_timestamp: int
    data_change: bool
    extended_file_metadata: bool
    partition_values: dict[str, str | None]
    size: int
    deletion_vector: dict[str, Any] | None = None


def commit_info(change: Change, *, read_version: int | None, isolation: str, txn_id: str, now: int) -> dict[str, Any]:
    """Return the `commitInfo` of a change; `now` is in milliseconds."""
    info = {
        "timestamp": now,
        "operation": change.operation,
        # Spark reads these as strings; values of other types are encoded as JSON.
        "operationParameters": {name: _as_text(value) for name, value in change.parameters.items()},
        "readVersion": read_version,
        "isolationLevel": isolation,
        "isBlindAppend": change.blind_append,
        "operationMetrics": _metrics(change) or None,
        "engineInfo": _engine(),
        "txnId": txn_id,
    }
    return {name: value for name, value in info.items() if value is not None}


def first_line(info: Mapping[str, Any]) -> bytes:
    """Return the line of the `commitInfo`."""
    return _line("commitInfo", info)


def other_lines(change: Change, removes: Sequence[LiveFile], *, now: int) -> bytes:
    """Return the lines of all actions except `commitInfo`, `metaData` and `add`.

    `now`: the deletion time of removed files, in milliseconds.
    """
    lines = []
    if change.protocol is not None:
        lines.append(_line("protocol", _fields_of(change.protocol)))
    if change.txn is not None:
        txn = msgspec.structs.replace(change.txn, last_updated=now)
        lines.append(_line("txn", _fields_of(txn)))
    lines += [_line("domainMetadata", msgspec.to_builtins(domain)) for domain in change.domains]
    lines += [_line("remove", _removal(file, change, now)) for file in removes]
    return b"".join(lines)


def add_lines(change: Change) -> bytes:
    """Return the lines of added files for a table without row ids."""
    return b"".join(_line("add", _addition(add, change)) for add in change.adds)


def add_lines_with_ids(change: Change, *, version: int, highest: int) -> bytes:
    """Return the lines of added files with row ids.

    `highest`: the highest row id assigned before.
    """
    ids, domain = first_row_ids(change.adds, highest)
    lines = [] if domain is None else [_line("domainMetadata", msgspec.to_builtins(domain))]
    for add, first in zip(change.adds, ids, strict=True):
        addition = _addition(add, change)
        lines.append(
            _line("add", msgspec.structs.replace(addition, base_row_id=first, default_row_commit_version=version))
        )
    return b"".join(lines)


def metadata_line(metadata: Metadata) -> bytes:
    """Return the line of a `metaData`."""
    fields = _fields_of(metadata) | {"format": {"provider": "parquet", "options": {}}}
    fields.setdefault("configuration", {})
    return _line("metaData", fields)


def _line(name: str, action: object) -> bytes:
    return _ENCODER.encode({name: action}) + b"\n"


def _fields_of(action: Metadata | Protocol | Transaction | DomainMetadata | DeletionVector) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(action).items() if value is not None}


def _addition(add: Add, change: Change) -> _Add:
    return _Add(
        path=add.path,
        partition_values=add.partition_values or {},
        size=add.size,
        modification_time=add.modification_time,
        data_change=change.data_change,
        stats=add.stats if isinstance(add.stats, str) else None,
        tags=getattr(add, "tags", None),
        deletion_vector=None if add.deletion_vector is None else _fields_of(add.deletion_vector),
        clustering_provider=getattr(add, "clustering_provider", None),
    )


def _removal(file: LiveFile, change: Change, now: int) -> _Remove:
    return _Remove(
        path=file.spelling,
        deletion_timestamp=now,
        data_change=change.data_change,
        extended_file_metadata=True,
        partition_values=file.partition_values,
        size=file.size,
        deletion_vector=None if file.vector is None else _fields_of(file.vector),
    )


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else _ENCODER.encode(value).decode()


def _metrics(change: Change) -> dict[str, str]:
    metrics = change.metrics or {
        "numFiles": len(change.adds),
        "numOutputBytes": sum(add.size for add in change.adds),
        "numRemovedFiles": len(change.removes),
    }
    return {name: str(count) for name, count in metrics.items() if count or change.metrics}


@cache
def _engine() -> str:
    try:
        return f"prune-assets/{version('prune-assets')}"
    except PackageNotFoundError:
        return "prune-assets"


class _Mark(msgspec.Struct, rename="camel"):
    row_id_high_water_mark: int


def highest_row_id(domains: Mapping[str, str], *, location: str) -> int:
    """Return the highest assigned row id; -1 if none.

    >>> highest_row_id({"delta.rowTracking": '{"rowIdHighWaterMark": 9}'}, location="t")
    9
    >>> highest_row_id({}, location="t")
    -1
    """
    if DOMAIN not in domains:
        return -1
    try:
        return msgspec.json.decode(domains[DOMAIN], type=_Mark).row_id_high_water_mark
    except msgspec.DecodeError as error:
        raise MalformedLog(f"{location}: the domain {DOMAIN} is damaged ({error}); commit with Spark") from None


def first_row_ids(adds: Sequence[Add], highest: int) -> tuple[list[int], DomainMetadata | None]:
    """Return the first row id of each file, and the new domain.

    The domain is None if no id was assigned.
    """
    ids, last = [], highest
    for add in adds:
        ids.append(last + 1)
        last += msgspec.json.decode(str(add.stats), type=RecordCount).num_records
    configuration = msgspec.json.encode({"rowIdHighWaterMark": last}).decode()
    return ids, DomainMetadata(DOMAIN, configuration) if last > highest else None


def check_row_ids(context: CommitContext) -> None:
    """Raise UnsupportedTable or RefusedCommit if row tracking forbids a change."""
    change, after, before, location = context.change, context.after, context.before, context.table
    tracked = ROW_TRACKING in after.writer_features
    if before is not None and tracked and ROW_TRACKING not in before.writer_features:
        raise UnsupportedTable(f"{location}: {ROW_TRACKING} is not added to a table here; add it with Spark")
    if after.properties.row_tracking and (before is None or not before.properties.row_tracking):
        raise UnsupportedTable(f"{location}: {ROW_TRACKING} is not enabled here; enable it with Spark")
    if not tracked or not change.adds:
        return
    if after.properties.row_tracking_suspended:
        raise UnsupportedTable(f"{location}: {ROW_TRACKING} is suspended, which is not understood; commit with Spark")
    removed = set(change.removes)
    carried = bool(removed) and not change.replaces and after.properties.row_tracking
    if carried or not change.data_change or any(canonical_path(add.path) in removed for add in change.adds):
        raise UnsupportedTable(
            f"{location}: {ROW_TRACKING}: rows must keep their ids in the added files, which this package does not "
            f"support; commit with Spark"
        )
    for add in change.adds:
        if add.stats is None:
            raise RefusedCommit(
                f"{location}: add {add.path!r}: {ROW_TRACKING} gives every row an id; give statistics with numRecords"
            )


def next_time(before: Mapping[str, Any], *, now: int, location: str) -> int:
    """Return the in-commit timestamp of the commit that follows `before`, in milliseconds.

    >>> next_time({"inCommitTimestamp": 1000}, now=900, location="t")
    1001
    """
    last = in_commit_time(before)
    if last is None:
        raise RefusedCommit(
            f"{location}: the last commit has no {IN_COMMIT} though the table requires it; fix its writer, or unset "
            f"{IN_COMMIT_TIMESTAMPS}"
        )
    return max(now, last + 1)


def with_enablement(metadata: Metadata, *, version: int, enabled_at: int) -> Metadata:
    """Return a `metaData` with the version and time at which in-commit timestamps were enabled."""
    since = {SINCE_VERSION: str(version), SINCE_TIME: str(enabled_at)}
    return msgspec.structs.replace(metadata, configuration={**(metadata.configuration or {}), **since})
