"""The source of a MERGE, and its keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import TableNotFound, WrongUse
from prune_assets.planner.join_keys import as_rows
from prune_assets.reading.read_arrow import read_arrow
from prune_assets.reading.reader import read
from prune_assets.report.quantities import clipped
from prune_assets.spark.collect_keys import check_key_types, collect_keys
from prune_assets.spark.spark_versions import from_arrow
from prune_assets.sql.merge_statement import is_path, table_location
from prune_assets.sql.render import column_sql
from prune_assets.tables.opening import open_table, recognize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from prune_assets.spark.collect_keys import KeyRanges
    from prune_assets.sql.merge_statement import MergeStatement
    from prune_assets.sql.semantics import SparkSemantics


# `s.k`, `k`, or the same in backquotes.
_NAME = r"`(?:[^`]|``)+`|[^\W\d]\w*"
_CLOCK = re.compile(r"\b(?:current_\w+|curdate|now|localtimestamp|unix_timestamp)\b", re.IGNORECASE)
_COLUMN = re.compile(rf"(?:({_NAME})\s*\.\s*)?({_NAME})")


@dataclass(frozen=True, eq=False)
class MergeSource:
    """The source of a MERGE.

    `columns`: names of its columns.
    `rows`: the rows of the source; None for a table that is read without Spark.
    `location`: path or name of a table that is read without Spark.
    """

    columns: Sequence[str]
    rows: pa.Table | DataFrame | None = None
    location: str = ""
    session: SparkSession | None = None

    def keys(self, statement: MergeStatement) -> pa.Table | Mapping[str, KeyRanges]:
        """Return the keys of the source, one column for each expression, named by its SQL."""
        wanted = list(dict.fromkeys(key.source for key in statement.keys if is_timeless(key.source)))
        qualifier = statement.source_alias or _unquoted(statement.source.rpartition(".")[2])
        plain = [_plain_column(sql, qualifier, self.columns) for sql in wanted]
        names = [name for name in plain if name is not None]
        rows = self.rows
        if not hasattr(rows, "sparkSession") and len(names) == len(wanted):
            rows = read_arrow(self.location, columns=list(dict.fromkeys(names))) if rows is None else rows
            return pa.table([rows[name] for name in names], names=wanted)
        if isinstance(rows, pa.Table) and self.session is not None:
            rows = from_arrow(self.session, rows)
        if rows is None or isinstance(rows, pa.Table):
            computed = next(sql for sql, name in zip(wanted, plain, strict=True) if name is None)
            raise WrongUse(
                f"ON: only Spark computes {computed} of the source; pass a session, or --spark to prune merge"
            )
        frame = rows if statement.source_alias is None else rows.alias(statement.source_alias)
        for condition in filter(is_timeless, statement.source_conditions):
            frame = frame.where(condition)
        keys = frame.selectExpr(*(f"{sql} AS {column_sql((sql,))}" for sql in wanted))
        check_key_types(keys, wanted)
        return collect_keys(keys, wanted)


def is_timeless(sql: str) -> bool:
    """Return True if an expression has no function of the current time, whose value may differ when the MERGE runs.

    >>> is_timeless("s.day"), is_timeless("s.at < now()"), is_timeless("date_sub(current_date, s.n)")
    (True, False, False)
    """
    return _CLOCK.search(sql) is None


def _plain_column(sql: str, qualifier: str, columns: Sequence[str]) -> str | None:
    """Return the name of a column of the source; None if the expression is not only a column."""
    match = _COLUMN.fullmatch(sql)
    if match is None or (match[1] is not None and _unquoted(match[1]).lower() != qualifier.lower()):
        return None
    name = _unquoted(match[2])
    return name if name in columns else next((it for it in columns if it.lower() == name.lower()), None)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def given_source(source: pa.Table | DataFrame, session: SparkSession | None) -> MergeSource:
    """Return the source for rows that the caller passed."""
    source = as_rows(source)
    if isinstance(source, pa.Table):
        return MergeSource(source.column_names, source, session=session)
    return MergeSource(source.columns, source, session=source.sparkSession)


def target_name(target: str) -> str:
    """Return the absolute path of a target that is a directory: Spark would look for its name in the catalog."""
    return str(Path(target).absolute()) if Path(target).is_dir() else target


def source_sql(source: str | pa.Table | DataFrame) -> str:
    """Return the SQL name of the source: `source` for rows, a format and an address for a path."""
    if not isinstance(source, str):
        return "source"
    if not is_path(source) and not Path(source).exists():
        return source
    location = source if "://" in source else Path(source).absolute()
    return f"{recognize(source)[0].name}.`{location}`"


def named_source(sql: str, session: SparkSession | None, semantics: SparkSemantics) -> MergeSource:
    """Open a source by its name or query. Without a session, this package reads the source."""
    if sql.startswith("("):
        if session is None:
            raise WrongUse(
                f"the source is a query, which only Spark runs: {clipped(sql, 60)}; pass a session, or --spark to "
                "prune merge"
            )
        frame = session.sql(f"SELECT * FROM {sql} AS source")  # noqa: S608 - the user's own query
        return MergeSource(frame.columns, frame, session=session)
    location = table_location(sql)
    if session is not None:
        frame = read(location, session=session) if "/" in location else session.table(sql)
        return MergeSource(frame.columns, frame, session=session)
    try:
        table = open_table(location, semantics=semantics)
    except TableNotFound as error:
        if "/" in location:
            raise
        message = f"source {error}; if only Spark knows the name, pass a session, or --spark to prune merge"
        raise TableNotFound(message) from None
    return MergeSource(list(dict.fromkeys(column.path[0] for column in table.columns)), location=location)
