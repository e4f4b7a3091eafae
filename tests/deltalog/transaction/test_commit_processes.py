"""Processes commit to one table and are killed: acknowledged commits exist exactly once, and none is incomplete."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from commit_crashes import POINTS
from commit_crowd import acknowledged, expected_files
from committed_files import by, lines, written

from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.operations import append

HERE = Path(__file__).parents[1]
SEED = 20240101


class Crowd(NamedTuple):
    """A number of processes with a number of commits each, and the kills that happen while they run."""

    writers: int
    commits: int
    kills: int
    place: Path | None = None
    killed: int = 0


def run(script, *arguments):
    environment = os.environ | {"PYTHONPATH": f"{HERE.parents[1]}:{HERE}"}
    done = subprocess.run(
        [sys.executable, str(HERE / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, f"seed {SEED}: {done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module", params=[Crowd(4, 20, 8), pytest.param(Crowd(8, 50, 60), marks=pytest.mark.deep)])
def crowd(tmp_path_factory, request):
    place, one = tmp_path_factory.mktemp("crowd"), request.param
    said = json.loads(run("commit_crowd.py", place / "table", place, one.writers, one.commits, one.kills, SEED))
    return one._replace(place=place, killed=said["killed"])


def test_every_number_is_there_exactly_once_and_in_order(crowd):
    found = {writer: [] for writer in range(crowd.writers)}
    for version in range(1, crowd.writers * crowd.commits + 1):
        (txn,) = [line["txn"] for line in lines(crowd.place / "table", version) if "txn" in line]
        found[int(txn["appId"].removeprefix("writer-"))].append(txn["version"])
    assert found == {writer: list(range(crowd.commits)) for writer in range(crowd.writers)}


@pytest.mark.deep
def test_no_version_is_missing_and_none_is_too_many(crowd):
    there = sorted(path.name for path in (crowd.place / "table" / "_delta_log").glob("[0-9]*.json"))
    assert there == [f"{version:020d}.json" for version in range(crowd.writers * crowd.commits + 1)]


def test_every_acknowledged_commit_is_where_it_was_said_to_be(crowd):
    for writer in range(crowd.writers):
        said = acknowledged(crowd.place, writer)
        assert [number for number, _, _ in said] == list(range(crowd.commits))
        for number, version, is_new in said:
            if is_new:
                (txn,) = [line["txn"] for line in lines(crowd.place / "table", version) if "txn" in line]
                assert (txn["appId"], txn["version"]) == (f"writer-{writer}", number)


def test_the_files_are_those_of_the_commits(crowd):
    wanted = sorted(name for writer in range(crowd.writers) for name in expected_files(writer, crowd.commits - 1))
    assert sorted(open_snapshot(crowd.place / "table").paths()) == wanted
    deltalake = pytest.importorskip("deltalake")
    theirs = deltalake.DeltaTable(str(crowd.place / "table"))
    assert sorted(Path(uri).name for uri in theirs.file_uris()) == wanted
    assert theirs.version() == crowd.writers * crowd.commits


def test_writers_were_killed_and_a_reader_was_watching(crowd):
    seen = json.loads((crowd.place / "seen").read_text())
    again = sum(not written for writer in range(crowd.writers) for _, _, written in acknowledged(crowd.place, writer))
    sys.stdout.write(f"seed {SEED}: killed {crowd.killed}, {again} after the commit; {len(seen)} snapshots\n")
    assert crowd.killed >= crowd.kills // 2
    assert len(set(seen)) >= 10


@pytest.fixture(scope="module")
def crashes(tmp_path_factory):
    """A table for each point at which a commit was killed."""
    place = tmp_path_factory.mktemp("crashes")
    return place, json.loads(run("commit_crashes.py", place))


@pytest.mark.parametrize("point", POINTS)
def test_killed_at(crashes, point):
    """The version exists completely or not at all, and leftovers block no later commit."""
    place, how = crashes
    assert how[point] == signal.SIGKILL
    table, there = place / point, POINTS[point][1]
    snapshot = open_snapshot(table)
    assert (snapshot.version, snapshot.paths()) == (there, ["one.parquet"] * there)
    assert (table / "one.parquet").exists()
    assert snapshot.notes == ()
    # The killed writer tries again, and the next writer is not blocked.
    again = append(snapshot, [written(table, "two.parquet", [4])], txn=by("app", 1), checkpoint=False)
    assert again.written == (not there)
    append(open_snapshot(table), [written(table, "three.parquet", [5])], checkpoint=False)
    wanted = ["one.parquet" if there else "two.parquet", "three.parquet"]
    assert sorted(open_snapshot(table).paths()) == sorted(wanted)
    deltalake = pytest.importorskip("deltalake")
    theirs = deltalake.DeltaTable(str(table))
    assert (theirs.version(), sorted(Path(uri).name for uri in theirs.file_uris())) == (2, sorted(wanted))
    assert sorted(theirs.to_pyarrow_table()["id"].to_pylist()) == ([1, 2, 3, 5] if there else [4, 5])
