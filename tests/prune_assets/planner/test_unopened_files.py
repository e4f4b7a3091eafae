"""Plain tables whose partition values exclude files: their footers are not read, and results stay the same."""

from __future__ import annotations

import json
import os
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.metadata_cache import MetadataCache
from parquet_core.dataset.opening import list_dataset, read_dataset
from parquet_core.errors import MalformedFile
from parquet_core.pruning.file_answers import answers_of_directories
from parquet_core.pruning.predicate import Compare, Op
from prune_assets.cli.explain import explain
from prune_assets.dagster.metadata import skip_metadata
from prune_assets.planner.explain.plan import plan
from tests.prune_assets.planner.named_rows import named_rows

LONG_AGO = 1_600_000_000
DAYS, FILES, ROWS, GROUP = 5, 2, 40, 10
EMPTY_NAME = "__HIVE_DEFAULT_PARTITION__"


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("PRUNE_CACHE_BYTES", "0")


@pytest.fixture
def cached(monkeypatch, tmp_path):
    """Enable an empty cache."""

    def turn_on(name="cache"):
        monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / name))
        monkeypatch.delenv("PRUNE_CACHE_BYTES", raising=False)

    return turn_on


def write(path, first):
    path.parent.mkdir(parents=True, exist_ok=True)
    x = pa.array(range(first, first + ROWS), pa.int64())
    y = pa.array([None if i % 3 == 0 else i % 7 for i in range(first, first + ROWS)], pa.int64())
    pq.write_table(pa.table({"x": x, "y": y}), path, row_group_size=GROUP, write_page_index=True)
    os.utime(path, (LONG_AGO, LONG_AGO))


@pytest.fixture
def table(tmp_path):
    """Write five days and one null partition, two files each; x ascends over all files."""
    for day in range(DAYS + 1):
        for file in range(FILES):
            name = EMPTY_NAME if day == DAYS else f"2024-01-0{day + 1}"
            write(tmp_path / f"t/day={name}/{file}.parquet", (day * FILES + file) * ROWS)
    return tmp_path / "t"


def opened(made):
    """Return the opened files, by day and name."""
    flags = (
        np.ones(len(made.index.groups.files), np.bool_)
        if made.index.groups.opened is None
        else made.index.groups.opened
    )
    return [short(made.index.groups.files[i]) for i in np.flatnonzero(flags).tolist()]


def short(file):
    return "/".join(file.path.split("/")[-2:]).removeprefix("day=").removesuffix(".parquet")


FIRST = "2024-01-01/0"  # decides on the schema


def test_only_footers_of_what_directory_names_leave_are_read(table):
    made = plan(table, where="day = '2024-01-03' AND x >= 0")
    assert opened(made) == [FIRST, "2024-01-03/0", "2024-01-03/1"]
    assert made.index.groups.traffic.requests == 3
    assert [short(file) for file in made.surviving_files] == ["2024-01-03/0", "2024-01-03/1"]
    whole = plan(table, where="x >= 0")
    assert whole.index.groups.opened is None
    assert whole.index.groups.traffic.requests == (DAYS + 1) * FILES
    assert whole.requests == whole.index.groups.traffic.requests


@pytest.mark.parametrize(
    "where", ["day = '2024-01-03' OR x > 9223372036854775808", "(y = NULL OR day = '2024-01-03') AND TRUE"]
)
def test_what_is_constant_beside_a_directory_name_opens_no_file(table, where):
    assert opened(plan(table, where=where)) == [FIRST, "2024-01-03/0", "2024-01-03/1"]


def test_what_is_ruled_out_may_be_damaged(table):
    (table / "day=2024-01-02/0.parquet").write_bytes(b"no Parquet file")
    assert len(plan(table, where="day = '2024-01-03'").surviving_files) == FILES
    with pytest.raises(MalformedFile, match="2024-01-02"):
        plan(table, where="day <= '2024-01-03'")


