"""Resolve the source of a write to a DataFrame."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prune_assets.reading.reader import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_QUERY = re.compile(r"[\s(]*(select|with|from|table|values)\b", re.IGNORECASE)


def rows_of(source: str | Path | Callable[[SparkSession], DataFrame], session: SparkSession) -> DataFrame:
    """Return the rows of a query, a location, or a function.

    The query is SQL, the location a path or address (Parquet or Delta); the function takes the session.

    >>> rows_of("SELECT * FROM range(9)", spark).count(), rows_of(lambda spark: spark.range(3), spark).count()
    (9, 3)
    """
    if callable(source):
        return source(session)
    if isinstance(source, str) and _QUERY.match(source):
        return session.sql(source)
    return read(str(source), where="true", session=session)
