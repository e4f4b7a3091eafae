"""Check a change against the version that it was decided from, before the commit is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.log.actions import fits
from deltalog.log.replay import key_of
from deltalog.log.text_arrays import path_array
from deltalog.table.clustering import clustering_columns
from deltalog.table.needed_features import PLAIN
from deltalog.table.reader_features import writer_features
from deltalog.table.schema_fields import schema_fields
from deltalog.table.writer_features import APPEND_ONLY, check_writable, is_true
from deltalog.transaction.check_adds import check_adds
from deltalog.transaction.check_features import check_features, check_rows
from deltalog.transaction.check_metadata import check_metadata, check_protocol, properties_of, schema_of
from deltalog.transaction.live_files import live_files
from deltalog.transaction.row_ids import ROW_TRACKING, check_row_ids
from parquet_core.arrow_arrays import flags_from

if TYPE_CHECKING:
    from deltalog.log.actions import Protocol
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.transaction.change import Change
    from deltalog.transaction.live_files import LiveFile

# Its feature writes it.
_SYSTEM = "delta."


def check_change(snapshot: Snapshot, change: Change) -> list[LiveFile]:
    """Return the files that a change removes, if it may be committed.

    Raises UnsupportedTable and RefusedCommit, each naming the feature, file or column, and what to do.
    """
    place = snapshot.table
    check_writable(snapshot.protocol, place=place)
    protocol = snapshot.protocol if change.protocol is None else change.protocol
    if change.protocol is not None:
        check_protocol(change.protocol, snapshot.protocol, place=place)
    removes = live_files(snapshot, change.removes)
    _check_speaking_once(change, removes, place)
    schema, properties = snapshot.schema, dict(snapshot.properties)
    if change.metadata is not None:
        emptied = len(removes) == snapshot.file_count
        check_metadata(change.metadata, protocol=protocol, before=snapshot.metadata, emptied=emptied, place=place)
        schema, properties = schema_of(change.metadata, place=place), properties_of(change.metadata)
        # Who takes the promise back and breaks it at once has broken it.
        if is_true(snapshot.properties, APPEND_ONLY):
            properties[APPEND_ONLY] = "true"
    features = writer_features(protocol)
    if ROW_TRACKING in features and ROW_TRACKING not in writer_features(snapshot.protocol):
        raise UnsupportedTable(f"{place}: {ROW_TRACKING} is not added to a table here; add it with Spark")
    check_row_ids(change, features=features, before=snapshot.properties, after=properties, place=place)
    check_features(
        change,
        protocol=protocol,
        properties=properties,
        schema=schema.text,
        mapped=schema.mapping != "none",
        place=place,
    )
    check_adds(
        change.adds,
        schema=schema,
        clustered_by=clustering_columns(snapshot.domains, place=place),
        rows_change=change.data_change,
        place=place,
    )
    _check_not_live(snapshot, change)
    _check_others(change, protocol, place)
    return removes


def check_appendable(snapshot: Snapshot) -> None:
    """Raise what a table has against rows that are not written yet, where that can be told without them.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> created = deltalog.create_table(table, pa.schema({"id": pa.int64()}))
    >>> deltalog.check_appendable(deltalog.open_snapshot(table))

    Raises UnsupportedTable, which names the feature.
    """
    check_writable(snapshot.protocol, place=snapshot.table)
    mapped = snapshot.schema.mapping != "none"
    fields = schema_fields(snapshot.schema.text, mapped=mapped, place=snapshot.table)
    check_rows(snapshot.properties, fields, snapshot.table)


def check_first(table: str, change: Change) -> None:
    """Raise UnsupportedTable and RefusedCommit for what cannot be the first commit of a table."""
    if change.metadata is None or change.removes:
        raise RefusedCommit(f"{table}: the first commit of a table has a metaData and removes nothing")
    protocol = PLAIN if change.protocol is None else change.protocol
    check_protocol(protocol, None, place=table)
    check_metadata(change.metadata, protocol=protocol, before=None, emptied=True, place=table)
    after = properties_of(change.metadata)
    check_row_ids(change, features=writer_features(protocol), before={}, after=after, place=table)
    schema = schema_of(change.metadata, place=table)
    check_features(
        change,
        protocol=protocol,
        properties=after,
        schema=schema.text,
        mapped=schema.mapping != "none",
        place=table,
    )
    check_adds(change.adds, schema=schema, rows_change=change.data_change, place=table)
    _check_others(change, protocol, table)


def _check_speaking_once(change: Change, removes: list[LiveFile], place: str) -> None:
    gone = {(file.path, None if file.vector is None else file.vector.identity) for file in removes}
    for add in change.adds:
        if key_of(add.path, add.deletion_vector) in gone:
            raise RefusedCommit(f"{place}: {add.path} is added and removed by one commit; do one of both")


def _check_not_live(snapshot: Snapshot, change: Change) -> None:
    """Refuse to add a file that is there, unless it is added again without new rows, or is replaced."""
    if not change.adds:
        return
    removed = set(change.removes)
    mine = {key_of(add.path, None)[0]: add for add in change.adds}
    asked = path_array(sorted(mine.keys() - removed))
    for block in snapshot.blocks if len(asked) else ():
        for i in np.flatnonzero(flags_from(pc.is_in(block.path, value_set=asked))).tolist():
            add = mine[block.path[i].as_py()]
            same = add.deletion_vector is None and (block.vectors is None or not block.vectors[i].is_valid)
            if change.data_change or not same:
                raise RefusedCommit(
                    f"{snapshot.table}: {add.path} is a file of version {snapshot.version} already; give new files "
                    "new names, or remove the old one in the same commit"
                )


def _check_others(change: Change, protocol: Protocol, place: str) -> None:
    if change.txn is not None and (not change.txn.app_id or not fits(change.txn.version)):
        raise RefusedCommit(
            f"{place}: {change.txn.app_id!r} and {change.txn.version} are no application and version; give a name and "
            "a number from 0 on that grows with each of its commits"
        )
    names = [domain.domain for domain in change.domains]
    if len(set(names)) < len(names):
        raise RefusedCommit(f"{place}: one commit speaks twice of a domain; say it once")
    system = [name for name in names if name.startswith(_SYSTEM)]
    if system:
        raise UnsupportedTable(f"{place}: the domain {system[0]} belongs to a feature; change it with Spark")
    if names and "domainMetadata" not in writer_features(protocol):
        raise RefusedCommit(f"{place}: the table lacks the feature domainMetadata; add it to the protocol first")
