"""`prune inspect` as a user runs it."""

from __future__ import annotations

import json
import random
import re

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from parquet_core.quantities import bytes_text
from prune_assets.cli import main
from prune_assets.report.inspection.json_form import json_schema


def prune_inspect(*arguments):
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """1,000 rows in 4 row groups of 5 pages, sorted by `day`; filters of `name`."""
    path = tmp_path_factory.mktemp("lake") / "0.parquet"
    table = pa.table({"day": list(range(1000)), "name": [None if i % 4 == 0 else f"n{i}" for i in range(1000)]})
    pq.write_table(
        table.replace_schema_metadata({"note": "\x1b[2J" + "x" * 500}),
        path,
        row_group_size=250,
        max_rows_per_page=50,
        write_batch_size=10,
        write_page_index=True,
        compression="zstd",
        bloom_filter_options={"name": {"ndv": 250, "fpp": 0.01}},
        sorting_columns=[pq.SortingColumn(0)],
    )
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    directory = tmp_path_factory.mktemp("table")
    for i in range(30):
        pq.write_table(pa.table({"day": [i, i + 1], "name": ["a", "b"]}), directory / f"part-{i:02}.parquet")
    pq.write_table(pa.table({"day": [99]}), directory / "part-99.parquet")
    return directory


def squeezed(text):
    return re.sub(r" +", " ", text)


def test_a_file_on_the_console(path):
    result = prune_inspect(path)
    assert (result.exit_code, result.stderr) == (0, "")
    text = squeezed(result.stdout)
    for line in (
        "Rows 1,000",
        "Row groups 4 of 250 rows, ",
        "Columns (2)",
        " day int64 as INT64, optional 1,000 ",
        "0 250 ",
        "day ascending, nulls last",
        "20 pages of 50 rows",
        "bloom filter of row group 3: ",
        "no bloom filter in 4 of 4 row groups above: the file lacks it for this column",
    ):
        assert line in text, line
    (day,) = [line for line in text.splitlines() if line.startswith(" day int64")]
    assert day.endswith(" 0 999 0 all none 1.00")


def test_the_chunks_of_a_column_on_the_console(path):
    text = squeezed(prune_inspect(path, "--columns", "name").stdout)
    assert "Column name" in text
    assert "Column day" not in text
    assert re.search(r"^ 0 250 \d+ B (complete|partial|none) 'n1' 'n99' 63 5 unordered$", text, re.MULTILINE)
    assert re.search(
        r"row group 0: \S+ (B|KiB), about \S+ % false positives, \S+ % of bits set, about 1[89]\d distinct values", text
    )


def test_pages_on_the_console(path):
    text = squeezed(prune_inspect(path, "--columns", "day", "--pages").stdout)
    assert re.search(r"^ 0 50 50 [\d,]+ \d+ B 50 99 0$", text, re.MULTILINE)
    assert re.search(r"^ 3 200 50 [\d,]+ \d+ B 950 999 0$", text, re.MULTILINE)
    assert "more pages" not in text


def test_a_value_asked_of_the_filters(path):
    result = prune_inspect(path, "--bloom", "n301")
    text = squeezed(result.stdout)
    assert result.exit_code == 0
    assert "Bloom filters probed for name = n301" in text
    assert "1 may contain it" in text
    assert re.search(r"1 may contain it$", text, re.MULTILINE)
    assert "4 row groups: 4 without it" in squeezed(prune_inspect(path, "--bloom", "zzz").stdout)
    without = squeezed(prune_inspect(path, "--columns", "day", "--bloom", "1").stdout)
    assert "4 row groups unknown: the file lacks it" in without
    assert without.count("the file lacks it") == 1, "one line for all row groups without a filter"


def test_json_is_one_line_and_says_all(path):
    result = prune_inspect(path, "--pages", "--json")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    found = json.loads(result.stdout)
    assert (found["schema"], found["kind"], len(found["row_groups"])) == ("inspection/1", "file", 4)
    pages = [page for group in found["row_groups"] for page in group["chunks"][0]["page_index"]["pages"]]
    assert [page["lower"] for page in pages] == list(range(0, 1000, 50))
    assert found["key_values"][:1] == [{"key": "note", "bytes": 504, "value": "\x1b[2J" + "x" * 500}]


