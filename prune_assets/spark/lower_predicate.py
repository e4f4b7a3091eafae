"""Lower a WHERE condition on the columns of a table.

This module is the entry point from user input to the predicate tree.
A session answers what only Spark can decide: whether a function is still a Spark builtin, the value of a constant,
and the meaning of a Column.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

from parquet_core.errors import WrongUse
from prune_assets.spark.semantics_of_session import semantics_of
from prune_assets.spark.spark_versions import installed_version
from prune_assets.sql.lower import LoweredPredicate, lower
from prune_assets.sql.semantics import SparkSemantics
from prune_assets.sql.types.zones import check_zone_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from parquet_core.format.schema import LeafColumn


class NamedColumns(Protocol):
    """Columns on which a predicate is lowered, such as a table."""

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """Columns that a predicate may name."""

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return a DataFrame with these columns, on which expressions are resolved."""


def lower_predicate(
    where: str | Column,
    table: NamedColumns,
    *,
    session: SparkSession | SparkSemantics | None,
    now: int | None = None,
) -> LoweredPredicate:
    """Lower a predicate on the columns of a table.

    Raises WrongUse unless `where` is a string or a Column.
    `now`: current time for clock functions, in microseconds since 1970-01-01; None for the present.
    """
    semantics = semantics_for(session)
    if isinstance(where, str):
        fold = _constant_folding(session)
        return lower(where, table.columns, semantics=semantics, is_builtin=builtin_check(session), now=now, fold=fold)
    if not hasattr(where, "isNull"):
        raise WrongUse(f"where={where!r}: give the predicate as text in Spark SQL or as a Column")
    if session is None or isinstance(session, SparkSemantics):
        raise WrongUse("where: only Spark can read a Column; pass session=spark, or give the predicate as text")
    from prune_assets.spark.queries.column_predicate import lower_column

    return lower_column(where, table.columns, frame=table.empty_frame(session), semantics=semantics, now=now)


def means_the_same(
    lowered: LoweredPredicate, columns: Sequence[LeafColumn], *, planned: SparkSemantics, session: SparkSemantics
) -> bool:
    """Return True if a predicate lowers to the same tree.

    `planned`: settings with which it was lowered; `session`: settings to compare.
    Only predicates that depend on time zones are lowered again. A predicate lowered without a
    zone does not depend on zones.
    """
    if not planned.reads_alike(session):
        return False
    if planned.time_zone is None:
        return True
    if (planned.time_zone, planned.zone_span) == (session.time_zone, session.zone_span):
        return True
    again = lower(lowered.sql, columns, semantics=session, now=lowered.now)
    return (again.frozen_sql, again.predicate) == (lowered.frozen_sql, lowered.predicate)


def semantics_for(session: SparkSession | SparkSemantics | None) -> SparkSemantics:
    """Return the settings that decide the meaning of a predicate.

    None means the settings of the installed Spark.
    """
    if session is None:
        return SparkSemantics.of(installed_version())
    if isinstance(session, str):
        raise WrongUse(
            f"session={session!r}: is not a session; pass a SparkSession, or SparkSemantics(time_zone={session!r})"
        )
    if not isinstance(session, SparkSemantics):
        return semantics_of(session)
    if session.time_zone is not None:
        check_zone_name(session.time_zone)
    return session


def builtin_check(session: SparkSession | SparkSemantics | None) -> Callable[[str], bool] | None:
    """Return a function that tests whether a function name is a Spark builtin.

    None if all names are.
    """
    if session is None or isinstance(session, SparkSemantics):
        return None
    from prune_assets.spark.queries.ask_values import is_builtin_function

    return cache(partial(is_builtin_function, session))


def _constant_folding(session: SparkSession | SparkSemantics | None) -> Callable[[str], str | None] | None:
    if session is None or isinstance(session, SparkSemantics) or not hasattr(session, "_jsparkSession"):
        return None
    from prune_assets.spark.queries.ask_values import literal_of

    return partial(literal_of, session)
