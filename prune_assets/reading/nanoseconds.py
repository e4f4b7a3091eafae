"""Read nanosecond timestamps, which Spark refuses, as integers, and round them down to microseconds."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_core.errors import UnsupportedFeature
from parquet_core.format.schema import Physical
from parquet_core.spark_rules.spark_schema import SPARK_SCHEMA_KEY
from prune_assets.spark.columns import column_of, quoted
from prune_assets.spark.spark_session import temporary_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn

# With filter pushdown, Spark's Parquet reader loses NaN rows; the usual protection of `read` does not apply here.
_SETTINGS = {"spark.sql.legacy.parquet.nanosAsLong": "true", "spark.sql.parquet.filterPushdown": "false"}
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
_REMEDY = (
    "write the files again with pyarrow: pq.write_table(table, path, coerce_timestamps='us', "
    "allow_truncated_timestamps=True)"
)


def nanosecond_columns(name: str, index: MetadataIndex) -> dict[str, bool]:
    """Return the top-level columns with nanosecond timestamps: name -> True for instants (with a zone).

    Raises UnsupportedFeature if Spark could not read them as integers: in a struct, list or map; if files differ in the
    type; and if a file has a Spark schema, because Spark then takes the integers for timestamps.
    """
    by_name: dict[str, bool] = {}
    types: dict[str, set[str]] = {}
    for columns in (index.groups.columns, *(provenance.columns for provenance in index.groups.provenances)):
        for column in columns:
            types.setdefault(column.path[0].casefold(), set()).add(str(column.type))
            if _counts_nanoseconds(column):
                if len(column.path) > 1 or column.max_repetition_level:
                    raise _refusal(name, column.name, "inside of a nested column")
                assert isinstance(column.type, pa.TimestampType)
                by_name[column.path[0]] = column.type.tz is not None
    for column_name in by_name:
        if len(types[column_name.casefold()]) > 1:
            raise _refusal(name, column_name, "in some files and another type in others")
        if any(SPARK_SCHEMA_KEY in provenance.key_values for provenance in index.groups.provenances):
            raise _refusal(name, column_name, "in files with a schema of Spark, which lacks this type")
    return by_name


def _counts_nanoseconds(column: LeafColumn) -> bool:
    is_timestamp = isinstance(column.type, pa.TimestampType) and column.type.unit == "ns"
    return is_timestamp and column.physical is Physical.INT64


def _refusal(name: str, column: str, where: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"{name}: column {column} has timestamps of nanoseconds {where}; {_REMEDY}")


@contextmanager
def nanoseconds_as_numbers(session: SparkSession) -> Iterator[None]:
    """Make Spark read nanosecond timestamps as BIGINT inside the block."""
    with ExitStack() as settings:
        for name, value in _SETTINGS.items():
            settings.enter_context(temporary_option(session, name, value))
        yield


def in_microseconds(frame: DataFrame, columns: Mapping[str, bool]) -> DataFrame:
    """Convert integer columns to timestamps, rounded down to microseconds.

    Other columns are kept.
    """
    spark_types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    instants = {name.casefold(): instant for name, instant in columns.items()}
    for name, spark_type in spark_types.items():
        if name.casefold() in instants and spark_type != "bigint":
            raise _refusal("Spark", name, f"and reads them as {spark_type}")
    return frame.select(*(_timestamp(name, instants.get(name.casefold())) for name in spark_types))


def _timestamp(name: str, instant: bool | None) -> Column:  # noqa: FBT001 - None for columns that are not converted
    """Return one converted column, in integer arithmetic because a double is not exact.

    `instant`: True for a timestamp with a zone, False without a zone; None for a column that is not converted.
    """
    from pyspark.sql import functions as fn

    if instant is None:
        return column_of(name, nested=False)
    column = quoted(name)
    # `div` rounds towards zero, so negative numbers with a remainder are lowered by one.
    micros = f"{column} div 1000 - CAST({column} < 0 AND {column} % 1000 != 0 AS BIGINT)"
    # Adding to an epoch without a zone avoids the session's zone, which a cast from an instant would need.
    sql = f"timestamp_micros({micros})" if instant else f"timestampadd(MICROSECOND, {micros}, {_EPOCH})"
    return fn.expr(sql).alias(name)