WHERE = [
    "day = '2024-01-02' AND x BETWEEN 85 AND 95",
    "day = '2024-01-02' OR x = 3",
    "NOT (day > '2024-01-02' OR x < 5)",
    "NOT (day <= '2024-01-04')",
    "day IS NULL AND y IS NOT NULL",
    "day IS NOT NULL AND x % 2 = 0",
    "day IS NULL OR day = '2024-01-01' AND y = 3",
    "NOT (day IS NULL) AND NOT (y IS NULL) AND day IN ('2024-01-03', '2024-01-05')",
    "(day = '2024-01-02' AND x = 90) OR (day = '2024-01-04' AND y = 2)",
    "(day = '2024-01-02' AND x = 9000) OR (day = '2024-01-04' AND y = 2) OR x = 1",
    "day <=> NULL AND x > 440",
    "day = '1999-01-01' AND x = 3",
    "coalesce(day, DATE '2024-01-01') = '2024-01-01' AND y IS NULL",
]


def rows_of(made):
    """Return the row groups of every surviving file, by path."""
    return {
        file.path: [(g.index, g.row_count, g.verdict, g.ranges, g.matches) for g in file.row_groups]
        for file in made.files
        if file.verdict != "skip"
    }


@pytest.mark.parametrize("where", WHERE)
def test_a_plan_is_the_same_as_when_every_file_is_known(table, cached, where):
    cold = plan(table, where=where)
    cached()
    assert plan(table, where="x >= 0").report.unopened_files == 0
    warm = plan(table, where=where)
    assert warm.index.groups.opened is None
    assert rows_of(cold) == rows_of(warm)
    assert named_rows(cold.index, cold.evaluation.access.ranges) == named_rows(
        warm.index, warm.evaluation.access.ranges
    )
    assert named_rows(cold.index, cold.evaluation.access.matches) == named_rows(
        warm.index, warm.evaluation.access.matches
    )
    assert (cold.surviving_files, cold.index.groups.columns) == (warm.surviving_files, warm.index.groups.columns)
    assert (cold.warnings, cold.derived_filters) == (warm.warnings, warm.derived_filters)
    assert cold.report.kept == warm.report.kept
    named = [all(group.level == "partition_values" for group in file.row_groups) for file in warm.files]
    assert [
        short(file) for file, by_name in zip(warm.files, named, strict=True) if not by_name or short(file) == FIRST
    ] == (opened(cold))
    assert_engines_open_no_more(cold.report.engines, warm.report.engines)


def test_a_table_of_which_nothing_is_left(table):
    made = plan(table, where="day = '1999-01-01' AND x = 3")
    assert opened(made) == [FIRST]
    assert made.index.groups.traffic.requests == 1
    assert (made.surviving_files, made.report.kept.rows, made.report.kept.bytes) == ((), 0, 0)
    statistics = made.report.levels[1]
    assert (statistics.status, statistics.why) == ("not_applicable", "directory names leave no file to open")
    assert made.derived_filters == ()
    assert all(engine.kept.rows == 0 for engine in made.report.engines)


def test_of_a_table_with_a_summary_file_not_even_the_first_is_read(table):
    pq.write_metadata(pq.read_schema(next(table.glob("*/0.parquet"))), table / "_common_metadata")
    made = plan(table, where="day = '1999-01-01' AND x = 3")
    assert opened(made) == []
    assert made.index.groups.traffic.requests == 1
    assert made.report.kept.files == 0
    assert str(made.report)
    assert opened(plan(table, where="day = '2024-01-03' AND x = 170")) == ["2024-01-03/0", "2024-01-03/1"]


def test_where_values_of_directories_are_not_certain_every_file_is_read(table):
    files = [str(path) for path in sorted(table.glob("*/*.parquet"))]
    for tables in (files, f"{table}/*"):
        assert plan(tables, where="x >= 400").index.groups.opened is None
    write(table / "astray.parquet", 0)
    assert plan(table, where="day = '2024-01-01' AND x >= 400").index.groups.opened is not None, (
        "Spark does not read it"
    )
    write(table / "day=5e-1" / "0.parquet", 0)
    assert plan(table, where="day = '2024-01-01' AND x >= 400").index.groups.opened is None


