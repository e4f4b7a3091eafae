"""Plans of files with contradicting metadata lose no row, and prove no row that does not match."""

from __future__ import annotations

import os

import pytest

from parquet_core.dataset import opening
from prune_assets.planner.explain.plan import plan
from prune_assets.planner.spark_reader.reader_bugs import ALL
from tests.corrupt_metadata.corrupt_file import PAGE, planted, write_correct
from tests.corrupt_metadata.corruptions import CONTRADICTIONS, UNSEEN
from tests.corrupt_metadata.judging import Truth, judged, read_now

PREDICATES = (
    "a = 1150",
    "a >= 1100 AND a < 1120",
    "a > 3000",
    "n IS NULL",
    "n IS NOT NULL",
    "n = 1090",
    "n > 1060",
    "s = 'g1-0042'",
    "s IN ('g0-0003', 'g1-0090', 'g3-0001')",
    "s < 'g1-0010'",
    "a = 5 OR n = 1012",
    "a = 1180 AND n IS NULL",
)


@pytest.fixture(scope="module")
def correct(tmp_path_factory):
    path = tmp_path_factory.mktemp("correct") / "t.parquet"
    write_correct(path)
    return path


@pytest.fixture(scope="module")
def truth(correct):
    return Truth(correct)


@pytest.fixture(autouse=True)
def without_cache(monkeypatch):
    monkeypatch.setenv("PRUNE_CACHE_BYTES", "0")


def test_correct_metadata_is_used(correct, truth):
    assert not judged(correct, truth, PREDICATES)
    made = plan(correct, where="n = 1090 AND s = 'g1-0090'")
    assert made.report.kept.rows == PAGE
    assert not made.index.groups.doubts.any()
    assert not any(made.index.footers.doubts(column).any() for column in made.index.groups.columns)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("column", ["n", "s"])
@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_loses_no_row(correct, truth, tmp_path, name, column):
    path = tmp_path / "t.parquet"
    planted(correct, path, CONTRADICTIONS[name], column)
    assert not judged(path, truth, PREDICATES)
    now = read_now(path, truth)
    assert now is truth or not judged(path, now, PREDICATES)


@pytest.mark.parametrize(("name", "corruption"), UNSEEN.items())
def test_what_nothing_contradicts_is_believed(correct, truth, tmp_path, name, corruption):
    """Corruptions that contradict no metadata that a plan reads show the limits of the guarantee."""
    path = tmp_path / "t.parquet"
    planted(correct, path, corruption, "s" if name == "pages_cut_at_other_rows" else "n")
    assert judged(path, truth, [*PREDICATES, "s = 'g1-0038'"])


REASONS = [
    ("filter_of_another_row_group", "n = 1090", "one of them a bloom filter"),
    ("filters_exchanged", "n = 1090", "the bloom filter denies a bound"),
    ("data_of_another_row_group", "n = 1090", "gives a column chunk an impossible position"),
    ("column_index_shared_with_another_row_group", "n = 1090", "one of them a page index"),
    ("column_index_copied_from_another_row_group", "n = 1090", "contradict each other"),
    ("every_page_null", "n = 1090", "contradict each other"),
    ("one_page_null", "n = 1030", "contradict each other"),
    ("pages_in_reverse", "n = 1090", "claims a boundary order that its pages do not have"),
    ("file_of_no_rows", "n = 1090", "contradicts itself about the number of rows"),
    ("every_row_group_of_no_rows", "n = 1090", "contradicts itself about the number of rows"),
]


@pytest.mark.parametrize(("name", "where", "reason"), REASONS)
def test_the_report_says_why_nothing_is_believed(correct, tmp_path, name, where, reason):
    path = tmp_path / "t.parquet"
    planted(correct, path, CONTRADICTIONS[name], "n")
    made = plan(path, where=where, depth="row_groups" if name.startswith("filter") else "pages")
    groups = {group.index: group for file in made.files for group in file.row_groups}
    assert groups[1].verdict == "scan"
    assert reason in groups[1].reason


def test_spark_is_not_left_to_believe_what_is_doubted(correct, tmp_path):
    path = tmp_path / "t.parquet"
    planted(correct, path, CONTRADICTIONS["filters_exchanged"], "n")
    made = plan(path, where="n = 1090")
    assert {warning.option for warning in made.warnings} == set(ALL)


@pytest.mark.parametrize("name", ["file_of_more_rows", "every_page_null", "filters_exchanged"])
def test_a_file_is_checked_once(correct, tmp_path, monkeypatch, name):
    monkeypatch.setenv("PRUNE_CACHE_BYTES", str(1 << 20))
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "t.parquet"
    planted(correct, path, CONTRADICTIONS[name], "n")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    first = plan(path, where="n = 1090")
    monkeypatch.setattr(opening, "doubts_about", None)
    again = plan(path, where="n = 1090")
    column = next(column for column in first.index.groups.columns if column.name == "n")
    doubts = [made.index.footers.doubts(column).tolist() for made in (first, again)]
    assert doubts[0] == doubts[1]
    assert any(doubts[0])
    assert again.evaluation.access.verdict.tolist() == first.evaluation.access.verdict.tolist()
    assert again.index.footers.contradictions == 0, "nothing is found out for a second time"
