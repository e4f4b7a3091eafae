"""Files that spell columns in another case than their table, compared with Spark's own answers.

Delta's reader passes the schema of the table to Spark's Parquet reader, as `spark.read.schema(..).parquet(..)` does, so
Delta tables are compared with such reads.
"""

from __future__ import annotations

from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from prune_assets.planner.explain.plan import plan
from prune_assets.sql.semantics import SparkSemantics
from tests.deltalog.log_writer import Log, add, field
from tests.numbered_cases.cases import check
from tests.prune_assets.planner.named_rows import named_rows

PREDICATES = [
    "id < 100",
    "id = 103",
    "id IS NULL",
    "id IS NOT NULL",
    "NOT id > 50",
    "id <=> NULL",
    "id IN (1, 103, 204)",
    "s.x < 100",
    "s.x = 103",
    "s.x IS NULL",
    "s.y IS NOT NULL",
    "name = 'n103'",
    "name LIKE 'n10%'",
    "name IS NULL",
    "id = 1 OR s.x = 203",
    "coalesce(id, -1) = -1",
]
# The fields of the schema, and files: names, structs' field names, first number, or nothing where a name is None.
SPELLINGS = [
    ("id", "s", "x", "y", "name"),
    ("ID", "s", "x", "y", "NAME"),
    ("Id", "S", "X", "y", "name"),
    ("iD", "s", "X", "Y", "Name"),
    ("id", "S", "x", "y", "NAME"),
    (None, "s", "x", None, "name"),
    (None, None, None, None, "NAME"),
    ("ID", "S", None, "Y", None),
]
TYPE = {"type": "struct", "fields": [field("x", "long"), field("y", "long")]}
COLUMNS = [("id", "long"), field("s", TYPE), ("name", "string")]
SCHEMA = "id BIGINT, s STRUCT<x: BIGINT, y: BIGINT>, name STRING"


def rows_of(spelling, first):
    """Five rows: numbers from `first`, the last of each column null."""
    number, struct, x, y, name = spelling
    numbers = [*range(first, first + 4), None]
    columns = {}
    if number:
        columns[number] = pa.array(numbers, pa.int64())
    if struct:
        inner = [each for each in (x, y) if each]
        values = [None if n is None else dict.fromkeys(inner, n) for n in numbers]
        columns[struct] = pa.array(values, pa.struct([(each, pa.int64()) for each in inner]))
    if name:
        columns[name] = pa.array([None if n is None else f"n{n}" for n in numbers])
    return pa.table(columns)


def write(directory, spellings=SPELLINGS):
    directory.mkdir(exist_ok=True)
    files = [directory / f"{i}.parquet" for i in range(len(spellings))]
    for i, (file, spelling) in enumerate(zip(files, spellings, strict=True)):
        pq.write_table(rows_of(spelling, 100 * i), file, row_group_size=3, write_page_index=True)
    return files


def delta(directory, spellings=SPELLINGS, stats=None, columns=COLUMNS, **configuration):
    """Create a Delta table of files that spell columns differently; `stats`: statistics per file, as in the log."""
    log = Log(directory)
    files = write(directory, spellings)
    said = [None] * len(files) if stats is None else stats
    adds = [add(file.name, size=file.stat().st_size, stats=each) for file, each in zip(files, said, strict=True)]
    log.create(columns, *adds, **configuration)
    return files


@contextmanager
def case_sensitive(spark, value):
    spark.conf.set("spark.sql.caseSensitive", value)
    try:
        yield
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def selected(spark, files, where):
    """Return the rows that Spark selects from files read with the table's schema, without pushdown."""
    column = f"coalesce(({where}), false) AS answer"
    frame = spark.read.schema(SCHEMA).parquet(*map(str, files))
    rows = frame.selectExpr("_metadata.file_path", "_metadata.row_index", column).collect()
    return {(unquote(urlsplit(row[0]).path), row[1]) for row in rows if row[2]}


