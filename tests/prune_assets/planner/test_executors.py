"""Metadata read by Spark's executors: the plan keeps the same data as a plan that reads metadata itself."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import delete_rows, write_table

import deltalog
import prune_assets as pr
from parquet_core.dataset import stored_index
from parquet_core.errors import MalformedFile, WrongUse
from prune_assets.planner import executors
from prune_assets.planner.executors import SETTING, answer_task
from tests.fuzz.planner.truth import settings
from tests.peers.delta_matrix import GOLDEN

pytestmark = pytest.mark.spark

WHERE = [
    "id < 250",
    "name = 'v1' AND id > 300",
    "id IN (5, 1205) OR name = 'nothing'",
    "id IS NULL",
    "id >= 0",
    "abs(id) < 150",
    "upper(name) = 'V2'",
    "id % 7 = 3 AND id < 40",
    "number > 1.0E6",
]
DAYS = ["day = DATE '2024-01-03'", "day < DATE '2024-01-03' AND id < 5 OR id > 1190", "day IS NULL"]
# The log has no statistics, so that footers count.
SILENT = {"delta.enableDeletionVectors": "true", "delta.dataSkippingNumIndexedCols": "0"}
TRUTH = GOLDEN / "_expected" / "_skip_truth.json"


@pytest.fixture
def asked(spark, monkeypatch):
    """A session whose executors read the metadata of every file, three files per task."""
    monkeypatch.setenv("PRUNE_CACHE_BYTES", "0")
    monkeypatch.setattr(executors, "FILES_A_TASK", 3)
    with settings(spark, {SETTING: "1", "spark.sql.session.timeZone": "UTC"}):
        yield spark


@pytest.fixture
def here(monkeypatch):
    """Tasks run in this process, as a matrix of them takes Spark minutes."""

    def run(_, questions):
        return [pickle.loads(answer_task(question)) for question in questions]

    monkeypatch.setattr(executors, "_run", run)


def rows(first, count=100):
    ids = range(first, first + count)
    return pa.table(
        {
            "id": ids,
            "name": pa.array([f"v{first // 100 % 4}"] * count),
            "number": pa.array([None if i % 5 == 0 else i / 3 for i in ids]),
        }
    )


def flat(place):
    place.mkdir()
    for i in range(13):
        pq.write_table(rows(i * 100), place / f"{i}.parquet", row_group_size=30, write_page_index=True)
    return place


def by_day(place):
    for i in range(13):
        day = place / ("day=__HIVE_DEFAULT_PARTITION__" if i == 12 else f"day=2024-01-0{i % 5 + 1}")
        day.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(i * 100), day / f"{i}.parquet", row_group_size=30)
    return place


def in_delta(place):
    for i in range(13):
        days = pa.array([19723 + i % 5] * 100, pa.int32()).cast(pa.date32())
        mode = "error" if i == 0 else "append"
        data = rows(i * 100).append_column("day", days)
        write_table(place, data, mode=mode, partition_by=["day"], properties=SILENT if i == 0 else None)
    delete_rows(place, {deltalog.open_snapshot(place).paths()[3]: [5, 6, 7]})
    return place


def compare(session, table, where):
    with settings(session, {SETTING: "1000"}):
        wanted = pr.plan(table, where=where, session=session).report
    plan = pr.plan(table, where=where, session=session)
    found = plan.report
    assert wanted.kept.files == 0 or "executors" in [level.level for level in found.levels]
    assert found.kept == wanted.kept, where
    assert found.total.rows == wanted.total.rows or found.table_snapshot or plan.index.groups.partition_values
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", [flat, by_day, in_delta])
def test_as_much_is_kept_as_by_this_process_alone(asked, here, tmp_path, make):
    table = make(tmp_path / "t")
    ruled_out = 0
    for where in [*WHERE, *([] if make is flat else DAYS)]:
        found = compare(asked, table, where)
        ruled_out += sum(level.total.files - level.kept.files for level in found.levels if level.level == "executors")
    assert ruled_out > 60


@pytest.mark.deep
@pytest.mark.parametrize("make", [flat, by_day, in_delta])
def test_rows_are_those_that_spark_selects(asked, tmp_path, make):
    table = make(tmp_path / "t")
    where = "id < 250 OR name = 'v3' AND number > 360.0"
    every = asked.read.parquet(str(table)) if make is not in_delta else pr.read(table, where="true", session=asked)
    found = pr.read(table, where=where, session=asked)
    assert sorted(row.id for row in found.collect()) == sorted(row.id for row in every.where(where).collect()) != []
    levels = pr.plan(table, where=where, session=asked).report.levels
    assert "tasks" in next(level for level in levels if level.level == "executors").why


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(json.loads(TRUTH.read_text())) if TRUTH.exists() else [])
def test_of_golden_tables_too(asked, here, name):
    for one in json.loads(TRUTH.read_text())[name]["predicates"][::21]:
        if "[" not in one["predicate"]:
            with settings(asked, {SETTING: "1000"}):
                wanted = pr.plan(GOLDEN / name, where=one["predicate"], session=asked).report
            found = pr.plan(GOLDEN / name, where=one["predicate"], session=asked).report
            assert found.kept == wanted.kept, one


def test_few_files_and_files_that_the_cache_knows_are_not_worth_it(asked, here, tmp_path, monkeypatch):
    table = flat(tmp_path / "t")
    monkeypatch.setenv("PRUNE_CACHE_BYTES", "1000000")
    monkeypatch.setattr(stored_index, "is_settled", lambda *_: True)
    with settings(asked, {SETTING: "14"}):
        levels = pr.plan(table, where="id < 250", session=asked).report.levels
    assert "executors" not in [level.level for level in levels]
    levels = pr.plan(table, where="id < 250", session=asked).report.levels
    assert "executors" not in [level.level for level in levels]


def test_what_a_task_cannot_read_the_driver_meets(asked, here, tmp_path):
    table = flat(tmp_path / "t")
    (table / "5.parquet").write_bytes(b"PAR1 no footer PAR1")
    with pytest.raises(MalformedFile, match=r"5\.parquet"):
        pr.plan(table, where="id < 10000", session=asked)


def test_where_spark_cannot_run_tasks_the_driver_reads(asked, tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("no executors\nat all")

    monkeypatch.setattr(executors, "_run", fail)
    found = compare(asked, flat(tmp_path / "t"), "id < 250")
    (level,) = (level for level in found.levels if level.level == "executors")
    assert (level.status, level.kept.files) == ("not_applicable", 13)
    assert level.why.endswith("so the driver read them: RuntimeError: no executors")


def test_a_reason_says_who_ruled_a_file_out(asked, here, tmp_path):
    report = pr.plan(flat(tmp_path / "t"), where="id < 250", session=asked).report
    (group,) = next(file for file in report.files if file.path.endswith("/7.parquet")).row_groups
    assert (group.level, group.reason) == ("executors", "no row can satisfy all of: id < 250")
    assert (group.row_count, group.verdict) == (100, "skip")
    assert "10 of 13 files were not opened by this process" in str(report).replace("\n            ", " ")


def test_a_wrong_setting_is_named(asked, tmp_path):
    with settings(asked, {SETTING: "many"}), pytest.raises(WrongUse, match=f"{SETTING}='many': must be a number"):
        pr.plan(flat(tmp_path / "t"), where="id < 250", session=asked)


def test_a_local_session_is_not_asked_unless_told(spark):
    assert executors.executor_files(spark) is None


def test_a_question_is_small(asked, tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr(executors, "_run", lambda _, questions: sent.extend(questions) or 1 / 0)
    monkeypatch.setattr(executors, "FILES_A_TASK", 1_000)
    table = flat(tmp_path / "t")
    for i in range(13, 300):
        shutil.copy(table / "0.parquet", table / f"{i}.parquet")
    pr.plan(table, where="id < 250", session=asked)
    assert len(sent) == 1
    assert len(zlib.decompress(sent[0])) / 300 < 200


PROGRAM = """
import sys
import prune_assets as pr
from pyspark.sql import SparkSession

session = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false").getOrCreate()
session.conf.set("spark.prune.executorFiles", "1")
from prune_assets.planner import executors
executors.FILES_A_TASK = 3
found = pr.plan(sys.argv[1], where="id < 250", session=session).report
print(next(level.why for level in found.levels if level.level == "executors"))
print(found.kept.rows, pr.read(sys.argv[1], where="id < 250", session=session).count())
"""


@pytest.mark.deep
def test_executors_in_processes_of_their_own_are_given_the_code(tmp_path):
    import pyspark

    table = flat(tmp_path / "t")
    # The executors start in another directory, and can import neither this project nor its dependencies.
    root = Path(executors.__file__).parents[2]
    program = tmp_path / "program.py"
    program.write_text(f"import sys; sys.path.insert(0, {str(root)!r})\n{PROGRAM}")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PRUNE_CACHE_BYTES": "0"}
    environment |= {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), str(table)],
        capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    why, counts = done.stdout.splitlines()
    assert "12 files read in 4 tasks" in why
    assert "row_group_statistics skipped 10" in why
    # The row groups have 30 rows.
    assert counts == "260 250"
