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
    """Columns that a predicate may name, for example of a table."""

    @property
    def columns(self) -> Sequence[LeafColumn]:
        """Columns that a predicate may name."""

    def empty_frame(self, spark: SparkSession) -> DataFrame:
        """Return a DataFrame with these columns, on which expressions are resolved."""


def lower_predicate(
    where: str | Column,
    table: NamedColumns,
    *,
    session: SparkSession | None,
    semantics: SparkSemantics | None = None,
    now: int | None = None,
) -> LoweredPredicate:
    """Lower a predicate on the columns of a table.

    Raises WrongUse unless `where` is a string or a Column.
    `semantics`: settings to use; None for the settings of the session.
    `now`: current time for clock functions, in microseconds since 1970-01-01; None for the present.
    """
    semantics = semantics_for(session) if semantics is None else semantics
    if isinstance(where, str):
        fold = _constant_folding(session)
        return lower(where, table.columns, semantics=semantics, is_builtin=builtin_check(session), now=now, fold=fold)
    if not hasattr(where, "isNull"):
        raise WrongUse(f"where={where!r}: give the predicate as text in Spark SQL or as a Column")
    if session is None:
        raise WrongUse("where: only Spark can read a Column; pass session=spark, or give the predicate as text")
    from prune_assets.spark.queries.column_predicate import lower_column

    return lower_column(where, table.columns, frame=table.empty_frame(session), semantics=semantics, now=now)


def means_the_same(
    lowered: LoweredPredicate, columns: Sequence[LeafColumn], *, planned: SparkSemantics, session: SparkSemantics
) -> bool:
    """Return True if a predicate has the same meaning with the settings of another session.

    `lowered`: the predicate, lowered with the settings `planned`.
    `session`: the settings to compare with.

    Only a predicate that depends on the time zone is lowered again and compared. A predicate lowered without a zone
    does not depend on zones.
    """
    if not planned.reads_alike(session):
        return False
    if planned.time_zone is None:
        return True
    if (planned.time_zone, planned.zone_span) == (session.time_zone, session.zone_span):
        return True
    again = lower(lowered.sql, columns, semantics=session, now=lowered.now)
    return (again.frozen_sql, again.predicate) == (lowered.frozen_sql, lowered.predicate)


def semantics_for(session: SparkSession | None, semantics: SparkSemantics | None = None) -> SparkSemantics:
    """Return the settings that decide the meaning of a predicate.

    The result is `semantics`, or the settings of `session`; without both, the defaults of the installed Spark. Raises
    WrongUse if both are given, or if an argument has the wrong type.
    """
    if isinstance(session, SparkSemantics):
        raise WrongUse("session is a SparkSemantics; pass it as semantics=")
    if semantics is not None and not isinstance(semantics, SparkSemantics):
        raise WrongUse(f"semantics is a {type(semantics).__name__}; pass a SparkSession as session=")
    if session is not None and semantics is not None:
        raise WrongUse("session, semantics: a session has settings of its own; pass one of the two")
    if session is not None:
        return semantics_of(session)
    if semantics is None:
        return SparkSemantics.of(installed_version())
    if semantics.time_zone is not None:
        check_zone_name(semantics.time_zone)
    return semantics


def builtin_check(session: SparkSession | None) -> Callable[[str], bool] | None:
    """Return a function that tests whether a function name is a Spark builtin.

    None without a session: all names then count as builtins.
    """
    if session is None:
        return None
    from prune_assets.spark.queries.ask_values import is_builtin_function

    return cache(partial(is_builtin_function, session))


def _constant_folding(session: SparkSession | None) -> Callable[[str], str | None] | None:
    if session is None or not hasattr(session, "_jsparkSession"):
        return None
    from prune_assets.spark.queries.ask_values import literal_of

    return partial(literal_of, session)
