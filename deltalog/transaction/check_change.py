"""Check a change against the version that it was decided from and its table features, before the commit is written.

Files of a commit are written elsewhere, so that what a feature asks of their rows cannot be looked at here: it must
follow from statistics, or the commit is refused. Source: the Delta protocol, "Table Features" and what it asks of
writers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from deltalog.errors import RefusedCommit, UnsupportedTable
from deltalog.log.actions import fits
from deltalog.log.paths import canonical_path, path_array
from deltalog.log.replay import key_of
from deltalog.table.constraints import constraints_of
from deltalog.table.features import APPEND_ONLY, CHANGE_FEED, DELETION_VECTORS, check_writable, is_true, writer_features
from deltalog.table.needed_features import PLAIN
from deltalog.table.properties import clustering_columns
from deltalog.transaction.check_adds import check_adds
from deltalog.transaction.check_metadata import check_metadata, check_protocol, properties_of, schema_of
from deltalog.transaction.commit_lines import ROW_TRACKING, check_row_ids
from deltalog.transaction.live_files import live_files
from parquet_core.arrow_arrays import flags_from
from parquet_core.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from deltalog.log.actions import Protocol
    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.table.constraints import Constraint
    from deltalog.table.schema import Field, TableSchema
    from deltalog.transaction.change import Change
    from deltalog.transaction.live_files import LiveFile


# Its feature writes it.
_SYSTEM = "delta."
_SPARK = "commit with Spark, which does"


def check_change(snapshot: Snapshot, change: Change) -> list[LiveFile]:
    """Return the files that a change removes, if it may be committed.

    Raises UnsupportedTable and RefusedCommit, each naming the feature, file or column, and what to do.
    """
    location = snapshot.table
    check_writable(snapshot.protocol, location=location)
    protocol = snapshot.protocol if change.protocol is None else change.protocol
    if change.protocol is not None:
        check_protocol(change.protocol, snapshot.protocol, location=location)
    removes = live_files(snapshot, change.removes)
    _check_speaking_once(change, removes, location)
    schema, properties = snapshot.schema, dict(snapshot.properties)
    if change.metadata is not None:
        emptied = len(removes) == snapshot.file_count
        check_metadata(change.metadata, protocol=protocol, before=snapshot.metadata, emptied=emptied, location=location)
        schema, properties = schema_of(change.metadata, location=location), properties_of(change.metadata)
        # Who takes the promise back and breaks it at once has broken it.
        if is_true(snapshot.properties, APPEND_ONLY):
            properties[APPEND_ONLY] = "true"
    if ROW_TRACKING in writer_features(protocol) and ROW_TRACKING not in writer_features(snapshot.protocol):
        raise UnsupportedTable(f"{location}: {ROW_TRACKING} is not added to a table here; add it with Spark")
    before, domains = snapshot.properties, snapshot.domains
    _check_parts(
        change,
        location,
        protocol=protocol,
        schema=schema,
        before=before,
        properties=properties,
        domains=domains,
        removes=removes,
    )
    _check_not_live(snapshot, change)
    return removes


def check_appendable(snapshot: Snapshot, *, obeys: Collection[Constraint] = ()) -> None:
    """Raise what a table has against rows that are not written yet, where that can be told without them.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> created = deltalog.create_table(table, pa.schema({"id": pa.int64()}))
    >>> deltalog.check_appendable(deltalog.open_snapshot(table))

    `obeys`: as `append` has it. Raises UnsupportedTable, which names the feature.
    """
    check_writable(snapshot.protocol, location=snapshot.table)
    _check_rows(snapshot.properties, snapshot.schema.fields, snapshot.table, obeys)


def check_compactable(snapshot: Snapshot) -> None:
    """Raise what a table has against files being replaced by others with the same rows; UnsupportedTable.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> created = deltalog.create_table(table, pa.schema({"id": pa.int64()}))
    >>> deltalog.check_compactable(deltalog.open_snapshot(table))
    """
    check_writable(snapshot.protocol, location=snapshot.table)
    if ROW_TRACKING in writer_features(snapshot.protocol):
        raise UnsupportedTable(
            f"{snapshot.table}: {ROW_TRACKING}: rows would have to keep their ids in the files that replace theirs, "
            "which is not done here; optimize with delta-spark, which does"
        )


def check_first(table: str, change: Change) -> None:
    """Raise UnsupportedTable and RefusedCommit for what cannot be the first commit of a table."""
    if change.metadata is None or change.removes:
        raise RefusedCommit(f"{table}: the first commit of a table has a metaData and removes nothing")
    protocol = PLAIN if change.protocol is None else change.protocol
    check_protocol(protocol, None, location=table)
    check_metadata(change.metadata, protocol=protocol, before=None, emptied=True, location=table)
    schema = schema_of(change.metadata, location=table)
    after = properties_of(change.metadata)
    _check_parts(change, table, protocol=protocol, schema=schema, before={}, properties=after, domains={})


def _check_parts(
    change: Change,
    location: str,
    *,
    protocol: Protocol,
    schema: TableSchema,
    before: Mapping[str, str],
    properties: Mapping[str, str],
    domains: Mapping[str, str],
    removes: Sequence[LiveFile] = (),
) -> None:
    """Check a change against what the table is with it; `before`: its properties without it."""
    check_row_ids(change, features=writer_features(protocol), before=before, after=properties, location=location)
    has_new_rows = _has_new_rows(change, removes)
    _check_features(change, protocol, properties, schema, location, has_new_rows=has_new_rows)
    clustered_by = clustering_columns(domains, location=location)
    check_adds(change.adds, schema=schema, clustered_by=clustered_by, rows_change=has_new_rows, location=location)
    _check_others(change, protocol, location)


def _check_speaking_once(change: Change, removes: list[LiveFile], location: str) -> None:
    gone = {(file.path, None if file.vector is None else file.vector.identity) for file in removes}
    for add in change.adds:
        if key_of(add.path, add.deletion_vector) in gone:
            raise RefusedCommit(f"{location}: {add.path} is added and removed by one commit; do one of both")


def _check_not_live(snapshot: Snapshot, change: Change) -> None:
    """Refuse to add a file that is there, unless it is added again without new rows, or is replaced."""
    if not change.adds:
        return
    removed = set(change.removes)
    mine = {key_of(add.path, None)[0]: add for add in change.adds}
    added_paths = path_array(sorted(mine.keys() - removed))
    for block in snapshot.blocks if len(added_paths) else ():
        for i in np.flatnonzero(flags_from(pc.is_in(block.path, value_set=added_paths))).tolist():
            add = mine[block.path[i].as_py()]
            same = add.deletion_vector is None and (block.vectors is None or not block.vectors[i].is_valid)
            if change.data_change or not same:
                raise RefusedCommit(
                    f"{snapshot.table}: {add.path} is a file of version {snapshot.version} already; give new files "
                    "new names, or remove the old one in the same commit"
                )


def _check_others(change: Change, protocol: Protocol, location: str) -> None:
    if change.txn is not None and (not change.txn.app_id or not fits(change.txn.version)):
        raise RefusedCommit(
            f"{location}: {change.txn.app_id!r} and {change.txn.version} are not an application and version; give a "
            "name and a number from 0 on that grows with each of its commits"
        )
    names = [domain.domain for domain in change.domains]
    if len(set(names)) < len(names):
        raise RefusedCommit(f"{location}: the commit sets a domain twice; set it once")
    system = [name for name in names if name.startswith(_SYSTEM)]
    if system:
        raise UnsupportedTable(f"{location}: the domain {system[0]} belongs to a feature; change it with Spark")
    if names and "domainMetadata" not in writer_features(protocol):
        raise RefusedCommit(f"{location}: the table lacks the feature domainMetadata; add it to the protocol first")


def _check_features(
    change: Change,
    protocol: Protocol,
    properties: Mapping[str, str],
    schema: TableSchema,
    location: str,
    *,
    has_new_rows: bool,
) -> None:
    """Raise what the features of a table have against a change: UnsupportedTable, or RefusedCommit."""
    if change.removes and change.data_change and is_true(properties, APPEND_ONLY):
        raise RefusedCommit(
            f"{location}: the table is append-only and {counted(len(change.removes), 'file')} would be removed; "
            f"unset {APPEND_ONLY} if rows may go"
        )
    if (
        change.adds
        and change.removes
        and change.data_change
        and not change.replaces
        and is_true(properties, CHANGE_FEED)
    ):
        raise UnsupportedTable(
            f"{location}: changeDataFeed: rows are carried from removed files to added ones, and which of them "
            f"changed is not written here; {_SPARK}, or unset {CHANGE_FEED}"
        )
    if any(add.deletion_vector is not None for add in change.adds):
        check_vectors_allowed(protocol, properties, location)
    if has_new_rows:
        _check_rows(properties, schema.fields, location, change.obeys)


def check_vectors_allowed(protocol: Protocol, properties: Mapping[str, str], location: str) -> None:
    """Raise RefusedCommit where files of a table may have no deletion vectors."""
    if "deletionVectors" not in writer_features(protocol) or not is_true(properties, DELETION_VECTORS):
        raise RefusedCommit(
            f"{location}: deletionVectors: a file has a deletion vector, which the table does not allow; set "
            f"{DELETION_VECTORS}=true first"
        )


def _has_new_rows(change: Change, removes: Sequence[LiveFile]) -> bool:
    """Tell whether a file is added other than one that was there with fewer deleted rows."""
    if not change.data_change:
        return False
    deleted = {file.path: 0 if file.vector is None else file.vector.cardinality for file in removes}
    return any(
        add.deletion_vector is None
        or add.deletion_vector.cardinality < deleted.get(canonical_path(add.path), add.deletion_vector.cardinality + 1)
        for add in change.adds
    )


def _check_rows(
    properties: Mapping[str, str], fields: Sequence[Field], location: str, obeys: Collection[Constraint]
) -> None:
    """Refuse files whose rows would have to be looked at."""
    for constraint in constraints_of(properties, fields):
        if constraint in obeys:
            continue
        if constraint.feature == "checkConstraints":
            reason = f"that rows obey {constraint.name} is not checked here; {_SPARK}, or drop the constraint"
        else:
            reason = f"what column {constraint.name} may hold is not checked here; {_SPARK}"
        raise UnsupportedTable(f"{location}: {constraint.feature}: {reason}")
