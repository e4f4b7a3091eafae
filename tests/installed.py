"""Try an installation as a user would, in its own folder: `python -P tests/installed.py compiled bare`.

The first argument is `compiled` or `pure`; the second is `bare` for an installation without extras, or `extras` for the
extras of Spark and Dagster. The script runs in environments that have only a wheel and its dependencies (`make
try-wheel`, `tests/test_setup.py`), so pytest does not collect it. `-P` prevents imports from the folders of the tests,
which have the names of the packages.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import prune_assets as pr
from prune_assets.errors import MissingPackage
from prune_assets.spark.spark_session import spark_session

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 90_000
DAYS = 90
TABLE = "events.parquet"
WHERE = "day = DATE '2024-03-01'"


def prune(*arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    command = [str(Path(sys.executable).with_name("prune")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_table() -> None:
    days = [dt.date(2024, 1, 1) + dt.timedelta(i * DAYS // ROWS) for i in range(ROWS)]
    rows = pa.table({"day": days, "user": [i * 7919 % 5_000 for i in range(ROWS)]})
    pq.write_table(rows, TABLE, row_group_size=10_000, write_page_index=True)
    Path("by_day.yaml").write_text("sort_by: [day]\n")
    Path("by_user.yaml").write_text("sort_by: [user]\n")


def try_commands(*, compiled: bool) -> bool:
    """Run commands; return whether there is a Java for Spark."""
    assert version("prune-assets") in prune("--version")
    found = json.loads(prune("doctor", "--json", codes=(0, 1)))
    assert found["compiled"] is compiled, found
    assert found["compiled_storage"] is compiled, found
    assert "row groups" in prune("inspect", TABLE).lower()
    prune("explain", TABLE, "--where", WHERE, "--min-skipped", "0.8")
    prune("check", TABLE, "--layout", "by_day.yaml")
    prune("check", TABLE, "--layout", "by_user.yaml", codes=(1,))
    return found["java"] is not None


def try_without_extras() -> str:
    """Plan and read without Spark and Dagster; what needs one of them names its extra in one line."""
    assert not [name for name in ("airflow", "dagster", "pyspark") if find_spec(name)]
    assert 0 < pr.plan(TABLE, where=WHERE).report.kept.row_groups < ROWS // 10_000
    for use, package, extra in ((spark_session, "pyspark", "spark"), (import_from_dagster, "dagster", "dagster")):
        assert error_of(use) == f"{package} is not installed; run pip install 'prune-assets[{extra}]'"
    return "Spark and Dagster named by their extras"


def error_of(use: Callable[[], object]) -> str:
    try:
        use()
    except MissingPackage as error:
        return str(error)
    return "no error"


def import_from_dagster() -> None:
    from prune_assets.dagster import LayoutTable  # noqa: F401


def try_extras(*, java: bool) -> str:
    """Import the definitions of Dagster, and read with Spark if there is a Java for it."""
    import_from_dagster()
    if not java:
        return "no Java here, so nothing was read with Spark"
    assert pr.read(TABLE, where=WHERE, session=spark_session(master="local[1]")).count() == ROWS // DAYS
    return f"and read with Spark {version('pyspark')}"


def main(kind: str, extent: str) -> None:
    assert "site-packages" in pr.__file__, pr.__file__
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_table()
        java = try_commands(compiled={"compiled": True, "pure": False}[kind])
        assert pr.read_arrow(TABLE, where=WHERE).num_rows == ROWS // DAYS
        tried = {"bare": try_without_extras, "extras": lambda: try_extras(java=java)}[extent]()
    sys.stdout.write(f"Python {platform.python_version()}, {kind}, {extent}: commands run, rows read, {tried}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
