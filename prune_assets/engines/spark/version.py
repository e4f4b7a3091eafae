"""The name under which reports show Spark: the version that reads, and the one whose rules are modelled."""

from __future__ import annotations

from prune_assets.session.spark_versions import installed_version, release, spark_name

# Whose push-down and reader the predictions follow.
MODELLED = "4.3"


def reader_name(session_version: str | None) -> str:
    """Name the version of a session, or without one the installed version of pyspark, which is not imported.

    >>> reader_name("4.3.0"), reader_name("4.0.5")
    ('Spark 4.3', 'Spark 4.0 (modelled as 4.3)')
    """
    version = session_version or installed_version() or MODELLED
    name = spark_name(version)
    return name if release(version) == release(MODELLED) else f"{name} (modelled as {MODELLED})"
