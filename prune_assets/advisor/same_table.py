"""Match queries of a workload to a table, by the table's path or name, or else by the last part of either."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from parquet_core.printable import listed, printable, redacted
from parquet_core.storage import address, is_remote, local_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.advisor.workload.query_shapes import QueryShape, Workload


def shapes_on(*names: str, workload: Workload) -> list[QueryShape]:
    """Return the query shapes on a table that has one of these names.

    If there is no such shape, return the shapes on a table whose name has the same last part. Raises WrongUse if
    several tables have that last part.
    """
    return _on_itself(names, workload) or _on_namesake(names, workload)


def notes_on(*names: str, workload: Workload) -> tuple[str, ...]:
    """Return a note if `shapes_on` takes queries on another path, or leaves queries out."""
    own, last = _on_itself(names, workload), _last_part(names[0])
    if own:
        left = {
            shape.table
            for shape in workload.shapes
            if shape not in own and "/" not in shape.table and _last_part(shape.table) == last
        }
        clause = (
            f"queries on {listed(map(_shown, sorted(left)))} are left out; other queries are on {_shown(names[0])} "
            f"itself"
        )
        return (f"{clause}; if it is one table, use one name in all queries",) if left else ()
    taken = _places(_on_namesake(names, workload))
    return (f"no query on {_shown(names[0])}; queries on {listed(map(_shown, taken))} are used",) if taken else ()


def _on_itself(names: Sequence[str], workload: Workload) -> list[QueryShape]:
    every = {*names, *map(_spelled, names)}
    return [shape for shape in workload.shapes if every & {shape.table, shape.table.rstrip("/"), *shape.names}]


def _on_namesake(names: Sequence[str], workload: Workload) -> list[QueryShape]:
    last = _last_part(names[0])
    shapes = [shape for shape in workload.shapes if _last_part(shape.table) == last]
    tables = [*_places(shapes), *_names_without_place(shapes)]
    if len(tables) > 1:
        raise WrongUse(
            f"{_shown(names[0])}: the workload has no query on it, but on several tables of this name: "
            f"{listed(map(_shown, tables))}; select one of them with `prune workload .. --table TABLE --save FILE`, "
            "and give that file"
        )
    return shapes


def _places(shapes: Sequence[QueryShape]) -> list[str]:
    """Return the paths that queries ran on, without names of SQL and of catalogs."""
    return sorted({shape.table.rstrip("/") for shape in shapes if "/" in shape.table})


def _names_without_place(shapes: Sequence[QueryShape]) -> list[str]:
    """Return the names of tables whose path is unknown, one name per table.

    A name that may be short for another one is left out: with `sales.orders` and `web.orders`, `orders` is.
    """
    placed = {name for shape in shapes if "/" in shape.table for name in shape.names}
    called = {shape.table for shape in shapes if "/" not in shape.table}
    return sorted(
        name for name in called if not any(f".{other}".endswith(f".{name}") for other in placed | called - {name})
    )


def _shown(table: str) -> str:
    return printable(redacted(table))


def _spelled(location: str) -> str:
    """Return a path in the form in which event logs have it."""
    return address(location) if is_remote(location) else os.path.abspath(local_path(location))  # noqa: PTH100 - links must remain


def _last_part(name: str) -> str:
    """Return the last part of a path, or of a catalog name.

    >>> _last_part("/lake/ships.parquet/"), _last_part("lake.ships")
    ('ships', 'ships')
    """
    whole = name.rstrip("/").removesuffix(".parquet")
    return re.split("/" if "/" in whole else r"\.", whole)[-1]
