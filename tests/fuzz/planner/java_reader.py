"""The calls of `tests.peers.parquet_java` in one, because a hundred JVM calls per file are too slow here.

The Java source is compiled by the compiler that Spark uses for its own generated code.
"""

from __future__ import annotations

import numpy as np

SOURCE = """
import java.util.*;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.*;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.*;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.internal.filter2.columnindex.*;
import org.apache.spark.sql.catalyst.util.RebaseDateTime;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFilters;
import org.apache.spark.sql.internal.*;
import org.apache.spark.sql.sources.Filter;

public class KeptRows {
  static FileSourceScanExec scanOf(SparkPlan plan) {
    if (plan instanceof FileSourceScanExec) return (FileSourceScanExec) plan;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      FileSourceScanExec found = scanOf((SparkPlan) children.next());
      if (found != null) return found;
    }
    return null;
  }

  // File, row group, first row, row after the last, four by four; null: no scan; {-1}: nothing is pushed.
  public static long[] kept(SparkPlan plan, SQLConf conf, Configuration hadoop, String[] files) throws Exception {
    FileSourceScanExec scan = scanOf(plan);
    if (scan == null) return null;
    List found = new ArrayList();
    boolean pushed = false;
    for (int f = 0; f < files.length; f++) pushed |= ofFile(scan, conf, hadoop, files[f], f, found);
    if (!pushed) return new long[] {-1};
    long[] all = new long[found.size()];
    for (int i = 0; i < all.length; i++) all[i] = ((Long) found.get(i)).longValue();
    return all;
  }

  static boolean ofFile(FileSourceScanExec scan, SQLConf conf, Configuration hadoop, String file, int f, List found)
      throws Exception {
    HadoopInputFile source = HadoopInputFile.fromPath(new Path(new java.net.URI(file)), hadoop);
    ParquetFileReader whole = ParquetFileReader.open(source);
    ParquetMetadata footer = whole.getFooter();
    whole.close();
    ParquetFilters filters = filtersOf(footer, conf, scan);
    FilterPredicate asked = null;
    scala.collection.Iterator each = scan.pushedDownFilters().iterator();
    while (each.hasNext()) {
      scala.Option made = filters.createFilter((Filter) each.next());
      if (made.isEmpty()) continue;
      FilterPredicate one = (FilterPredicate) made.get();
      asked = asked == null ? one : FilterApi.and(asked, one);
    }
    FilterCompat.Filter filter = asked == null ? FilterCompat.NOOP : FilterCompat.get(asked);
    Map numbers = new HashMap();
    List blocks = footer.getBlocks();
    for (int i = 0; i < blocks.size(); i++) {
      BlockMetaData block = (BlockMetaData) blocks.get(i);
      numbers.put(Long.valueOf(block.getStartingPos()), Long.valueOf(i));
    }
    Set paths = new HashSet();
    for (Iterator it = footer.getFileMetaData().getSchema().getColumns().iterator(); it.hasNext();)
      paths.add(ColumnPath.get(((ColumnDescriptor) it.next()).getPath()));
    ParquetFileReader reader = ParquetFileReader.open(source, HadoopReadOptions.builder(hadoop).withRecordFilter(filter)
        .useStatsFilter(true).useDictionaryFilter(true).useBloomFilter(true).useColumnIndexFilter(true).build());
    try {
      List kept = reader.getRowGroups();
      for (int i = 0; i < kept.size(); i++) {
        BlockMetaData block = (BlockMetaData) kept.get(i);
        Long number = (Long) numbers.get(Long.valueOf(block.getStartingPos()));
        if (asked == null) {
          add(found, f, number, 0, block.getRowCount());
          continue;
        }
        RowRanges ranges =
            ColumnIndexFilter.calculateRowRanges(filter, reader.getColumnIndexStore(i), paths, block.getRowCount());
        for (Iterator it = ranges.getRanges().iterator(); it.hasNext();) {
          RowRanges.Range range = (RowRanges.Range) it.next();
          add(found, f, number, range.from, range.to + 1);
        }
      }
    } finally {
      reader.close();
    }
    return asked != null;
  }

  // The last argument is new in Spark 4.3.
  static ParquetFilters filtersOf(ParquetMetadata footer, SQLConf conf, FileSourceScanExec scan) throws Exception {
    Object[] all = {footer.getFileMetaData().getSchema(), Boolean.valueOf(conf.parquetFilterPushDownDate()),
        Boolean.valueOf(conf.parquetFilterPushDownTimestamp()), Boolean.valueOf(conf.parquetFilterPushDownDecimal()),
        Boolean.valueOf(conf.parquetFilterPushDownStringPredicate()),
        Integer.valueOf(conf.parquetFilterPushDownInFilterThreshold()), Boolean.valueOf(conf.caseSensitiveAnalysis()),
        new RebaseDateTime.RebaseSpec(LegacyBehaviorPolicy.CORRECTED(), scala.Option.empty()),
        scala.Option.apply(scan.requiredSchema())};
    java.lang.reflect.Constructor made = ParquetFilters.class.getConstructors()[0];
    return (ParquetFilters) made.newInstance(Arrays.copyOf(all, made.getParameterTypes().length));
  }

  static void add(List found, int file, Long number, long from, long to) {
    found.add(Long.valueOf(file)); found.add(number); found.add(Long.valueOf(from)); found.add(Long.valueOf(to));
  }
}
"""


class JavaReader:
    """Runs parquet-java in Spark's JVM."""

    _made = None

    def __init__(self, spark):
        self.spark = spark
        jvm = spark._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook(SOURCE)
        found = compiler.getClassLoader().loadClass("KeptRows")
        self._method = next(m for m in found.getMethods() if m.getName() == "kept")
        state = spark._jsparkSession.sessionState()
        self._settings = state.conf(), state.newHadoopConf()

    @classmethod
    def of(cls, spark):
        """Return the reader of a session, compiled once."""
        if cls._made is None or cls._made.spark is not spark:
            cls._made = cls(spark)
        return cls._made

    def kept(self, df, files):
        """Return the rows (file, row group, start, stop) that are kept for the filters of `df`.

        None if Spark pushes nothing down, or reads nothing.
        """
        gateway = self.spark.sparkContext._gateway
        names = gateway.new_array(gateway.jvm.java.lang.String, len(files))
        for i, file in enumerate(files):
            names[i] = file
        arguments = gateway.new_array(gateway.jvm.java.lang.Object, 4)
        for i, argument in enumerate((df._jdf.queryExecution().sparkPlan(), *self._settings, names)):
            arguments[i] = argument
        found = self._method.invoke(None, arguments)
        if found is None or (len(found) == 1):
            return None
        numbers = gateway.jvm.java.nio.ByteBuffer.allocate(8 * len(found))
        numbers.asLongBuffer().put(found)
        return np.frombuffer(numbers.array(), ">i8").reshape(-1, 4)
