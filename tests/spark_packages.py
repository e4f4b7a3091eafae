"""Delta and Iceberg in a Spark session: the package for the installed Spark, and a process whose Spark has it.

Spark fetches packages from Maven Central, once, into a cache outside of the tree; after that it needs no network.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from traceback import format_exc
from urllib.request import urlopen

import pyspark
import pytest
from hadoop_aws import MAVEN, spark_process

from prune_assets.spark.spark_versions import release

VERSION = release(pyspark.__version__)
DELTA = {
    (3, 5): "io.delta:delta-spark_2.12:3.3.3",
    (4, 0): "io.delta:delta-spark_2.13:4.0.1",
    (4, 1): "io.delta:delta-spark_4.1_2.13:4.4.0",
    (4, 2): "io.delta:delta-spark_4.2_2.13:4.4.0",
}
ICEBERG = {
    (3, 5): "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0",
    (4, 0): "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
    (4, 1): "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
}


def package_for(packages):
    """Return the package for the installed Spark; skip the test if none exists for it."""
    if VERSION not in packages:
        newest = ".".join(map(str, max(packages)))
        pytest.skip(f"{packages[max(packages)].split(':')[1]} is for Spark {newest}, and this is {pyspark.__version__}")
    return packages[VERSION]


@contextmanager
def process_with(packages, settings, warehouse):
    """As `spark_process`, of a Spark with one of the packages; skip the test where none fits or can be had."""
    package = package_for(packages)
    ivy = Path.home() / ".cache" / "prune-tests" / "ivy-{}.{}".format(*VERSION)
    _skip_without(package, ivy)
    options = {
        "spark.jars.packages": package,
        "spark.jars.ivy": str(ivy),
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    with spark_process([], **{**options, **settings}) as run:
        yield lambda function, *arguments: run(_telling, function, *arguments)


def iceberg_lake(place, rest=None, more=()):
    """As `process_with`, of a Spark whose catalog `lake` keeps tables of Iceberg in a directory, or is a REST catalog.

    `rest`: the address of that one. `more`: other settings.
    """
    of_catalog = {"type": "hadoop", "warehouse": str(place)} if rest is None else {"type": "rest", "uri": rest}
    settings = {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        **{f"spark.sql.catalog.lake.{key}": value for key, value in of_catalog.items()},
        **dict(more),
    }
    return process_with(ICEBERG, settings, place / "warehouse")


def _telling(spark, function, *arguments):
    """Convert Spark's errors to text, because they cannot be pickled between processes."""
    try:
        return function(spark, *arguments)
    except Exception:  # noqa: BLE001 - see above
        raise AssertionError(format_exc()) from None


def _skip_without(package, ivy):
    group, artifact, version = package.split(":")
    if (ivy / "jars" / f"{group}_{artifact}-{version}.jar").exists():
        return
    try:
        urlopen(f"{MAVEN}/{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.pom", timeout=20).close()
    except OSError as error:
        pytest.skip(f"{package} is not here, and Maven Central cannot be reached: {error}")
