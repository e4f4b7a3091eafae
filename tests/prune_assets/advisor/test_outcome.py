"""Outcome of advice: later runs of the same shapes, their earlier reads, and the promised reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from made_tables import put

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets.advisor.result import LayoutAdvice, PromisedShape
from prune_assets.advisor.same_table import notes_on, shapes_on
from prune_assets.advisor.workload.json_form import to_json
from prune_assets.advisor.workload.query_shapes import QueryShape, RanPredicate, ScanTotals, Workload
from prune_assets.cli import main

ROWS = 100_000


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """A table in the order of `id`."""
    rows = pa.table({"id": np.arange(ROWS), "shop": np.random.default_rng(3).integers(0, 500, ROWS)})
    sizes = pr.LayoutSpec(page_rows=10_000, row_group_rows=50_000)
    return put(rows, tmp_path_factory.mktemp("shops") / "t", sizes)


def ran(table, where, runs, **read):
    shape = where.replace("7", "?").replace("9", "?")
    return QueryShape(str(table), shape, (), runs, (RanPredicate(where, runs),), ScanTotals(**read))


def before(table):
    return Workload((ran(table, "shop = 7", 10.0, rows_read=20 * ROWS, bytes_read=1_000_000),))


@pytest.fixture(scope="module")
def advice(shops):
    return pr.advise(shops, workload=before(shops))


def test_runs_of_later_are_held_against_runs_of_before(shops, advice):
    after = Workload(
        (
            ran(shops, "shop = 9", 400.0, rows_read=400 * ROWS * 2 // 5, bytes_read=20_000_000),
            ran(shops, "id = 7", 12.0, rows_read=5),
        )
    )
    found = advice.outcome(after)
    assert (found.runs, found.others) == (400, 12)
    assert found.promised == pytest.approx(1 - advice.advised.bytes / advice.today, abs=1e-4)
    assert found.rows == pytest.approx(0.8)
    assert found.bytes == pytest.approx(0.5)
    assert "measured 80% fewer by the rows scanned and 50% fewer by the size of opened files over 400" in str(found)
    assert "12 queries of other shapes are not counted" in str(found)


def test_what_was_promised_is_weighed_by_what_ran_later(shops):
    shapes = (ran(shops, "shop = 7", 10.0), ran(shops, "id = 7", 1.0))
    advice = pr.advise(shops, workload=Workload(shapes))
    assert advice.advised.layout.sort_by[0] == "shop"
    by_shop, by_id = ({one.shape: one for one in advice.promised}[shape] for shape in ("shop = ?", "id = ?"))
    found = advice.outcome(Workload((ran(shops, "shop = 9", 1.0), ran(shops, "id = 9", 3.0))))
    wanted = 1 - (by_shop.advised + 3 * by_id.advised) / (by_shop.today + 3 * by_id.today)
    assert found.promised == pytest.approx(wanted)
    assert found.rows is None
    assert "nothing was measured" in str(found)


def test_rows_weigh_what_a_query_reads_of_each_as_often_as_it_ran_later(shops):
    shapes = ran(shops, "shop = 7", 10.0, rows_read=1_000), ran(shops, "id = 7", 1.0, rows_read=100)
    advice = pr.advise(shops, workload=Workload(shapes))
    later = ran(shops, "shop = 9", 1.0, rows_read=50), ran(shops, "id = 9", 9.0, rows_read=900)
    by_shop, by_id = ({one.shape: one.today for one in advice.promised}[shape] for shape in ("shop = ?", "id = ?"))
    assert by_shop > 5 * by_id, "a run by shop reads all pages today, one by id a page"
    assert advice.outcome(Workload(later)).rows == pytest.approx(0.5 * by_shop / (by_shop + 9 * by_id))


def test_rows_that_nobody_measured_before_are_those_that_were_planned(shops):
    advice = pr.advise(shops, workload=["shop = 7"])
    found = advice.outcome(Workload((ran(shops, "shop = 9", 2.0, rows_read=ROWS, bytes_read=5),)))
    assert found.rows == pytest.approx(0.5)
    assert found.bytes is None


def test_advice_that_reads_more_than_before_says_so(shops, advice):
    found = advice.outcome(Workload((ran(shops, "shop = 9", 1.0, rows_read=6 * ROWS),)))
    assert "measured 200% more by the rows scanned" in str(found)


def test_what_is_kept_is_the_advice(advice):
    assert LayoutAdvice.from_json(advice.to_json()) == advice


def test_queries_that_the_advice_did_not_know_are_no_outcome(shops, advice, tmp_path):
    with pytest.raises(WrongUse, match="no query of the advice ran"):
        advice.outcome(Workload((ran(shops, "id = 7", 1.0),)))
    (tmp_path / "other.json").write_text('{"schema": "workload/1"}')
    (tmp_path / "broken.json").write_text("[")
    for name in ("other.json", "broken.json", "none.json"):
        with pytest.raises(WrongUse, match=name) as raised:
            pr.LayoutAdvice.read(tmp_path / name).outcome(before(shops))
        assert "\n" not in str(raised.value)


WRITTEN = ("id = 5 AND shop = 7", "shop BETWEEN 3 AND 7")
LOGGED = ("shop = 9 AND id = 6", "shop <= 8 AND shop >= 4")


@pytest.mark.parametrize(
    ("advised", "later"),
    [(WRITTEN, LOGGED), (LOGGED, WRITTEN), (WRITTEN, ("7 = Shop and (5 = id)", "4 <= shop and shop<=8"))],
)
def test_queries_are_known_however_they_are_written(shops, advised, later):
    advice = pr.advise(shops, workload=pr.Workload.of(str(shops), advised))
    found = advice.outcome(pr.Workload.of(str(shops), later, weights=[3, 2]))
    assert (found.runs, found.others) == (5, 0)


def test_shapes_that_older_advice_keeps_apart_are_added(shops, advice):
    one, many = PromisedShape("shop = ?", 1.0, 100, 50, 10, 8.0), PromisedShape("? = SHOP", 3.0, 200, 10, 30, None)
    ran_since = ran(shops, "shop = 9", 2.0, rows_read=25, bytes_read=8)
    found = replace(advice, promised=(one, many)).outcome(Workload((ran_since,)))
    assert found.promised == pytest.approx(1 - (50 + 3 * 10) / (100 + 3 * 200))
    assert found.rows == pytest.approx(1 - 12.5 / 25)
    assert found.bytes == pytest.approx(1 - 4 / 8)


def test_the_commands_say_what_came_of_it(shops, tmp_path):
    def run(*arguments):
        return CliRunner().invoke(main, list(map(str, arguments)))

    kept, first, later = (tmp_path / f"{name}.json" for name in ("advice", "before", "after"))
    first.write_text(to_json(before(shops)))
    assert run("advise", shops, "--workload", first, "--save", kept).exit_code == 0
    later.write_text(to_json(Workload((ran(shops, "shop = 9", 412.0, rows_read=412 * ROWS * 2 // 5),))))
    done = run("advise", shops, "--workload", later, "--promised", kept)
    assert "measured 80% fewer by the rows scanned over 412 queries" in done.output
    (tmp_path / "q.sql").write_text("shop = 9\n")
    shown = run("workload", tmp_path / "q.sql", "--table", shops, "--promised", kept)
    assert "fewer bytes, nothing was measured over 1 query" in shown.output
    refused = run("advise", shops, "--predicate", "shop = 9", "--promised", kept)
    assert refused.exit_code == 2
    assert "give the queries that ran since with --workload" in refused.output


@pytest.mark.parametrize(
    ("location", "ran_on", "is_same"),
    [
        ("/copy/ships.parquet", "/lake/ships.parquet", True),
        ("/copy/ships.parquet", "/lake/boats.parquet", False),
        ("/copy/ships", "lake.ships", True),
        ("/copy/v1.2", "/lake/v2.2", False),
    ],
)
def test_a_copy_has_the_last_name_of_the_original(location, ran_on, is_same):
    found = shapes_on(location, workload=Workload((ran(ran_on, "id = 7", 1.0),)))
    assert bool(found) == is_same


def on(*tables):
    return Workload(tuple(ran(table, "id = 7", 1.0) for table in tables))


@pytest.mark.parametrize(
    ("ran_on", "taken"),
    [
        (["/y/bronze/orders"], "/y/bronze/orders"),
        (["s3://y/orders"], "s3://y/orders"),
        (["/y/bronze/orders", "/x/gold/orders"], None),
        (["/x/gold/orders/"], None),
        (["orders", "sales.orders"], None),
        (["/y/boats"], None),
    ],
)
def test_queries_of_another_place_are_not_taken_silently(ran_on, taken):
    notes = notes_on("/x/gold/orders", workload=on(*ran_on))
    assert notes == ((f"no query on /x/gold/orders; queries on {taken} are used",) if taken else ())


def test_queries_on_a_name_are_not_left_out_silently_beside_those_on_the_path():
    (note,) = notes_on("/x/gold/orders", workload=on("/x/gold/orders", "sales.orders", "web.boats"))
    assert note == (
        "queries on sales.orders are left out; other queries are on /x/gold/orders itself; if it is one table, use "
        "one name in all queries"
    )


@pytest.mark.parametrize(
    "ran_on",
    [
        ["/y/orders", "/z/orders"],
        ["web.orders", "sales.orders"],
        ["/y/orders", "sales.orders"],
        ["s3://y/orders", "orders"],
        ["orders", "web.orders", "sales.orders"],
    ],
)
def test_which_of_several_namesakes_is_meant_is_not_guessed(ran_on):
    with pytest.raises(WrongUse, match="several tables of this name") as raised:
        shapes_on("/x/gold/orders", workload=on(*ran_on))
    assert all(table in str(raised.value) for table in ran_on)
    assert len(shapes_on("/x/gold/orders", workload=on(*ran_on, "/x/gold/orders"))) == 1


@pytest.mark.parametrize("name", ["orders", "sales.orders", "spark_catalog.sales.orders"])
def test_a_path_and_a_name_that_the_log_has_for_it_are_one_table(name):
    by_path = replace(ran("/y/orders", "id = 7", 1.0), names=("spark_catalog.sales.orders",))
    workload = Workload((by_path, ran(name, "id = 8", 1.0)))
    assert len(shapes_on("/x/gold/orders", workload=workload)) == 2


def test_the_commands_note_queries_of_another_place(shops, tmp_path):
    def run(*arguments):
        return CliRunner().invoke(main, list(map(str, arguments)))

    log, kept, sql = (tmp_path / name for name in ("log.json", "advice.json", "q.sql"))
    log.write_text(to_json(Workload((ran("/y/bronze/t", "shop = 7", 2.0, rows_read=5),))))
    note = f"note: no query on {shops}; queries on /y/bronze/t are used\n"
    done = run("advise", shops, "--workload", log, "--save", kept)
    assert note in done.stderr
    assert "note:" not in done.stdout
    assert note.strip() in str(LayoutAdvice.from_json(kept.read_text()))
    assert note in run("advise", shops, "--workload", log, "--json").stderr
    assert run("advise", shops, "--workload", log, "--promised", kept).stderr.count(note) == 1
    sql.write_text("shop = 9")
    shown = run("workload", sql, "--table", "/y/bronze/t", "--promised", kept)
    assert note in shown.stderr
    assert "promised" in shown.stdout
