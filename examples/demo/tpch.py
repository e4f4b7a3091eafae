"""Generate TPC-H tables with the `tpchgen-cli` wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_core.errors import StorageFailure, WrongUse

if TYPE_CHECKING:
    from examples.demo.settings import DemoSettings

PROGRAM = "tpchgen-cli"


def generate(settings: DemoSettings, table: str) -> Path:
    """Return the generated file of a table; generate it if it is missing.

    The file is generated under another name and renamed when complete, so that an interrupted run leaves no partial
    data. Raises WrongUse if the generator is not installed.
    """
    target = settings.generated / f"{table}.parquet"
    if target.exists():
        return target
    settings.generated.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"_{table}-", dir=settings.generated) as unfinished:
        command = [str(_program()), "parquet", "-s", f"{settings.scale:g}", "--tables", table, "-o", unfinished, "-q"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our own arguments
        made = Path(unfinished) / target.name
        if done.returncode or not made.exists():
            stderr = done.stderr.strip().splitlines()
            raise StorageFailure(
                f"{target}: {PROGRAM} failed with {done.returncode}: {stderr[-1] if stderr else 'no output'}"
            )
        made.rename(target)
    return target


def _program() -> Path:
    """Find the program next to this Python, where the wheel installs it, or on the PATH."""
    for directory in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        for name in (PROGRAM, f"{PROGRAM}.exe"):
            if (directory / name).is_file():
                return directory / name
    path = shutil.which(PROGRAM)
    if path is None:
        raise WrongUse(f"{PROGRAM} is not installed; run pip install {PROGRAM}")
    return Path(path)
