"""Version-specific behavior of Spark: one profile per version, chosen by the version that reads.

The profiles follow the source code of Spark 3.5.9, 4.0.1, 4.1.0 and 4.2.0 and of parquet-java 1.13 to 1.17, and were
compared with runs. All versions share the rest: how predicates are translated and pushed down, when an IN list is
pushed down as a range, and how parquet-java evaluates statistics, dictionaries, bloom filters and column indexes.
"""

from __future__ import annotations

from dataclasses import dataclass

from parquet_core.errors import WrongUse
from prune_assets.spark.spark_versions import installed_version, release, spark_name


@dataclass(frozen=True, slots=True)
class SparkProfile:
    """Filters that a version of Spark pushes down, and how its parquet-java reads.

    `unwraps_dates`: Spark removes the cast of a date that is compared with a timestamp (UnwrapCastInBinaryComparison).
    `joins_wildcards`: `LIKE 'a%%'` is pushed down like `LIKE 'a%'` (LikeSimplification).
    `counts_pages`: a column index whose page count differs from its offset index is ignored (ColumnIndexFilter).
    """

    release: tuple[int, int]
    unwraps_dates: bool = True
    joins_wildcards: bool = True
    counts_pages: bool = True


PROFILES = (
    SparkProfile((3, 5), unwraps_dates=False, joins_wildcards=False, counts_pages=False),  # parquet-java 1.13
    SparkProfile((4, 0), joins_wildcards=False, counts_pages=False),  # 1.15
    SparkProfile((4, 1), counts_pages=False),  # 1.16
    SparkProfile((4, 2)),  # 1.17, as in 4.3
    SparkProfile((4, 3)),
)
NEWEST = PROFILES[-1]


def reading_version(session_version: str | None) -> str:
    """Return the version of a session, or of the installed pyspark, which is not imported for it."""
    return session_version or installed_version() or "{}.{}".format(*NEWEST.release)


def profile_of(session_version: str | None) -> SparkProfile:
    """Return the profile of the version that reads; an unknown version gets the profile of the version before it.

    >>> profile_of("4.0.5").release, profile_of("5.1.0").release
    ((4, 0), (4, 3))
    """
    version = release(reading_version(session_version))
    return next((profile for profile in reversed(PROFILES) if profile.release <= version), PROFILES[0])


def reader_name(session_version: str | None) -> str:
    """Name the version that reads.

    If the version has no profile of its own, the name includes the modelled version.

    >>> reader_name("4.0.5"), reader_name("5.1.0")
    ('Spark 4.0', 'Spark 5.1 (modelled as 4.3)')
    """
    version, modelled = reading_version(session_version), profile_of(session_version).release
    return spark_name(version) + ("" if release(version) == modelled else " (modelled as {}.{})".format(*modelled))


def version_of_engine(name: str) -> str:
    """Return the Spark version of an engine name.

    >>> version_of_engine("spark-3.5")
    '3.5'
    """
    versions = {"spark-{}.{}".format(*profile.release): "{}.{}".format(*profile.release) for profile in PROFILES}
    if name not in versions:
        raise WrongUse(f"engine {name!r}: unknown; give one of {', '.join(versions)}")
    return versions[name]
