"""A few of the cases of `make fuzz ARGS=writers`, by the libraries that are installed, and that faults are found."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from writers import machine
from writers.conditions import Condition
from writers.environments import NotMade, command_of, interpreter_of
from writers.releases import INSTALLED, RELEASES, Release
from writers.truth import Truth

SCRIPTS = Path(machine.SCRIPTS)


@pytest.mark.parametrize("release", INSTALLED, ids=lambda release: release.library)
def test_installed_writers_lose_no_row(release):
    pytest.importorskip(release.library, reason=f"{release.library} is not installed")
    result = machine.run([release], seed=3, count=2, first=4)
    assert result.findings == {}
    assert result.untried == {}
    assert result.tally.cases > 5


def test_plans_of_installed_writers_skip():
    """A rule that distrusts all statistics would be seen."""
    pyarrow = next(release for release in INSTALLED if release.library == "pyarrow")
    tally = machine.run([pyarrow], seed=3, count=3, first=10).tally
    assert tally.skippable.total() > 10
    assert tally.skipped.total() >= tally.skippable.total() - 1, tally.skippable - tally.skipped


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.timeout(900)  # most of it downloads
def test_old_writers_lose_no_row(spark):
    """Wheels are downloaded where the cache of `make fuzz` lacks them."""
    names = {"pyarrow 3.0.0", "pyarrow 5.0.0", "pyarrow 10.0.1", "polars 0.20.31", "polars 1.38.1"}
    result = machine.run([release for release in RELEASES if release.name in names], seed=1, count=10, spark=spark)
    assert result.findings == {}
    assert not +result.tally.differing
    if not result.tally.files:
        pytest.skip(f"no old release can be installed: {result.untried}")


def test_a_release_that_cannot_be_installed_is_not_tried():
    release = Release("pyarrow", "0.0", "write_pyarrow.py", "1.0", ("pyarrow==0.0",))
    result = machine.run([release], seed=1, count=2)
    assert result.untried == {"pyarrow 0.0": "no Python 1.0"}
    assert not result.tally.files


def test_a_script_that_fails_is_not_tried(tmp_path):
    release = Release("nothing", "1", "no_such_script.py", None)
    (tmp_path / "0.json").write_text("{}")
    with pytest.raises(NotMade, match="No such file"):
        machine.written_by(release, tmp_path)


def test_the_interpreter_of_a_version_is_found():
    command, environment = command_of(INSTALLED[0])
    assert Path(command[0]).exists()
    assert "PYTHONPATH" not in environment
    assert interpreter_of("1.0") is None


def test_a_number_always_draws_the_same_table():
    assert machine.drawn(3, 4) == machine.drawn(3, 4) != machine.drawn(3, 5)


def test_every_type_and_option_is_drawn():
    recipes = [machine.drawn(1, number) for number in range(150)]
    types = {column["type"] for recipe in recipes for column in recipe["columns"]}
    assert {"decimal", "string", "binary", "fixed", "double", "timestamp", "date", "bool", "struct", "uint64"} <= types
    assert {0, 1} <= {len(recipe["columns"][0]["values"]) for recipe in recipes}
    for name in ("statistics", "data_page_version", "page_index", "bloom", "at_once", "int96"):
        assert len({recipe["options"][name] for recipe in recipes}) == 2, name
    dictionaries = [column for recipe in recipes for column in recipe["columns"] if column["dictionary"]]
    assert {column["dictionary"] for column in dictionaries} == {"shared", "own"}
    assert any(all(value is None for value in column["values"]) for column in dictionaries)


def test_every_release_names_a_script_that_exists():
    assert {release.script for release in RELEASES} <= {path.name for path in SCRIPTS.iterdir()}
    assert len({release.name for release in RELEASES}) == len(RELEASES)


def test_a_writer_that_is_trusted_wrongly_is_found(tmp_path, monkeypatch):
    """Bounds of pyarrow, made narrower than the values by a script."""
    (tmp_path / "write_wrong.py").write_text(_WRITE_WRONG.replace("SCRIPTS", str(SCRIPTS)))
    monkeypatch.setattr(machine, "SCRIPTS", tmp_path)
    result = machine.run([Release("wrong", "1", "write_wrong.py", None)], seed=3, count=1, first=12)
    assert {call for _, _, call in result.findings} >= {"audit"}


_WRITE_WRONG = """
import sys
sys.path.insert(0, "SCRIPTS")
import fastparquet
from given_recipes import write_each
from write_pyarrow import write as write_rightly

def write(recipe, path):
    write_rightly(dict(recipe, options=dict(recipe["options"], page_index=False)), path)
    file = fastparquet.ParquetFile(path)
    for group in file.fmd.row_groups:
        statistics = group.columns[0].meta_data.statistics
        statistics.max_value = statistics.min_value
    data = open(path, "rb").read()
    footer = file.fmd.to_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    with open(path, "wb") as out:
        out.write(data[:-8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1")

write_each(sys.argv[1], write)
"""

CENTS = pa.decimal128(5, 2)
CONDITIONS = (
    (pa.string(), ["it's", "a\\b", None], Condition("c", pa.string(), "=", ("it's",)), {0}),
    (pa.binary(), [b"\xff\x00", b"\x80", None], Condition("c", pa.binary(), ">=", (b"\xff",)), {0}),
    (pa.float64(), [math.nan, 1.5, None], Condition("c", pa.float64(), ">", (1.0,)), {0, 1}),
    (pa.float64(), [math.nan, 1.5, None], Condition("c", pa.float64(), "isnan"), {0}),
    (CENTS, [Decimal("-0.01"), Decimal("1.00"), None], Condition("c", CENTS, "<", (Decimal(0),)), {0}),
    (pa.date32(), [dt.date(1969, 12, 31), dt.date(1970, 1, 1), None], Condition("c", pa.date32(), "IS NULL"), {2}),
    (pa.int64(), [1, 2, None], Condition("c", pa.int64(), "<=>", (2,)), {1}),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "values", "condition", "selected"), CONDITIONS)
def test_conditions_mean_the_same_to_duckdb_and_to_us(tmp_path, kind, values, condition, selected):
    import prune_assets as pr

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"c": pa.array(values, kind), "r": pa.array(range(3), pa.int64())}), path)
    assert Truth(path).selected(condition) == selected
    assert set(pr.read_arrow(path, where=condition.spark, columns=["r"])["r"].to_pylist()) == selected


def test_true_bounds_rule_out_row_groups(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"c": [1, 2, 5, None]}), path, row_group_size=2)
    truth = Truth(path)
    assert truth.skippable(Condition("c", pa.int64(), "=", (3,))) == {0, 1}
    assert truth.skippable(Condition("c", pa.int64(), "<=", (2,))) == {1}
    assert truth.skippable(Condition("c", pa.int64(), "IS NULL")) == {0}
    assert truth.skippable(Condition("c", pa.int64(), "IS NOT NULL")) == set()


def test_random_conditions_are_valid_sql(tmp_path):
    path = tmp_path / "t.parquet"
    rows = {"s": ["a", "é", None], "x": [1.5, math.nan, None], "b": [b"\xff", b"", None]}
    pq.write_table(pa.table(rows), path)
    truth = Truth(path)
    drawn = truth.conditions(random.Random(1), 40)
    assert {condition.form for condition in drawn} >= {"=", "IN", "BETWEEN", "IS NULL", "LIKE"}
    for condition in drawn:
        assert truth.selected(condition) <= {0, 1, 2}
