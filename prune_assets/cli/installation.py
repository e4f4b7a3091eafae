"""Examine the environment of this project: Java, Spark, libraries, the cache directory."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from parquet_core.errors import PruneError
from parquet_core.format.compact import is_compiled
from parquet_core.printable import redacted
from parquet_core.storage.local import is_compiled as is_compiled_storage
from parquet_core.storage.stores import reads_profiles, selected_profile
from prune_assets import __version__
from prune_assets.cache_directory import CACHE_VARIABLE, cache_directory
from prune_assets.errors import JavaFailure
from prune_assets.extras import DISTRIBUTIONS, EXTRAS, is_installed
from prune_assets.spark.java import Java, JavaCandidate, candidates, find_java
from prune_assets.spark.spark_versions import installed_version
from prune_assets.spark.supported import check_start, is_client_only

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Name and marker of each platform: an environment variable, a variable and its value, or a file. The first match wins,
# because a platform's Spark may run on Kubernetes, and Fabric also has the marker of Synapse.
PLATFORMS = (
    ("Databricks", "DATABRICKS_RUNTIME_VERSION"),
    ("EMR Serverless", "SERVERLESS_EMR_JOB_ID"),
    ("EMR", "/mnt/var/lib/info/job-flow.json"),
    ("Glue", "GLUE_VERSION"),
    ("Dataproc", "DATAPROC_IMAGE_VERSION"),
    ("Fabric", "/home/trusted-service-user/.trident-context"),
    ("Synapse", "AZURE_SERVICE=Microsoft.ProjectArcadia"),
    ("Kubernetes", "KUBERNETES_SERVICE_HOST"),
)

SCHEMA = "doctor/1"
# All of these are imported as pyspark, and each overwrites files of the others.
PYSPARKS = ("pyspark", "pyspark-client", "databricks-connect")
LIBRARIES = ("pyarrow", "sqlglot", "xxhash", "obstore", "fsspec")
# Optional distributions, each with the extra that installs it.
OPTIONAL = {DISTRIBUTIONS.get(package, package): extra for package, extra in EXTRAS.items()}


class Problem(msgspec.Struct, frozen=True):
    """A problem of the installation, and its remedy."""

    what: str
    remedy: str


class CacheDirectory(msgspec.Struct, frozen=True):
    """The path of the cache, which may not exist yet, and whether it can be written."""

    path: str
    writable: bool


class AwsProfile(msgspec.Struct, frozen=True):
    """The AWS profile whose credentials are used for S3.

    `read`: True if boto3 is installed to read it.
    """

    name: str
    read: bool


class SparkStart(msgspec.Struct, frozen=True, kw_only=True):
    """Result of starting Spark; `version`: the version of Spark, None if Spark did not start."""

    version: str | None
    error: str | None


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """All findings about an installation.

    `libraries`: version of each library. None if the library is missing, which is a problem unless an extra installs
    it.
    `compiled`: True if compiled code reads metadata. `compiled_storage`: True if compiled code reads large numbers of
    local files.
    `runs_on`: the recognized platform.
    `aws_profile`: the profile in AWS_PROFILE, unless keys in the environment override it.
    `spark`: None unless a session was started.
    """

    schema: str = SCHEMA
    version: str
    python: str
    platform: str
    runs_on: Platform | None
    java: Java | None
    candidates: tuple[JavaCandidate, ...]
    libraries: dict[str, str | None]
    compiled: bool
    compiled_storage: bool
    remote: bool
    aws_profile: AwsProfile | None
    cache: CacheDirectory
    spark: SparkStart | None
    problems: tuple[Problem, ...]


def examine(*, start_spark: bool = False) -> Diagnosis:
    """Examine this machine; Spark starts only with `start_spark`.

    A missing Java is a problem only if pyspark would start it: not with an `sc://` server in SPARK_REMOTE, not with
    pyspark-client, and not without pyspark.
    """
    remote = os.environ.get("SPARK_REMOTE", "").startswith("sc://")
    # Candidates are listed before Spark starts, because Spark's start sets JAVA_HOME.
    looked_at = tuple(candidates())
    java, java_problems = _java(needed=not remote and not is_client_only() and is_installed("pyspark"))
    libraries = {name: _version(name) for name in (*LIBRARIES, *OPTIONAL)}
    # pyspark may be imported from outside the installed packages: from PYTHONPATH, or with pyspark-client.
    installed, libraries["pyspark"] = libraries["pyspark"], installed_version()
    cache = CacheDirectory(redacted(str(cache_directory())), _is_writable(cache_directory()))
    of_spark = [*_spark_problems(installed, remote=remote)]
    spark, failed = _started() if start_spark else (None, [])
    return Diagnosis(
        version=__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        runs_on=this_platform(),
        java=java,
        candidates=looked_at,
        libraries=libraries,
        compiled=is_compiled(),
        compiled_storage=is_compiled_storage(),
        remote=remote,
        aws_profile=None if (profile := selected_profile()) is None else AwsProfile(profile, reads_profiles()),
        cache=cache,
        spark=spark,
        problems=(
            *java_problems,
            *(Problem(f"{name} is not installed", f"pip install {name}") for name in LIBRARIES if not libraries[name]),
            *(of_spark or failed),
            *_unwritable(cache),
        ),
    )


def _java(*, needed: bool) -> tuple[Java | None, list[Problem]]:
    try:
        return find_java(), []
    except JavaFailure as error:
        return None, [Problem(error.problem, error.remedy)] if needed else []


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _spark_problems(installed: str | None, *, remote: bool) -> Iterator[Problem]:
    """Yield problems of the pyspark that Python imports; `installed`: the version that pip reports."""
    imported = installed_version()
    if imported is None:
        return
    try:
        check_start(remote=remote)
    except PruneError as error:
        yield Problem(error.problem, error.remedy)
    packages = [f"{name} {version}" for name in PYSPARKS if (version := _version(name)) is not None]
    if len(packages) > 1:
        yield Problem(
            f"{' and '.join(packages)} are installed, and overwrite each other's files",
            "uninstall all of them, then install one",
        )
    elif installed is not None and installed != imported:
        yield Problem(
            f"pyspark {imported} is imported from a directory that precedes the installed pyspark {installed}",
            "unset PYTHONPATH, or uninstall one of them",
        )


def _is_writable(directory: Path) -> bool:
    existing = next(place for place in (directory, *directory.parents) if place.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _unwritable(cache: CacheDirectory) -> Sequence[Problem]:
    if cache.writable:
        return []
    return [Problem(f"{cache.path} cannot be written", f"set {CACHE_VARIABLE} to a directory that can")]


def _started() -> tuple[SparkStart, list[Problem]]:
    from prune_assets.spark.spark_session import spark_session

    try:
        session = spark_session()
        return SparkStart(version=session.version, error=None), []
    except PruneError as error:
        return SparkStart(version=None, error=str(error)), [Problem(str(error), "fix the problem, then try again")]


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform, recognized by its `marker`, a variable or a file. `version`: None if unknown."""

    name: str
    version: str | None
    marker: str


def this_platform(environment: Mapping[str, str] = os.environ, root: Path = Path("/")) -> Platform | None:
    """Return the platform of this process; None if unknown.

    A private machine has no known platform.

    >>> this_platform({"GLUE_VERSION": "5.0"}).version
    '5.0'
    """
    for name, marker in PLATFORMS:
        variable, _, value = marker.partition("=")
        found = environment.get(variable)
        if marker.startswith("/") and (root / marker[1:]).exists():
            return Platform(name, None, marker)
        if found and found == (value or found):
            return Platform(name, found if variable.endswith("_VERSION") else None, marker)
    return None
