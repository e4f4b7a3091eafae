"""Columns of a DataFrame by their exact names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def column_of(name: str, *, nested: bool = True) -> Column:
    """Return a column by its exact name.

    If `nested`, a dot separates a struct from its field.
    """
    from pyspark.sql import functions as fn

    return fn.col(".".join(map(quoted, name.split(".") if nested else [name])))


def quoted(name: str) -> str:
    """Quote a name in backquotes, so that SQL accepts any name.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"
