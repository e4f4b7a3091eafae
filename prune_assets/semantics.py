"""The settings of a Spark session on which the meaning of a predicate depends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkSemantics:
    """What Spark would make of a predicate; the defaults are those of Spark 4.

    `time_zone` None: unknown, what depends on it is refused.
    """

    time_zone: str | None = None
    ansi: bool = True
    case_sensitive: bool = False

    @classmethod
    def of(cls, session: SparkSession) -> SparkSemantics:
        """Read the settings of a running session."""

        def is_true(key: str) -> bool:
            return str(session.conf.get(key)).lower() == "true"

        return cls(
            time_zone=session.conf.get("spark.sql.session.timeZone"),
            ansi=is_true("spark.sql.ansi.enabled"),
            case_sensitive=is_true("spark.sql.caseSensitive"),
        )
