"""Reports about predicates that depend on a time zone, if the time zone is unknown."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prune_assets.planner.explain.plan import plan
from prune_assets.report.console import to_text
from prune_assets.sql.semantics import SparkSemantics

WHERE = "at >= TIMESTAMP '2024-01-10' AND at < TIMESTAMP '2024-01-11'"


@pytest.fixture(params=["UTC", None], ids=["with a zone", "without a zone"])
def table(request, tmp_path):
    for day in range(1, 21):
        hours = [datetime(2024, 1, day) + timedelta(hours=hour) for hour in range(24)]  # noqa: DTZ001
        pq.write_table(
            pa.table({"at": pa.array(hours, pa.timestamp("us", request.param))}), tmp_path / f"{day}.parquet"
        )
    return tmp_path


def test_the_report_asks_for_the_zone_and_says_what_it_would_skip(table):
    report = plan(table, where=WHERE).report
    assert report.kept.files == 3
    assert [(part.sql, part.reason) for part in report.unsupported] == [
        ("at >= TIMESTAMP '2024-01-10'", "it depends on the time zone, which is not known"),
        ("at < TIMESTAMP '2024-01-11'", "it depends on the time zone, which is not known"),
    ]
    assert {part.remedy for part in report.unsupported} == {
        "pass session=, semantics= or --time-zone (would skip 95.0 % in UTC)"
    }
    in_utc = plan(table, where=WHERE, semantics=SparkSemantics(time_zone="UTC")).report
    assert f"{in_utc.skipped_fraction:.1%}" == "95.0%"
    kept = [group.reason for file in report.files for group in file.row_groups if group.verdict != "skip"]
    assert all("it depends on the time zone, which is not known" in reason for reason in kept)


def test_no_more_is_promised_than_a_zone_would_bring(table):
    (part,) = plan(table, where="at >= TIMESTAMP '2023-01-01'").report.unsupported or (None,)
    assert part is None or part.remedy == "pass session=, semantics= or --time-zone"


def test_what_spark_alone_would_read_is_left_open(table):
    for where in (WHERE, "at > TIMESTAMP '2024-01-01'", "date_trunc('DAY', at) = TIMESTAMP '2024-01-10'"):
        report = plan(table, where=where).report
        alone, with_plan, _ = report.engines
        assert alone.why == with_plan.why == "depends on the session's time zone: the figures are upper limits"
        text = " ".join(to_text(report).split())
        reads_all = (with_plan.kept.rows, with_plan.kept.bytes) == (report.total.rows, report.total.bytes)
        said = {
            True: "The data that Spark would read, alone or with this plan, depends on the session's time zone",
            False: "The data that Spark alone would read depends on the session's time zone; with this plan at most",
        }
        assert said[reads_all] in text
        assert ("the figures are upper limits" in text) != reads_all, "there are figures or none"
        assert "would read all" not in text
    in_utc = plan(table, where=WHERE, semantics=SparkSemantics(time_zone="UTC")).report
    assert not any("time zone" in engine.why for engine in in_utc.engines)


def test_little_skipped_is_put_down_to_the_zone(table):
    report = plan(table, where="CAST(at AS TIMESTAMP) + INTERVAL 1 DAY >= TIMESTAMP '2024-01-10'").report
    assert report.advice is not None
    if pq.read_schema(next(Path(table).rglob("*.parquet"))).field("at").type.tz is None:
        # Values of a dictionary that are far enough from the border match in every zone.
        assert report.advice.why.startswith("the predicate is true of at least 84.6 % of the rows")
    else:
        assert report.advice.why.endswith("it depends on the time zone, which is not known")


def test_rows_that_match_in_every_zone_are_proven_to(table):
    matches = plan(table, where="at >= TIMESTAMP '2024-01-10'").evaluation.access.matches
    assert int((matches.stop - matches.start).sum()) >= 9 * 24


@pytest.mark.parametrize("zone", ["UTC", None])
def test_nanoseconds_are_kept_with_what_writes_microseconds(tmp_path, zone):
    pq.write_table(pa.table({"at": pa.array([1, 2], pa.timestamp("ns", zone))}), tmp_path / "a.parquet")
    (part,) = plan(tmp_path, where=WHERE.partition(" AND ")[0]).report.unsupported
    assert "spark.sql.legacy.parquet.nanosAsLong" in part.reason
    assert "prune write does of top-level columns" in part.reason
    assert "coerce_timestamps='us', allow_truncated_timestamps=True" in part.reason


def test_a_plan_that_reads_nothing_in_any_zone_says_so(tmp_path):
    pq.write_table(pa.table({"day": [date(2024, 1, day) for day in range(1, 21)]}), tmp_path / "1.parquet")
    report = plan(tmp_path, where="day >= current_date()").report
    text = " ".join(to_text(report).split())
    assert "with this plan it reads nothing in any zone" in text
    assert "at most" not in text
    assert "Time zone not known: a value is skipped only if all time zones agree about it" in text
    assert "only if all time zones agree about it" in report.to_html()


def test_what_selects_no_row_is_left_out_of_the_predicate_as_evaluated(tmp_path):
    pq.write_table(pa.table({"at": pa.array([1, 2], pa.timestamp("us", "UTC"))}), tmp_path / "a.parquet")
    planned = plan(tmp_path, where="to_date(at) = DATE '2024-01-10'")
    assert planned.lowered.normalized.startswith("(at IS NULL AND NULL) OR (at BETWEEN TIMESTAMP ")
    assert planned.report.normalized.startswith("at BETWEEN TIMESTAMP ")
    assert "Evaluated as at BETWEEN TIMESTAMP " in " ".join(to_text(planned.report).split())
    for where in ("at IS NULL AND NULL", "NOT (at IS NULL AND NULL OR at > TIMESTAMP '2024-01-10 00:00:00Z')"):
        both = plan(tmp_path, where=where)
        assert both.report.normalized == both.lowered.normalized, "alone, or under NOT, it stays"


def test_where_the_zone_is_known_nothing_is_said_of_it(tmp_path):
    pq.write_table(pa.table({"day": [date(2024, 1, day) for day in range(1, 21)]}), tmp_path / "1.parquet")
    report = plan(tmp_path, where="day >= current_date()", semantics=SparkSemantics(time_zone="UTC")).report
    assert "Time zone" not in to_text(report)
