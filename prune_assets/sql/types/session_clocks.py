"""The settings of a session that decide about times: its zone, and the types of timestamps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prune_assets.sql.types.zones import DAY, zone_named

if TYPE_CHECKING:
    from prune_assets.semantics import SparkSemantics
    from prune_assets.sql.types.zones import Zone

NO_TIMESTAMP_NTZ = (
    "with inferTimestampNTZ off Spark may read another type",
    "unset spark.sql.parquet.inferTimestampNTZ.enabled",
)
NO_TIMESTAMP = ("with this spark.sql.timestampType a TIMESTAMP may have no zone", "unset spark.sql.timestampType")


@dataclass(frozen=True, slots=True)
class Clocks:
    """What of a session decides about times: its `zone`, None where it is not known."""

    zone: Zone | None
    ansi: bool
    timestamp_ntz: bool
    infer_timestamp_ntz: bool

    @classmethod
    def of(cls, semantics: SparkSemantics) -> Clocks:
        """Take what decides about times from a session's settings."""
        zone = None if semantics.time_zone is None else zone_named(semantics.time_zone)
        if zone is not None and semantics.zone_span is not None:
            zone = replace(zone, first=semantics.zone_span[0], last=semantics.zone_span[1])
        return cls(
            None if zone is None else _after_skipped_days(zone),
            semantics.ansi,
            semantics.timestamp_ntz,
            semantics.infer_timestamp_ntz,
        )


def _after_skipped_days(zone: Zone) -> Zone:
    """Return a zone that is certain only after the last day its calendar skipped or had twice.

    Of such a day Spark says one thing where it computes and another where it rewrites the comparison.
    """
    skipped = [change.instant for change in zone.changes() if abs(change.after - change.before) > DAY // 2]
    return replace(zone, first=max(zone.first, skipped[-1] + 4 * DAY)) if skipped else zone
