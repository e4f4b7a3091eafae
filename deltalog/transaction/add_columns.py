"""Add columns to a table; of the rows that are there they are null.

Source: the Delta protocol, "Column Mapping": "Writer Requirements for Column Mapping".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec
import pyarrow as pa

from deltalog.errors import RefusedCommit
from deltalog.table.types import COLUMN_ID, PHYSICAL_NAME, schema_text
from deltalog.transaction.change import Change
from deltalog.transaction.commit import commit_to
from deltalog.transaction.operations import altered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltalog.snapshot.snapshot import Snapshot
    from deltalog.transaction.commit import Checkpointing, Committed

_LAST_ID = "delta.columnMapping.maxColumnId"


def add_columns(
    snapshot: Snapshot, fields: Sequence[pa.Field] | pa.Schema, *, checkpoint: Checkpointing = "background"
) -> Committed:
    """Add columns behind those that a table has; the protocol follows, where their types need a feature.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import deltalog
    >>> table = tempfile.mkdtemp()
    >>> written = deltalog.write_table(table, pa.table({"id": [1, 2]}))
    >>> added = deltalog.add_columns(deltalog.open_snapshot(table), [pa.field("name", pa.string())])
    >>> [leaf.name for leaf in deltalog.open_snapshot(table).schema.leaves]
    ['id', 'name']

    `fields`: an Arrow schema, or fields, that may be null. Under column mapping each gets a number and a physical name
    of its own. `checkpoint`: as `commit` has it.

    Raises RefusedCommit for a column that is there or must not be null, else as `commit`.
    """
    for field in fields:
        if not field.nullable:
            raise RefusedCommit(f"{snapshot.table}: rows may be there that lack column {field.name}; make it nullable")
    tree = msgspec.json.decode(snapshot.schema.text)
    added = msgspec.json.decode(schema_text(pa.schema(list(fields))))["fields"]
    properties = dict(snapshot.properties)
    if snapshot.schema.mapping != "none":
        properties[_LAST_ID] = str(_numbered(added, int(properties.get(_LAST_ID, "0"))))
    text = msgspec.json.encode({**tree, "fields": [*tree["fields"], *added]}).decode()
    change = Change(operation="ADD COLUMNS", parameters={"columns": [{"column": field} for field in added]})
    change, after = altered(snapshot, change, properties=properties, schema=text)
    return commit_to(snapshot, change, after, checkpoint=checkpoint)


def _numbered(fields: Sequence[dict[str, Any]], last: int) -> int:
    """Give fields, and those inside of them, numbers behind the last one; return the last then."""
    for field in _below(fields):
        last += 1
        field["metadata"] = {**field["metadata"], COLUMN_ID: last, PHYSICAL_NAME: f"col-{uuid4()}"}
    return last


def _below(fields: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for field in fields:
        yield field
        yield from _inside(field["type"])


def _inside(kind: Any) -> Iterator[dict[str, Any]]:
    if isinstance(kind, dict):
        yield from _below(kind.get("fields", ()))
        for name in ("elementType", "keyType", "valueType"):
            yield from _inside(kind.get(name))
