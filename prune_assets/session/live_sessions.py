"""Number of Spark sessions that this user runs on this machine, from whatever process."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# What a Java of PySpark or spark-submit runs.
_MAIN_CLASS = b"org.apache.spark.deploy.SparkSubmit"


def live_sessions(processes: Path = Path("/proc")) -> int:
    """Count this user's Java processes that serve a Spark session, as the operating system lists them.

    >>> live_sessions() >= 0
    True

    A killed process leaves nothing that would count. 0 if the system has no such list (macOS, Windows). In a container
    the processes of other containers do not count.
    """
    if not processes.exists():
        return 0
    count, user = 0, os.geteuid()
    for cmdline in processes.glob("[0-9]*/cmdline"):
        with suppress(OSError):  # ended meanwhile
            count += cmdline.stat().st_uid == user and _MAIN_CLASS in cmdline.read_bytes().split(b"\0")
    return count
