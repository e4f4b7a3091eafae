"""Settings of a running session that decide the meaning of a predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from prune_assets.spark.supported import check_session
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.types.zones import DAY, SECOND, Zone, zone_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    Span = tuple[int, int]

# From 1840 to 2150 in seconds since 1970: before, no zone changes its clocks; afterwards, all rules stay the same.
_START, _STOP, _STEP = -4_102_444_800, 5_680_281_600, 13 * 86_400
_MIDDLE = 946_684_800  # 2000-01-01
_EVERYWHERE = Zone("", zone_named("UTC").rules)  # type: ignore[union-attr]  # always known
_KNOWN: WeakKeyDictionary[SparkSession, dict[str, Span | None]] = WeakKeyDictionary()


def semantics_of(session: SparkSession) -> SparkSemantics:
    """Read the settings of a session.

    The period in which Spark and this machine agree on the session's time zone is computed once for each session and
    zone. Raises UnsupportedFeature for a version of Spark that is not supported.
    """
    # In Spark 3.5, which lacks some of these settings, their behavior is always on.
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
    """Return True if a setting of a session is true.

    A given default overrides Spark's own default, so give one only for settings that Spark does not list.
    """
    return str(session.conf.get(key, *default)).lower() == "true"


def agreed_span(session: SparkSession, name: str) -> Span | None:
    """Return the first and the last instant of the period in which Spark and this machine agree on a zone.

    Instants are in microseconds since 1970. None for an unknown or fixed zone. Computed once per session and zone.
    """
    zone = zone_named(name)
    if zone is None or zone.is_fixed:
        return None
    spans = _KNOWN.setdefault(session, {})
    if name not in spans:
        spans[name] = _ask(session, Zone(name, zone.rules))
    return spans[name]


def _ask(session: SparkSession, zone: Zone) -> Span | None:
    seconds = _telling_seconds(zone)
    here = [_offset(zone, second) for second in seconds]
    there = _offsets_of_spark(session, seconds)
    wrong = [second for second, ours, theirs in zip(seconds, here, there, strict=True) if ours != theirs]
    if any(abs(second - _MIDDLE) < _STEP for second in wrong):
        return (0, -1)
    before = max((second for second in wrong if second < _MIDDLE), default=None)
    after = min((second for second in wrong if second > _MIDDLE), default=None)
    # Clocks may have changed between two samples.
    first = _EVERYWHERE.first if before is None else before * SECOND + 14 * DAY
    last = _EVERYWHERE.last if after is None else after * SECOND - 14 * DAY
    return first, last


def _telling_seconds(zone: Zone) -> list[int]:
    """Return instants that reveal the rules of a zone.

    Some are evenly spaced from 1840 to 2150, the others are just before and after every clock change found.
    """
    grid = list(range(_START, _STOP, _STEP))
    offsets = [_offset(zone, second) for second in grid]
    edges = [
        edge
        for i in range(len(grid) - 1)
        if offsets[i] != offsets[i + 1]
        for edge in _around_change(zone, grid[i], grid[i + 1])
    ]
    return sorted({*grid, *edges})


def _around_change(zone: Zone, early: int, late: int) -> tuple[int, int]:
    before = _offset(zone, early)
    while late - early > 1:
        middle = (early + late) // 2
        early, late = (middle, late) if _offset(zone, middle) == before else (early, middle)
    return early, late


def _offset(zone: Zone, second: int) -> int:
    return zone.offset(second * SECOND) // SECOND


def _offsets_of_spark(session: SparkSession, seconds: Sequence[int]) -> list[int]:
    local = "CAST(timestamp_seconds(s) AS TIMESTAMP_NTZ)"
    offset = f"timestampdiff(SECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {local}) - s"
    # Splitting a string is faster than parsing thousands of literals.
    given = f"transform(split('{' '.join(map(str, seconds))}', ' '), t -> CAST(t AS BIGINT))"
    rows = session.sql(f"SELECT transform({given}, s -> {offset}) AS offsets").collect()
    return [int(value) for value in rows[0].offsets]
