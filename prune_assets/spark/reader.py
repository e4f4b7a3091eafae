"""Read through Spark what a plan kept: the surviving files, the filter, and what it implies."""

from __future__ import annotations

import os
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

from parquet_core.errors import StaleTable, WrongUse
from parquet_core.format.partitions import UNEVEN
from parquet_core.storage import list_data_files, local_path
from prune_assets.planner.delta_table import has_log
from prune_assets.planner.plan import Plan, lower_predicate, means_the_same
from prune_assets.planner.plan import plan as make_plan
from prune_assets.semantics import SparkSemantics, is_true
from prune_assets.spark.data_size import column_of
from prune_assets.spark.table_schema import escaped, open_for_schema
from prune_assets.sql.render import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from parquet_core.format.schema import LeafColumn
    from prune_assets.planner.implied import ImpliedPredicate

    Table: TypeAlias = str | os.PathLike[str] | Sequence[str]


def read(
    spark: SparkSession,
    table: Table,
    *,
    where: str | Column,
    columns: Sequence[str] | None = None,
    plan: Plan | None = None,
) -> DataFrame:
    """Return the rows of a table that a predicate selects, read from the files that may hold some.

    Same rows and schema as `spark.read.parquet(table).where(where)`. `plan`: one made before for the
    same table and predicate; the files it rests on are compared with what is there now. Raises what `plan`
    raises, StaleTable when a file changed, came or went, and WrongUse for a plan of something else.
    """
    if plan.delta is not None if plan is not None else has_log(table):
        raise WrongUse(
            f"{table}: a Delta table; its deleted rows, names and partition values only its own reader knows; "
            "read it with spark.read.format('delta') of the package delta-spark and the same filter"
        )
    if is_true(spark, "spark.sql.parquet.mergeSchema"):
        raise WrongUse("spark.sql.parquet.mergeSchema=true: merged schemas are not planned on; set it to false")
    if plan is None:
        plan = make_plan(table, where=where, columns=columns, session=spark)
    else:
        _check_plan(spark, plan, table, where)
    kept = _open(spark, table, plan).where(where)
    for part in plan.handed_over:
        kept = kept.where(render(part))
    if plan.implied is not None:
        kept = kept.where(implied_filter(plan.implied))
    return kept if columns is None else kept.select(*(column_of(name, nested=False) for name in columns))


def _check_plan(spark: SparkSession, plan: Plan, table: Table, where: str | Column) -> None:
    semantics = SparkSemantics.of(spark)
    if isinstance(where, str):
        asked, same = where, plan.lowered.sql == where and means_the_same(plan, semantics)
    else:
        lowered = lower_predicate(where, table, plan.index, session=spark)
        asked, same = lowered.sql, plan.semantics.reads_alike(semantics) and plan.lowered.predicate == lowered.predicate
    if plan.lowered.sql != asked:
        raise WrongUse(f"the plan is for {plan.lowered.sql!r}, not for {asked!r}; plan again")
    if not same:
        raise WrongUse(f"the plan was made for {plan.semantics}, which this session has not; pass session= to plan")
    now, planned = set(list_data_files(table)), set(plan.index.files)
    if now != planned:
        changed = min(file.path for file in now ^ planned)
        raise StaleTable(f"{changed}: changed since it was planned; plan again")


def _open(spark: SparkSession, table: Table, plan: Plan) -> DataFrame:
    """Open the surviving files with the schema that the whole table has.

    Paths are made absolute here: Java keeps the directory it was started in, Python may have gone elsewhere.
    """
    base = _base_path(table)
    # Of this read alone: settings of the session would change every other.
    options = {warning.option: "false" for warning in plan.warnings}
    survivors = [escaped(os.path.abspath(file.path)) for file in plan.surviving_files]
    whole = open_for_schema(spark, table, plan.index, options=options)
    if plan.index.partitions and (base is None or not _agree(whole, plan.index.partitions)):
        # Of several directories each has partition columns of its own: only Spark sorts them out.
        return whole
    schema = whole.schema
    if not survivors:
        return spark.createDataFrame([], schema)
    reader = spark.read.options(**options).schema(schema)
    found = (reader if base is None else reader.option("basePath", base)).parquet(*survivors)
    # Under a given schema Spark puts a column that stands in files and in directory names behind the others.
    names = schema.names
    return found if found.schema.names == names else found.select(*(column_of(name, nested=False) for name in names))


def _agree(whole: DataFrame, partitions: Sequence[LeafColumn]) -> bool:
    """Tell whether Spark takes the same types from directory names as the plan, and files from every directory."""
    types = {name.casefold(): kind for name, kind in whole.dtypes}
    return all(
        types.get(column.path[0].casefold()) == spark_type(column.type)
        if not column.unsupported
        else column.unsupported != UNEVEN
        for column in partitions
    )


def spark_type(kind: pa.DataType) -> str:
    """Return what Spark calls the type of a partition column."""
    names = {"int32": "int", "int64": "bigint", "date32[day]": "date", "null": "void"}
    return names.get(str(kind), str(kind).replace("decimal128", "decimal").replace(", ", ","))


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

    if pa.types.is_uint64(value.type):
        # Spark reads it as decimal(20,0), and Java's long does not reach its upper half.
        return fn.lit(Decimal(value.as_py())).cast("decimal(20,0)")
    if pa.types.is_timestamp(value.type):
        if value.type.tz:
            return fn.timestamp_micros(fn.lit(value.value))
        return fn.lit(str(value.cast(pa.string()))).cast("timestamp_ntz")
    literal = fn.lit(value.as_py())
    if pa.types.is_decimal(value.type):
        # Without the cast a decimal literal takes the fewest digits, and the column would be cast instead.
        return literal.cast(f"decimal({value.type.precision},{value.type.scale})")
    return literal


def _base_path(table: Table) -> str | None:
    """Return the directory whose `column=value` parts make partition columns; None when files were named."""
    if not isinstance(table, str | os.PathLike):
        return None
    path = os.path.abspath(local_path(os.fspath(table)))
    return path if os.path.isdir(path) else None
