"""Every form of the report shows if Spark with a plan skips clearly less than possible."""

from __future__ import annotations

import html
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prune_assets.planner.explain.plan import plan
from prune_assets.report.skip_report import Caveat, Engine, Extent, Reading
from prune_assets.report.wording import below_required, headline, limit_text, shortfall, skipped_with_plan

NOT_PUSHED = (
    "Spark skips row groups and pages only by filters that it pushes down, and it pushes down no part of this predicate"
)
SMALLER_FILES = "Smaller files would help"
FIRST_HOUR = "at < TIMESTAMP_NTZ '1970-01-01 01:00:00'"


def minutes(first, count):
    return pa.array([60_000_000 * (first + i) for i in range(count)], pa.timestamp("us"))


def write(path, **options):
    times = minutes(0, 1000)
    pq.write_table(pa.table({"at": times, "id": range(1000)}), path, use_dictionary=False, **options)


@pytest.fixture(scope="module")
def not_pushed(tmp_path_factory):
    """A report on local times, which Spark does not push down, in one file of ten row groups."""
    table = tmp_path_factory.mktemp("local_times")
    write(table / "1.parquet", row_group_size=100)
    return plan(str(table), where=FIRST_HOUR).report


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    table = tmp_path_factory.mktemp("numbers")
    write(table / "1.parquet", row_group_size=100)
    return plan(str(table), where="id < 50").report


def test_the_headline_says_what_spark_skips_and_names_the_best_possible(not_pushed):
    said = headline(not_pushed)
    assert said.startswith("Skipped 0 B of ")
    assert "(0 %) by Spark with this plan; best possible " in said
    assert said.endswith("(89.9 %)")


def test_every_form_says_why_and_what_helps(not_pushed):
    text = " ".join(str(not_pushed).split())
    for form in (text, html.unescape(not_pushed.to_html()), html.unescape(not_pushed._repr_html_())):
        assert "by Spark with this plan; best possible" in form
        assert f"{NOT_PUSHED}. {SMALLER_FILES}" in form
    assert NOT_PUSHED in repr(not_pushed)
    assert text.count(NOT_PUSHED) == 1


def test_json_names_the_reason_at_the_reader(not_pushed):
    assert {engine.name: engine.why for engine in not_pushed.engines} == {
        "Spark 4.3 alone": "",
        "Spark 4.3 with this plan": NOT_PUSHED,
        "best possible": "",
    }


def test_the_gate_judges_what_spark_skips(not_pushed):
    said = below_required(not_pushed, 0.8)
    assert said == "0 % of bytes skipped by Spark with this plan (best possible 89.9 %), below the required 80 %"
    assert shortfall(not_pushed, 0.8) == f"{said}; {limit_text(not_pushed)}"
    assert shortfall(not_pushed, 0) is None


def test_smaller_files_help(tmp_path):
    for i in range(10):
        pq.write_table(pa.table({"at": minutes(100 * i, 100)}), tmp_path / f"{i}.parquet")
    report = plan(str(tmp_path), where=FIRST_HOUR).report
    assert headline(report).endswith("(90.0 %)")
    assert limit_text(report) == ""
    assert below_required(report, 0.89) is None


def test_where_spark_skips_about_as_much_nothing_is_said_of_it(pushed):
    assert limit_text(pushed) == ""
    assert "by Spark" not in headline(pushed)
    assert "push down" not in str(pushed)
    assert all(engine.why == "" for engine in pushed.engines)


@pytest.mark.parametrize(
    ("caveat", "read", "is_said"),
    [
        (None, 190, False),
        (None, 200, False),
        (None, 201, True),
        (None, 90, False),
        (Caveat.UNREAD_METADATA, 900, False),
        (Caveat.TIME_ZONE, 900, False),
    ],
)
def test_what_counts_is_predicted_and_clearly_more(pushed, caveat, read, is_said):
    total, kept = Extent(1, 10, None, 1000, 1000), Extent(1, 1, None, 100, 100)
    extent = Extent(1, 10, None, 1000, read)
    engine = Engine("Spark 4.3 with this plan", extent, reading=Reading.WITH_PLAN, caveat=caveat)
    report = replace(pushed, total=total, kept=kept, engines=(engine,))
    assert (limit_text(report) != "") is is_said
    assert ("by Spark" in headline(report)) is is_said
    # The gate takes the figure of Spark wherever it is predicted.
    expected = 900 if caveat else min(900, 1000 - read)
    assert skipped_with_plan(report) == expected
    assert (below_required(report, 0.85) is None) is (expected >= 850)
