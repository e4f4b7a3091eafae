"""Return what parquet-java, Spark's own Parquet reader, keeps of a file for a predicate; it runs in Spark's JVM.

The calls are those of `ParquetFileFormat`: the filters that Spark plans to push down are translated by `ParquetFilters`
into one predicate of parquet-java, which a `ParquetFileReader` evaluates. No row is read.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prune_assets.spark.scan_metrics import _operators
from prune_assets.spark.spark_versions import release

_PARQUET = "org.apache.spark.sql.execution.datasources.parquet"


@dataclass(frozen=True)
class Switches:
    """Levels of parquet-java to use; by default all, as in Spark."""

    stats: bool = True
    dictionary: bool = True
    bloom: bool = True
    column_index: bool = True


@dataclass(frozen=True)
class KeptOfFile:
    """Kept rows of one file: half-open row ranges by ordinal of the row group.

    `rows`: parquet-java's own count, equal to the sum of the ranges.
    """

    ranges: dict[int, list[tuple[int, int]]]
    rows: int

    @property
    def row_groups(self):
        return len(self.ranges)


def scan_of(df) -> Any | None:
    """Return the file scan of a planned DataFrame; None if Spark's optimizer already excludes all rows."""
    scans = [
        operator
        for operator in _operators(df._jdf.queryExecution().sparkPlan())
        if operator.getClass().getSimpleName() == "FileSourceScanExec"
    ]
    assert len(scans) < 2, "one scan of files expected"
    return scans[0] if scans else None


def pushed_filters(df) -> list[Any]:
    """Return the `sources.Filter`s that Spark passes to its Parquet reader."""
    scan = scan_of(df)
    return [] if scan is None else _items(scan.pushedDownFilters())


def pushed_predicate(spark, df, file) -> Any:
    """Return parquet-java's predicate for one file; None if no filter can be pushed down."""
    jvm, scan = spark._jvm, scan_of(df)
    if scan is None:
        return None
    with _reader(spark, file) as reader:
        filters = _parquet_filters(spark, reader.getFileMetaData().getSchema(), scan.requiredSchema())
        found = [filters.createFilter(each) for each in pushed_filters(df)]
    predicates = [each.get() for each in found if each.isDefined()]
    if not predicates:
        return None
    whole = predicates[0]
    for each in predicates[1:]:
        whole = jvm.org.apache.parquet.filter2.predicate.FilterApi.__getattr__("and")(whole, each)
    return whole


def filtered_record_count(spark, file, df, switches: Switches | None = None) -> KeptOfFile:
    """Return what Spark's reader keeps of `file` for the filters of `df`, a DataFrame over the file or its table."""
    if scan_of(df) is None:
        return KeptOfFile({}, 0)
    predicate = pushed_predicate(spark, df, file)
    return kept_of_file(spark, file, predicate, switches)


def kept_of_file(spark, file, predicate, switches: Switches | None = None) -> KeptOfFile:
    """Return what parquet-java keeps for one of its own predicates; everything for None."""
    switches = Switches() if switches is None else switches
    compat = spark._jvm.org.apache.parquet.filter2.compat.FilterCompat
    filter_ = compat.NOOP if predicate is None else compat.get(predicate)
    with _reader(spark, file, filter_, switches) as reader:
        blocks = reader.getRowGroups()
        paths = _paths(spark, reader)
        # Not every writer numbers its row groups, so positions identify them.
        numbers = {block.getStartingPos(): i for i, block in enumerate(reader.getFooter().getBlocks())}
        ranges = {}
        for i in range(blocks.size()):
            number, count = numbers[blocks[i].getStartingPos()], blocks[i].getRowCount()
            if predicate is None or not switches.column_index:
                ranges[number] = [(0, count)]
                continue
            found = _column_index_filter(spark).calculateRowRanges(filter_, reader.getColumnIndexStore(i), paths, count)
            # Ranges of parquet-java include both ends.
            parts = [tuple(map(int, str(part)[1:-1].split(", "))) for part in found.getRanges()]
            if parts:
                ranges[number] = [(low, high + 1) for low, high in parts]
        kept = KeptOfFile(ranges, reader.getFilteredRecordCount())
    assert kept.rows == sum(high - low for parts in ranges.values() for low, high in parts)
    return kept


@contextlib.contextmanager
def _reader(spark, file, filter_=None, switches=None):
    jvm = spark._jvm
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    hadoop = jvm.org.apache.parquet.hadoop
    source = hadoop.util.HadoopInputFile.fromPath(jvm.org.apache.hadoop.fs.Path(Path(file).resolve().as_uri()), conf)
    options = jvm.org.apache.parquet.HadoopReadOptions.builder(conf)
    if switches is not None:
        options = (
            options.withRecordFilter(filter_)
            .useStatsFilter(switches.stats)
            .useDictionaryFilter(switches.dictionary)
            .useBloomFilter(switches.bloom)
            .useColumnIndexFilter(switches.column_index)
        )
    reader = hadoop.ParquetFileReader.open(source, options.build())
    try:
        yield reader
    finally:
        reader.close()


def _parquet_filters(spark, schema, read_schema):
    """Create Spark's filter translator with the settings of the session."""
    jvm, conf = spark._jvm, spark._jsparkSession.sessionState().conf()
    spec = jvm.org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
    policy = _module(jvm, "org.apache.spark.sql.internal.LegacyBehaviorPolicy").CORRECTED()
    rebase = spec(policy, jvm.scala.Option.empty())
    # The read schema is an argument since Spark 4.3.
    read = [jvm.scala.Option.apply(read_schema)] if release(spark.version) >= (4, 3) else []
    return jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetFilters(
        schema,
        conf.parquetFilterPushDownDate(),
        conf.parquetFilterPushDownTimestamp(),
        conf.parquetFilterPushDownDecimal(),
        conf.parquetFilterPushDownStringPredicate(),
        conf.parquetFilterPushDownInFilterThreshold(),
        conf.caseSensitiveAnalysis(),
        rebase,
        *read,
    )


def _module(jvm, name):
    return jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)


def _column_index_filter(spark):
    return spark._jvm.org.apache.parquet.internal.filter2.columnindex.ColumnIndexFilter


def _paths(spark, reader):
    paths = spark._jvm.java.util.HashSet()
    for column in reader.getFileMetaData().getSchema().getColumns():
        paths.add(spark._jvm.org.apache.parquet.hadoop.metadata.ColumnPath.get(column.getPath()))
    return paths


def _items(sequence):
    return [sequence.apply(i) for i in range(sequence.size())]
