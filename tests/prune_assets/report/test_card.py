"""Plans and reports in a notebook: one line as text, a small card as HTML."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
from report_factory import make_report

from prune_assets.planner.explain.plan import plan
from prune_assets.report.skip_report import Advice, Engine, Extent, Reading, Remedy

SMALL = 4_000


def test_a_report_is_one_line(report, vast_report):
    for each in (report, vast_report):
        assert "\n" not in repr(each)
        assert len(repr(each)) < 400
    assert repr(make_report(files=1, hit=0)).startswith("SkipReport('s3://lake/orders', where=\"order_date >= ")


def test_a_plan_is_one_line_and_the_card_of_its_report(tmp_path):
    pq.write_table(pa.table({"x": range(100)}), tmp_path / "p.parquet", row_group_size=10)
    made = plan(str(tmp_path), where="x < 15")
    assert repr(made) == f"Plan({str(tmp_path)!r}, where='x < 15': reads 1 of 1 file, 2 of 10 row groups)"
    assert "SECRET" not in repr(replace(made, table=replace(made.table, given="s3://KEY:SECRET@bucket/t")))
    assert made._repr_html_() == made.report._repr_html_()


def test_the_card_is_small_whatever_the_table(vast_report):
    assert len(vast_report._repr_html_()) < SMALL
    long = replace(vast_report, predicate="x = 1 OR " * 10_000, table="t" * 10_000)
    assert len(long._repr_html_()) < SMALL


def test_the_card_says_what_sells_the_plan_and_what_would_help(report):
    kept = Extent(1, 2, None, 30, 4_000)
    engines = (
        Engine("Spark 4.3 alone", report.total, reading=Reading.ALONE),
        Engine("Spark 4.3 with this plan", kept, reading=Reading.WITH_PLAN),
    )
    advice = Advice("values lie all over", (Remedy("sort_by", "sort by a", 5), Remedy("sort_by", "sort by b")))
    card = replace(report, engines=engines, advice=advice)._repr_html_()
    assert f"Spark alone would read all 1.8 GiB, {report.total.rows:,} rows; with this plan 3.9 KiB, 30 rows" in card
    assert "values lie all over" in card
    assert "sort by a" in card
    assert "sort by b" not in card


def test_names_stay_text_in_the_card(report):
    card = replace(report, table="<script>alert(1)</script>", predicate="a < '\x1b'")._repr_html_()
    assert "<script>" not in card
    assert "\x1b" not in card