def test_json_of_chosen_columns(path):
    found = json.loads(prune_inspect(path, "--columns", "name", "--json").stdout)
    assert [column["name"] for column in found["columns"]] == ["name"]
    assert [len(group["chunks"]) for group in found["row_groups"]] == [1] * 4
    assert found["all_columns"] == 2


def test_a_table_is_summed_up(table):
    result = prune_inspect(table)
    text = squeezed(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Files 31, " in text
    assert "Rows 61 in 31 row groups" in text
    assert "1 of 31 files: column name is not there" in text
    assert "… and 21 more files" in text
    assert f"prune inspect {table}/part-00.parquet" in text.replace("\n ", "")
    found = json.loads(prune_inspect(table, "--json").stdout)
    assert (found["kind"], len(found["files"])) == ("table", 31)
    assert (found["columns"][0]["lower"], found["columns"][0]["upper"]) == (0, 99)


def test_the_files_of_a_table_are_counted_by_size(table, tmp_path):
    text = squeezed(prune_inspect(table).stdout)
    assert re.search(r"Files by size\n size files bytes\n 0 B to 1.0 MiB 31 \d+\.\d KiB\n", text)
    found = json.loads(prune_inspect(table, "--json").stdout)
    (small, *others) = found["sizes"]
    assert (small["below"], small["files"], small["bytes"]) == (1 << 20, 31, found["bytes"])
    assert sum(each["files"] for each in others) == 0


def test_the_file_that_a_table_points_to_can_be_inspected(table):
    assert prune_inspect(table / "part-00.parquet").exit_code == 0
    assert prune_inspect(f"file://{table}/part-00.parquet", "--json").exit_code == 0


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("wide") / "wide.parquet"
    pq.write_table(pa.table({f"column_{i}": [i] for i in range(2000)}), path, write_page_index=True)
    return path


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """40,000 pages in 2,000 row groups."""
    path = tmp_path_factory.mktemp("long") / "long.parquet"
    table = pa.table({"a": np.arange(400_000), "b": np.arange(400_000) % 7})
    pq.write_table(
        table, path, row_group_size=400, max_rows_per_page=20, write_batch_size=20, write_page_index=True,
        use_dictionary=False,
    )  # fmt: skip
    return path


def test_columns_that_are_all_listed_are_not_said_to_be_left_out(tmp_path):
    pq.write_table(pa.table({f"c{i}": [i] for i in range(11)}), tmp_path / "a.parquet")
    text = prune_inspect(tmp_path / "a.parquet").stdout
    assert "more columns" not in text
    assert text.rstrip().endswith("Columns by row group\n  --columns NAME shows one, --json all")
    chosen = ["--columns", ",".join(f"c{i}" for i in range(9))]
    assert "… and 1 more columns by row group; " in prune_inspect(tmp_path / "a.parquet", *chosen).stdout


def test_no_heading_stands_over_pages_that_nothing_locates(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    text = prune_inspect(tmp_path / "a.parquet", "--columns", "a", "--pages").stdout
    assert "first row" not in text
    assert text.rstrip().endswith("no page index in the row groups above, so no page is listed")


@pytest.mark.deep
def test_a_wide_file_stays_readable_and_its_json_whole(wide):
    text = prune_inspect(wide).stdout
    assert len(text.splitlines()) < 120
    assert "… and 1,960 more columns; --columns NAME shows one, --json all" in text
    found = json.loads(prune_inspect(wide, "--json").stdout)
    assert len(found["columns"]) == len(found["row_groups"][0]["chunks"]) == 2000


def test_a_long_file_stays_readable_and_its_json_whole(long):
    for arguments in ((), ("--pages",), ("--columns", "a", "--pages")):
        assert len(prune_inspect(long, *arguments).stdout.splitlines()) < 150
    text = prune_inspect(long, "--columns", "a", "--pages").stdout
    assert "… and 990 more row groups; --json shows all" in text
    assert "… and 19,970 more pages; --pages --json shows all" in text
    assert "20,000 pages of 20 rows" in text
    found = json.loads(prune_inspect(long, "--json", "--pages").stdout)
    assert sum(len(chunk["page_index"]["pages"]) for group in found["row_groups"] for chunk in group["chunks"]) == 40000


def test_what_a_file_says_cannot_drive_the_terminal(path):
    for arguments in ((), ("--columns", "name", "--pages"), ("--bloom", "\x1b[2J")):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", prune_inspect(path, *arguments).stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--columns", "nmae"], "did you mean name"),
        (["--columns", "day", "--bloom", "x"], "'x' is not a value of column day: write one of type int64"),
        (["--columns", "day,name", "--pages", "--bloom", "1", "--nothing"], "--nothing"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_wrong_use_ends_in_one_line_and_exit_code_2(path, arguments, said, form):
    result = prune_inspect(path, *arguments, *form)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_pages_are_not_listed_of_a_table(table):
    result = prune_inspect(table, "--pages")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "pages are listed for one file" in result.stderr


@pytest.mark.deep
def test_real_files_of_many_writers_are_shown_or_refused_in_one_line(parquet_testing):
    validator = jsonschema.Draft202012Validator(json_schema())
    codes = []
    for path in sorted(parquet_testing.rglob("data/**/*.parquet")):
        result = prune_inspect(path, "--pages")
        codes.append(result.exit_code)
        assert result.exit_code in {0, 2}, (path, result.stderr)
        assert result.stderr.count("\n") == bool(result.exit_code)
        if result.exit_code == 0:
            validator.validate(json.loads(prune_inspect(path, "--pages", "--json").stdout, parse_constant=pytest.fail))
    assert codes.count(0) > 50


def test_not_a_number_is_counted_and_bounds_nothing(parquet_testing):
    text = squeezed(prune_inspect(parquet_testing / "data/floating_orders_nan_count.parquet").stdout)
    assert re.search(r"^ float_ieee754 float as FLOAT, required 50 315 B -5.0 5.0 0, 14 NaN ", text, re.MULTILINE)
    assert re.search(r"^ 2 10 63 B none - - 0, 10 NaN 1 ascending$", text, re.MULTILINE)


def test_a_bound_that_was_cut_is_marked(parquet_testing):
    text = squeezed(prune_inspect(parquet_testing / "data/binary_truncated_min_max.parquet").stdout)
    assert re.search(r"^ 0 12 250 B none ~'Al' ~'Kf' 0 1 ascending$", text, re.MULTILINE)
    assert "~ marks an inexact bound: no value needs to equal it" in text


@pytest.mark.parametrize("seed", range(40))
def test_damaged_bytes_are_never_a_fault_of_the_program(path, tmp_path, seed):
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(4 * len(data) // 10, len(data) - 8)] = chance.randrange(256)
    (tmp_path / "bad.parquet").write_bytes(data)
    for form in ([], ["--pages", "--json"], ["--columns", "name", "--bloom", "n3"]):
        result = prune_inspect(tmp_path / "bad.parquet", *form)
        assert result.exit_code in {0, 2}, result.stderr
        assert bool(result.stdout) == (result.exit_code == 0)


def cut_off(data):
    return data[:-200]


def without_magic(data):
    return data[:-4] + b"CSV!"


def with_broken_page_index(data):
    footer = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - footer
    return data[: start - 600] + b"\xff" * 600 + data[start:]


@pytest.mark.parametrize("spoil", [cut_off, without_magic, with_broken_page_index, lambda _: b""])
@pytest.mark.parametrize("form", [[], ["--json"], ["--pages", "--json"]])
def test_a_damaged_file_ends_in_one_line(path, tmp_path, spoil, form):
    (tmp_path / "bad.parquet").write_bytes(spoil(path.read_bytes()))
    result = prune_inspect(tmp_path / "bad.parquet", *form)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert "bad.parquet" in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_is_not_there_ends_in_one_line(tmp_path):
    result = prune_inspect(tmp_path / "nowhere.parquet", "--pages")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no such file or directory" in result.stderr


def test_a_list_of_columns_that_is_cut_says_so(tmp_path):
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"c{i}": [i] for i in range(16)}), path)
    first = ", ".join(f"c{i}" for i in range(10)) + ", ..."
    for command, problem in (
        (["inspect", path, "--columns", "xyz"], f"--columns: the table has no column xyz; it has {first}"),
        (["audit", path, "--columns", "xyz"], f"columns: the table has no column xyz; it has {first}"),
        (["explain", path, "--where", "c1 = 1", "--columns", "c1,xyz"], f"unknown column xyz: the table has {first}"),
        (["explain", path, "--where", "xyz = 1"], f"unknown column xyz: the table has {first}"),
    ):
        result = CliRunner().invoke(main, [*map(str, command)])
        assert (result.exit_code, result.stderr) == (2, f"error: {problem}\n")


