"""Tables of Delta and Iceberg on which a MERGE can be run twice from the same state."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema

import prune_assets as pr
from prune_assets.spark.spark_versions import from_arrow
from prune_assets.spark.statement_scans import observed_scans

from .cases import PROPERTIES

# Settings with which small MERGEs are fast: few tasks, and no code that is compiled for each query.
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.retainedExecutions": "60",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.sql.session.timeZone": "UTC",
}
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")


def frame_of(spark, table):
    return from_arrow(spark, table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


class Attempt:
    """What one run of a statement left: the sorted rows, or the error; and the number of files that its scans opened.

    `replaced`: paths of the files from which the MERGE removed rows. None if unknown.
    """

    def __init__(self, rows=None, error=None, message="", files=None, replaced=None):
        self.rows, self.error, self.message, self.files, self.replaced = rows, error, message, files, replaced


def _attempt(spark, sql, name):
    """Run a statement; return its error and message, and the number of files opened."""
    with observed_scans(spark, name) as scans:
        try:
            spark.sql(sql).collect()
        except (PySparkException, Py4JJavaError) as error:
            return *_error(error), None
    return None, "", max((scan.files for scan in scans), default=0)


def _error(error):
    """Return the error condition, or the type, and the message. Errors of Spark's own bugs have no condition."""
    text = str(error)
    found = _CONDITION.search(text)
    return found[1] if found else type(error).__name__, text[:300]


class _Ground:
    def query(self, sql):
        """Run a query; return its rows or its error."""
        try:
            return Attempt(sorted(map(repr, map(tuple, self.spark.sql(sql).collect()))))
        except (PySparkException, Py4JJavaError) as error:
            return Attempt(None, *_error(error))


class DeltaGround(_Ground):
    """A Delta table that is copied for each run."""

    def __init__(self, spark, place, target):
        self.spark, self.place, self.path = spark, Path(place), f"{place}/target"
        self.table, self.relation = self.path, f"delta.`{self.path}`"
        shutil.rmtree(self.path, ignore_errors=True)
        columns = ", ".join(f"{name} {sql}" for name, sql in target.types.items())
        properties = {key: value for name in target.changes for key, value in PROPERTIES[name].items()}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        spark.sql(
            f"CREATE TABLE delta.`{self.path}` ({columns}) USING delta"
            f"{f' PARTITIONED BY ({target.partition})' if target.partition else ''}"
            f"{f' TBLPROPERTIES ({listed})' if listed else ''}"
        )
        rows = frame_of(spark, target.rows).repartitionByRange(target.files, "k")
        rows.write.format("delta").mode("append").save(self.path)
        if "deletion vectors" in target.changes:
            spark.sql(f"DELETE FROM delta.`{self.path}` WHERE v % 7 = 3")

    def target(self, run):
        """Return the table for a run, in the state that all runs begin with."""
        copy = f"{self.place}/{run}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.path, copy)
        return copy

    def attempt(self, sql, run, target):
        log = Path(target) / "_delta_log"
        before = {*log.glob("*.json")}
        error, message, files = _attempt(self.spark, sql, run)
        actions = [json.loads(line) for path in {*log.glob("*.json")} - before for line in path.open()]
        replaced = {action["remove"]["path"] for action in actions if "remove" in action}
        return Attempt(_sorted(pr.read_arrow(target)), error, message, files, replaced)

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)


class IcebergGround(_Ground):
    """A table of Iceberg that is rolled back after each run."""

    def __init__(self, spark, number, target, mode):
        self.spark, self.name = spark, f"lake.db.t{number}"
        self.table = self.relation = self.name
        columns = ", ".join(f"{name} {sql}" for name, sql in target.types.items())
        spark.sql(f"DROP TABLE IF EXISTS {self.name}")
        spark.sql(
            f"CREATE TABLE {self.name} ({columns}) USING iceberg"
            f"{f' PARTITIONED BY ({target.partition})' if target.partition else ''}"
            f" TBLPROPERTIES ('format-version' = '2', 'write.merge.mode' = '{mode}',"
            " 'write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')"
        )
        frame_of(spark, target.rows).repartitionByRange(target.files, "k").writeTo(self.name).append()
        self.snapshot = self._snapshot()

    def _snapshot(self):
        return self.spark.sql(f"SELECT snapshot_id FROM {self.name}.refs WHERE name = 'main'").first()[0]

    def target(self, run):
        return self.name

    def attempt(self, sql, run, target):
        error, message, files = _attempt(self.spark, sql, run)
        rows = sorted(map(repr, map(tuple, self.spark.table(target).collect())))
        if self._snapshot() != self.snapshot:
            self.spark.sql(f"CALL lake.system.rollback_to_snapshot('{self.name[5:]}', {self.snapshot})")
        return Attempt(rows, error, message, files)

    def close(self):
        self.spark.sql(f"DROP TABLE IF EXISTS {self.name}")


def _sorted(table):
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))
