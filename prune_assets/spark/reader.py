"""Read through Spark what a plan kept: the surviving files, the filter, and what it implies."""

from __future__ import annotations

import os
import re
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

from parquet_core.errors import StaleTable, WrongUse
from parquet_core.partitions import partition_columns
from parquet_core.storage import local_path, unchanged
from prune_assets.planner.plan import Plan
from prune_assets.planner.plan import plan as make_plan
from prune_assets.semantics import SparkSemantics
from prune_assets.spark.data_size import column_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from prune_assets.planner.implied import ImpliedPredicate

    Table: TypeAlias = str | os.PathLike[str] | Sequence[str]


def read(
    spark: SparkSession,
    table: Table,
    *,
    where: str,
    columns: Sequence[str] | None = None,
    plan: Plan | None = None,
) -> DataFrame:
    """Return the rows of a table that a predicate selects, read from the files that may hold some.

    Same rows and schema as `spark.read.parquet(table).where(where)`. `plan`: one made before for the
    same table and predicate; its files are compared with what is there now. Raises what `plan` raises,
    and StaleTable when a planned file changed.
    """
    if plan is None:
        plan = make_plan(table, where=where, columns=columns, session=spark)
    elif plan.lowered.sql != where:
        raise WrongUse(f"the plan is for {plan.lowered.sql!r}, not for {where!r}; plan again")
    elif not plan.semantics.reads_alike(SparkSemantics.of(spark)):
        raise WrongUse(f"the plan was made for {plan.semantics}, which this session has not; pass session= to plan")
    stale = next((file for file in plan.surviving_files if not unchanged(file)), None)
    if stale is not None:
        raise StaleTable(f"{stale.path}: changed since it was planned; plan again")
    kept = _open(spark, table, plan).where(where)
    if plan.implied is not None:
        kept = kept.where(implied_filter(plan.implied))
    return kept if columns is None else kept.select(*(column_of(name, nested=False) for name in columns))


def _open(spark: SparkSession, table: Table, plan: Plan) -> DataFrame:
    """Open the surviving files with the schema that the whole table has."""
    files = [file.path for file in plan.index.files]
    survivors = [file.path for file in plan.surviving_files]
    if partition_columns(files):
        # The type of a partition column follows from the values in all directories.
        schema = spark.read.parquet(*_patterns(table)).schema
    else:
        # Spark takes the schema of the first file by path, and so does the plan.
        schema = spark.read.parquet(escaped(files[0])).schema
    if not survivors:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema)
    base = _base_path(table)
    return (reader if base is None else reader.option("basePath", base)).parquet(*map(escaped, survivors))


def implied_filter(implied: ImpliedPredicate) -> Column:
    """Turn an implied predicate into a filter that Spark pushes down to its Parquet reader."""
    column = column_of(implied.column.path[0], nested=False)
    arms = [
        (column == _literal(low)) if low.equals(high) else ((column >= _literal(low)) & (column <= _literal(high)))
        for low, high in implied.ranges
    ]
    if implied.nulls:
        arms.append(column.isNull())
    return reduce(lambda left, right: left | right, arms)


def _literal(value: pa.Scalar) -> Column:
    import pyarrow as pa
    from pyspark.sql import functions as fn

    literal = fn.lit(value.as_py())
    # Without the cast a decimal literal takes the fewest digits, and the column would be cast instead.
    return (
        literal.cast(f"decimal({value.type.precision},{value.type.scale})")
        if pa.types.is_decimal(value.type)
        else literal
    )


def escaped(path: str) -> str:
    r"""Return a path as a pattern that Spark's globbing takes for itself.

    >>> escaped("lake/a[1].parquet")
    'lake/a\\[1\\].parquet'
    """
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def _patterns(table: Table) -> list[str]:
    if isinstance(table, str | os.PathLike):
        path = local_path(os.fspath(table))
        return [escaped(path) if os.path.exists(path) else path]  # noqa: PTH110 - a URI later
    return [escaped(local_path(os.fspath(file))) for file in table]


def _base_path(table: Table) -> str | None:
    """Return the directory whose `column=value` parts make partition columns; None when files were named."""
    if not isinstance(table, str | os.PathLike):
        return None
    path = local_path(os.fspath(table))
    return path if os.path.isdir(path) else None  # noqa: PTH112 - a URI later
