"""Columns of a DataFrame by their exact names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def column_of(name: str, *, nested: bool = True) -> Column:
    """Refer to a column by its exact name; with `nested` a dot leads into a struct."""
    from pyspark.sql import functions as fn

    return fn.col(".".join(map(quoted, name.split(".") if nested else [name])))


def quoted(name: str) -> str:
    """Return a name in backquotes, in which SQL takes any name.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"