def test_a_value_without_a_filter_to_ask_is_told_how_to_get_one(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1], "b": [1]}), path)
    result = prune_inspect(path, "--bloom", "7")
    assert result.exit_code == 2
    assert "no column has a bloom filter; name one in `bloom` of layout.yaml, and rewrite the files: " in result.stderr
    assert "prune write TABLE NEW_TABLE --layout layout.yaml" in result.stderr


WIDTHS = (80, 100, 120, 132)
NUMBERS_OF_COLUMNS = ("values", "bytes", "nulls", "page index", "bloom", "overlap depth")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """60 files that overlap, of types and bounds that take much room."""
    directory = tmp_path_factory.mktemp("crowded")
    texts = pa.array([f"DE{i:010}" for i in range(500)])
    moments = pa.array(range(10**15, 10**15 + 500), pa.timestamp("us", "UTC"))
    table = pa.table(
        {
            "identifier_of_the_row": pa.array([-(2**63), *range(498), 2**63 - 1]),
            "account": texts,
            "booked_at": moments,
            "amount": pa.array(range(500)).cast(pa.decimal128(30, 2)),
            "balance": pa.array([None] * 499 + [14999.970001]),
            "geo": pa.StructArray.from_arrays([texts, pa.array([0.125] * 500)], ["country", "lat"]),
        }
    )
    for i in range(60):
        pq.write_table(table, directory / f"{i:02}.parquet")
    return directory