def hold(spark, table, files, where):
    truth = selected(spark, files, where)
    for depth in ("row_groups", "pages"):
        made = plan(table, where=where, session=spark, depth=depth)
        kept = named_rows(made.index, made.evaluation.access.ranges)
        assert truth <= kept, where
        assert named_rows(made.index, made.evaluation.access.matches) <= truth, where
    return len(truth), len(kept)


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_a_delta_table_selects_what_spark_does(spark, tmp_path, sensitive):
    files = delta(tmp_path / "t")
    with case_sensitive(spark, sensitive):
        for where in PREDICATES:
            hold(spark, tmp_path / "t", files, where)


@pytest.mark.deep
@pytest.mark.spark
def test_sessions_that_differ_share_no_bounds(spark, tmp_path):
    files = delta(tmp_path / "t")
    for sensitive in ("false", "true", "false"):
        with case_sensitive(spark, sensitive):
            for where in ("id < 100", "id IS NULL", "s.x IS NOT NULL"):
                hold(spark, tmp_path / "t", files, where)


@pytest.mark.spark
def test_what_is_found_in_another_case_prunes(spark, tmp_path):
    files = delta(tmp_path / "t", SPELLINGS[:5])
    assert hold(spark, tmp_path / "t", files, "id = 103") == (1, 2)
    assert hold(spark, tmp_path / "t", files, "s.x = 203") == (1, 2)
    assert hold(spark, tmp_path / "t", files, "name = 'n301'") == (1, 3)
    assert hold(spark, tmp_path / "t", files, "id < 100")[0] == 4


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_a_plain_table_selects_what_spark_does(spark, tmp_path, sensitive):
    write(tmp_path / "t")
    with case_sensitive(spark, sensitive):
        for where in PREDICATES:
            check(spark, tmp_path / "t", where)


@pytest.mark.spark
def test_what_a_plain_table_spells_in_another_case_prunes(spark, tmp_path):
    write(tmp_path / "t", SPELLINGS[:5])
    assert check(spark, tmp_path / "t", "id = 103") == (1, 2)
    assert check(spark, tmp_path / "t", "s.x = 203") == (1, 2)


TWICE = [("Id", "s", "x", "y", "name"), ("ID", "S", "X", "y", "name")]


def with_twice(directory):
    """A second file that holds the number twice, in two cases that are not the table's, and the struct's too."""
    write(directory, SPELLINGS[:1])
    first, second = (rows_of(spelling, start) for spelling, start in zip(TWICE, (100, 200), strict=True))
    for name in ("Id", "s"):
        second = second.append_column(name, first[name])
    pq.write_table(second, directory / "1.parquet")
    return [directory / "0.parquet", directory / "1.parquet"]


@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize("kind", ["delta", "plain"])
def test_of_two_spellings_nothing_is_known(tmp_path, sensitive, kind):
    (_, second) = with_twice(tmp_path)
    if kind == "delta":
        Log(tmp_path).create(COLUMNS, *(add(f"{i}.parquet", size=1) for i in (0, 1)))
    semantics = SparkSemantics(case_sensitive=sensitive)
    for where in ("id < 0", "id IS NULL", "id IS NOT NULL", "id = 103"):
        made = plan(tmp_path, where=where, semantics=semantics)
        assert str(second) in {file.path for file in made.surviving_files}, where
        assert not any(path == str(second) for path, _ in named_rows(made.index, made.evaluation.access.matches))


@pytest.mark.parametrize("kind", ["delta", "plain"])
def test_spark_refuses_a_file_with_another_spelling_beside_the_tables_own(tmp_path, kind):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [28], "ID": [28]}), tmp_path / "1.parquet")
    if kind == "delta":
        Log(tmp_path).create([("id", "long")], *(add(f"{i}.parquet", size=1) for i in (0, 1)))
    for where in ("id = 1", "id = 28"):
        made = plan(tmp_path, where=where)
        assert str(tmp_path / "1.parquet") in {file.path for file in made.surviving_files}
        matches = {path[-9:] for path, _ in named_rows(made.index, made.evaluation.access.matches)}
        assert matches == ({"0.parquet"} if where == "id = 1" else set())
    made = plan(tmp_path, where="id = 1", semantics=SparkSemantics(case_sensitive=True))
    assert [file.path[-9:] for file in made.surviving_files] == ["0.parquet"]


