"""Write the checkpoint of a table and die on the way: `python checkpoint_crashes.py TABLE POINT`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from deltalog.maintenance import last_checkpoint, write_checkpoint
from deltalog.maintenance.checkpoint_writer import CheckpointWriter
from parquet_core.storage import file_changes, local_writing

POINTS = ("rows", "name", "hint", "half of the hint", "deletions")
POINTS_V2 = ("rows", "sidecar", "manifest", "hint")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def dying(function, *, at=1, before=True):
    """Return a function that kills the process at one of its calls."""
    calls = iter(range(1, at + 1))

    def called(*args, **options):
        last = next(calls) == at
        if last and before:
            die()
        result = function(*args, **options)
        if last:
            die()
        return result

    return called


def half_written(temporary, data):
    with Path(temporary).open("wb") as file:
        file.write(data[: len(data) // 2])
        file.flush()
        os.fsync(file.fileno())
    die()


def arm(point):
    match point:
        case "rows":
            CheckpointWriter.write = dying(CheckpointWriter.write, at=2)
        case "name":
            write_checkpoint.publish = dying(write_checkpoint.publish)
        case "sidecar":
            write_checkpoint.publish = dying(write_checkpoint.publish, before=False)
        case "manifest":
            write_checkpoint.put_if_absent = dying(write_checkpoint.put_if_absent)
        case "hint":
            write_checkpoint.write_hint = dying(write_checkpoint.write_hint)
        case "half of the hint":
            last_checkpoint.put = local_writing.put
            local_writing._write = half_written
        case "deletions":
            file_changes._reason = dying(file_changes._reason, at=2, before=False)


if __name__ == "__main__":
    arm(sys.argv[2])
    write_checkpoint.write_checkpoint(sys.argv[1])
