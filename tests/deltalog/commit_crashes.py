"""Commit in a process that is killed at a named point; each point has its own table. Run as a script."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pyarrow as pa
from commit_crowd import fork
from committed_files import written

import deltalog.maintenance.write_checkpoint as following
from deltalog.log.actions import Transaction
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.create import create_table
from deltalog.transaction.operations import append


def die(*arguments, **more):
    os.kill(os.getpid(), signal.SIGKILL)


def before(call, *, number=1):
    """Kill the process instead of the n-th call of a system function."""
    count = [0]
    real = getattr(os, call)

    def counted(*arguments, **more):
        count[0] += 1
        return die() if count[0] == number else real(*arguments, **more)

    setattr(os, call, counted)


def after(call):
    real = getattr(os, call)

    def deadly(*arguments, **more):
        real(*arguments, **more)
        die()

    setattr(os, call, deadly)


def half_written():
    """Kill the process when half of the temporary file is on disk."""
    real = os.fdopen

    def opened(descriptor, mode):
        file = real(descriptor, mode)

        class Half:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                file.close()

            def write(self, data):
                file.write(data[: len(data) // 2])
                file.flush()
                die()

        return Half()

    os.fdopen = opened


def at_checkpoint():
    following.write_checkpoint = die


# By name of a point: how the process dies there, and the version that exists afterwards.
POINTS = {
    "after the data files": (lambda: before("open"), 0),
    "in the middle of the temporary file": (half_written, 0),
    "before the temporary file is flushed": (lambda: before("fsync"), 0),
    "after the temporary file is flushed": (lambda: after("fsync"), 0),
    "before the link": (lambda: before("link"), 0),
    "after the link": (lambda: after("link"), 1),
    "before the temporary name is gone": (lambda: before("unlink"), 1),
    "after the temporary name is gone": (lambda: after("unlink"), 1),
    "before the directory is flushed": (lambda: before("fsync", number=2), 1),
    "between commit and checkpoint": (at_checkpoint, 1),
}


def change(table, prepare):
    add = written(table, "one.parquet", [1, 2, 3])
    snapshot = open_snapshot(table)
    prepare()
    append(snapshot, [add], txn=Transaction("app", 1))


def crash(table, point):
    create_table(table, pa.schema([("id", pa.int64())]), properties={"delta.checkpointInterval": "1"})
    _, status = os.waitpid(fork(change, table, POINTS[point][0]), 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else None


if __name__ == "__main__":
    root = Path(sys.argv[1])
    written(root / "nothing", "warm.parquet", [1])  # loads all modules before the crashes
    json.dump({point: crash(str(root / point), point) for point in POINTS}, sys.stdout)
