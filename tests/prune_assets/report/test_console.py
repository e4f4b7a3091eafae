from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import pytest
from report_factory import make_report
from rich.console import Console

from parquet_core.pruning.known_levels import level_title
from parquet_core.quantities import bytes_text
from prune_assets.report.console import print_report, to_text
from prune_assets.report.quantities import count_text
from prune_assets.report.skip_report import (
    Advice,
    Caveat,
    Engine,
    Extent,
    FileReport,
    Level,
    ReaderWarning,
    Reading,
    Remedy,
    RowGroupReport,
    UnsupportedPart,
)
from prune_assets.report.wording import shortfall

NOTHING = Extent(0, 0, 0, 0, 0)
SOME = Extent(2, 8, None, 800, 8_000)


def one_level(status, *, total=SOME, kept=SOME, why=""):
    skipped = (total.rows - kept.rows, total.bytes - kept.bytes)
    return Level("bloom_filter", "row group", total, kept, *skipped, status, why)


def test_str_of_a_report_is_its_console_form(report):
    assert str(report) == to_text(report)


@pytest.mark.parametrize("width", [60, 100, 160])
def test_no_line_is_wider_than_asked(report, width):
    lines = to_text(report, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


def test_each_level_shows_total_and_kept_in_every_unit(report):
    text = re.sub(r" +", " ", to_text(report))
    for level in report.levels:
        for unit, total, kept in [
            ("files", level.total.files, level.kept.files),
            ("row groups", level.total.row_groups, level.kept.row_groups),
            ("pages", level.total.pages, level.kept.pages),
            ("rows", level.total.rows, level.kept.rows),
        ]:
            assert f"\n {unit} {count_text(total)} -> {count_text(kept)}" in text
        assert f"\n bytes {bytes_text(level.total.bytes)} -> {bytes_text(level.kept.bytes)}" in text
        assert level.why in text


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (one_level("absent"), "none to use"),
        (one_level("not_applicable", why="no equality in the predicate"), "not applicable"),
        (one_level("consulted"), "consulted, nothing skipped"),
        (
            one_level("consulted", kept=Extent(1, 2, None, 200, 2_000)),
            "consulted, skipped 75.0 % of the remaining bytes",
        ),
        (one_level("consulted", kept=Extent(1, 2, None, 800, 2_000), total=SOME), "consulted, skipped 75.0 %"),
    ],
    ids=["absent", "not applicable", "consulted and kept", "consulted and dropped", "bytes alone"],
)
def test_an_absent_level_is_not_a_level_that_kept_all(report, level, said):
    text = to_text(replace(report, levels=(level,)))
    assert re.search(rf"Bloom filter(  |: ){re.escape(said)}", text)
    assert level.why in text


def test_unknown_page_counts_are_said_to_be_unknown(report):
    level = one_level("consulted", kept=Extent(1, 2, None, 200, 2_000))
    text = to_text(replace(report, levels=(level,)))
    assert re.search(r"pages +not counted", text)


def test_unsupported_parts_come_with_reason_and_remedy(report):
    (part,) = report.unsupported
    text = to_text(report)
    assert text.index(part.sql) < text.index(part.reason) < text.index(f"remedy: {part.remedy}")


def test_conjuncts_implied_predicates_engines_and_cost_are_shown(report):
    text = to_text(report)
    for conjunct in report.conjuncts:
        assert re.search(rf"skips .* %  {re.escape(conjunct.sql)}", text)
    assert f"added to the Spark filter\n  {report.implied[0]}" in text
    assert "Spark alone" in text
    assert f"{report.requests} requests, {bytes_text(report.bytes_fetched)} fetched" in text


def test_leaves_say_what_they_rule_out_and_what_they_leave(report):
    text = " ".join(to_text(report).split())
    first, second = report.leaves
    (denial,) = first.denied
    assert f"{first.sql} excludes {denial.row_groups} row groups (Row-group statistics); may match in" in text
    assert f"may match in {first.open_row_groups} row groups to read ({bytes_text(first.open_bytes)})" in text
    assert f"{second.sql} {second.why}; may match in" in text


def test_conjuncts_of_large_tables_are_lower_limits(report):
    some = replace(report.conjuncts[0], complete=False)
    assert "skips at least" in to_text(replace(report, conjuncts=(some,)))


