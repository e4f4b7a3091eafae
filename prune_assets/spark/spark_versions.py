"""Differences between Spark versions.

One function per feature that a version lacks or implements differently.
Spark 3.5 to 4.3 are supported. Errors name features that a version lacks.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parquet_core.errors import UnsupportedFeature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from logging import Logger

    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, DataFrame, Observation, SparkSession
    from pyspark.sql.types import DataType, StructType

# Cache of the version of the installed pyspark; key: the loaded module and the entries of `sys.path`, which may change.
_INSTALLED: dict[tuple[object, ...], str] = {}


def installed_version() -> str | None:
    """Return the version of the installed pyspark, without importing it; None if it is not installed.

    The version is read from pyspark's source: `importlib.metadata` would load half of the standard library.
    """
    # Every plan without a session calls this function, and the search takes longer than parsing a predicate.
    key = (sys.modules.get("pyspark"), *sys.path)
    if key not in _INSTALLED:
        _INSTALLED.clear()
        if (version := _version_in_package()) is None:
            return None  # not cached, so that a later `pip install` takes effect
        _INSTALLED[key] = version
    return _INSTALLED[key]


def _version_in_package() -> str | None:
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        return None
    loader: Any = package.loader  # it also reads a pyspark in a zip file, as in Spark's own workers
    try:
        source = loader.get_data(str(Path(package.origin).with_name("version.py"))).decode()
    except OSError:
        return None
    match = re.search(r"""^__version__.*=\s*["']([^"']+)""", source, re.MULTILINE)
    return None if match is None else match[1]


def release(version: str) -> tuple[int, int]:
    """Return the major and minor number of a version.

    >>> release("4.0.5"), release("3.5.2-amzn-1"), release("4.2.0.dev1")
    ((4, 0), (3, 5), (4, 2))
    """
    major, minor, *_ = (*map(int, re.findall(r"\d+", version)[:2]), 0, 0)
    return major, minor


def spark_name(version: str | None) -> str:
    """Return the name of a Spark version for reports and messages.

    >>> spark_name("4.0.5"), spark_name(None)
    ('Spark 4.0', 'Spark')
    """
    return "Spark" if version is None else "Spark {}.{}".format(*release(version))


def install_as(spark: str) -> str:
    """Return the install command for the pyspark of a Spark version.

    >>> install_as("3.5.6-amzn-1")
    'pip install "pyspark==3.5.*"'
    """
    return 'pip install "pyspark=={}.{}.*"'.format(*release(spark))


def java_versions(version: str | None) -> tuple[int, int | None]:
    """Return the oldest and the newest Java for a Spark version.

    None if no Java is too new.
    Hadoop before 3.4.2 looks up the user with an API that Java 24 removed.
    >>> java_versions("3.5.9"), java_versions("4.1.4"), java_versions("4.2.0"), java_versions(None)
    ((8, 23), (17, 23), (17, None), (17, None))
    """
    spark_release = (4, 2) if version is None else release(version)
    return 8 if spark_release < (4, 0) else 17, 23 if spark_release < (4, 2) else None


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress pyspark's log entries for queries that Spark refuses."""
    loggers = _loggers()
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _loggers() -> list[Logger]:
    """Return the loggers of failed analyses; pyspark before 4.0 has none."""
    try:
        # PySparkLogger must create these loggers: a logger of another class under these names would disturb pyspark.
        from pyspark.logger import PySparkLogger
    except ModuleNotFoundError:
        return []
    return [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]


def message_of(error: PySparkException) -> str:
    """Return the message of an error that Spark raised.

    Errors of pyspark before 4.0 have no separate message, only their text.
    """
    return str((error.getMessage() if hasattr(error, "getMessage") else None) or error)


def java_error() -> type[Exception]:
    """Return the class of Java errors that Spark does not convert.

    pyspark-client, without Java, has its own class.
    """
    try:
        from py4j.protocol import Py4JError
    except ModuleNotFoundError:
        from pyspark.errors import PySparkException

        return PySparkException
    error_class: type[Exception] = Py4JError
    return error_class


def to_arrow(df: DataFrame) -> pa.Table:
    """Collect a DataFrame as an Arrow table, like `DataFrame.toArrow` of 4.0."""
    if hasattr(df, "toArrow"):
        return df.toArrow()
    import pyarrow as pa

    old: Any = df
    if hasattr(old, "_plan"):  # of Spark Connect
        return old.sparkSession.client.to_table(old._plan.to_proto(old.sparkSession.client))[0]  # noqa: SLF001 - see above
    batches = old._collect_as_arrow()  # noqa: SLF001 - as its `toPandas` does
    return pa.Table.from_batches(batches, None if batches else arrow_schema(old.schema))


def from_arrow(session: SparkSession, table: pa.Table, schema: StructType | None = None) -> DataFrame:
    """Return a local relation of an Arrow table.

    It works like `createDataFrame` of Spark 4.0.
    """
    if not hasattr(session, "_jsparkSession"):
        _check_server(session)
    if release(installed_version() or session.version) >= (4, 0):
        return session.createDataFrame(table, schema) if schema else session.createDataFrame(table)
    from pyspark.sql.pandas.types import from_arrow_schema

    old: Any = session
    schema = schema or from_arrow_schema(table.schema)
    if not hasattr(old, "_jsparkSession"):
        from pyspark.sql.connect import dataframe
        from pyspark.sql.connect.plan import LocalRelation

        frames: Any = dataframe.DataFrame
        frame: DataFrame = frames.withPlan(LocalRelation(table.cast(arrow_schema(schema)), schema.json()), old)
        return frame
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer

    # Same steps as Spark's `createDataFrame` of a pandas.DataFrame, after the conversion to Arrow.
    batches = table.cast(arrow_schema(schema)).to_batches()
    java = old._jvm  # noqa: SLF001 - see above
    read = java.PythonSQLUtils.readArrowStreamFromFile
    stream = old._sc._serialize_to_jvm(batches, ArrowStreamSerializer(), read, java.ArrowIteratorServer)  # noqa: SLF001
    return DataFrame(java.PythonSQLUtils.toDataFrame(stream, schema.json(), old._jsparkSession), session)  # noqa: SLF001


def _check_server(session: SparkSession) -> None:
    """Raise UnsupportedFeature if a Connect server is older than its client.

    The client requests settings that the server lacks.
    """
    client, server = installed_version() or "", str(session.version)
    if release(client) > release(server):
        raise UnsupportedFeature(
            f"the Spark Connect server runs Spark {server}, and its client, pyspark {client}, cannot send rows to an "
            f"older one, which this needs; {install_as(server)}"
        )


def observation(df: DataFrame) -> Observation:
    """Return an observation that counts the rows of a DataFrame while an action computes them."""
    from pyspark.sql import Observation

    if not hasattr(df, "_jdf") and release(version := installed_version() or "4.0") < (4, 0):
        raise UnsupportedFeature(
            f"write: Spark Connect counts written rows since Spark 4.0, but this client is {version}; use classic Spark"
        )
    return Observation()


def metadata_column(df: DataFrame) -> Column:
    """Return Spark's file metadata column `_metadata`.

    The DataFrame may also have its own column of that name, except with Spark Connect before 4.0.
    """
    if hasattr(df, "metadataColumn"):
        return df.metadataColumn("_metadata")
    if not hasattr(df, "_jdf"):
        if "_metadata" in df.columns:
            raise UnsupportedFeature("a column named _metadata is read by Spark Connect from Spark 4.0 on")
        return df["_metadata"]
    from pyspark.sql import Column

    return Column(df._jdf.metadataColumn("_metadata"))  # noqa: SLF001 - Python had no API for it


def try_cast(name: str, to: DataType) -> Column:
    """Cast a column, given by its plain name; the result is null if the cast fails.

    Spark 3.5 supports this only in SQL.
    """
    from pyspark.sql import functions as fn

    if release(installed_version() or "4") < (4, 0):
        return fn.expr(f"try_cast({name} AS {to.simpleString()})")
    return fn.col(name).try_cast(to)


def in_tasks_by_number(df: DataFrame, tasks: int, task_number: Column) -> DataFrame:
    """Repartition the rows into `tasks` partitions; `task_number` is the partition of each row."""
    # A Spark Connect server may be older than its client.
    if hasattr(df, "repartitionById") and release(df.sparkSession.version) >= (4, 1):
        return df.repartitionById(tasks, task_number)
    # Spark before 4.1 lacks repartitionById; repartitionByRange reads the data once more to sample it.
    return df.repartitionByRange(tasks, task_number)


def limits_row_group_rows(session: SparkSession) -> bool:
    """Return True if the writer can limit the rows of a row group.

    Only parquet-java 1.16 and later can.
    """
    return release(session.version) >= (4, 1)


def check_row_group_rows(session: SparkSession, rows: int | None) -> None:
    """Raise UnsupportedFeature for a row limit that the writer would ignore."""
    if rows is not None and not limits_row_group_rows(session):
        raise UnsupportedFeature(
            f"row_group_rows: limiting the rows of a row group needs Spark 4.1, and this is {session.version}; "
            "use row_group_bytes"
        )


def names_variables(session: SparkSession, part: Any) -> bool:
    """Return True if a resolved Catalyst expression refers to a session variable."""
    if release(session.version) >= (4, 1):
        patterns: Any = session._jvm.org.apache.spark.sql.catalyst.trees.TreePattern  # type: ignore[union-attr]  # noqa: SLF001
        return bool(part.containsPattern(patterns.VARIABLE_REFERENCE()))
    leaves = part.collectLeaves()
    return any(leaves.apply(i).getClass().getSimpleName() == "VariableReference" for i in range(leaves.size()))


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow types that Spark expects for a schema, with timestamps in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    new = release(installed_version() or "4.2") >= (4, 2)
    return to_arrow_schema(schema, timezone="UTC") if new else to_arrow_schema(schema)


def execution_info(df: DataFrame) -> Any:
    """Return Spark Connect's execution info of an executed DataFrame."""
    if not hasattr(df, "executionInfo"):
        raise UnsupportedFeature("scan_metrics: Spark Connect reports scans since Spark 4.0; use classic Spark")
    return df.executionInfo


def option_that_was_set(session: SparkSession, key: str) -> str | None:
    """Return a setting of a session; None if the session uses the default."""
    conf: Any = session.conf
    if hasattr(type(conf), "getAll"):
        value: str | None = conf.getAll.get(key)
        return value
    if not hasattr(conf, "_jconf"):
        from pyspark.sql.connect.proto import ConfigRequest

        everything = ConfigRequest.Operation(get_all=ConfigRequest.GetAll())
        return dict(session.client.config(everything).pairs).get(key)
    option = conf._jconf.getAll().get(key)  # noqa: SLF001 - before 4.0 Python had no API for it
    return str(option.get()) if option.isDefined() else None
