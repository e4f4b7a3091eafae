"""Define the supported range of Spark versions, and refuse other versions.

A session is checked on first use, a Spark of this machine before it starts; `prune doctor` reports the same checks.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_core.errors import UnsupportedFeature
from parquet_core.fix import Fix
from prune_assets.errors import JavaFailure, MissingPackage
from prune_assets.extras import install_command, missing_package
from prune_assets.spark.spark_versions import install_as, installed_version, release

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST, TOO_NEW = (3, 5), (5, 0)
SUPPORTED = "only Spark 3.5 to 4.3 is supported"
INSTALL = 'pip install "pyspark>=3.5,<5"'
USE_SPARK_HOME = "add python and python/lib/py4j-*.zip of SPARK_HOME to PYTHONPATH"
INSTALL_CONNECT = "set SPARK_REMOTE to a server of Spark Connect (sc://host), or install pyspark in place of it"


def is_supported(version: str) -> bool:
    """Return True if this package supports a version of Spark.

    >>> is_supported("3.5.6-amzn-1"), is_supported("4.4.0"), is_supported("3.4.4"), is_supported("5.0.0.dev1")
    (True, True, False, False)
    """
    return OLDEST <= release(version) < TOO_NEW


def check_session(session: SparkSession) -> str:
    """Return the Spark version of a session.

    With Spark Connect, the version of the server.
    Raises UnsupportedFeature for an unsupported version. Without Spark Connect, it is also raised for a Spark older
    than its pyspark, because pyspark calls methods that this Spark lacks.
    """
    version = str(session.version)
    if not is_supported(version):
        raise UnsupportedFeature(f"this session runs Spark {version}, but {SUPPORTED}; start one of these")
    if hasattr(session, "_jsparkSession"):
        _check_pair(installed_version(), version)
    return version


def check_installed() -> str:
    """Return the version of the installed pyspark.

    Raises MissingPackage if pyspark is missing, UnsupportedFeature if its version is not supported.
    """
    version = installed_version()
    if version is None and home_version() is not None:
        raise MissingPackage("pyspark is not installed", Fix(f"{USE_SPARK_HOME}, or run {install_command('spark')}"))
    if version is None:
        raise missing_package("pyspark")
    if not is_supported(version):
        raise UnsupportedFeature(f"pyspark {version} is installed, but {SUPPORTED}", Fix(INSTALL))
    return version


def check_start(*, remote: bool) -> None:
    """Refuse to start a session with an unsuitable pyspark.

    A pyspark is unsuitable if `check_installed` refuses it, or if its version does not fit SPARK_HOME.
    `remote`: True for a Spark Connect session, which needs neither Java nor a Spark on this machine.
    """
    version = check_installed()
    if remote:
        return
    if is_client_only():
        raise JavaFailure("pyspark-client is installed, which cannot start Spark", Fix(INSTALL_CONNECT))
    if (of_home := home_version()) is not None:
        if release(of_home)[0] != release(version)[0]:
            raise mismatch(version, of_home)
        _check_pair(version, of_home)


def is_client_only() -> bool:
    """Return True if the installed pyspark is pyspark-client, which has no Java side."""
    package = find_spec("pyspark")
    return package is not None and package.origin is not None and find_spec("py4j") is None


def home_version() -> str | None:
    """Return the version of the Spark in SPARK_HOME, parsed from the name of a jar.

    None if SPARK_HOME holds no Spark.
    """
    home = os.environ.get("SPARK_HOME")
    jars = Path(home, "jars").glob("spark-core_*.jar") if home else ()
    matches = (re.fullmatch(r"spark-core_[\d.]+-(.+)\.jar", jar.name) for jar in jars)
    return next((match[1] for match in matches if match), None)


def mismatch(version: str, spark: str) -> UnsupportedFeature:
    """Return the error for a pyspark that does not fit its Spark."""
    home = ", or unset SPARK_HOME" if os.environ.get("SPARK_HOME") else ""
    problem = f"pyspark {version} does not fit Spark {spark}, which it controls"
    return UnsupportedFeature(problem, Fix(f"{install_as(spark)}{home}"))


def _check_pair(version: str | None, spark: str) -> None:
    if version is not None and release(version) > release(spark):
        raise mismatch(version, spark)
