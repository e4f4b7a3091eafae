"""Read the surviving files of a plan through Spark.

The user's filter and the derived filters apply.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import StaleTable, WrongUse
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import And, Compare, Constant, In, Interval, IsNull, Not, Or, StartsWith
from parquet_core.storage import list_data_files
from prune_assets.planner.columns import check_names
from prune_assets.planner.join_keys import joins_of
from prune_assets.planner.plan_read import plan_read
from prune_assets.planner.spark_reader import SparkRead
from prune_assets.planner.spark_reader.spark_profile import profile_of
from prune_assets.planner.value_tests import tests_hold
from prune_assets.spark.columns import column_of, quoted
from prune_assets.spark.lower_predicate import lower_predicate, means_the_same
from prune_assets.spark.semantics_of_session import is_true, semantics_of
from prune_assets.spark.spark_session import given_or_active
from prune_assets.sql.render import literal_sql
from prune_assets.tables.catalogs.resolve import catalog_entry
from prune_assets.tables.opening import recognize, retry_on_stale_listing
from prune_assets.tables.table import FilesToRead, Opening

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from parquet_core.format.schema import Path
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.planner.explain.plan import Plan
    from prune_assets.planner.planned_read import PlannedRead
    from prune_assets.tables.format import Location

# Types of a join that, with the table on its left, returns only rows of the table that have a partner.
_NEEDS_PARTNER = ("inner", "semi", "leftsemi", "right", "rightouter")
# Text that can be quoted as it is. Other characters may be an escape, a variable or a quote in some sessions.
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.:/+-]*")
_WILD, _ESCAPED = re.compile(r"[%_\\]"), r"\\\g<0>"
# Literal suffixes of integer types. Spark reads an unsigned integer as the next wider type.
_SUFFIXES = {"int8": "Y", "int16": "S", "int64": "L", "uint8": "S", "uint32": "L"}


def read(
    table: Location,
    *,
    where: str | Column = "true",
    keys: pa.Table | DataFrame | Sequence[pa.Table | DataFrame] | None = None,
    on: Sequence[str | tuple[str, ...] | Sequence[str | tuple[str, ...]] | None] | None = None,
    how: str = "inner",
    columns: Sequence[str] | None = None,
    session: SparkSession | None = None,
    plan: Plan | None = None,
    version: int | None = None,
    timestamp: dt.datetime | int | str | None = None,
    allow: Sequence[str] = (),
) -> DataFrame:
    """Return the rows of a table that a predicate selects.

    Only files that may hold such rows are read. Rows and schema equal `spark.read.parquet(table).where(where)`. A Delta
    table is read at the requested version and needs no package except Spark. `spark` is a SparkSession here:

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import prune_assets as pr
    >>> table = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"id": range(1000)}), f"{table}/part-0.parquet", row_group_size=100)
    >>> pr.read(table, where="id < 150", session=spark).count()
    150

    With the keys of a join, the result has every row that has a partner, and may contain other rows. Join it as usual:

    >>> recent = spark.createDataFrame([(17,), (18,)], "id int")
    >>> rows = pr.read(table, keys=recent, on=["id"], session=spark)
    >>> rows.join(recent, "id").count()
    2

    `table`, `where`, `keys`, `on`, `version`, `timestamp`, `allow`: as in `plan`. For a table named in a catalog the
    rows equal `spark.table(table).where(where)`.
    `how`: the type of the join with the table on its left, as Spark names it. A join that keeps rows of the table
    without a partner, such as "left", is refused.
    `columns`: columns to return, by default all.
    `session`: the Spark session that reads, by default the active one.
    `plan`: an existing plan for the same table and predicate, made with `session=spark`; its files are compared with
    the current files.

    Raises the errors of `plan`, StaleTable if a file was changed, added or removed since it was planned, and WrongUse
    for a plan of another table or predicate, and for a join that keeps rows without a partner.
    """
    check_names(columns)
    if keys is not None and how.lower().replace("_", "") not in _NEEDS_PARTNER:
        raise WrongUse(
            f"how={how!r}: rows of the table without a partner are read too; give one of "
            f"{', '.join(_NEEDS_PARTNER)}, or leave out keys"
        )
    spark = given_or_active(session)
    if plan is not None and keys is not None:
        raise WrongUse("keys: the given plan has its keys already; pass them to plan(keys=..), or leave out plan")
    if plan is not None and (version is not None or timestamp is not None):
        raise WrongUse(
            "version, timestamp: the given plan has a version already; leave out version and timestamp, or leave "
            "out plan"
        )
    if is_true(spark, "spark.sql.parquet.mergeSchema") and _lists_files(spark, table, plan):
        raise WrongUse("spark.sql.parquet.mergeSchema=true: plans do not support merged schemas; set it to false")
    if plan is None:
        plan_now = partial(plan_read, table, where=where, columns=columns, session=spark)
        plan_now = partial(plan_now, version=version, timestamp=timestamp, allow=allow, joins=joins_of(keys, on))
        spark_read, opened, is_planned = _plan_and_open(spark, where, plan_now)
    else:
        _check_plan(spark, plan, table, where)
        spark_read = _read_in_session(spark, plan)
        opened = _open(spark, spark_read, where)
        is_planned = _lists_as_planned(opened, spark_read)
    # Spark gets the same current time as the plan.
    frozen = spark_read.plan.where.frozen
    selected = opened.where(where if frozen is None else frozen)
    selected = with_derived_filters(selected, spark_read) if is_planned else selected
    return selected if columns is None else selected.select(*(column_of(name, nested=False) for name in columns))


def _read_in_session(spark: SparkSession, plan: Plan) -> SparkRead:
    """Return the plan's read for this session: known reader bugs depend on its Spark version."""
    spark_read = plan.spark
    if profile_of(spark.version) == spark_read.profile:
        return spark_read
    semantics = replace(plan.semantics, spark_version=spark.version)
    return SparkRead(replace(plan, semantics=semantics))


