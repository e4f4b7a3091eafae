"""The settings of a Spark session on which the meaning of a predicate depends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import Any

from parquet_core.errors import WrongUse


@dataclass(frozen=True, slots=True)
class SparkSemantics:
    """The settings of a Spark session that decide what a predicate means, to plan without one.

    The defaults are those of Spark 4, and `of` has those of a version; only the time zone has none: with it, predicates
    with local times skip more. An hour east of Greenwich midnight comes an hour earlier, so one more of these 48 row
    groups is skipped:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> hours = pa.array(range(0, 48 * 3_600_000_000, 3_600_000_000), pa.timestamp("us", "UTC"))
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"at": hours}), f"{table}/part-0.parquet", row_group_size=1)
    >>> for zone in ("UTC", "+01:00"):
    ...     semantics = pr.SparkSemantics(time_zone=zone)
    ...     pr.plan(table, where="at < TIMESTAMP '1970-01-02 00:00:00'", session=semantics).report.kept.rows
    24
    23

    `time_zone` None: unknown; what depends on it skips what no zone selects, 18 hours east or west of Greenwich.
    `legacy_literals`: string literals mean what they meant in Spark 1.6 (`escapedStringLiterals`).
    `consecutive_literals`: `'it''s'` means `its`, as in Spark 3 (`consecutiveStringLiterals`).
    `infer_partition_types`: values in directory names have the type that fits them, or are all strings.
    `binary_as_string`: bytes that no annotation describes are read as strings.
    `minimum_precision`: an integer literal beside a decimal has as many digits as are written.
    `retain_fraction_digits`: of a decimal with too many digits those before the point are given up.
    `timestamp_ntz`: TIMESTAMP means TIMESTAMP_NTZ (`spark.sql.timestampType`).
    `infer_timestamp_ntz`: timestamps without a zone are read as such.
    `zone_span`: the microseconds since 1970 between which Spark's rules of the zone are known to be those of this
    machine; None where it is not known.
    `spark_version`: that of the session, which reports name; None for the installed one.
    """

    time_zone: str | None = None
    ansi: bool = True
    case_sensitive: bool = False
    legacy_literals: bool = False
    consecutive_literals: bool = False
    infer_partition_types: bool = True
    binary_as_string: bool = False
    minimum_precision: bool = True
    retain_fraction_digits: bool = False
    timestamp_ntz: bool = False
    infer_timestamp_ntz: bool = True
    zone_span: tuple[int, int] | None = field(default=None, compare=False)
    spark_version: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Raise WrongUse for a setting of another type."""
        for name in _SETTINGS:
            value, type_ = getattr(self, name), str if name == "time_zone" else bool
            if not isinstance(value, type_) and not (name == "time_zone" and value is None):
                expected = "the name of a time zone, such as 'Europe/Berlin'" if type_ is str else "True or False"
                raise WrongUse(f"SparkSemantics: {name}={value!r}; give {expected}")

    @classmethod
    def of(cls, spark_version: str | None, **settings: Any) -> SparkSemantics:
        """Return the settings of a new session of a version, but for those that are given; None is Spark 4.

        >>> SparkSemantics.of("3.5.9").ansi, SparkSemantics.of("4.0.5").ansi, SparkSemantics.of("3.5.9", ansi=True).ansi
        (False, True, True)

        Raises WrongUse for a text that does not name a version, and for a setting of another type.
        """
        if spark_version is not None and not (isinstance(spark_version, str) and re.match(r"\d+\.\d", spark_version)):
            raise WrongUse(f"SparkSemantics: spark_version={spark_version!r}; give a version of Spark, such as '4.1.0'")
        of_3 = {"ansi": False, "consecutive_literals": True, "retain_fraction_digits": True}
        defaults = of_3 if spark_version is not None and spark_version.startswith("3.") else {}
        return cls(**{"spark_version": spark_version, **defaults, **settings})

    def knows_literals_of(self, sql: str) -> bool:
        r"""Tell whether the string literals of a predicate mean what they do in Spark 4.

        >>> SparkSemantics(consecutive_literals=True).knows_literals_of("a = '' OR a = 'it' OR a = 'is'")
        True
        >>> SparkSemantics(consecutive_literals=True).knows_literals_of("a = 'it''s'")
        False
        """
        if self.legacy_literals:
            return "'" not in sql and '"' not in sql
        return not (self.consecutive_literals and _may_double_quotes(sql))

    def reads_alike(self, other: SparkSemantics) -> bool:
        """Tell whether a predicate without times means the same under both."""
        return self == replace(other, time_zone=self.time_zone)


_SETTINGS = [one.name for one in fields(SparkSemantics) if one.compare]
# A name in backticks is a token of its own: a quote in it begins no literal.
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`""", re.DOTALL)
# In these a quote may be no quote, or a backslash no escape.
_MISLEADING = re.compile(r"""--|/\*|\br['"]""", re.IGNORECASE)


def _may_double_quotes(sql: str) -> bool:
    """Tell whether a literal may have its own quote in it twice."""
    if "''" not in sql and '""' not in sql:
        return False
    literals = [match.span() for match in _TOKEN.finditer(sql) if match[0][0] != "`"]
    ends = {end: sql[start] for start, end in literals}
    return _MISLEADING.search(sql) is not None or any(sql[start] == ends.get(start) for start, _ in literals)
