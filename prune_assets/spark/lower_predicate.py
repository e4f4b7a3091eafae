"""Lower a WHERE on the columns of a table: the one door from what a user writes to the predicate tree.

With a session, it is asked what only it knows: whether a function is still Spark's own, what a constant is, and what a
Column says.
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
    """What a predicate is lowered on, as a table is."""

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """The columns that a predicate may name."""

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return a DataFrame with these columns, for expressions to be resolved on."""


def lower_predicate(
    where: str | Column,
    table: NamedColumns,
    *,
    session: SparkSession | SparkSemantics | None,
    now: int | None = None,
) -> LoweredPredicate:
    """Lower a predicate on the columns of a table; raises WrongUse for what is neither text nor a Column.

    `now`: the microseconds since 1970-01-01 that clocks are to say, None for the present.
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
    """Tell whether a predicate, lowered as `planned`, would be lowered to the same in a session.

    Only what depends on zones is lowered again. What was lowered without a zone depends on none.
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
    """Return the settings that decide what a predicate means: without a session those of the installed Spark."""
    if session is None:
        return SparkSemantics.of(installed_version())
    if isinstance(session, str):
        raise WrongUse(
            f"session={session!r}: is no session; pass a SparkSession, or SparkSemantics(time_zone={session!r})"
        )
    if not isinstance(session, SparkSemantics):
        return semantics_of(session)
    if session.time_zone is not None:
        check_zone_name(session.time_zone)
    return session


def builtin_check(session: SparkSession | SparkSemantics | None) -> Callable[[str], bool] | None:
    """Return a function that tells whether a function's name is a builtin of Spark; None if each is."""
    if session is None or isinstance(session, SparkSemantics):
        return None
    from prune_assets.spark.queries.ask_values import is_builtin_function

    return cache(partial(is_builtin_function, session))


def _constant_folding(session: SparkSession | SparkSemantics | None) -> Callable[[str], str | None] | None:
    if session is None or isinstance(session, SparkSemantics) or not hasattr(session, "_jsparkSession"):
        return None
    from prune_assets.spark.queries.ask_values import literal_of

    return partial(literal_of, session)
