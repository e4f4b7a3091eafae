"""The settings of a Spark session on which the meaning of a predicate depends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkSemantics:
    """What Spark would make of a predicate; the defaults are those of Spark 4.

    `time_zone` None: unknown, what depends on it is refused. `legacy_literals`: string literals mean
    what they meant in Spark 1.6 or 3 (`escapedStringLiterals`, `consecutiveStringLiterals`).
    """

    time_zone: str | None = None
    ansi: bool = True
    case_sensitive: bool = False
    legacy_literals: bool = False

    @classmethod
    def of(cls, session: SparkSession) -> SparkSemantics:
        """Read the settings of a running session."""

        def is_true(key: str, *default: str) -> bool:
            # With a default named, Spark passes over its own: only for settings that are off by default.
            return str(session.conf.get(key, *default)).lower() == "true"

        return cls(
            time_zone=session.conf.get("spark.sql.session.timeZone"),
            ansi=is_true("spark.sql.ansi.enabled"),
            case_sensitive=is_true("spark.sql.caseSensitive"),
            legacy_literals=is_true("spark.sql.parser.escapedStringLiterals", "false")
            or is_true("spark.sql.legacy.consecutiveStringLiterals.enabled", "false"),
        )

    def reads_alike(self, other: SparkSemantics) -> bool:
        """Tell whether a predicate without times means the same under both."""
        return replace(self, time_zone=None) == replace(other, time_zone=None)
