"""Columns of a DataFrame by their exact names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def column_of(name: str, *, nested: bool = True) -> Column:
    """Refer to a column by its exact name; with `nested` a dot leads into a struct."""
    from pyspark.sql import functions as fn

    parts = name.split(".") if nested else [name]
    return fn.col(".".join("`" + part.replace("`", "``") + "`" for part in parts))
