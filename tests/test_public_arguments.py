"""Public functions name an argument of a wrong type, whichever function and argument it is."""

from __future__ import annotations

import inspect
import pickle
from itertools import product
from pathlib import Path
from types import FunctionType

import pyarrow as pa
import pytest
from delta_tables import delete_rows, write_table

import deltalog
import prune_assets as pr
from parquet_core.errors import PruneError, WrongUse

FUNCTIONS = {
    f"{package.__name__}.{name}": function
    for package in (pr, deltalog)
    for name in package.__all__
    if isinstance(function := package.__getattr__(name), FunctionType)
}
VALUES = ["text", b"bytes", 1, 1.5, None, ["a"], [1], [None], {"a": 1}, Path("p"), pa.array([1]), pa.schema([])]


class SparkSession:
    """Spark's session is recognized by the name of its class."""


class Unrelated:
    """An object that no function takes."""


def error_of(function, arguments):
    try:
        function(**arguments)
    except Exception as error:  # noqa: BLE001 - which it may be is what is tested
        return error
    return None


def test_the_package_has_few_names():
    assert len(pr.__all__) <= 24


def test_all_functions_are_tried():
    assert {"prune_assets.plan", "prune_assets.write", "deltalog.append", "deltalog.vacuum"} <= set(FUNCTIONS)
    assert len(FUNCTIONS) > 30


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_an_unrelated_object_is_refused_by_the_name_of_the_parameter(function):
    """The error names the first given argument, even if other arguments are missing."""
    for parameter in inspect.signature(function).parameters:
        error = error_of(function, {parameter: Unrelated()})
        assert isinstance(error, WrongUse), parameter
        assert str(error).startswith(f"{function.__name__}: {parameter} is an Unrelated; give ")
        assert "\n" not in str(error), parameter


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_value_is_refused_by_the_check_or_by_a_line_of_the_function(function):
    """TypeError only of Python itself, for other arguments that are missing."""
    for parameter, value in product(inspect.signature(function).parameters, VALUES):
        error = error_of(function, {parameter: value})
        is_missing = isinstance(error, TypeError) and str(error).startswith(f"{function.__name__}() missing ")
        assert error is None or is_missing or isinstance(error, PruneError), (parameter, value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: deltalog.append("path", []),
            "append: snapshot='path' is a str; give a Snapshot: deltalog.open_snapshot(table)",
        ),
        (
            lambda: deltalog.append(None, []),
            "append: snapshot is None; give a Snapshot: deltalog.open_snapshot(table)",
        ),
        (
            lambda: deltalog.append(Path("t"), []),
            "append: snapshot=PosixPath('t') is a PosixPath; give a Snapshot: deltalog.open_snapshot(table)",
        ),
        (
            lambda: pr.read("t", where="id = 1", session="t"),
            "read: session='t' is a str; give a SparkSession or None: SparkSession.builder.getOrCreate()",
        ),
        (
            lambda: pr.plan("t", where="id = 1", columns="id"),
            "plan: columns='id' is a str; give a list of str or None: columns=['id']",
        ),
        (
            lambda: pr.advise("t", workload="id = 1"),
            "advise: workload='id = 1' is a str; give a Workload or a list of str: workload=['id = 1']",
        ),
        (
            lambda: pr.write("t", "u", layout={}),
            "write: df='t' is a str; give a DataFrame: spark.createDataFrame(..) or spark.read",
        ),
        (
            lambda: deltalog.vacuum("t", dry_run="no"),
            "vacuum: dry_run='no' is a str; give a bool",
        ),
        (
            lambda: pr.plan("t", where="id = 1", version=True),
            "plan: version=True is a bool; give an int or None",
        ),
        (
            lambda: pr.plan("t", where="id = 1", version=1.5),
            "plan: version=1.5 is a float; give an int or None",
        ),
        (
            lambda: deltalog.create_table("t", pa.schema([]), partition_by="day"),
            "create_table: partition_by='day' is a str; give a list of str: partition_by=['day']",
        ),
        (
            lambda: pr.plan(None, where="id = 1"),
            "plan: table is None; give a str, a Path or a list of str",
        ),
        (
            lambda: pr.count("t", where="id = 1", semantics="UTC"),
            (
                "count: semantics='UTC' is a str; give a SparkSemantics or None: "
                "pr.SparkSemantics(time_zone=..) without Spark"
            ),
        ),
        (
            lambda: pr.read(SparkSession(), "t", where="id = 1"),
            "read: table is a SparkSession; pass it as session=",
        ),
        (
            lambda: pr.optimize(SparkSession(), "t", layout={}),
            "optimize: table is a SparkSession; pass it as session=",
        ),
        (
            lambda: pr.plan("t", where="id = 1", semantics=SparkSession()),
            "plan: semantics is a SparkSession; pass it as session=",
        ),
        (
            lambda: pr.plan("t", where="id = 1", session=pr.SparkSemantics()),
            "plan: session is a SparkSemantics; pass it as semantics=",
        ),
        (
            lambda: pr.count("t", session=SparkSession(), semantics=pr.SparkSemantics()),
            "session, semantics: a session has settings of its own; pass one of the two",
        ),
    ],
)
def test_the_line_says_what_to_give(call, message):
    with pytest.raises(WrongUse) as refused:
        call()
    assert str(refused.value) == message


def test_credentials_in_an_argument_are_masked():
    with pytest.raises(WrongUse) as refused:
        deltalog.history("s3://key:hunter2@bucket/t")
    assert "hunter2" not in str(refused.value)


def test_a_path_names_a_table_everywhere(tmp_path):
    table = tmp_path / "t"
    rows = pa.table({"id": [1, 2, 3]})
    write_table(table, rows, properties={"delta.enableDeletionVectors": "true"})
    delete_rows(table, {deltalog.open_snapshot(table).paths()[0]: [1]})
    snapshot = deltalog.open_snapshot(table)
    assert deltalog.versions(table) == [0, 1]
    assert deltalog.version_at(table, deltalog.snapshot_time(snapshot)) == 1
    assert deltalog.write_checkpoint(table).written
    assert deltalog.clean_log(table, dry_run=True).files == ()
    assert deltalog.vacuum(table).files == ()
    assert deltalog.orphans(table) == ()
    assert deltalog.check_create(tmp_path / "u", rows.schema).partition_columns == ()
    vector = deltalog.vector_of(snapshot.blocks[0], 0)
    assert list(deltalog.read_vector(vector, table)) == [1]
    assert pr.count(table, where="id = 1") == 1
    assert pr.count([str(file) for file in table.glob("*.parquet")], where="id = 1") == 1
    assert pr.Workload.of(table, ["id = 1"]).shapes[0].table == str(table)


def test_lists_may_be_of_any_kind(tmp_path):
    import numpy as np

    write_table(tmp_path, pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}))
    for columns in (["id"], ("id",), {"id": 1}.keys(), np.array(["id"])):
        assert pr.read_arrow(tmp_path, where="id = 1", columns=columns).num_rows == 1
    assert pr.read_arrow(tmp_path, where="id > 0", skip_unsupported=np.bool_(1)).num_rows == 3


def test_a_public_function_can_be_sent_to_another_process():
    for name, function in FUNCTIONS.items():
        assert pickle.loads(pickle.dumps(function)) is function, name


def test_an_exception_of_a_function_keeps_its_own_type(tmp_path):
    with pytest.raises(PruneError, match="no such file or directory") as missing:
        pr.plan(tmp_path / "no", where="id = 1")
    assert missing.value.__cause__ is None