def test_the_report_says_what_was_not_opened(table):
    where = "day = '2024-01-03' AND x >= 200"
    report = plan(table, where=where).report
    assert report.unopened_files == 9
    assert (report.total.files, report.total.row_groups, report.total.pages) == (12, None, None)
    assert report.kept.row_groups == 1 * ROWS // GROUP
    assert (report.total.rows, report.kept.rows) == (None, ROWS), "no log tells the rows of files that were not opened"
    partitions = report.levels[0]
    assert (partitions.total.rows, partitions.kept.rows, partitions.skipped_rows) == (None, 2 * ROWS, None)
    assert re.search(rf"\n +rows +not counted +-> +{2 * ROWS}\n", str(report)), "no percentage of an unknown number"
    assert f"reads {ROWS} of" not in report.to_html().split('id="levels"')[0]
    assert (partitions.level, partitions.unit, partitions.total.files, partitions.kept.files) == (
        "partition_values",
        "file",
        12,
        2,
    )
    assert [level.unit for level in report.levels[1:]] == [*["row group"] * 3, "page"]
    unopened = [file.row_groups for file in report.files if file.row_groups[0].index < 0]
    assert len(unopened) == report.unopened_files
    assert all((group.verdict, group.level, group.ranges) == ("skip", "partition_values", ()) for (group,) in unopened)
    assert "day is 2024-01-02 by its directory" in unopened[1][0].reason
    said = "9 of 12 files were skipped by partition value; their footers were not read"
    assert said in " ".join(str(report).split())
    assert said in report.to_html()
    assert "Skipped about" in report.to_html()
    assert json.loads(report.to_json())["unopened_files"] == 9
    assert json.loads(report.to_json())["unopened_files"] == 9
    metadata = skip_metadata(report)
    assert "prune/total_rows" not in metadata
    assert said in metadata["prune/summary"].md_str


def test_bytes_of_unopened_files_are_close_to_what_their_columns_take(table):
    where = "day = '2024-01-03' AND x >= 200"
    for columns in (None, ["x"]):
        cold = plan(table, where=where, columns=columns).report
        assert cold.unopened_files == 9
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PRUNE_CACHE_DIR", str(table.parent / "whole"))
            patch.delenv("PRUNE_CACHE_BYTES")
            assert plan(table, where="x >= 0", columns=columns).report.unopened_files == 0
            known = plan(table, where=where, columns=columns).report
        assert cold.total.bytes == pytest.approx(known.total.bytes, rel=0.05)
        assert cold.kept == known.kept


def test_parts_of_the_predicate_that_ask_of_unopened_files_are_not_complete(table):
    report = plan(table, where="day = '2024-01-03' AND x = 200").report
    first, second = report.conjuncts
    assert (first.complete, second.complete) == (True, False)
    for text in (str(report), report.to_html()):
        assert "lower bounds: skips in files that this plan did not open are unknown" in " ".join(text.split())
    assert "at least: " not in str(plan(table, where="x = 200 AND y = 1").report)


def assert_engines_open_no_more(cold, warm):
    """Spark alone needs no file that a plan does not open; figures that are not exact say so."""
    for one, other in zip(cold, warm, strict=True):
        assert one.kept.files == other.kept.files
        unread = "it uses footers, which this plan did not read" in one.why
        assert (one.kept == other.kept) != unread
        assert one.estimated >= unread
        assert (one.kept.rows is None) == unread
    assert not any("footers" in one.why for one in cold), "Spark too opens nothing that directory names rule out"


