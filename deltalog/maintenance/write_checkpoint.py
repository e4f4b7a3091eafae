"""Write the checkpoint of a version, and the hint to it.

A table with `delta.checkpointPolicy` = `v2` and the feature v2Checkpoint gets a JSON manifest with a UUID and sidecar
files. Every other table gets one classic file. Multi-part checkpoints are read but not written: the protocol advises
against them, because they cannot be written atomically.

If writing is interrupted, readers still see the whole checkpoint or none: the checkpoint gets its name when it is
complete, and the hint is written afterwards.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltalog.errors import MalformedLog, NoSuchVersion
from deltalog.log.listing import last_version, list_log
from deltalog.maintenance.checkpoint_rows import (
    OTHER_TYPES,
    REMOVE_TYPE,
    STORED_ADD,
    STORED_REMOVE,
    AddForm,
    adds_from_actions,
    adds_from_store,
    other_row,
    others_array,
    removes_from_actions,
    removes_from_store,
)
from deltalog.maintenance.checkpoint_writer import CheckpointWriter
from deltalog.maintenance.clean_log import clean_after_checkpoint
from deltalog.maintenance.last_checkpoint import WrittenCheckpoint, checkpoint_of, hint_of, write_hint
from deltalog.maintenance.log_state import BATCH_ROWS, open_state
from deltalog.stats.parsed_statistics import ParsedStatistics
from deltalog.stats.partition_values import parsed_partition_type, parsed_partitions
from deltalog.table.features import check_maintainable, protected_before
from deltalog.table.properties import (
    CHECKPOINT_POLICY,
    TOMBSTONE_RETENTION,
    TOMBSTONE_RETENTION_DEFAULT,
    indexed_columns,
    milliseconds,
)
from parquet_core.arrow_arrays import flags_from, from_numpy, numbers_from
from parquet_core.errors import PruneError
from parquet_core.storage import address, find_file, publish, put_if_absent, staged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from deltalog.maintenance.log_state import LogState
    from deltalog.table.schema import TableColumn

AS_JSON = "delta.checkpoint.writeStatsAsJson"
TRANSACTIONS = "delta.setTransactionRetentionDuration"
# Readers read several sidecars in parallel.
_ROWS_OF_A_SIDECAR = 1 << 18


def write_checkpoint(
    table: str | os.PathLike[str], version: int | None = None, *, clean: bool = True
) -> WrittenCheckpoint:
    """Write a version's checkpoint unless it exists, and name it in `_last_checkpoint`.

    >>> import pathlib
    >>> import deltalog
    >>> made = deltalog.write_checkpoint(table)
    >>> made.version, [pathlib.Path(path).name for path in made.files]
    (1, ['00000000000000000001.checkpoint.parquet'])
    >>> deltalog.write_checkpoint(table).written
    False

    `version`: by default the latest.
    `clean`: afterwards remove expired files of the log, as the table's properties require.

    Raises the errors of `open_state`, and UnsupportedTable for a table feature whose data a checkpoint might lose.
    """
    location = address(os.fspath(table))
    listing = list_log(location)
    chosen = last_version(listing) if version is None else version
    written, damaged = checkpoint_of(listing, chosen)
    if written is None:
        written = _write(open_state(location, chosen), replace=damaged)
    write_hint(location, listing.location, hint_of(written))
    return written._replace(notes=_cleaned(location)) if clean and written.written else written


def _cleaned(table: str) -> tuple[str, ...]:
    try:
        return clean_after_checkpoint(table)
    except PruneError as error:
        return (f"the log was not cleaned up: {error}",)


def _write(state: LogState, *, replace: bool) -> WrittenCheckpoint:
    location = f"{state.listing.location}, version {state.version}"
    check_maintainable(state.protocol, location=location)
    if state.version < protected_before(state.protocol, state.properties):
        raise NoSuchVersion(
            f"{location}: the table allows no new checkpoint before version "
            f"{protected_before(state.protocol, state.properties)}; give a later version"
        )
    try:
        return _written(state, replace=replace)
    except (pa.ArrowException, ValueError, KeyError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise MalformedLog(
            f"{location}: an action has a value that its field cannot store ({reason}); commit the action again with "
            f"a valid value, or restore the log"
        ) from None


def _written(state: LogState, *, replace: bool) -> WrittenCheckpoint:
    now = time.time_ns() // 1_000_000
    form = _form(state)
    others = _other_rows(state, now)
    policy = state.properties.get(CHECKPOINT_POLICY, "classic").lower()
    if policy == "v2" and "v2Checkpoint" in state.state.writer_features:
        return _write_v2(state, form, others, now)
    return _write_classic(state, form, others, now, replace=replace)


def _form(state: LogState) -> AddForm:
    data = [column for column in state.schema.columns if column.partition is None]
    as_struct = state.properties.statistics_as_struct
    indexed = indexed_columns(state.schema, state.properties, state.domains) if as_struct else ()
    return AddForm(
        json=state.properties.get(AS_JSON, "true").lower() != "false",
        statistics=ParsedStatistics(_with_unique_paths(indexed)) if as_struct else None,
        data=_with_unique_paths(data),
        partitions=_certain_partitions(state) if as_struct else (),
    )


def _with_unique_paths(columns: Sequence[TableColumn]) -> list[TableColumn]:
    """Return the columns whose physical path is unique."""
    names = [column.physical for column in columns]
    return [column for column in columns if names.count(column.physical) == 1]


def _certain_partitions(state: LogState) -> Sequence[TableColumn]:
    """Return the partition columns if all values are unambiguous, else ()."""
    columns = [column for column in state.schema.columns if column.partition is not None]
    if not columns or parsed_partition_type(columns) is None:
        return ()
    form = AddForm(json=False, statistics=None, data=(), partitions=())
    for part in _added(state, form, stored=("partitionValues", "size")):
        if parsed_partitions(columns, pc.struct_field(part, "partitionValues")) is None:
            return ()
    return columns


def _other_rows(state: LogState, now: int) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all non-file actions, by kind."""
    retention = milliseconds(state.properties[TRANSACTIONS]) if TRANSACTIONS in state.properties else None
    oldest = None if retention is None else now - retention
    transactions = [
        txn
        for txn in state.transactions.values()
        if oldest is None or txn.last_updated is None or txn.last_updated > oldest
    ]
    return {
        "protocol": [other_row("protocol", state.protocol)],
        "metaData": [other_row("metaData", state.metadata)],
        "txn": [other_row("txn", txn) for txn in transactions],
        "domainMetadata": [
            {"domain": name, "configuration": configuration, "removed": False}
            for name, configuration in state.domains.items()
        ],
    }


