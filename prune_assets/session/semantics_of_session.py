"""Read from a running session the settings on which the meaning of a predicate depends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prune_assets.session.supported import check_session
from prune_assets.session.zone_rules import agreed_span
from prune_assets.sql.semantics import SparkSemantics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def semantics_of(session: SparkSession) -> SparkSemantics:
    """Read the settings of a running session, and once what it knows of its time zone; refuse one of another Spark."""
    # What Spark 4 made settings of holds always before.
    version = check_session(session)
    defaults = SparkSemantics.of(version)
    time_zone = session.conf.get("spark.sql.session.timeZone")
    return SparkSemantics(
        time_zone=time_zone,
        zone_span=None if time_zone is None else agreed_span(session, time_zone),
        spark_version=version,
        ansi=is_true(session, "spark.sql.ansi.enabled"),
        case_sensitive=is_true(session, "spark.sql.caseSensitive"),
        legacy_literals=is_true(session, "spark.sql.parser.escapedStringLiterals", "false"),
        consecutive_literals=defaults.consecutive_literals
        or is_true(session, "spark.sql.legacy.consecutiveStringLiterals.enabled", "false"),
        infer_partition_types=is_true(session, "spark.sql.sources.partitionColumnTypeInference.enabled"),
        binary_as_string=is_true(session, "spark.sql.parquet.binaryAsString"),
        minimum_precision=is_true(session, "spark.sql.legacy.literal.pickMinimumPrecision", "true"),
        retain_fraction_digits=defaults.retain_fraction_digits
        or is_true(session, "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate", "false"),
        timestamp_ntz=session.conf.get("spark.sql.timestampType") != "TIMESTAMP_LTZ",
        infer_timestamp_ntz=is_true(session, "spark.sql.parquet.inferTimestampNTZ.enabled"),
    )


def is_true(session: SparkSession, key: str, *default: str) -> bool:
    """Tell whether a setting of a session is true.

    With a default named, Spark passes over its own: only for settings that it does not list.
    """
    return str(session.conf.get(key, *default)).lower() == "true"