def test_engines_stand_side_by_side_as_bars(report):
    lines = [line for line in to_text(report).splitlines() if re.search(r"#+\.* ", line)]
    assert [line.split("  ")[1] for line in lines] == [engine.name for engine in report.engines]
    bars = [len(re.search(r"#+", line)[0]) for line in lines]
    assert bars == [-(-16 * engine.kept.bytes // report.total.bytes) for engine in report.engines]
    assert "Reads by engine" not in to_text(replace(report, engines=()))


def test_what_an_engine_is_unsure_of_and_would_lose_is_said(report):
    engine = replace(report.engines[1], estimated=True, why="its filters were not read")
    warning = ReaderWarning("Spark 4.3", "NaN is in no bounds", "spark.sql.parquet.filterPushdown")
    text = " ".join(to_text(replace(report, engines=(engine,), warnings=(warning,))).split())
    assert f"about {bytes_text(engine.kept.bytes)}" in text
    assert "Spark alone: its filters were not read" in text
    assert "Spark 4.3: NaN is in no bounds; read with spark.sql.parquet.filterPushdown=false" in text


def test_a_report_that_names_the_costliest_says_how_many_there_are(report):
    assert to_text(replace(report, files_complete=False)).endswith(f"... and {report.kept.row_groups - 10} more")


def test_reasons_of_kept_row_groups_stop_at_ten(report):
    text, kept = to_text(report), report.kept_row_groups()
    assert text.count(" row group ") == 10
    assert text.endswith(f"... and {len(kept) - 10} more")
    assert kept[0][1].reason in text


def test_a_single_file_that_is_read_wholly():
    group = RowGroupReport(0, 500, "scan", ((0, 500),), (), (), "no bounds: written without statistics", "", 900, 900)
    file = FileReport("/data/one.parquet", "scan", (group,))
    extent = Extent(1, 1, None, 500, 900)
    report = make_report(files=1, unsupported=(), implied=(), engines=(), conjuncts=(), levels=())
    text = to_text(replace(report, table="/data/one.parquet", files=(file,), total=extent, kept=extent))
    assert "Skipped 0 B of 900 B (0 %)" in text
    assert "/data/one.parquet row group 0: all 500 rows, 900 B\n    no bounds: written without statistics" in text
    assert "Conditions that do not prune" not in text
    assert "Implied" not in text
    assert "\n\n\n" not in text


def test_ten_thousand_files_stay_a_page(vast_report):
    assert len(to_text(vast_report).splitlines()) < 90


def test_nothing_to_read_is_not_called_a_skip(report):
    text = to_text(replace(report, total=NOTHING, kept=NOTHING, files=(), levels=()))
    assert "Nothing to read" in text
    assert "Kept row groups" not in text


def test_a_long_predicate_is_clipped_with_its_length(report):
    text = to_text(replace(report, predicate="x in (" + "1, " * 100_000 + "1)"))
    assert "(300,008 characters)" in " ".join(text.split())
    assert len(text) < 10_000


def test_names_cannot_drive_the_terminal():
    hostile = make_report(
        files=1,
        hit=5,
        seed=3,
        path=lambda _: "a\x1b[2J\x07[red]b\r.parquet",
        table="t\x1b]0;x\x07",
        predicate="a = '\x1b[31m'\nand [bold]b[/bold]",
        unsupported=(UnsupportedPart("\x1b[1m", "\x9b31m", "[/]"),),
    )
    assert hostile.kept_row_groups()
    out = StringIO()
    print_report(hostile, Console(file=out, color_system=None, width=100))
    for text in (out.getvalue(), to_text(hostile)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
        assert "[bold]b[/bold]" in text
        assert r"a\x1b[2J\x07[red]b\r.parquet" in text


def test_a_terminal_gets_colour(report):
    out = StringIO()
    print_report(report, Console(file=out, force_terminal=True, color_system="standard", width=100))
    assert "\x1b[" in out.getvalue()


ENGINES = (
    Engine("Spark 4.3 alone", Extent(24, 96, 4_101, 81_089_412, 1 << 30), estimated=True, reading=Reading.ALONE),
    Engine("Spark 4.3 with this plan", Extent(8, 29, None, 24_219_003, 545 << 20), reading=Reading.WITH_PLAN),
)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_keeps_the_names_of_rows(report, width):
    text = to_text(replace(report, engines=ENGINES), width=width)
    for engine in ENGINES:
        (line,) = (line for line in text.splitlines() if line.strip().startswith(f"{engine.name}  ".rstrip()))
        assert engine.name in line
    assert "1.0 GiB" in text
    assert len(re.findall(r"^  row groups +\d", text, re.MULTILINE)) == len(report.levels)


@pytest.mark.parametrize(
    ("caveat", "console", "page"),
    [
        (Caveat.WHOLE_FILES, "Spark, as it ran    at most 100.2 MiB    7 rows", "at most 100.2 MiB</td>"),
        (None, "Spark, as it ran  ################  about 100.2 MiB  0 % skipped  7 rows", "0 % skipped</span>"),
    ],
)
def test_no_reader_skips_less_than_nothing(report, caveat, console, page):
    """Whole files, footers and page indexes are more than the columns read: their share would be below nothing."""
    ran = Engine("Spark, as it ran", Extent(1, None, None, 7, int(100.2 * (1 << 20))), estimated=True, caveat=caveat)
    all_read = replace(report, total=replace(report.total, bytes=100 << 20), engines=(ran,))
    assert console in to_text(all_read)
    html = all_read.to_html()
    (row,) = (line for line in html.splitlines() if '<tr class="engine">' in line)
    assert page in row
    assert (caveat is None) == ("<svg" in row)
    assert max(map(int, re.findall(r'width="(\d+)"', row)), default=0) <= 1000
    assert "-" not in "".join(re.findall(r"\S+ %", row))


def test_levels_that_skipped_nothing_come_after_the_others(report):
    first, *others = report.levels
    idle = replace(first, level="delta_statistics", kept=first.total, skipped_rows=0, skipped_bytes=0, why="no log")
    text = to_text(replace(report, levels=(idle, *others)))
    said = "File statistics: consulted, nothing skipped; no log"
    assert all(text.index(level_title(level.level)) < text.index(said) for level in others)


def test_advice_and_comparison_stand_before_the_levels(report):
    advice = Advice("rows lie as they came", (Remedy("sort_by", "sort by order_date"),))
    text = to_text(replace(report, advice=advice, engines=ENGINES, made="2026-05-01T10:00:00+00:00", version="9.9"))
    order = [
        "Planned       2026-05-01 10:00:00 UTC, prune-assets 9.9",
        "Skipped 1.2 GiB of 1.8 GiB (69.6 %) by Spark with this plan; best possible 1.7 GiB (97.2 %)",
        "Spark alone would read about 1.0 GiB, 81,089,412 rows; with this plan 545.0 MiB, 24,219,003 rows",
        "Why not more: rows lie as they came",
        "would help: sort by order_date",
        "Reads by engine",
        "Row-group statistics  consulted",
    ]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_readers_that_read_the_same_are_said_to():
    alone, with_plan = (replace(engine, kept=Extent(1, 1, 1, 10, 100), estimated=False) for engine in ENGINES)
    report = make_report(engines=(alone, with_plan))
    assert "Spark alone would read 100 B, 10 rows; with this plan the same" in to_text(report)
    assert "Spark alone would read" not in to_text(replace(report, engines=(alone,)))


def test_counts_of_one_agree_with_their_noun():
    one = Extent(1, 1, 1, 1, 100)
    engines = tuple(replace(engine, kept=one, estimated=False) for engine in ENGINES)
    report = replace(make_report(files=1, engines=engines), total=one, kept=one, requests=1, levels=())
    said = f"{to_text(report)}{report.to_html()}"
    assert re.findall(r".{40}(?<![\d,.])1 (?:files|row groups|rows|pages|requests|bytes)\b", said) == []


def test_a_shortfall_is_never_rounded_up_to_what_is_required(report):
    nearly = replace(report, total=Extent(1, 1, 1, 1, 10_000), kept=Extent(1, 1, 1, 1, 1_001))
    assert shortfall(nearly, 0.9).startswith("89.9 % of bytes skipped, below the required 90 %; ")
    assert shortfall(nearly, 0.89) is None


def test_a_shortfall_gives_the_reason_and_what_would_help(report):
    whole = replace(report, kept=report.total, engines=(), unsupported=(), advice=Advice("one partition", ()))
    assert shortfall(whole, 0.9) == "0 % of bytes skipped, below the required 90 %; one partition"
    helped = replace(whole, advice=Advice("values overlap", (Remedy("sort_by", "sort by id", 10),)))
    assert shortfall(helped, 0.9).endswith("; values overlap. Would help: sort by id")
