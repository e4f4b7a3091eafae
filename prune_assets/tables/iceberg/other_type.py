"""A type of Iceberg that pyiceberg lacks; imported only where pyiceberg is installed."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field
from pyiceberg.types import PrimitiveType


class OtherType(PrimitiveType):  # type: ignore[misc]  # pyiceberg is not installed everywhere
    """A type by its name, such as `variant`."""

    root: str = Field()

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return a new object: pyiceberg has one object of each other type."""
        return object.__new__(cls)

    def __str__(self) -> str:
        """Return the name of the type."""
        return self.root

    def __repr__(self) -> str:
        """Return the name of the type."""
        return f"OtherType({self.root!r})"

    def __eq__(self, other: object) -> bool:
        """Compare names."""
        return isinstance(other, OtherType) and self.root == other.root

    def __hash__(self) -> int:
        """Return the hash of the name."""
        return hash(self.root)


def other_type(name: str) -> OtherType:
    """Return the type of a name, which pyiceberg does not parse."""
    found: OtherType = OtherType.model_construct(root=name)
    return found