def left_out(block):
    """Return the titles that a block of lines says it leaves out."""
    (said,) = re.findall(r"^ *left out: (.*?); (?:.|\n)*COLUMNS=", block, re.MULTILINE) or [""]
    return said.split(", ")


def in_columns(width, *arguments):
    result = CliRunner().invoke(main, ["inspect", *map(str, arguments)], env={"COLUMNS": str(width)})
    assert (result.exit_code, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines())) <= width
    return result.stdout


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_of_columns_are_whole_or_their_column_is_named(crowded, width):
    facts = json.loads(prune_inspect(crowded, "--json").stdout)["columns"]
    block = in_columns(width, crowded).partition("Columns (7)")[2].partition("\nFiles (")[0]
    shown = [title for title in NUMBERS_OF_COLUMNS if title not in left_out(block)]
    for column in facts:
        expected = {
            "values": f"{column['values']:,}",
            "bytes": bytes_text(column["compressed_bytes"]),
            "nulls": f"{column['null_count']:,}",
            "page index": "none",
            "bloom": "none",
            "overlap depth": f"{column['overlap_depth']:.2f}",
        }
        (line,) = [line for line in block.splitlines() if line.startswith(f"  {column['name']} ")]
        cells = re.split(r"\s{2,}", line.strip())
        assert [cell for cell in cells if cell in expected.values()] == [expected[title] for title in shown], line
    assert "overlap depth" in shown, "the figure that tells most of a layout"
    assert (f"{-(2**63)}" in block) == ("lower" not in left_out(block))
    assert width < 132 or left_out(block) == [""]


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_of_chunks_and_pages_are_whole_or_their_column_is_named(path, width):
    text = in_columns(width, path, "--columns", "day", "--pages")
    (page,) = json.loads(prune_inspect(path, "--columns", "day", "--pages", "--json").stdout)["row_groups"][3][
        "chunks"
    ][0]["page_index"]["pages"][4:]
    expected = {
        "row group": "3",
        "first row": "200",
        "rows": "50",
        "offset": f"{page['offset']:,}",
        "bytes": bytes_text(page["compressed_bytes"]),
        "lower": "950",
        "upper": "999",
        "nulls": "0",
    }
    hidden = left_out(text.rpartition("first row")[2])
    line = " +".join(re.escape(value) for title, value in expected.items() if title not in hidden)
    assert re.search(rf"^ +{line}$", text, re.MULTILINE)


def test_what_is_left_out_says_how_to_see_it(crowded):
    text = in_columns(60, crowded)
    (wide,) = set(re.findall(r"left out: .*COLUMNS=(\d+)", re.sub(r"\s+", " ", text)))
    assert "left out" not in in_columns(int(wide), crowded)
    assert "left out" in in_columns(int(wide) - 1, crowded)
