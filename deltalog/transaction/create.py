"""Create a table: its first commit."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from deltalog.log.actions import Metadata
from deltalog.table.features import PLAIN, needed_features, protocol_with, requested
from deltalog.table.state import new_state
from deltalog.table.types import schema_text
from deltalog.transaction.change import Change, CommitContext
from deltalog.transaction.check_change import check_change
from deltalog.transaction.commit import commit_first
from parquet_core.storage import address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from deltalog.log.actions import Add, Transaction
    from deltalog.table.schema import TableSchema
    from deltalog.table.state import TableState
    from deltalog.transaction.commit import Committed


def create_table(
    table: str | os.PathLike[str],
    schema: str | pa.Schema,
    *,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    adds: Sequence[Add] = (),
    name: str | None = None,
    description: str | None = None,
    txn: Transaction | None = None,
) -> Committed:
    """Create a table at a directory or URI.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> schema = pa.schema({"day": pa.date32(), "id": pa.int64()})
    >>> created = deltalog.create_table(table, schema, partition_by=["day"], properties={"delta.appendOnly": "true"})
    >>> deltalog.open_snapshot(table).properties
    {'delta.appendOnly': 'true'}

    `schema`: Spark's JSON, or an Arrow schema.
    `properties`: `delta.feature.NAME=supported` requests a table feature; properties and schema determine the protocol.
    `adds`: the first files, see `append`.

    Raises TableExists if the table exists, else as `commit`.
    """
    location = address(os.fspath(table))
    state = _described(location, schema, partition_by, properties, name=name, description=description)
    change = Change(
        operation="CREATE TABLE" if not adds else "CREATE TABLE AS SELECT",
        parameters={"partitionBy": list(partition_by), "properties": state.metadata.configuration},
        adds=adds,
        metadata=state.metadata,
        protocol=state.protocol,
        txn=txn,
    )
    return commit_first(location, change, state)


def check_create(
    table: str | os.PathLike[str],
    schema: str | pa.Schema,
    *,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> TableSchema:
    """Return the schema of the table to create, or raise as `create_table`.

    >>> import pyarrow as pa
    >>> import deltalog
    >>> schema = deltalog.check_create("/lake/new", pa.schema({"id": pa.int64()}))
    >>> [leaf.name for leaf in schema.leaves]
    ['id']

    Arguments as for `create_table`. It is not checked whether the table exists.
    """
    location = address(os.fspath(table))
    state = _described(location, schema, partition_by, properties)
    change = Change(operation="CREATE TABLE", metadata=state.metadata, protocol=state.protocol)
    check_change(CommitContext(location, change, state))
    return state.schema


def _described(
    location: str,
    schema: str | pa.Schema,
    partition_by: Sequence[str],
    properties: Mapping[str, str] | None,
    **names: str | None,
) -> TableState:
    features, configuration = requested({} if properties is None else properties)
    metadata = Metadata(
        id=str(uuid4()),
        schema_string=schema if isinstance(schema, str) else schema_text(schema),
        partition_columns=list(partition_by),
        configuration=dict(configuration),
        created_time=time.time_ns() // 1_000_000,
        **names,
    )
    state = new_state(PLAIN, metadata, location=location)
    return replace(state, protocol=protocol_with(features | needed_features(state.schema, state.properties)))
