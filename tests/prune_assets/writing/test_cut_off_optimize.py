"""An optimize that is killed at any file system operation keeps the rows, and can be repeated."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltalog
import prune_assets as pr
from parquet_core.storage import list_data_files
from prune_assets.tables.delta import rewriting as of_delta
from prune_assets.tables.parquet import rewriting as of_parquet
from prune_assets.tables.writes.commit import recover
from prune_assets.writing.assess import OptimizeRequest, assess
from prune_assets.writing.optimize import rewrite_of
from tests.prune_assets.writing.test_cut_off_writes import in_process, is_change, not_settled, seen, states

ROWS = tuple(range(40))
LAYOUT = pr.LayoutSpec(sort_by=["x"])


def put(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), path, write_page_index=True)


def plain(table):
    """Two files that overlap, two that are small, and one that stays; in two directories."""
    put(table / "day=1" / "a.parquet", ROWS[:10:2])
    put(table / "day=1" / "b.parquet", ROWS[1:10:2])
    put(table / "day=2" / "c.parquet", ROWS[10:20])
    put(table / "day=2" / "d.parquet", ROWS[20:30])
    put(table / "day=3" / "e.parquet", ROWS[30:])


def delta(table):
    """Create the plain table and convert it to Delta."""
    plain(table)
    deltalog.create_table(table, pa.schema({"x": pa.int64(), "day": pa.int32()}), partition_by=["day"])
    snapshot = deltalog.open_snapshot(table)
    paths = sorted(str(path.relative_to(table)) for path in table.rglob("*.parquet"))
    files = [deltalog.NewFile(path, {"day": path.partition("=")[2][0]}) for path in paths]
    deltalog.append(snapshot, deltalog.adds_of(str(table), snapshot.schema, files), checkpoint=False)


def write_by_arrow(_frame, directory, rewrite, **_):
    """Write each group in order, as Spark does, to a process that has none."""
    for number in sorted(set(rewrite.groups)):
        paths = [file.path for file, group in zip(rewrite.files, rewrite.groups, strict=True) if group == number]
        values = sorted(x for path in paths for x in pq.ParquetFile(path).read()["x"].to_pylist())
        put(Path(directory) / f"prune_group={number}" / "part-00000.c000.parquet", values)
    return {file.path: file.size for file in list_data_files(directory)}


@pytest.fixture
def without_spark(monkeypatch):
    for rewriting in (of_delta, of_parquet):
        monkeypatch.setattr(rewriting, "write_groups", write_by_arrow)
        monkeypatch.setattr(rewriting, "_open", lambda *_: None)


def optimized(table):
    request = OptimizeRequest(str(table), LAYOUT, None, None)
    assessed = assess(request)
    assessed.writing.rewrite(None, assessed.table, rewrite_of(request, assessed))


@pytest.mark.usefixtures("without_spark")
@pytest.mark.deep
@pytest.mark.parametrize("make", [plain, delta])
def test_killed_at_any_step_it_loses_and_doubles_nothing(tmp_path, make):
    table = tmp_path / "t"
    make(tmp_path / "like")
    old, found = len(pr.plan(tmp_path / "like", where="x >= 0").files), set()
    for at in states(table, make, lambda: optimized(table)):
        files = len(pr.plan(table, where="x >= 0").files)
        assert (seen(table), files in {old, 3}) == (ROWS, True), at
        if make is plain:
            recover(table)
            assert (seen(table), not_settled(table)) == (ROWS, []), at
            assert len(pr.plan(table, where="x >= 0").files) == files
        optimized(table) if files == old else None
        assert (seen(table), len(pr.plan(table, where="x >= 0").files)) == (ROWS, 3), at
        assert assess(OptimizeRequest(str(table), LAYOUT, None, None)).picked.groups == ()
        found.add(files)
    assert found == {old, 3}


@pytest.mark.deep
@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("make", [plain, delta])
def test_an_error_at_any_step_loses_and_doubles_nothing(tmp_path, make):
    def fail():
        raise OSError(28, "No space left on device")

    table = tmp_path / "t"
    make(table)
    steps, _ = in_process(lambda: optimized(table), counts=is_change)
    for at in range(steps):
        shutil.rmtree(table, ignore_errors=True)
        make(table)
        in_process(lambda: optimized(table), at, fail, is_change)
        assert seen(table) == ROWS, at
        if make is plain:
            recover(table)
            assert (seen(table), not_settled(table)) == (ROWS, []), at


SCRIPT = """
import sys
import prune_assets as pr
from prune_assets.spark.spark_session import spark_session
spark = spark_session(master="local[2]", conf={"spark.sql.shuffle.partitions": "1", "spark.ui.enabled": "false"})
print("ready", flush=True)
pr.optimize(sys.argv[1], layout=pr.LayoutSpec(sort_by=["x"]), session=spark)
"""


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("make", [plain, delta])
def test_killed_at_random_instants_with_spark_at_work(tmp_path, make, number):
    table = tmp_path / "t"
    make(table)
    environment = os.environ | {"PYTHONPATH": str(Path(pr.__file__).parents[1])}
    command = [sys.executable, "-c", SCRIPT, str(table)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as running:
        assert running.stdout.readline() == b"ready\n"
        try:
            running.wait(random.Random(number).uniform(0, 8))
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
        assert seen(table) == ROWS
        if make is plain:
            recover(table)
            assert seen(table) == ROWS
        running.stdout.read()  # ends with the last process that can write to it: the JVM, some moments after its driver
    if make is plain:
        recover(table)
        assert (seen(table), not_settled(table)) == (ROWS, [])