@pytest.mark.deep
@pytest.mark.spark
def test_spark_reads_the_one_that_is_spelled_alike_where_case_counts(spark, tmp_path):
    files = with_twice(tmp_path)
    Log(tmp_path).create(COLUMNS, *(add(f"{i}.parquet", size=1) for i in (0, 1)))
    with case_sensitive(spark, "true"):
        for where in PREDICATES:
            hold(spark, tmp_path, files, where)


def test_letters_beyond_ascii_are_left_open(tmp_path):
    for i, name in enumerate(("stra\u00dfe", "STRASSE", "STRA\u1e9eE")):
        pq.write_table(pa.table({name: [100 * i]}), tmp_path / f"{i}.parquet")
    Log(tmp_path).create([("stra\u00dfe", "long")], *(add(f"{i}.parquet", size=1) for i in range(3)))
    for where in ("`stra\u00dfe` = 7", "`stra\u00dfe` IS NULL"):
        kept = {file.path[-9:] for file in plan(tmp_path, where=where).surviving_files}
        assert kept == {"1.parquet", "2.parquet"}


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_statistics_of_the_log_under_other_names_say_nothing(spark, tmp_path, sensitive):
    said = [
        {
            "numRecords": 5,
            "minValues": {spelling[0]: 100 * i},
            "maxValues": {spelling[0]: 100 * i + 3},
            "nullCount": {spelling[0]: 1, spelling[1]: {spelling[2]: 1}, spelling[4]: 1},
        }
        for i, spelling in enumerate(SPELLINGS[:5])
    ]
    files = delta(tmp_path / "t", SPELLINGS[:5], said)
    with case_sensitive(spark, sensitive):
        for where in PREDICATES:
            hold(spark, tmp_path / "t", files, where)


@pytest.mark.spark
def test_renamed_columns_are_looked_for_under_their_names_in_files(spark, tmp_path):
    """The table's `id` is stored as `c` and its `c` as `id`, and each file spells them in its own case."""
    tables = [pa.table({"c": [1, 2], "id": [101, 102]}), pa.table({"C": [3, 4], "ID": [103, 104]})]
    (tmp_path / "t").mkdir()
    for i, table in enumerate(tables):
        pq.write_table(table, tmp_path / "t" / f"{i}.parquet")
    names = {"delta.columnMapping.physicalName": "c", "delta.columnMapping.id": 1}
    others = {"delta.columnMapping.physicalName": "id", "delta.columnMapping.id": 2}
    Log(tmp_path / "t").create(
        [field("id", "long", **names), field("c", "long", **others)],
        *(add(f"{i}.parquet", size=1) for i in range(2)),
        protocol={"minReaderVersion": 2, "minWriterVersion": 5},
        **{"delta.columnMapping.mode": "name"},
    )
    for where, kept in (("id = 3", "1"), ("c = 101", "0"), ("id > 100", ""), ("c IS NULL", ""), ("id <= 2", "0")):
        made = plan(tmp_path / "t", where=where, session=spark)
        assert "".join(file.path[-9] for file in made.surviving_files) == kept, where


@pytest.mark.spark
def test_duckdb_agrees(spark, tmp_path):
    import duckdb

    files = delta(tmp_path / "t", SPELLINGS[:2])
    for where in ("id < 100", "id = 103", "id IS NULL"):
        paths = ", ".join(f"'{file}'" for file in files)
        ((count,),) = duckdb.sql(f"SELECT count(*) FROM read_parquet([{paths}]) WHERE {where}").fetchall()
        assert count == len(selected(spark, files, where)) == hold(spark, tmp_path / "t", files, where)[0]


def test_the_names_are_part_of_what_is_kept_on_disk(tmp_path):
    write(tmp_path / "t", SPELLINGS[:2])
    for sensitive, kept in ((True, 5), (False, 2), (True, 5)):
        made = pr.plan(tmp_path / "t", where="id = 103", semantics=SparkSemantics(case_sensitive=sensitive))
        assert len(named_rows(made.index, made.evaluation.access.ranges)) == kept
