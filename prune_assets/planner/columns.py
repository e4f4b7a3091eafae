"""Leaf columns that a read touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.pruning.predicate import columns_of
from prune_assets.tables.column_names import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Predicate


def check_names(names: Sequence[str] | None) -> None:
    """Raise WrongUse unless the columns are None or a list of names."""
    if isinstance(names, str):
        raise WrongUse(f"columns={names!r}: give a list of names, columns=[{names!r}]")
    if names is not None and not all(isinstance(name, str) for name in names):
        raise WrongUse(f"columns={names!r}: give the names of columns as text, columns=['a', 'b']")


def columns_to_read(
    table: Sequence[LeafColumn],
    names: Sequence[str] | None,
    predicate: Predicate,
    *,
    partitions: Sequence[LeafColumn] = (),
) -> tuple[LeafColumn, ...]:
    """Return the leaves of the named top-level columns (all if None) and of the predicate's columns.

    `partitions`: columns that may be named too, although nothing is read for them.
    """
    if names is None:
        return tuple(table)
    wanted = {resolve(name, [*table, *partitions]) for name in names} | {path[0] for path in columns_of(predicate)}
    return tuple(column for column in table if column.path[0] in wanted)
