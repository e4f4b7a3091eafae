"""Dictionaries or bloom filters at hand: those that an index was asked for; memory has those that earlier ones read."""

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
    """One kind of structure by column and row group; `what` names it in memory. A reason stands for an absent one."""

    what: str
    kept: KeptColumns
    _asked: dict[Path, dict[int, Structure | str]] = field(default_factory=dict)
    _grown: dict[Path, LeafColumn] = field(default_factory=dict)

    def of(self, column: LeafColumn) -> dict[int, Structure | str]:
        """Return by row group what was asked of a column."""
        return self._asked.setdefault(column.path, {})

    def put(self, column: LeafColumn, position: int, found: Structure | str) -> None:
        """Take in what was read of a row group."""
        self.of(column)[position] = found
        self._grown[column.path] = column

    def recall(self, column: LeafColumn, positions: NDArray[np.int64]) -> None:
        """Take from memory what it has of row groups; what is doubted must not be among them."""
        earlier, at_hand = self._in_memory(column), self.of(column)
        if earlier:
            at_hand.update((p, earlier[p]) for p in positions.tolist() if p in earlier and p not in at_hand)

    def save(self) -> None:
        """Keep in memory what was read since the last time; reasons are found again without reading."""
        for path, column in self._grown.items():
            new = {p: structure for p, structure in self._asked[path].items() if not isinstance(structure, str)}
            self.kept.remember(self.kept.name(self.what, column), self._in_memory(column) | new)
        self._grown.clear()

    def _in_memory(self, column: LeafColumn) -> dict[int, Structure]:
        found: dict[int, Structure] | None = self.kept.recall(self.kept.name(self.what, column), on_disk=False)
        return {} if found is None else found
