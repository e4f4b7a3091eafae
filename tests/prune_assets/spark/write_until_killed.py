"""Writes versions of the Delta table argv[1] with a Spark that has the jars argv[2:], one after the other, for ever."""

from __future__ import annotations

import sys

from hadoop_aws import start

import deltalog
from deltalog.errors import NotADeltaTable
from tests.prune_assets.spark.on_s3 import write


def mode_of(version):
    """How a version is written: each third one replaces those before it."""
    return "overwrite" if version % 3 == 2 else "append"


def ids_of(version):
    """The ids that a version holds."""
    first = max((before for before in range(version + 1) if mode_of(before) == "overwrite"), default=0)
    return [*range(10 * first, 10 * version + 10)]


def next_version(table):
    try:
        return deltalog.open_snapshot(table).version + 1
    except NotADeltaTable:
        return 0


if __name__ == "__main__":
    session = start({"spark.jars": ",".join(sys.argv[2:]), "spark.ui.enabled": "false"})
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        version = next_version(sys.argv[1])
        write(session, sys.argv[1], 10 * version, 10 * version + 10, mode_of(version))
