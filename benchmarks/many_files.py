"""TPC-H lineitem written by Spark as 1,000 files, each with one row group and about 31 pages per column."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

FILES = 1_000
COPIES = 100
SCALE = "0.1"
DIRECTORY = Path(".bench")


def many_files() -> Path:
    """Return the directory of the 1,000 files; created once."""
    files = DIRECTORY / "lineitem_1000"
    if not (files / "_SUCCESS").is_file():
        shutil.rmtree(files, ignore_errors=True)
        _write(generated(SCALE), files)
    return files


def hundred_thousand_files() -> Path:
    """Return a directory with 100 hard links to each file; created once."""
    files = DIRECTORY / "lineitem_100000"
    if not (files / "_SUCCESS").is_file():
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir(parents=True)
        for file in many_files().glob("*.parquet"):
            for copy in range(COPIES):
                os.link(file, files / f"copy-{copy:02d}-{file.name}")
        (files / "_SUCCESS").touch()
    return files


def generated(scale: str) -> Path:
    """Generate lineitem at a scale factor and return the path of its file."""
    raw = DIRECTORY / f"raw-{scale}"
    program = Path(sys.executable).with_name("tpchgen-cli")
    command = [program, "parquet", "-s", scale, "--tables=lineitem", f"--output-dir={raw}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return raw / "lineitem.parquet"


def _write(source: Path, target: Path) -> None:
    from prune_assets.spark.spark_session import spark_session

    # A file has about 600 rows, which makes about 30 pages of 20 rows.
    options = {"parquet.page.row.count.limit": "20", "parquet.page.size.row.check.min": "10"}
    rows = spark_session(master="local[2]").read.parquet(str(source))
    ranged = rows.repartitionByRange(FILES, "l_shipdate", "l_orderkey").sortWithinPartitions("l_shipdate")
    ranged.write.options(**options).parquet(str(target))
