"""Detection of missing store drivers before Spark starts.

The start of Spark takes a minute or more.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from parquet_core.errors import UnsupportedFeature
from parquet_core.storage.stores import OF_SCHEME, Store, scheme_of
from prune_assets.spark.local_options import is_local

# If one of these is set, jars may come from outside Spark's directory.
_VARIABLES = (
    "SPARK_REMOTE",
    "PYSPARK_GATEWAY_PORT",
    "SPARK_CLASSPATH",
    "SPARK_DIST_CLASSPATH",
    "HADOOP_CLASSPATH",
)
_SETTINGS = frozenset({"spark.jars", "spark.jars.packages", "spark.driver.extraClassPath", "spark.remote"})
_ARGUMENTS = re.compile(r"--(?:packages|jars|driver-class-path|properties-file|remote|master)\b|spark\.jars")
_SETTING = re.compile(r"\s*(?P<name>spark\.[^\s=:]+)(?:\s*[=:]\s*|\s+)(?P<value>\S.*?)\s*")
_HADOOP = "hadoop-client-api-"
_ALL_DRIVERS = "hadoop-cloud"


def check_drivers(*tables: str) -> None:
    """Raise UnsupportedFeature if Spark has no driver for a table's store.

    Raised only for a local Spark whose directory has no jar of the driver, and only if no setting adds jars.
    """
    stores = {table: store for table in tables if (store := OF_SCHEME.get(scheme_of(table) or "")) is not None}
    if not stores or _may_have_more_jars():
        return
    jars = [path.name for path in (_home() / "jars").glob("*.jar")]
    version = next((name.removeprefix(_HADOOP)[:-4] for name in jars if name.startswith(_HADOOP)), None)
    for table, store in stores.items():
        artifact = store.driver.partition(":")[2]
        # Without Hadoop's client jar, the directory does not hold all jars of Spark.
        if version is not None and not any(artifact in name or _ALL_DRIVERS in name for name in jars):
            raise UnsupportedFeature(f"{table}: {missing_driver(store, version)}")


def missing_driver(store: Store, hadoop_version: str | None) -> str:
    """Return the message that Spark lacks the driver of a store, and how to add the driver."""
    driver = store.driver
    if driver.startswith("org.apache.hadoop:"):
        driver += f":{hadoop_version or 'the version of its Hadoop'}"
    else:
        driver += ":VERSION"
    return (
        f"this Spark has no driver for {store.spark_scheme}://; put spark.jars.packages={driver} into "
        "spark-defaults.conf and set SPARK_CONF_DIR to its directory"
    )


def _may_have_more_jars() -> bool:
    if any(os.environ.get(name) for name in _VARIABLES) or _runs():
        return True
    if _ARGUMENTS.search(os.environ.get("PYSPARK_SUBMIT_ARGS", "")):
        return True
    directory = Path(os.environ.get("SPARK_CONF_DIR") or _home() / "conf")
    settings = _settings(directory / "spark-defaults.conf")
    return (
        (directory / "spark-env.sh").exists()
        or not is_local(settings.get("spark.master", "local"))
        or not _SETTINGS.isdisjoint(settings)
    )


def _runs() -> bool:
    """Return True if this process has started Spark's Java, even if the session was stopped since."""
    from prune_assets.spark.supported import is_client_only

    if is_client_only():
        return True
    from pyspark import SparkContext

    return SparkContext._gateway is not None  # noqa: SLF001 - Spark has no public way to ask for it


def _home() -> Path:
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _settings(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {setting["name"]: setting["value"] for line in lines if (setting := _SETTING.fullmatch(line)) is not None}
