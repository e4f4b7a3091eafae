"""Short lists value by value: what a row group is known to lack of a list, its pages need not be kept for.

`a IN (1, 7)` where a row group has no 1, by its filter, its dictionary or bounds narrower than those of its pages, is
`a = 7` there. The list stays one leaf to everybody else: its values are
asked about beside it, and what is known of them is joined to what is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.outcomes import any_of, intersect
from parquet_core.predicate import Compare, In, Op

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.outcomes import OutcomeArray
    from parquet_core.predicate import Leaf, Path

# A longer list has a value in almost every row group.
MAX_VALUES = 20
# Over all lists of a predicate.
MAX_VALUES_IN_ALL = 200


@dataclass(frozen=True, slots=True)
class SplitLists:
    """`values`: equalities that are asked about behind the leaves, `leaves` in number; `of`: by list those of it."""

    leaves: int
    values: tuple[Compare, ...] = ()
    of: tuple[tuple[int, slice], ...] = ()

    def joined(self, answers: OutcomeArray) -> OutcomeArray:
        """Return the answers of the leaves alone, those of a list narrowed by those of its values."""
        found = answers[: self.leaves]
        if not self.of:
            return found
        found = found.copy()
        for number, rows in self.of:
            found[number] = intersect(found[number], any_of(answers[rows]))
        return found


def split_lists(leaves: Sequence[Leaf], columns: Mapping[Path, LeafColumn]) -> SplitLists:
    """Split the short lists on columns of files."""
    values: list[Compare] = []
    of: list[tuple[int, slice]] = []
    for i, leaf in enumerate(leaves):
        if not isinstance(leaf, In) or not 1 < len(leaf.values) <= MAX_VALUES or pa.types.is_boolean(leaf.values.type):
            continue
        fits = len(values) + len(leaf.values) <= MAX_VALUES_IN_ALL
        if fits and leaf.column in columns:
            first = len(leaves) + len(values)
            values += [Compare(leaf.column, Op.EQ, value) for value in leaf.values]
            of.append((i, slice(first, len(leaves) + len(values))))
    return SplitLists(len(leaves), tuple(values), tuple(of))
