"""If a process is killed while it writes a checkpoint, the table reads the same, and the next writer repairs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checkpoint_crashes import POINTS, POINTS_V2
from log_writer import add
from state_facts import action_facts, snapshot_facts
from test_write_checkpoint import POLICIES, fill, partition

from deltalog.maintenance.clean_log import clean_log
from deltalog.maintenance.write_checkpoint import write_checkpoint
from deltalog.snapshot.opening import open_snapshot

ROOT = Path(__file__).parents[3]
DAY = 86_400_000
CASES = [("classic", point) for point in POINTS] + [("v2", point) for point in POINTS_V2]


def crash(log, point):
    command = [sys.executable, str(Path(__file__).parents[1] / "checkpoint_crashes.py"), str(log), point]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("policy", "point"), CASES)
def test_a_killed_writer_leaves_the_table_as_it_was(log, policy, point):
    fill(log, **POLICIES[policy])
    write_checkpoint(str(log), 4)
    if point == "deletions":
        age(log, days=40)
    log.commit(add("last.parquet", partition=partition(1)))
    before, actions = snapshot_facts(log.path), action_facts(log.path)
    crash(log, point)
    assert snapshot_facts(log.path) == before
    hint = json.loads((log.place / "_last_checkpoint").read_text())
    assert hint["version"] in {4, log.version}
    # No reader or writer uses the unfinished file.
    written = write_checkpoint(str(log))
    assert written.version == log.version
    assert json.loads((log.place / "_last_checkpoint").read_text())["version"] == log.version
    assert open_snapshot(log.path).segment.checkpoint.version == log.version
    assert snapshot_facts(log.path) == before
    assert action_facts(log.path)["adds"].keys() == actions["adds"].keys()
    log.commit(add("later.parquet", partition=partition(2)))
    assert write_checkpoint(str(log)).written
    assert open_snapshot(log.path).file_count == len(before["files"]) + 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("policy", "point"), [("classic", "rows"), ("classic", "half of the hint"), ("v2", "rows"), ("v2", "manifest")]
)
def test_what_a_killed_writer_leaves_behind_is_cleaned_up_later(log, policy, point):
    fill(log, **POLICIES[policy])
    write_checkpoint(str(log), 4)
    before = set(names(log))
    crash(log, point)
    litter = set(names(log)) - before
    assert litter - {f"{log.version:020d}.checkpoint.parquet"}
    age(log, days=40)
    write_checkpoint(str(log), clean=False)
    now = time.time_ns() // 1_000_000
    cleaned = clean_log(str(log), now=now + 3 * DAY)
    assert cleaned.failed == ()
    assert not [name for name in names(log) if name in litter and name[21:] != "checkpoint.parquet"]
    assert open_snapshot(log.path).version == log.version


def names(log):
    return [str(file.relative_to(log.place)) for file in log.place.rglob("*") if file.is_file()]


def age(log, *, days):
    """Set the times of all files in the log to `days` days ago."""
    for file in log.place.rglob("*"):
        at = time.time() - days * 86_400
        os.utime(file, (at, at))
