"""Cache of dictionaries or bloom filters.

Each index has its own cache, which is filled from the structures that earlier indexes left in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_core.dataset.stored_index import KeptColumns
    from parquet_core.format.schema import LeafColumn, Path

Structure = TypeVar("Structure")


@dataclass(slots=True)
class StructuresAtHand(Generic[Structure]):
    """Structures of one type, by column and row group.

    An unusable structure is replaced by the reason. `what`: the part of the memory cache key that names the type.
    """

    what: str
    kept: KeptColumns
    _asked: dict[Path, dict[int, Structure | str]] = field(default_factory=dict)
    _grown: dict[Path, LeafColumn] = field(default_factory=dict)

    def of(self, column: LeafColumn) -> dict[int, Structure | str]:
        """Return the structures and reasons of a column, by row group."""
        return self._asked.setdefault(column.path, {})

    def put(self, column: LeafColumn, position: int, found: Structure | str) -> None:
        """Store the structure of a row group, or a reason."""
        self.of(column)[position] = found
        self._grown[column.path] = column

    def recall(self, column: LeafColumn, positions: NDArray[np.int64]) -> None:
        """Load structures that earlier indexes left in memory.

        The caller excludes row groups whose structure is distrusted.
        """
        earlier, at_hand = self._in_memory(column), self.of(column)
        if earlier:
            at_hand.update((p, earlier[p]) for p in positions.tolist() if p in earlier and p not in at_hand)

    def save(self) -> None:
        """Publish structures read since the last `save` to later indexes in memory.

        Reasons are left out: they are recomputed without reading files.
        """
        for path, column in self._grown.items():
            new = {p: structure for p, structure in self._asked[path].items() if not isinstance(structure, str)}
            self.kept.remember(self.kept.name(self.what, column), self._in_memory(column) | new)
        self._grown.clear()

    def _in_memory(self, column: LeafColumn) -> dict[int, Structure]:
        found: dict[int, Structure] | None = self.kept.recall(self.kept.name(self.what, column), on_disk=False)
        return {} if found is None else found
