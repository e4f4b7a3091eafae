"""Prepare the JSON of a metadata file for pyiceberg.

pyiceberg requires more than Iceberg's specification. In version 1 of the format, partition fields without ids get the
ids 1000, 1001, .., and a snapshot may list its manifests itself. Types that pyiceberg lacks, such as `variant`, become
an `OtherType`, so that the other columns can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import Field
from pyiceberg.types import PrimitiveType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyiceberg.table.metadata import TableMetadata

# The first id of a partition field.
_FIRST_ID = 1000
_NESTED = {"list": ("element",), "map": ("key", "value")}


class ParsedMetadata(NamedTuple):
    """Metadata of a table.

    `manifests`: locations by snapshot id, for snapshots without a manifest list.
    """

    table: TableMetadata
    manifests: Mapping[int, tuple[str, ...]]


def parse_metadata(known: dict[str, Any]) -> ParsedMetadata:
    """Parse a metadata file; modifies `known`. Raises the errors of pyiceberg."""
    from pyiceberg.table.metadata import TableMetadataUtil

    _make_texts(known, "properties")
    manifests = {}
    for snapshot in known.get("snapshots") or ():
        _make_texts(snapshot, "summary")
        if "manifest-list" not in snapshot and "manifests" in snapshot:
            manifests[snapshot["snapshot-id"]] = tuple(map(str, snapshot["manifests"]))
            snapshot["manifest-list"] = ""
    for spec in _partition_specs(known):
        for i, field in enumerate(spec):
            field.setdefault("field-id", _FIRST_ID + i)
    for schema in (*(known.get("schemas") or ()), *([known["schema"]] if "schema" in known else ())):
        _replace_types(schema)
    return ParsedMetadata(TableMetadataUtil.parse_obj(known), manifests)


def _make_texts(parent: dict[str, Any], name: str) -> None:
    """Convert properties to strings, which they must be, and drop nulls."""
    if isinstance(parent.get(name), dict):
        parent[name] = {key: _text(value) for key, value in parent[name].items() if value is not None}


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _partition_specs(known: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    yield known.get("partition-spec") or []
    for spec in known.get("partition-specs") or ():
        yield spec.get("fields") or []


def _replace_types(kind: Any) -> None:
    """Replace each nested type that pyiceberg lacks with an OtherType."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields") or ():
        field["type"] = _known_type(field["type"])
    for part in _NESTED.get(str(kind.get("type")), ()):
        kind[part] = _known_type(kind[part])


def _known_type(kind: Any) -> Any:
    if not isinstance(kind, str):
        _replace_types(kind)
        return kind
    from pyiceberg.types import IcebergType

    try:
        IcebergType.handle_primitive_type(kind, lambda value: value)
    except ValueError:
        return other_type(kind)
    return kind


class OtherType(PrimitiveType):  # type: ignore[misc]  # pyiceberg is not installed everywhere
    """A type that is known only by name, such as `variant`."""

    root: str = Field()

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Create a new object, because pyiceberg's types are singletons per class."""
        return object.__new__(cls)

    def __str__(self) -> str:
        """Return the name of the type."""
        return self.root

    def __repr__(self) -> str:
        """Return the name of the type."""
        return f"OtherType({self.root!r})"

    def __eq__(self, other: object) -> bool:
        """Compare the names of the types."""
        return isinstance(other, OtherType) and self.root == other.root

    def __hash__(self) -> int:
        """Return the hash of the type's name."""
        return hash(self.root)


def other_type(name: str) -> OtherType:
    """Return an OtherType without validation, because pyiceberg cannot parse the name."""
    found: OtherType = OtherType.model_construct(root=name)
    return found