def _lists_files(spark: SparkSession, table: Location, plan: Plan | None) -> bool:
    return (recognize(table, spark)[0] if plan is None else plan.table.format).spark_lists_files


def _plan_and_open(
    spark: SparkSession, where: str | Column, plan_now: Callable[[], PlannedRead]
) -> tuple[SparkRead, DataFrame, bool]:
    """Plan and open a table.

    Plans again if files change before Spark lists them, because Spark might see part of a write. Returns the plan, the
    DataFrame, and True if Spark reads only planned files.
    """

    def attempt() -> tuple[SparkRead, DataFrame, bool]:
        spark_read = SparkRead(plan_now())
        opened = _open(spark, spark_read, where)
        return spark_read, opened, _lists_as_planned(opened, spark_read)

    return retry_on_stale_listing(attempt, is_steady=lambda made: made[2] or not hasattr(made[1], "_jdf"))


def with_derived_filters(frame: DataFrame, spark_read: SparkRead) -> DataFrame:
    """Add the derived filters to a DataFrame, if Spark accepts them.

    Call it only if the filters hold for every file that Spark may read.
    """
    from pyspark.errors import AnalysisException

    if not spark_read.derived_filters:
        return frame
    try:
        narrowed = frame.where(" AND ".join(f"({filter_text(part)})" for part in spark_read.derived_filters))
        if not hasattr(narrowed, "_jdf"):
            narrowed.schema  # noqa: B018 - makes Spark Connect analyse it now
    except AnalysisException:
        return frame
    return narrowed


def _lists_as_planned(frame: DataFrame, spark_read: SparkRead) -> bool:
    """Return True if Spark reads exactly the planned files.

    A file that was added after planning may hold rows outside the bounds. A classic DataFrame keeps its list of files;
    Spark Connect lists files on every execution.
    """
    plan = spark_read.plan
    if not plan.table.format.spark_lists_files:
        return True
    opening = spark_read.scan.opening
    if opening in {Opening.NOTHING, Opening.PATHS}:
        return True
    if not hasattr(frame, "_jdf"):
        return opening is Opening.NAMES
    return set(list_data_files(plan.table.given)) == set(plan.index.groups.files)