def _added(state: LogState, form: AddForm, *, stored: Sequence[str]) -> Iterator[pa.StructArray]:
    for actions in state.stored_actions(adds=stored, removes=()):
        if actions.adds is not None and len(actions.adds):
            yield adds_from_store(form, actions.adds)
    for adds in _cut(state.adds):
        yield adds_from_actions(form, adds)


def _removed(state: LogState, now: int) -> Iterator[pa.StructArray]:
    """Yield the unexpired tombstones; all tombstones if the retention is unknown."""
    retention = milliseconds(state.properties.get(TOMBSTONE_RETENTION, TOMBSTONE_RETENTION_DEFAULT))
    oldest = -1 if retention is None else now - retention
    for actions in state.stored_actions(adds=(), removes=STORED_REMOVE):
        if actions.removes is not None and len(actions.removes):
            rows = removes_from_store(actions.removes)
            times = pc.struct_field(rows, "deletionTimestamp")
            yield rows.filter(from_numpy(np.where(flags_from(times.is_valid()), numbers_from(times), 0) > oldest))
    for removes in _cut(state.removes):
        young = [remove for remove in removes if (remove.deletion_timestamp or 0) > oldest]
        yield removes_from_actions(young)


def _cut(actions: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (actions[first : first + BATCH_ROWS] for first in range(0, len(actions), BATCH_ROWS))


def _file_actions(state: LogState, form: AddForm, now: int) -> Iterator[tuple[str, pa.StructArray]]:
    for adds in _added(state, form, stored=STORED_ADD):
        yield "add", adds
    for removes in _removed(state, now):
        yield "remove", removes


def _write_classic(
    state: LogState, form: AddForm, others: Mapping[str, list[dict[str, Any]]], now: int, *, replace: bool
) -> WrittenCheckpoint:
    path = f"{state.listing.location}/{state.version:020d}.checkpoint.parquet"
    columns = {"txn": OTHER_TYPES["txn"], "add": form.type, "remove": REMOVE_TYPE, **OTHER_TYPES}
    with staged(path) as temporary:
        with CheckpointWriter(temporary, columns, state.properties) as writer:
            for name, rows in others.items():
                writer.write(name, others_array(name, rows))
            writer.end_group()
            for name, actions in _file_actions(state, form, now):
                writer.write(name, actions)
        writer.check()
        written = publish(temporary, path, replace=replace)
    file = find_file(path)
    size = 0 if file is None else file.size
    return WrittenCheckpoint(state.version, (path,), writer.actions, writer.adds, size, written=written)


def _write_v2(
    state: LogState, form: AddForm, others: Mapping[str, list[dict[str, Any]]], now: int
) -> WrittenCheckpoint:
    path = f"{state.listing.location}/{state.version:020d}.checkpoint.{uuid4()}.json"
    with _Sidecars(state, {"add": form.type, "remove": REMOVE_TYPE}) as sidecars:
        for name, actions in _file_actions(state, form, now):
            sidecars.write(name, actions)
    lines: list[dict[str, Any]] = [{"checkpointMetadata": {"version": state.version}}]
    lines += [{name: row} for name, rows in others.items() for row in rows]
    lines += [{"sidecar": entry} for entry in sidecars.entries]
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    put_if_absent(path, data)
    size = len(data) + sum(entry["sizeInBytes"] for entry in sidecars.entries)
    return WrittenCheckpoint(state.version, (path,), len(lines) + sidecars.actions, sidecars.adds, size, written=True)


class _Sidecars:
    """Sidecar files of a v2 checkpoint.

    When a file is full, the next one is begun. Readers ignore the files until the manifest names them.
    """

    def __init__(self, state: LogState, columns: Mapping[str, pa.DataType]) -> None:
        self.entries: list[dict[str, Any]] = []
        self.actions = self.adds = 0
        self._state, self._columns = state, columns
        self._open: tuple[ExitStack, str, str, CheckpointWriter] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error_type is None:
            self.close()
        elif self._open is not None:
            with self._open[0]:
                self._open[3].close()

    def write(self, name: str, actions: pa.StructArray) -> None:
        if self._open is None:
            path = f"{self._state.listing.location}/_sidecars/{uuid4()}.parquet"
            stack = ExitStack()
            temporary = stack.enter_context(staged(path))
            self._open = stack, path, temporary, CheckpointWriter(temporary, self._columns, self._state.properties)
        self._open[3].write(name, actions)
        if self._open[3].actions >= _ROWS_OF_A_SIDECAR:
            self.close()

    def close(self) -> None:
        if self._open is None:
            return
        (stack, path, temporary, writer), self._open = self._open, None
        with stack:
            with writer:
                pass
            writer.check()
            if not writer.actions:
                return
            publish(temporary, path)
        file = find_file(path)
        assert file is not None
        self.actions += writer.actions
        self.adds += writer.adds
        name = path.rpartition("/")[2]
        self.entries.append(
            {"path": name, "sizeInBytes": file.size, "modificationTime": file.modified_ns // 1_000_000, "tags": {}}
        )
