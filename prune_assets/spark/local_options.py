"""Options for a Spark that runs only on this machine.

The user's own options take precedence.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from functools import cache

_FEWEST_PARTITIONS = 4


def is_local(master: str) -> bool:
    """Return True if a master URL means threads of this machine.

    >>> is_local("local"), is_local("local[2]"), is_local("local-cluster[1,1,1024]"), is_local("spark://h:7077")
    (True, True, False, False)
    """
    return re.fullmatch(r"local(\[[^\]]*\])?", master) is not None


def local_options(master: str) -> dict[str, str]:
    """Return the options of a local Spark.

    No web UI, loopback only, few partitions, and a temporary warehouse for tables without a path.
    """
    return {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(max(_FEWEST_PARTITIONS, threads(master))),
        "spark.sql.warehouse.dir": _warehouse(),
    }


def threads(master: str) -> int:
    """Return the number of threads of a local master.

    >>> threads("local"), threads("local[2]"), threads("local[3,4]"), threads("local[*]") == os.cpu_count()
    (1, 2, 3, True)
    """
    match = re.match(r"local\[(\d+|\*)", master)
    if match is None:
        return 1
    if match[1] == "*":
        return os.cpu_count() or 1
    return int(match[1])


@cache
def _warehouse() -> str:
    directory = tempfile.mkdtemp(prefix="prune-warehouse-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
