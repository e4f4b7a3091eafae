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

    `manifests`: for each snapshot without a manifest list, by its id, the locations of its manifests.
    """

    table: TableMetadata
    manifests: Mapping[int, tuple[str, ...]]


def parse_metadata(metadata: dict[str, Any]) -> ParsedMetadata:
    """Parse a metadata file; modifies `metadata`. Raises the errors of pyiceberg."""
    from pyiceberg.table.metadata import TableMetadataUtil

    _make_strings(metadata, "properties")
    manifests = {}
    for snapshot in metadata.get("snapshots") or ():
        _make_strings(snapshot, "summary")
        if "manifest-list" not in snapshot and "manifests" in snapshot:
            manifests[snapshot["snapshot-id"]] = tuple(map(str, snapshot["manifests"]))
            snapshot["manifest-list"] = ""
    for spec in _partition_specs(metadata):
        for i, field in enumerate(spec):
            field.setdefault("field-id", _FIRST_ID + i)
    for schema in (*(metadata.get("schemas") or ()), *([metadata["schema"]] if "schema" in metadata else ())):
        _replace_types(schema)
    return ParsedMetadata(TableMetadataUtil.parse_obj(metadata), manifests)


def _make_strings(parent: dict[str, Any], name: str) -> None:
    """Convert the values of properties to strings, as pyiceberg requires, and drop nulls."""
    if isinstance(parent.get(name), dict):
        parent[name] = {key: _as_string(value) for key, value in parent[name].items() if value is not None}


def _as_string(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _partition_specs(metadata: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    yield metadata.get("partition-spec") or []
    for spec in metadata.get("partition-specs") or ():
        yield spec.get("fields") or []


def _replace_types(type_json: Any) -> None:
    """Replace each nested type that pyiceberg lacks with an OtherType."""
    if not isinstance(type_json, dict):
        return
    for field in type_json.get("fields") or ():
        field["type"] = _replace_unknown_type(field["type"])
    for part in _NESTED.get(str(type_json.get("type")), ()):
        type_json[part] = _replace_unknown_type(type_json[part])


def _replace_unknown_type(type_json: Any) -> Any:
    if not isinstance(type_json, str):
        _replace_types(type_json)
        return type_json
    from pyiceberg.types import IcebergType

    try:
        IcebergType.handle_primitive_type(type_json, lambda value: value)
    except ValueError:
        return other_type(type_json)
    return type_json


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
    other: OtherType = OtherType.model_construct(root=name)
    return other
