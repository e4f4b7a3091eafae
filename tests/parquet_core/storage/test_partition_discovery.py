"""Data files and partitions of directories of every shape; `test_same_files` compares with Spark itself."""

from __future__ import annotations

import os

import fsspec
import pytest
from directory_cases import CASES, relative

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import PruneError, WrongUse
from parquet_core.storage import DataFile, list_table
from parquet_core.storage.partition_discovery import choose


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_files_that_count(tmp_path, case):
    table = case.make(tmp_path / "t")
    if case.read is None:
        with pytest.raises(PruneError):
            read_dataset(table)
    else:
        assert relative((file.path for file in read_dataset(table).groups.files), tmp_path / "t") == case.read


@pytest.mark.parametrize("case", [case for case in CASES if not set("*?{\\") & {*str(case.named)}], ids=str)
def test_an_object_store_is_judged_by_the_same_rule(tmp_path, case, memory):
    table = case.make(tmp_path / "t")
    store = fsspec.filesystem("memory")
    for path in (tmp_path / "t").rglob("*"):
        if path.is_file():
            store.pipe_file(f"{memory}{path}", path.read_bytes())
    uris = f"{memory}{os.path.normpath(table)}" if isinstance(table, str) else [f"{memory}{path}" for path in table]
    if case.read is None and case.outcome != "refused":
        with pytest.raises(PruneError):
            read_dataset(uris)
    else:
        # Here a pattern takes precedence over an object with the same name, so none of these names is refused.
        read = case.read or {"a[1]": ["a1"], "x[1]": ["x1/b"]}[case.named]
        assert (
            relative((file.path.removeprefix(memory) for file in read_dataset(uris).groups.files), tmp_path / "t")
            == read
        )


def listed(*names, root="t"):
    """Choose of files below one directory; a name that ends in ! is empty."""
    directories = {root: []}
    for name in names:
        path = f"{root}/{name.rstrip('!')}"
        size = 0 if name.endswith("!") else 1
        directories.setdefault(path.rpartition("/")[0], []).append(DataFile(path, size, 0))
    return choose([], [root], directories)


@pytest.mark.parametrize(
    ("names", "schema_file"),
    [
        (["a", "b"], None),
        (["a", "_metadata", "_common_metadata"], "_common_metadata"),
        (["a", "_metadata", "x/_common_metadata"], "_metadata"),
        (["p=1/a", "p=1/_metadata"], "p=1/_metadata"),
        (["p=1/a", "x/_metadata"], "x/_metadata"),
        (["p=1/a", "0"], "0"),  # Spark does not read it, but takes the schema of the first of all files
        (["p=1/a", "0!"], None),
        (["p=1/a", "z"], None),
        (["b", "_metadata_of_old"], "_metadata_of_old"),
        (["b", "_metadata!"], "_metadata"),  # which is no Parquet file, to Spark neither
    ],
)
def test_the_file_that_gives_the_schema(names, schema_file):
    found = listed(*names).schema_file
    assert (found and found.path.removeprefix("t/")) == schema_file


def test_directories_with_empty_files_have_a_say_in_types():
    partitioning = listed("p=1/a", "p=x/b!", "p=2/_SUCCESS").partitioning
    assert partitioning.names == (("p",),)
    assert partitioning.value_strings == (("1",), ("x",))


def test_columns_end_at_a_plain_folder():
    found = listed("p=1/x/q%20r=2/y/a").partitioning
    assert (found.names, found.value_strings) == ((("q r",),), (("2",),))


def test_columns_that_only_case_tells_apart_are_left_to_spark():
    assert listed("p=1/a", "P=2/b").partitioning.names == (("P",), ("p",))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["p=1/a", "x/b"], r"^t and t/x: conflicting directory structures"),
        (["x/p=1/a", "y/p=1/b"], r"^t/x and t/y: conflicting directory structures"),
        (
            ["p=1/a", "q=1/b"],
            r"^t/p=1 and t/q=1: conflicting partition columns, which Spark refuses: p and q; name one",
        ),
        (["p=1/a", "p=2/q=1/b"], r"^t/p=1 and t/p=2/q=1: conflicting partition columns, .* p and p, q"),
        (["p=/a"], r"^t/p=: a directory name without a value; Spark refuses it: rename it"),
        (["=1/a"], r"^t/=1: a directory name without a column"),
    ],
)
def test_what_spark_refuses_is_told(names, message):
    with pytest.raises(WrongUse, match=message):
        listed(*names)


def test_what_is_passed_over_is_named(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.parquet").write_bytes(b"1")
    with pytest.raises(PruneError, match=f"ignores; give the path of a folder, such as {tmp_path}/old$"):
        list_table(tmp_path)
    (tmp_path / "_a.parquet").write_bytes(b"1")
    with pytest.raises(PruneError, match=r"hidden from Spark, such as _a\.parquet; rename them"):
        list_table(tmp_path / "_a.parquet")


def test_a_delta_table_in_a_list_is_refused(tmp_path):
    (tmp_path / "d" / "_delta_log").mkdir(parents=True)
    (tmp_path / "d" / "a.parquet").write_bytes(b"1")
    with pytest.raises(
        WrongUse,
        match=r"/d: a Delta table in a list of paths, where its log would be ignored; give "
        r"its path alone",
    ):
        list_table([f"{tmp_path}/d"])
