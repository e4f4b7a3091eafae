"""Settings of a Spark session on which the meaning of a predicate depends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import Any

from parquet_core.errors import WrongUse


@dataclass(frozen=True, slots=True)
class SparkSemantics:
    """Session settings that decide what a predicate means.

    With them, predicates are planned without a Spark session. The defaults are for Spark 4; `of` returns the defaults
    of another version. Only the time zone has no default. With a time zone, predicates with local times skip more. East
    of Greenwich midnight comes earlier, so with UTC+1 one more of these 48 row groups is skipped:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> hours = pa.array(range(0, 48 * 3_600_000_000, 3_600_000_000), pa.timestamp("us", "UTC"))
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"at": hours}), f"{table}/part-0.parquet", row_group_size=1)
    >>> for zone in ("UTC", "+01:00"):
    ...     semantics = pr.SparkSemantics(time_zone=zone)
    ...     pr.plan(table, where="at < TIMESTAMP '1970-01-02 00:00:00'", semantics=semantics).report.kept.rows
    24
    23

    `time_zone`: name of the zone. None if unknown; conditions that depend on the zone then skip only rows that no zone
    within 18 hours of UTC selects.
    `legacy_literals`: string literals are read as in Spark 1.6 (`escapedStringLiterals`).
    `consecutive_literals`: `'it''s'` means `its`, as in Spark 3 (`consecutiveStringLiterals`).
    `infer_partition_types`: values in directory names get the type that fits them; if False, all are strings.
    `binary_as_string`: bytes without an annotation are read as strings.
    `minimum_precision`: an integer literal next to a decimal has as many digits as are written.
    `retain_fraction_digits`: a decimal with too many digits loses integer digits instead of fractional ones.
    `timestamp_ntz`: TIMESTAMP means TIMESTAMP_NTZ (`spark.sql.timestampType`).
    `infer_timestamp_ntz`: timestamps without a zone are read as TIMESTAMP_NTZ.
    `zone_span`: first and last instant, in microseconds since 1970-01-01, between which Spark's rules of the zone are
    known to match this machine's; None if unknown.
    `spark_version`: version of the session, for reports; None for the installed version.
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
        """Raise WrongUse for a setting of the wrong type."""
        for name in _SETTINGS:
            value, type_ = getattr(self, name), str if name == "time_zone" else bool
            if not isinstance(value, type_) and not (name == "time_zone" and value is None):
                expected = "the name of a time zone, such as 'Europe/Berlin'" if type_ is str else "True or False"
                raise WrongUse(f"SparkSemantics: {name}={value!r}; give {expected}")

    @classmethod
    def of(cls, spark_version: str | None, **settings: Any) -> SparkSemantics:
        """Return the settings of a new session of a Spark version.

        `spark_version`: version such as "3.5.9". None for Spark 4.
        `settings`: values that replace the defaults.

        >>> SparkSemantics.of("3.5.9").ansi, SparkSemantics.of("4.0.5").ansi, SparkSemantics.of("3.5.9", ansi=True).ansi
        (False, True, True)

        Raises WrongUse for a text that does not name a version, and for a setting of the wrong type.
        """
        if spark_version is not None and not (isinstance(spark_version, str) and re.match(r"\d+\.\d", spark_version)):
            raise WrongUse(f"SparkSemantics: spark_version={spark_version!r}; give a version of Spark, such as '4.1.0'")
        of_3 = {"ansi": False, "consecutive_literals": True, "retain_fraction_digits": True}
        defaults = of_3 if spark_version is not None and spark_version.startswith("3.") else {}
        return cls(**{"spark_version": spark_version, **defaults, **settings})

    def knows_literals_of(self, sql: str) -> bool:
        r"""Return whether the string literals of a predicate mean the same as in Spark 4.

        >>> SparkSemantics(consecutive_literals=True).knows_literals_of("a = '' OR a = 'it' OR a = 'is'")
        True
        >>> SparkSemantics(consecutive_literals=True).knows_literals_of("a = 'it''s'")
        False
        """
        if self.legacy_literals:
            return "'" not in sql and '"' not in sql
        return not (self.consecutive_literals and _may_double_quotes(sql))

    def reads_alike(self, other: SparkSemantics) -> bool:
        """Return whether a predicate without times means the same under both settings."""
        return self == replace(other, time_zone=self.time_zone)


_SETTINGS = [one.name for one in fields(SparkSemantics) if one.compare]
# A name in backticks is a separate token, because a quote in it does not start a literal.
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`""", re.DOTALL)
# After one of these, a quote does not always begin a literal, or a backslash an escape.
_MISLEADING = re.compile(r"""--|/\*|\br['"]""", re.IGNORECASE)


def _may_double_quotes(sql: str) -> bool:
    """Return whether a literal may contain its own quote character twice in a row."""
    if "''" not in sql and '""' not in sql:
        return False
    literals = [match.span() for match in _TOKEN.finditer(sql) if match[0][0] != "`"]
    ends = {end: sql[start] for start, end in literals}
    return _MISLEADING.search(sql) is not None or any(sql[start] == ends.get(start) for start, _ in literals)
