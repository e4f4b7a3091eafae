"""Encode a commit as JSON: one action a line, the `commitInfo` first.

Source: the Delta protocol, "Actions". Fields that the protocol asks for are always there, the others when they say
something.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import msgspec

from deltalog.transaction.row_ids import first_row_ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltalog.log.actions import Add, DeletionVector, DomainMetadata, Metadata, Protocol, Transaction
    from deltalog.transaction.change import Change
    from deltalog.transaction.live_files import LiveFile

_ENCODER = msgspec.json.Encoder()


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
    """Return the `commitInfo` of a change; `now` in milliseconds."""
    info = {
        "timestamp": now,
        "operation": change.operation,
        # Spark reads these as texts, each of them JSON where it is no text itself.
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
    """Return the lines of all but `commitInfo`, `metaData` and `add`; `now`: the time of deletion, in milliseconds."""
    lines = []
    if change.protocol is not None:
        lines.append(_line("protocol", _said(change.protocol)))
    if change.txn is not None:
        txn = msgspec.structs.replace(change.txn, last_updated=now)
        lines.append(_line("txn", _said(txn)))
    lines += [_line("domainMetadata", msgspec.to_builtins(domain)) for domain in change.domains]
    lines += [_line("remove", _removal(file, change, now)) for file in removes]
    return b"".join(lines)


def add_lines(change: Change) -> bytes:
    """Return the lines of the added files of a table that gives its rows no ids."""
    return b"".join(_line("add", _addition(add, change)) for add in change.adds)


def add_lines_with_ids(change: Change, *, version: int, highest: int) -> bytes:
    """Return the lines of the added files of a table with row ids; `highest`: the last id that was given away."""
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
    said = _said(metadata) | {"format": {"provider": "parquet", "options": {}}}
    said.setdefault("configuration", {})
    return _line("metaData", said)


def _line(name: str, action: object) -> bytes:
    return _ENCODER.encode({name: action}) + b"\n"


def _said(action: Metadata | Protocol | Transaction | DomainMetadata | DeletionVector) -> dict[str, Any]:
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
        deletion_vector=None if add.deletion_vector is None else _said(add.deletion_vector),
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
        deletion_vector=None if file.vector is None else _said(file.vector),
    )


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else _ENCODER.encode(value).decode()


def _metrics(change: Change) -> dict[str, str]:
    metrics = {
        "numFiles": len(change.adds),
        "numOutputBytes": sum(add.size for add in change.adds),
        "numRemovedFiles": len(change.removes),
    }
    return {name: str(count) for name, count in metrics.items() if count}


@cache
def _engine() -> str:
    try:
        return f"prune-assets/{version('prune-assets')}"
    except PackageNotFoundError:
        return "prune-assets"
