"""Checkpoints as Parquet files, written from actions."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq

MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
TYPES = {
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", MAP),
        ]
    ),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64())]),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
    "remove": pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())]),
    "sidecar": pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]),
    "checkpointMetadata": pa.struct([("version", pa.int64())]),
}


def add_type(parsed=None, *, stats=True):
    """Return the type of `add`; `parsed` is the type of `stats_parsed`."""
    fields = [
        ("path", pa.string()),
        ("partitionValues", MAP),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("deletionVector", VECTOR),
    ]
    fields += [("stats", pa.string())] if stats else []
    return pa.struct(fields + ([("stats_parsed", parsed)] if parsed else []))


def parsed_type(**columns):
    """The type of `stats_parsed` for columns with bounds."""
    bounds = pa.struct(list(columns.items()))
    nulls = pa.struct([(name, pa.int64()) for name in columns])
    return pa.struct([("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", nulls)])


def write_checkpoint(path, actions, *, add=None, row_group_size=None, names=None, **options):
    """Write actions to a Parquet checkpoint file; `options` are passed to pyarrow."""
    types = TYPES | {"add": add or add_type()}
    names = names or sorted({name for action in actions for name in action})
    columns = [
        pa.array([_row(action.get(name)) for action in actions], types[name], from_pandas=False) for name in names
    ]
    path.parent.mkdir(exist_ok=True)
    table = pa.Table.from_arrays(columns, schema=pa.schema([(name, types[name]) for name in names]))
    pq.write_table(table, path, row_group_size=row_group_size or max(1, len(actions)), **options)
    return path


def _row(action):
    if action is None:
        return None
    return {
        name: list(value.items()) if name in {"partitionValues", "configuration"} and value is not None else value
        for name, value in action.items()
    }


def head(log):
    """The protocol and metaData of a table's first commit."""
    lines = [json.loads(line) for line in (log.place / f"{0:020d}.json").read_text().splitlines()]
    return [line for line in lines if "protocol" in line or "metaData" in line]
