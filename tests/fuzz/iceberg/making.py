"""Create random tables with Spark and Iceberg's runtime."""

from __future__ import annotations

import pyarrow.parquet as pq
from planner.kinds import KINDS
from planner.tables import ROW, arrow_rows

from tests.prune_assets.tables.iceberg.spark_with_iceberg import with_equality_deletes

DEFAULTS = {"i32": 7, "i64": 7, "str": "AIR0001", "f64": 0.5}


def make(spark, table, name, scratch):
    """Create a table, and commit its rows; the schema changes after the first commit, partitions after the second."""
    _create(spark, table, name)
    for i, (start, stop) in enumerate(zip(table.cuts, table.cuts[1:], strict=False)):
        _append(_rows(spark, table, scratch / f"{i}.parquet", range(start, stop)), name)
        if i == 0:
            _change_schema(spark, table, name)
        if i == 1:
            _change_partitions(spark, table, name)
            _delete(spark, table, name)
    spark.sql(f"REFRESH TABLE {name}")


def _create(spark, table, name):
    absent = {*table.late, *table.filled}
    columns = [f"{_first_name(table, c)} {_first_type(table, c)}" for c in _tops(table) if c not in absent]
    by = f"PARTITIONED BY ({', '.join(table.fields)})" if table.fields else ""
    unknown = {*absent, *table.renamed}
    known = {key: value for key, value in table.properties.items() if key.rpartition(".column.")[2] not in unknown}
    given = _given(known | {"format-version": str(table.version)})
    spark.sql(f"CREATE TABLE {name} ({', '.join(columns)}, {ROW} BIGINT) USING iceberg {by} TBLPROPERTIES ({given})")


def _given(properties):
    return ", ".join(f"'{key}'='{value}'" for key, value in properties.items())


def _tops(table):
    return dict.fromkeys(column.path[0] for column in table.columns)


def _quoted(name):
    return f"`{name}`"


def _first_name(table, name):
    return _quoted(f"old_{name}" if name in table.renamed else name)


def _first_type(table, name):
    within = [column for column in table.columns if column.path[0] == name]
    if len(within[0].path) == 1:
        return KINDS[table.narrowed.get(name, within[0].kind)].spark
    return f"STRUCT<{', '.join(f'{column.path[1]}: {column.of.spark}' for column in within)}>"


def _rows(spark, table, source, numbers):
    """Return the rows of a commit as a frame; the first commit has the schema of that time."""
    is_first = numbers.start == 0
    absent = {*table.late, *table.filled} if is_first else ()
    narrowed = table.narrowed if is_first else None
    pq.write_table(arrow_rows(table, numbers.start, numbers.stop, without=absent, narrowed=narrowed), source)
    frame = spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(str(source))
    for column in table.renamed if is_first else ():
        frame = frame.withColumnRenamed(column, f"old_{column}")
    return frame


def _append(frame, name):
    frame.coalesce(1).writeTo(name).option("fanout-enabled", "true").append()


def _change_schema(spark, table, name):
    for column in table.late:
        spark.sql(f"ALTER TABLE {name} ADD COLUMN {_quoted(column)} {_first_type(table, column)}")
    for column in table.filled:
        _add_filled(spark, table, name, column)
    for column in table.renamed:
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN {_first_name(table, column)} TO {_quoted(column)}")
    for column in table.narrowed:
        (kind,) = {c.of.spark for c in table.columns if c.path == (column,)}
        spark.sql(f"ALTER TABLE {name} ALTER COLUMN {_quoted(column)} TYPE {kind}")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({_given(table.properties)})")


def _add_filled(spark, table, name, column):
    java = spark._jvm.org.apache.iceberg
    (kind,) = {c.kind for c in table.columns if c.path == (column,)}
    types = {"i32": "Integer", "i64": "Long", "str": "String", "f64": "Double"}
    wanted = getattr(java.types.Types, f"{types[kind]}Type").get()
    value = java.expressions.Literal.of(DEFAULTS[kind]).to(wanted)
    loaded = java.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
    loaded.updateSchema().addColumn(column, wanted, "", value).commit()
    spark.sql(f"REFRESH TABLE {name}")


def _change_partitions(spark, table, name):
    if not table.more_fields:
        return
    for field in table.fields[:1]:
        spark.sql(f"ALTER TABLE {name} DROP PARTITION FIELD {field}")
    for field in table.more_fields:
        if field not in table.fields:
            spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD {field}")


def _delete(spark, table, name):
    texts = [c for c in table.columns if c.path == ("str",)]
    values = [*dict.fromkeys(value for c in texts for value in c.values if value)][:2]
    if table.deletes == "equality" and values and not (table.fields or table.more_fields):
        with_equality_deletes(spark, name, "str", values)
    elif table.deletes:
        spark.sql(f"DELETE FROM {name} WHERE {ROW} % 5 = 1")
