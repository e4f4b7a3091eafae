"""Functions that run in a Spark process with Iceberg: they write tables with prune-assets and return their state."""

from __future__ import annotations

from pyspark.sql import functions as fn

import prune_assets as pr
from parquet_core.errors import PruneError

COLUMNS = (
    "id, id * 7919 % 10000 AS u, concat('w', id % 50) AS s, nullif(id % 5, 3) AS k, "
    "date_add(DATE '2024-01-01', CAST(id % 3 AS INT)) AS day, timestamp_seconds(1700000000 + id * 60) AS ts"
)


def events(spark, first, last, where="true"):
    return spark.sql(f"SELECT {COLUMNS} FROM range({first}, {last})").where(where)


def write(spark, name, layout, options=None):
    """Write rows; return the result of the write, or the error."""
    options = options or {}
    rows = options.pop("rows", (0, 10_000, "true"))
    try:
        return pr.write(events(spark, *rows), name, layout=layout, **options)
    except PruneError as error:
        return type(error).__name__, str(error)


def facts(spark, name):
    """Return facts about a table from Iceberg's metadata tables."""
    files = spark.sql(f"SELECT file_path, record_count, sort_order_id FROM {name}.files").collect()
    return {
        "snapshots": [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {name}.snapshots").collect()],
        "metadata files": spark.sql(f"SELECT count(*) FROM {name}.metadata_log_entries").first()[0],
        "properties": {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()},
        "files": [tuple(row) for row in files],
    }


def keys(spark, name, column="id"):
    return sorted(row[0] for row in spark.table(name).select(column).collect())


def findings(spark, name, layout):
    return [
        (each.code, each.message) for each in pr.check(name, layout=layout, session=spark) if each.severity == "error"
    ]


def exists(spark, name):
    return spark.catalog.tableExists(name)


def run_sql(spark, *statements):
    for statement in statements:
        found = spark.sql(statement)
    return [tuple(row) for row in found.collect()]


def fail_while_writing(spark, name, layout):
    """Write rows, one of which raises an error; return the message."""
    broken = fn.when(fn.col("id") < 9_999, fn.col("u")).otherwise(fn.raise_error(fn.lit("no")).cast("bigint"))
    try:
        pr.write(events(spark, 0, 10_000).withColumn("u", broken), name, layout=layout, format="iceberg")
    except Exception as error:  # noqa: BLE001 - it is Spark's
        return str(error)
    return ""


def append_between(spark, name, layout, other):
    """Overwrite a table while another writer appends between planning and commit."""
    from prune_assets.tables.iceberg.writes import writing

    kept = writing._commit

    def after_another(*arguments):
        other(spark, name)
        return kept(*arguments)

    writing._commit = after_another
    try:
        return write(spark, name, layout, {"mode": "overwrite"})
    finally:
        writing._commit = kept


def append_one(spark, name):
    spark.sql(f"INSERT INTO {name} SELECT {COLUMNS} FROM range(20000, 20001)")


def write_with_wrong_order(spark, name, layout):
    """Write rows in the wrong order, as a bug in the writer would."""
    from prune_assets.tables.iceberg.writes import writing

    kept = writing.arrange

    def disordered(frame, *arguments):
        arranged, options = kept(frame, *arguments)
        return arranged.orderBy("s"), options

    writing.arrange = disordered
    try:
        return write(spark, name, layout)
    finally:
        writing.arrange = kept


def write_texts(spark, name, layout):
    """Write rows with string, empty and null partitions; return the row count and the file count."""
    frame = spark.sql("SELECT id, CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN '' END AS s FROM range(30)")
    written = pr.write(frame, name, layout=layout)
    return written.rows, len(written.files)


def optimize(spark, name, layout, options=None):
    """Optimize a table; return the result as plain values, or the error."""
    try:
        return pr.optimize(name, layout=layout, session=spark, **(options or {})).as_json()
    except PruneError as error:
        return type(error).__name__, str(error)


def files(spark, name, content=0):
    """Return the paths of data files (content 0) or delete files from Iceberg's metadata."""
    rows = spark.sql(f"SELECT file_path FROM {name}.files WHERE content = {content}").collect()
    return sorted(row[0] for row in rows)


def hashed(spark, name):
    """Return the row count and a hash of all rows."""
    return spark.sql(f"SELECT count(*), sum(xxhash64(*) % 1000000007) FROM {name}").first()[0:2]


def write_words(spark, name, layout, ids, word="concat('it''s \\\\', lpad(id, 6, '0'))"):
    """Write strings that SQL has to escape, to one file."""
    frame = spark.sql(f"SELECT id, {word} AS s FROM range{ids}")
    return list(pr.write(frame, name, layout=layout, format="iceberg").files)


def all_findings(spark, name, layout):
    return [
        (each.code, each.message) for each in pr.check(name, layout=layout, session=spark) if each.severity != "info"
    ]


def remedies(spark, name, layout):
    """Return the remedies for overlapping files."""
    return [each.remedy for each in pr.check(name, layout=layout, session=spark) if each.code == "overlap.files"]


def written_with(spark, name, properties, *, rows=100_000):
    """Write with Iceberg's table properties alone; return rows per row group, pages and bloom filters of the file."""
    from pathlib import Path

    import numpy as np
    import pyarrow.parquet as pq

    from parquet_core.layout.bound_layout import find_column
    from prune_assets.tables.opening import open_as_written

    frame = spark.sql(f"SELECT id, concat(repeat('x', 100), id) AS long, id % 7 AS k FROM range({rows})").coalesce(1)
    writer = frame.writeTo(name).using("iceberg")
    for key, value in properties.items():
        writer = writer.tableProperty(key, str(value))
    writer.create()
    paths = files(spark, name)
    index = open_as_written(str(Path(paths[0]).parents[1])).read_all()
    footer = pq.ParquetFile(paths[0]).metadata
    pages = index.page_indexes.read(find_column("long", index, "sort_by"), np.arange(len(index)))
    return {
        "files": len(paths),
        "row groups": [int(count) for count in index.groups.row_count],
        "rows of a page": int(np.max(pages.bounds.row_count)),
        "bytes of a page's bound": len(pages.bounds.lower[0].as_py()),
        "bytes of a row group's bound": len(footer.row_group(0).column(1).statistics.min),
        "filters": {
            footer.row_group(0).column(i).path_in_schema: footer.row_group(0).column(i).to_dict()["bloom_filter_length"]
            for i in range(3)
        },
    }


def delete_findings(spark, name):
    """Return the findings about deletes."""
    found = [each for each in pr.check(name, session=spark) if each.code.startswith("deletes.")]
    return [(each.code, str(each.severity), each.message) for each in found]


def delete_by_equality(spark, name, column, values):
    """Commit an equality delete file through Iceberg, as streaming writers do; return the folder of the table."""
    import uuid
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.parquet as pq

    jvm = spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
    field = table.schema().findField(column).fieldId()
    location = f"{table.location()}/data/{uuid.uuid4().hex}.parquet"
    path = location.removeprefix("file:")
    schema = pa.schema([pa.field(column, pa.int64(), metadata={"PARQUET:field_id": str(field)})])
    pq.write_table(pa.table({column: pa.array(values, pa.int64())}, schema=schema), path)
    ids = spark.sparkContext._gateway.new_array(jvm.int, 1)
    ids[0] = field
    deletes = jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(ids)
    deletes = deletes.withPath(location).withFormat("parquet").withFileSizeInBytes(Path(path).stat().st_size)
    table.newRowDelta().addDeletes(deletes.withRecordCount(len(values)).build()).commit()
    spark.sql(f"REFRESH TABLE {name}")
    return table.location().removeprefix("file:")
