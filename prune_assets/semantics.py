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
    `infer_partition_types`: values in directory names have the type that fits them, or are all strings.
    `minimum_precision`: an integer literal beside a decimal has as many digits as are written.
    `binary_as_string`: bytes that no annotation describes are read as strings.
    """

    time_zone: str | None = None
    ansi: bool = True
    case_sensitive: bool = False
    legacy_literals: bool = False
    infer_partition_types: bool = True
    binary_as_string: bool = False
    minimum_precision: bool = True

    @classmethod
    def of(cls, session: SparkSession) -> SparkSemantics:
        """Read the settings of a running session."""
        return cls(
            time_zone=session.conf.get("spark.sql.session.timeZone"),
            ansi=is_true(session, "spark.sql.ansi.enabled"),
            case_sensitive=is_true(session, "spark.sql.caseSensitive"),
            legacy_literals=is_true(session, "spark.sql.parser.escapedStringLiterals", "false")
            or is_true(session, "spark.sql.legacy.consecutiveStringLiterals.enabled", "false"),
            infer_partition_types=is_true(session, "spark.sql.sources.partitionColumnTypeInference.enabled"),
            binary_as_string=is_true(session, "spark.sql.parquet.binaryAsString"),
            minimum_precision=is_true(session, "spark.sql.legacy.literal.pickMinimumPrecision", "true"),
        )

    def reads_alike(self, other: SparkSemantics) -> bool:
        """Tell whether a predicate without times means the same under both."""
        return replace(self, time_zone=None) == replace(other, time_zone=None)


def is_true(session: SparkSession, key: str, *default: str) -> bool:
    """Tell whether a setting of a session is true.

    With a default named, Spark passes over its own: only for settings that it does not list.
    """
    return str(session.conf.get(key, *default)).lower() == "true"