def test_a_plan_of_one_directory_keeps_what_those_of_others_stored(table, cached):
    cached()
    first = plan(table, where="day = '2024-01-02' AND x >= 0")
    assert first.index.groups.traffic.requests == 1 + FILES
    second = plan(table, where="day = '2024-01-03' AND x >= 0")
    assert second.index.groups.traffic.requests == FILES, "its own footers"
    assert opened(second) == [FIRST, *(f"2024-01-0{day}/{file}" for day in (2, 3) for file in range(FILES))]
    for where in ("day = '2024-01-02' AND x >= 0", "day = '2024-01-03' AND x >= 0", "day = '1999-01-01' AND x = 1"):
        again = plan(table, where=where)
        assert again.index.groups.traffic.requests == 0
        assert opened(again) == opened(second)
    whole = plan(table, where="x >= 0")
    assert whole.index.groups.traffic.requests == (DAYS + 1) * FILES - 1 - 2 * FILES
    whole.index.save()
    last = plan(table, where="day = '2024-01-05' AND x >= 0")
    assert (last.index.groups.traffic.requests, last.index.groups.opened) == (0, None)
    assert last.report.total.rows == (DAYS + 1) * FILES * ROWS


def test_what_is_stored_of_some_files_outlives_a_change_of_others(table, cached):
    cached()
    plan(table, where="day = '2024-01-02' AND x >= 0")
    write(table / "day=2024-01-04/7.parquet", 900)
    (table / "day=2024-01-05/0.parquet").unlink()
    again = plan(table, where="day = '2024-01-02' AND x >= 0")
    assert again.index.groups.traffic.requests == 0
    path = table / "day=2024-01-02/0.parquet"
    write(path, 5_000)
    os.utime(path, (LONG_AGO + 1, LONG_AGO + 1))
    changed = plan(table, where="day = '2024-01-02' AND x >= 5000")
    assert 0 < changed.index.groups.traffic.requests <= 2
    assert [short(file) for file in changed.surviving_files] == ["2024-01-02/0"]
    assert named_rows(changed.index, changed.evaluation.access.ranges) == {(str(path), row) for row in range(ROWS)}


def test_what_is_stored_of_some_files_says_the_same_as_the_files(table, tmp_path):
    """Cached bounds of a column equal the bounds in the files, whichever files were read before."""
    cache = MetadataCache(tmp_path / "own")
    chance = np.random.default_rng(1)
    expected = read_dataset(table)
    for turn in range(20):
        listed = list_dataset(table, cache=cache)
        index = listed.read(chance.random(len(listed.files)) < 0.2)
        at = index.groups.read_from()
        whole = np.flatnonzero(np.isin(expected.groups.file, index.groups.file[at]))
        assert index.groups.row_count[at].tolist() == expected.groups.row_count[whole].tolist()
        for column in index.groups.columns[turn % 2 :]:
            found, there = index.footers.bounds(column), expected.footers.bounds(column)
            assert found.lower.take(pa.array(at)).equals(there.lower.take(pa.array(whole)))
            assert found.null_count.take(pa.array(at)).equals(there.null_count.take(pa.array(whole)))
        index.save()
    assert index.groups.opened is None, "in the end every file was read once"


def test_no_call_is_made_per_file_that_is_ruled_out(tmp_path):
    def calls(days):
        root = tmp_path / str(days)
        for day in range(days):
            write(root / f"day={day}/a.parquet", 0)
        listed = list_dataset(root)
        index = listed.read_for_schema()
        counted = 0

        def count(_frame, event, _argument):
            nonlocal counted
            counted += event in {"call", "c_call"}

        predicate = Compare(("day",), Op.EQ, pa.scalar(1, pa.int32()))
        sys.setprofile(count)
        try:
            made = listed.read(answers_of_directories(predicate, index).kept)
        finally:
            sys.setprofile(None)
        assert made.groups.opened.sum() == 2
        return counted

    few, many = calls(5), calls(80)
    assert many <= few * 1.05


def test_the_command_says_so_too(table, capsys):
    with pytest.raises(SystemExit) as left:
        explain.main([str(table), "--where", "day = '2024-01-03'", "--json"])
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out)["unopened_files"] == 9
