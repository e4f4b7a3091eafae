from __future__ import annotations

import hashlib
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.layout.spec import LayoutSpec
from prune_assets import audit, check, plan
from prune_assets.dagster import LayoutTable, SparkSessionResource
from prune_assets.tables.writes.commit import commit
from prune_assets.tables.writes.table_formats import plain_directory, refuse_table_formats
from prune_assets.writing.write import write

LAYOUT = LayoutSpec(sort_by=("id",), files=1)


def put(path, content=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        pq.write_table(pa.table({"id": range(3)}), path)
    else:
        path.write_text(content)
    return path


def delta(table):
    import deltalake

    deltalake.write_deltalake(str(table), pa.table({"id": [1, 2, 3], "p": ["a", "a", "b"]}), partition_by=["p"])
    return table


def empty_delta(table):
    import deltalake

    deltalake.DeltaTable.create(str(table), pa.schema([pa.field("id", pa.int64())]))
    return table


def damaged_delta(table):
    put(table / "a.parquet")
    (table / "_delta_log").mkdir()
    return table


def iceberg(table):
    put(table / "data" / "p=a" / "a.parquet")
    put(table / "metadata" / "00000-f3.metadata.json", "{}")
    return table


def iceberg_of_hadoop(table):
    put(table / "data" / "a.parquet")
    put(table / "metadata" / "version-hint.text", "1")
    return table


def hudi(table):
    put(table / "a" / "a.parquet")
    put(table / ".hoodie" / "hoodie.properties", "hoodie.table.name=t")
    return table


TABLES = {
    delta: "Delta",
    empty_delta: "Delta",
    damaged_delta: "Delta",
    iceberg: "Iceberg",
    iceberg_of_hadoop: "Iceberg",
    hudi: "Hudi",
}
every_table = pytest.mark.parametrize(("make", "name"), TABLES.items(), ids=[make.__name__ for make in TABLES])


tables_of_others = pytest.mark.parametrize(
    ("make", "name"), [each for each in TABLES.items() if each[1] != "Delta"], ids=["iceberg", "of hadoop", "hudi"]
)


def contents(directory):
    """Everything below a directory: names, bytes and times."""
    return {
        str(path): path.is_dir() or (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(Path(directory).rglob("*"))
    }


@every_table
def test_the_format_the_place_and_the_remedy_are_named(tmp_path, make, name):
    table = make(tmp_path / "t")
    with pytest.raises(WrongUse) as caught:
        plain_directory(table)
    message = str(caught.value)
    assert message.startswith(f"{table}: is a table of {name} (")
    assert "name another directory" in message
    assert ("--format delta" if name == "Delta" else f"Spark's own writer for {name}") in message


@every_table
@pytest.mark.parametrize("below", ["p=a", "new/deep", "../t", "./"])
def test_what_lies_in_such_a_table_is_of_it(tmp_path, make, name, below):
    table = make(tmp_path / "t")
    with pytest.raises(WrongUse, match=f"{tmp_path}/t:? is a table of {name}"):
        plain_directory(table / below)


@every_table
def test_a_symbolic_link_hides_no_table(tmp_path, make, name):
    table = make(tmp_path / "t")
    (tmp_path / "link").symlink_to(table / "data")
    with pytest.raises(WrongUse, match=f"is a table of {name}"):
        plain_directory(tmp_path / "link")


def test_a_link_that_stands_in_a_table_is_of_it(tmp_path):
    table = delta(tmp_path / "t")
    (tmp_path / "elsewhere").mkdir()
    (table / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WrongUse, match="is a table of Delta"):
        plain_directory(table / "link")


def test_plain_directories_pass(tmp_path, monkeypatch):
    put(tmp_path / "t" / "a.parquet")
    put(tmp_path / "t" / "metadata" / "notes.json", "{}")
    delta(tmp_path / "d")
    assert plain_directory(tmp_path / "t") == tmp_path / "t"
    assert plain_directory(f"file:{tmp_path}/t") == tmp_path / "t"
    # The way leads through a table and out of it again.
    assert plain_directory(tmp_path / "d" / ".." / "t") == tmp_path / "d" / ".." / "t"
    monkeypatch.chdir(tmp_path)
    assert plain_directory("new") == Path("new")


def test_a_relative_path_is_looked_for_above_too(tmp_path, monkeypatch):
    (delta(tmp_path / "t") / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "t" / "sub")
    with pytest.raises(WrongUse, match="is a table of Delta"):
        plain_directory("new")


def test_directories_that_share_one_above_are_each_looked_at(tmp_path):
    put(tmp_path / "t" / "a" / "x.parquet")
    delta(tmp_path / "t" / "b")
    with pytest.raises(WrongUse, match=f"{tmp_path}/t/b is a table of Delta"):
        refuse_table_formats([tmp_path / "t" / "a", tmp_path / "t" / "b" / "p=a"])


def test_a_table_that_became_one_of_delta_is_not_committed_to(tmp_path):
    old = put(tmp_path / "t" / "old.parquet")
    staged = put(tmp_path / "t" / f"_staging-{32 * '0'}" / "new.parquet")
    (tmp_path / "t" / "_delta_log").mkdir()
    before = contents(tmp_path)
    with pytest.raises(WrongUse, match="is a table of Delta"):
        commit([staged], staged.parent, replaced=[str(old)])
    assert contents(tmp_path) == before


@pytest.mark.spark
@every_table
@pytest.mark.parametrize("mode", ["append", "overwrite", "error"])
def test_write_leaves_such_a_table_as_it_is(spark, tmp_path, make, name, mode):
    table = make(tmp_path / "t")
    before = contents(tmp_path)
    never = spark.range(3).selectExpr("CAST(raise_error('a job ran') AS BIGINT) AS id")
    for target in (table, table / "p=a", table.as_uri()):
        with pytest.raises(WrongUse, match=f"is a table of {name}"):
            write(never, target, layout=LAYOUT, format="parquet", mode=mode)
    assert contents(tmp_path) == before


def test_a_table_that_is_not_read_is_refused_by_its_name(tmp_path):
    """The error names the table format; it does not complain about odd directories or suggest reading all files."""
    table = hudi(tmp_path / "t")
    for ask in (plan_all, lambda table: check(table, layout=LAYOUT), audit):
        for location in (table, table.as_uri()):
            with pytest.raises(UnsupportedFeature, match=f"{tmp_path}/t: is a table of Hudi .*own reader for Hudi"):
                ask(location)


@pytest.mark.parametrize(("make", "below"), [(iceberg, "data"), (iceberg, "data/p=a"), (hudi, "a"), (delta, "p=a")])
def test_a_directory_inside_of_such_a_table_is_not_read_as_plain_files(tmp_path, make, below):
    table = make(tmp_path / "t")
    for ask in (plan_all, lambda table: check(table, layout=LAYOUT), audit):
        with pytest.raises(
            UnsupportedFeature, match=f"{tmp_path}/t/{below}: is a directory of the .* {tmp_path}/t, and"
        ):
            ask(table / below)


@pytest.mark.parametrize("below", ["*.parquet", "p=a/*.parquet", "*/*.parquet", "x/*.parquet"])
def test_a_pattern_of_files_inside_of_such_a_table_names_the_table(tmp_path, below):
    """The pattern is refused whether or not it matches files, because it may match files of old versions."""
    table = delta(tmp_path / "t")
    with pytest.raises(UnsupportedFeature, match=f"is inside of the Delta table {tmp_path}/t, .* name the table$"):
        plan_all(table / below)


def test_a_directory_that_holds_a_table_beside_plain_files_names_the_table(tmp_path):
    """The error names the table, not its partitions, which start at another level than the plain files."""
    delta(tmp_path / "t")
    put(tmp_path / "plain" / "p=a" / "0.parquet")
    with pytest.raises(WrongUse, match=f"^{tmp_path}: {tmp_path}/t is a table of Delta; name that table, or another$"):
        plan_all(tmp_path)


@pytest.mark.spark
@tables_of_others
def test_no_delta_table_is_made_in_such_a_table(spark, tmp_path, make, name):
    table = make(tmp_path / "t")
    before = contents(tmp_path)
    for target in (table, table / "new", table.as_uri()):
        with pytest.raises(WrongUse, match=f"is a table of {name}"):
            write(spark.range(3), target, layout=LAYOUT, format="delta")
    assert contents(tmp_path) == before


PLAIN = {"flat": ["a.parquet", "b.parquet"], "partitioned": ["p=1/a.parquet", "p=2/a.parquet"]}
plain_tables = pytest.mark.parametrize("names", PLAIN.values(), ids=PLAIN)


def plain(table, names):
    for name in names:
        put(table / name)
    return table


@pytest.mark.spark
@pytest.mark.sampled(4)
@plain_tables
@pytest.mark.parametrize("mode", ["append", "overwrite", "replace_partitions", "error"])
def test_no_delta_table_is_made_among_plain_files(spark, tmp_path, names, mode):
    table = plain(tmp_path / "t", names)
    before = contents(tmp_path)
    never = spark.range(3).selectExpr("id", "CAST(raise_error('a job ran') AS BIGINT) AS p")
    layout = LayoutSpec(partition_by=("p",))
    wheres = [None, "p = 1"] if mode == "overwrite" else [None]
    for target, where in ((target, where) for target in (table, table.as_uri()) for where in wheres):
        with pytest.raises(WrongUse, match=f"{tmp_path}/t: holds 2 Parquet files .*such as {names[0]}.*`prune write "):
            write(never, target, layout=layout, format="delta", mode=mode, where=where)
    assert contents(tmp_path) == before


@pytest.mark.spark
@every_table
@pytest.mark.parametrize("mode", ["append", "overwrite", "error"])
def test_write_removes_nothing_of_tables_below(spark, tmp_path, make, name, mode):
    put(tmp_path / "lake" / "plain.parquet")
    make(tmp_path / "lake" / "t")
    if make is empty_delta:
        put(tmp_path / "lake" / "t" / "not_of_the_log.parquet")
    before = contents(tmp_path)
    never = spark.range(3).selectExpr("CAST(raise_error('a job ran') AS BIGINT) AS id")
    with pytest.raises(WrongUse, match=f"{tmp_path}/lake/t:? is a table of {name}"):
        write(never, tmp_path / "lake", layout=LAYOUT, mode=mode)
    assert contents(tmp_path) == before


@pytest.mark.spark
def test_a_name_that_reads_as_a_pattern_removes_nothing_it_matches(spark, tmp_path):
    put(tmp_path / "lake" / "a" / "x.parquet")
    before = contents(tmp_path / "lake" / "a")
    write(spark.range(3), tmp_path / "lake" / "*", layout=LAYOUT, mode="overwrite")
    assert contents(tmp_path / "lake" / "a") == before
    assert pq.read_table(tmp_path / "lake" / "*").num_rows == 3


def plan_all(table):
    return plan(table, where="true")


def no_spark(_):
    raise AssertionError("Spark started")


@every_table
def test_an_asset_refuses_before_spark_starts(tmp_path, make, name, monkeypatch):
    table = make(tmp_path / "t")
    before = contents(tmp_path)
    monkeypatch.setattr(SparkSessionResource, "session", property(no_spark))
    asset = LayoutTable("t", table, layout=LAYOUT).asset_from(lambda spark: spark.range(3))
    with pytest.raises(WrongUse, match=f"is a table of {name}"):
        dg.materialize([asset], resources={"spark": SparkSessionResource()})
    assert contents(tmp_path) == before


@plain_tables
def test_an_asset_of_delta_refuses_plain_files_before_spark_starts(tmp_path, names, monkeypatch):
    table = plain(tmp_path / "t", names)
    before = contents(tmp_path)
    monkeypatch.setattr(SparkSessionResource, "session", property(no_spark))
    asset = LayoutTable("t", table, layout=LAYOUT, format="delta").asset_from(lambda spark: spark.range(3))
    with pytest.raises(WrongUse, match="holds 2 Parquet files"):
        dg.materialize([asset], resources={"spark": SparkSessionResource()})
    assert contents(tmp_path) == before


def test_reports_are_not_put_into_such_a_table(tmp_path, monkeypatch):
    table = delta(tmp_path / "t")
    before = contents(tmp_path)
    monkeypatch.setattr(SparkSessionResource, "session", property(no_spark))
    asset = LayoutTable("t", tmp_path / "other").skip_report("r", "id = 1", reports=table / "reports")
    with pytest.raises(WrongUse, match="is a table of Delta"):
        dg.materialize([asset], resources={"spark": SparkSessionResource()})
    assert contents(tmp_path) == before
