"""The fields of a schema at any depth, with what their writers say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from deltalog.errors import MalformedLog
from deltalog.table.schema import MAX_NESTING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Under which an array or a map has the types of what it holds.
INNER_TYPES = ("elementType", "keyType", "valueType")
PHYSICAL_NAME, COLUMN_ID = "delta.columnMapping.physicalName", "delta.columnMapping.id"


class Field(NamedTuple):
    """A field: logical and physical path, its type as JSON, and whether it lies in an array or map.

    `nullable`: whether it may be null itself.
    """

    path: tuple[str, ...]
    physical: tuple[str, ...]
    kind: Any
    nullable: bool
    metadata: dict[str, Any]
    repeated: bool

    @property
    def name(self) -> str:
        """The path for messages."""
        return ".".join(self.path)

    @property
    def plain(self) -> str:
        """The name of the type; of a nested one what kind of nest it is."""
        return self.kind if isinstance(self.kind, str) else str(self.kind["type"])


def schema_fields(text: str, *, mapped: bool, place: str) -> list[Field]:
    """Return the fields of a schema, parents before children; MalformedLog for what is no schema."""
    try:
        tree = msgspec.json.decode(text)
        found = list(_below(tree, (), (), mapped=mapped, repeated=False))
        top = tree["type"]
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError, UnicodeError):
        raise MalformedLog(f"{place}: the schema of the table is no schema of Spark's; the log is damaged") from None
    if top != "struct":
        raise MalformedLog(f"{place}: the schema of the table is no struct; the log is damaged")
    return found


def _below(
    kind: Any, path: tuple[str, ...], physical: tuple[str, ...], *, mapped: bool, repeated: bool
) -> Iterator[Field]:
    if len(path) > MAX_NESTING:
        raise RecursionError
    if isinstance(kind, str):
        return
    for inner in INNER_TYPES:
        if inner in kind:
            yield from _below(kind[inner], (*path, inner), (*physical, inner), mapped=mapped, repeated=True)
    for said in kind.get("fields", ()):
        metadata = said.get("metadata") or {}
        here = (*path, str(said["name"]))
        stored = (*physical, str(metadata.get(PHYSICAL_NAME, said["name"]) if mapped else said["name"]))
        yield Field(here, stored, said["type"], bool(said.get("nullable", True)), metadata, repeated)
        yield from _below(said["type"], here, stored, mapped=mapped, repeated=repeated)