def _check_plan(spark: SparkSession, plan: PlannedRead, table: Location, where: str | Column) -> None:
    semantics = semantics_of(spark)
    if isinstance(where, str):
        sql, same = (
            where,
            plan.where.sql == where
            and means_the_same(plan.where, plan.table.columns, planned=plan.semantics, session=semantics),
        )
    else:
        lowered = lower_predicate(where, plan.table, session=spark, now=plan.where.now)
        sql, same = lowered.sql, plan.semantics.reads_alike(semantics) and plan.where.predicate == lowered.predicate
    if plan.where.sql != sql:
        raise WrongUse(f"the plan is for {plan.where.sql!r}, not for {sql!r}; plan again")
    if not same or not tests_hold(plan.tests, plan.table.columns, session=spark, semantics=semantics):
        raise WrongUse(
            f"the plan was made for {plan.semantics}, but this session has other settings; pass session= to plan"
        )
    if not plan.table.format.spark_lists_files:
        return
    entry = catalog_entry(table, spark)
    path = table if entry is None else entry.location
    now, planned = set(list_data_files(path)), set(plan.index.groups.files)
    if now != planned:
        changed = min(file.path for file in now ^ planned)
        raise StaleTable(f"{changed}: changed since it was planned; plan again")


def _open(spark: SparkSession, spark_read: SparkRead, where: str | Column) -> DataFrame:
    plan, scan = spark_read.plan, spark_read.scan
    # Options of this read only: session settings would change other reads.
    options = {warning.option: "false" for warning in spark_read.warnings}
    is_text = isinstance(where, str)
    predicate, files = plan.lowered.predicate, plan.surviving_numbers
    wanted = FilesToRead(plan.index, files, scan.opening, options, predicate, plan.where, is_text)
    return plan.table.open_in_spark(spark, wanted)


def _name(path: Path) -> str:
    return ".".join(map(quoted, path))


def filter_text(predicate: Predicate, *, name: Callable[[Path], str] = _name) -> str:
    """Return a derived filter as SQL.

    `name`: returns a column as SQL.

    >>> from parquet_core.pruning.predicate import Op
    >>> filter_text(Or((Compare(("x",), Op.EQ, pa.scalar(5)), IsNull(("x",)))))
    '(`x` = 5L) OR (`x` IS NULL)'
    """
    if isinstance(predicate, And | Or):
        connective = " AND " if isinstance(predicate, And) else " OR "
        return connective.join(f"({filter_text(child, name=name)})" for child in predicate.children)
    return _leaf(predicate, name)


def _leaf(leaf: Predicate, name: Callable[[Path], str]) -> str:
    match leaf:
        case Constant(Outcomes.FALSE):
            sql = "false"
        case Not(IsNull(column)):
            sql = f"{name(column)} IS NOT NULL"
        case IsNull(column):
            sql = f"{name(column)} IS NULL"
        case Compare(column, op, value):
            sql = f"{name(column)} {op} {_literal(value)}"
        case Interval(column, low, high):
            sql = f"{name(column)} >= {_literal(low)} AND {name(column)} <= {_literal(high)}"
        case In(column, values):
            sql = f"{name(column)} IN ({', '.join(map(_literal, values))})"
        case StartsWith(column, prefix):
            sql = f"{name(column)} LIKE {_string_literal(_WILD.sub(_ESCAPED, prefix.as_py()) + '%')}"
        case _:
            raise AssertionError(leaf)
    return sql


def _literal(value: pa.Scalar) -> str:
    arrow_type = value.type
    if pa.types.is_string(arrow_type):
        return _string_literal(value.as_py())
    if arrow_type == pa.uint64():
        return f"CAST({value.as_py()}BD AS DECIMAL(20,0))"
    if pa.types.is_decimal(arrow_type):
        # A bare literal takes the minimum precision, and Spark would then cast the column.
        return f"CAST({value.as_py():f}BD AS DECIMAL({arrow_type.precision},{arrow_type.scale}))"
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz:
        # The type of a bare TIMESTAMP depends on spark.sql.timestampType.
        return literal_sql(value).replace("TIMESTAMP ", "TIMESTAMP_LTZ ", 1)
    return literal_sql(value) + _SUFFIXES.get(str(arrow_type), "")


def _string_literal(string: str) -> str:
    if _PLAIN_TEXT.fullmatch(string):
        return f"'{string}'"
    return f"CAST(X'{string.encode().hex()}' AS STRING)"
