"""Whether the name of a function still is that of Spark's own: a session may register another in its place.

Before functions were looked up along a path, one that is registered hid Spark's own of that name; now it does so
with spark.sql.functionResolution.sessionOrder=first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.spark.asking.column_predicate import quiet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWN = "Class: org.apache.spark.sql.catalyst.expressions."


def is_own_function(session: SparkSession, name: str) -> bool:
    """Tell whether Spark takes a function's name for one of its own; False where that is not known."""
    from pyspark.errors import PySparkException

    try:
        with quiet():
            lines = session.sql(f"DESCRIBE FUNCTION `{name.replace('`', '``')}`").collect()
    except PySparkException:
        return False
    return any(str(line[0]).startswith(_OWN) for line in lines)
