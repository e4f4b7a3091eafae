"""Automatic advice is applied only if it is certain, saves much and fits, and at most once a month."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from delta_tables import write_table
from made_tables import put

import deltalog
import prune_assets as pr
from parquet_core.errors import MalformedFile
from prune_assets.advisor.automatic import follow_advice, why_not
from prune_assets.advisor.layout_changes import LayoutChange, last_change, layout_now, note_change
from prune_assets.advisor.result import QueryBytes

ROWS = 200_000
DECLARED = pr.LayoutSpec(sort_by=["id"], page_rows=2_000)
SHOPS, KINDS = ["shop = 7", "shop = 400"], ["kind = 7", "kind = 400"]
BUDGET = 1 << 30


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A table in the order of `id`, in four files, which is only read."""
    rng = np.random.default_rng(3)
    rows = {"id": np.arange(ROWS), "shop": rng.integers(0, 500, ROWS), "kind": rng.integers(0, 500, ROWS)}
    return str(put(pa.table(rows), tmp_path_factory.mktemp("written") / "t", DECLARED, files=4))


@pytest.fixture
def table(written, tmp_path):
    """A copy of the table to change."""
    return shutil.copytree(written, str(tmp_path / "t"))


@pytest.fixture(scope="module")
def advice(written):
    return pr.advise(written, workload=SHOPS)


def with_best(advice, **other):
    return replace(advice, advised=replace(advice.advised, **other))


DEARER = QueryBytes("id = 3", 1.0, 100 << 10, 250 << 10, 0, 1 << 20)


def change(table, *, days_ago, declared=DECLARED, number=0):
    at = dt.datetime.now(dt.UTC) - dt.timedelta(days=days_ago)
    keys = {"sort_by": ["shop"]}
    declared = {"sort_by": list(declared.sort_by), "page_rows": declared.page_rows}
    noted = LayoutChange(at=at, title="sort by shop", layout=keys, declared=declared, before=9, promised=1)
    assert note_change(table, number, noted)


def test_sure_advice_that_saves_much_is_followed(advice):
    assert why_not(advice) == ""


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda it: replace(it, advised=None, verdict="do nothing: why"), "do nothing: why"),
        (lambda it: with_best(it, high=it.today * 51 // 100), "may still read up to"),
        (lambda it: replace(it, dearer=(DEARER,)), "more than twice as expensive: 100.0 KiB -> 250.0 KiB  id = 3"),
        (lambda it: replace(it, runs_to_pay=13), "pays after 13 runs"),
        (lambda it: replace(it, runs_to_pay=None), "pays after None runs"),
        (lambda it: replace(it, skipped={"no column x": 3}), "most predicates of the workload no longer apply"),
    ],
)
def test_what_is_not_sure_or_saves_little_is_left_to_people(advice, changed, reason):
    assert reason in why_not(changed(advice))


def test_notes_are_found_later_and_of_two_at_once_one_counts(table):
    assert last_change(table) == (0, None)
    before = pr.plan(table, where="shop = 7").report.total
    change(table, days_ago=40)
    change(table, days_ago=3, number=1)
    number, last = last_change(table)
    assert (number, (dt.datetime.now(dt.UTC) - last.at).days) == (2, 3)
    assert not note_change(table, 1, last)
    assert pr.plan(table, where="shop = 7").report.total == before, "notes are no files of the table"


def test_a_note_is_no_file_of_a_delta_table_either_and_vacuum_leaves_it(tmp_path):
    table = str(tmp_path / "delta")
    write_table(table, pa.table({"id": range(10)}))
    write_table(table, pa.table({"id": range(5)}), mode="overwrite")
    change(table, days_ago=3)
    (tmp_path / "delta" / "orphan.parquet").write_bytes(b"")
    later = int((dt.datetime.now(dt.UTC) + dt.timedelta(100)).timestamp() * 1000)
    removed = deltalog.vacuum(table, dry_run=False, now=later).files
    assert len(removed) == 2, "the replaced file and the orphan"
    assert last_change(table)[0] == 1
    assert pr.plan(table, where="id < 3").report.total.files == 1


def test_a_layout_that_was_declared_since_counts(table):
    assert layout_now(table, DECLARED) == DECLARED
    change(table, days_ago=3)
    assert layout_now(table, DECLARED) == pr.LayoutSpec(sort_by=["shop"])
    declared_since = pr.LayoutSpec(sort_by=["kind"])
    assert layout_now(table, declared_since) == declared_since


@pytest.mark.parametrize("text", [b"", b"{}", b'{"at": 3}', b"\xff\xfe"])
def test_what_is_no_note_is_named_and_nothing_changes(table, tmp_path, text):
    change(table, days_ago=40)
    (tmp_path / "t" / "_layout_changes" / "0001.json").write_bytes(text)
    with pytest.raises(MalformedFile, match=r"0001\.json: not a record of a layout change"):
        layout_now(table, DECLARED)


def followed(spark, table, workload=SHOPS, budget=BUDGET):
    return follow_advice(spark, table, workload=workload, declared=DECLARED, budget=budget)


@pytest.mark.spark
def test_a_layout_changes_once_in_thirty_days(spark, table):
    rows = spark.read.parquet(table).count()
    first = followed(spark, table)
    assert first.applied.now < 0.5 * first.applied.before
    assert layout_now(table, DECLARED).sort_by == ("shop",)
    assert spark.read.parquet(table).count() == rows
    files = {file.path for file in pr.plan(table, where="true").files}

    second = followed(spark, table, KINDS)
    assert second.applied is None
    assert "the layout was changed on" in second.why
    assert "sort by shop" in second.why
    assert {file.path for file in pr.plan(table, where="true").files} == files


@pytest.mark.spark
def test_after_thirty_days_it_may_change_again(spark, table):
    change(table, days_ago=29)
    assert followed(spark, table, KINDS).applied is None
    change(table, days_ago=31, number=1)
    assert followed(spark, table, KINDS).applied.now
    number, last = last_change(table)
    assert (number, last.layout["sort_by"], last.declared["sort_by"]) == (3, ["kind"], ["id"])


@pytest.mark.spark
@pytest.mark.parametrize(
    ("workload", "budget", "reason"),
    [
        (SHOPS, 1_000, "and the budget is 1.0 KiB; give 1MiB or more"),
        (["id < 4000"], BUDGET, "do nothing"),
    ],
)
def test_what_is_refused_leaves_no_note(spark, table, workload, budget, reason):
    found = followed(spark, table, workload, budget)
    assert (found.applied, last_change(table)) == (None, (0, None))
    assert reason in found.why


@pytest.mark.spark
def test_a_run_that_was_first_keeps_another_from_changing_it(spark, table, monkeypatch):
    from prune_assets.advisor import automatic

    real = automatic.note_change

    def late(location, number, noted):
        change(table, days_ago=0)
        return real(location, number, noted)

    monkeypatch.setattr(automatic, "note_change", late)
    found = followed(spark, table)
    assert (found.applied, found.why) == (None, f"{table}: another run changes the layout")
