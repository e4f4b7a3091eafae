"""Types and values of partition columns equal those that Spark infers from the same directories."""

from __future__ import annotations

import random
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.dataset.opening import read_dataset
from parquet_core.spark_rules.partition_columns import read_partitions
from parquet_core.spark_rules.partition_inference import NULL_DIRECTORY, infer
from parquet_core.storage import DataFile
from parquet_core.storage.partition_discovery import choose
from prune_assets.spark.queries.table_schema import spark_type

ODD = [
    *("0", "1", "7", "01", "+5", "-0", "-12", "2147483647", "2147483648", "-2147483649", "9223372036854775808"),
    *("99999999999999999999", "-" + "9" * 38, "9" * 39, "0" * 40 + "3"),
    *(
        "1.5",
        "1.0",
        "-0.0",
        "0.1",
        "16777217.3",
        "+007.250",
        "1e5",
        "1E-2",
        ".5",
        "1.",
        "1d",
        "2F",
        "0x1p3",
        "NaN",
        "-Infinity",
        "nan",
        "Infinityx",
    ),
    *("2024-01-01", "2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "2024-1-1", "2024-01", "2024-01-01T00"),
    *("2024-01-01 00:00:00", "2024-01-01 00%3A00%3A00", "12:30", "12%3A30", "+2024-01-01", " 2024-01-01", "10-20"),
    *("a", "eu-west", "3f2a", "1_0", "1.2.3", "--1", "-", "_", "true", "null", "a=b", "a b", " a", "a ", " 1", "1 "),
    *("é", "日本", "\u0663", "\u00a07", "\uff11", "\u2003a", "x\u0663"),
    *("a%2Fb", "a%C3%A9", "%31", "%2D1", "a%zz", "a%", "%", "100%25", "%5F%5FHIVE", "a%20"),
    NULL_DIRECTORY,
    NULL_DIRECTORY.lower(),
]
SURE = [text for text in ODD if not isinstance(infer([text]), str)]


def write_tree(root, texts):
    for text in dict.fromkeys(texts):
        directory = root / f"p={text}"
        directory.mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), directory / "a.parquet")


def assert_as_spark(spark, root, *, infer_types=True):
    """Check that certain partition values equal Spark's, with Spark's type; return whether they are certain."""
    index = read_dataset(root, infer_partition_types=infer_types)
    (column,) = index.groups.partitions
    if column.unsupported:
        return False
    whole = spark.read.parquet(str(root)).selectExpr("_metadata.file_path AS file", "p")
    values = index.groups.partition_values["p",]
    assert dict(whole.dtypes)["p"] == spark_type(column.type), sorted(root.iterdir())
    found = dict(zip((file.path for file in index.groups.files), values.to_pylist(), strict=True))
    assert found == {unquote(urlsplit(row.file).path): row.p for row in whole.collect()}, sorted(root.iterdir())
    return True


@pytest.mark.deep
@pytest.mark.spark
def test_each_odd_value_is_what_spark_makes_of_it(spark, tmp_path):
    for i, text in enumerate(SURE):
        write_tree(tmp_path / str(i), [text])
        assert assert_as_spark(spark, tmp_path / str(i)), text


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(2))
def test_values_beside_each_other_get_the_type_that_spark_gives_them(spark, tmp_path, seed):
    chance = random.Random(seed)
    certain = 0
    for i in range(20):
        source = chance.choice([ODD, SURE, SURE[:12], SURE[:16]])
        write_tree(tmp_path / str(i), chance.sample(source, chance.randint(2, 4)))
        certain += assert_as_spark(spark, tmp_path / str(i))
    assert certain > 7


@pytest.mark.spark
def test_without_inference_all_are_strings(spark, tmp_path):
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    try:
        write_tree(tmp_path / "t", [text for text in ODD if "%" not in text or text.startswith("a%2F")])
        assert assert_as_spark(spark, tmp_path / "t", infer_types=False)
    finally:
        spark.conf.unset("spark.sql.sources.partitionColumnTypeInference.enabled")


@pytest.mark.spark
def test_an_empty_file_has_a_say_in_the_type(spark, tmp_path):
    """Spark infers a string type for p here, in which '10' is less than '9'."""
    write_tree(tmp_path, ["10", "2"])
    (tmp_path / "p=abc").mkdir()
    (tmp_path / "p=abc/empty.parquet").touch()
    assert dict(spark.read.parquet(str(tmp_path)).dtypes)["p"] == "string"
    assert assert_as_spark(spark, tmp_path)


@pytest.mark.spark
def test_files_that_are_named_have_no_partition_columns(spark, tmp_path):
    write_tree(tmp_path, ["1", "2"])
    files = [str(tmp_path / "p=1/a.parquet"), str(tmp_path / "p=2/a.parquet")]
    for table in (files, files[0], str(tmp_path / "p=1")):
        paths = [table] if isinstance(table, str) else table
        assert spark.read.parquet(*paths).columns == ["id"]
        assert read_dataset(table).groups.partitions == ()


def partitions_of(paths, base):
    directories = {base: []}
    for path in paths:
        directories.setdefault(path.rpartition("/")[0], []).append(DataFile(path, 1, 0))
    return read_partitions(choose([], [base], directories))


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (["t/p=1/P=1/a"], "two partition columns have names that differ in case only"),
        (["t/p=1/a", "t/P=1/a"], "two partition columns have names that differ in case only"),
        (["t/p=a%2/a"], "a directory name is not escaped as Spark does"),
        (["t/p=caf\udce9/a"], "a directory name is not escaped as Spark does"),
        (["t/p=5e-1/a"], "its values may be fractions or times"),
    ],
)
def test_what_is_not_certain_is_there_without_values(paths, reason):
    found = partitions_of(paths, "t")
    assert found.columns
    assert not found.values
    assert {column.unsupported for column in found.columns} == {reason}


def test_only_directories_below_the_table_count():
    assert partitions_of(["lake/env=prod/t/a"], "lake/env=prod/t").columns == ()
    found = partitions_of(["lake/env=prod/t/p=1/a"], "lake/env=prod/t")
    assert [column.path for column in found.columns] == [("p",)]


def test_each_file_has_the_values_of_its_directory():
    found = partitions_of(["t/p=2/q=x/a", "t/p=1/q=y/a", "t/p=1/q=y/b", "t/p=1/q=x/z/a"], "t")
    assert [found.values[name,].to_pylist() for name in "pq"] == [[1, 1, 1, 2], ["x", "y", "y", "x"]]


def test_a_query_of_a_url_is_no_directory(web):
    import io

    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": [1]}), buffer)
    web.files["/day=1/a.parquet"] = buffer.getvalue()
    url = f"{web.url}/day=1/a.parquet?token=a/b=2/c"
    for table in (url, [url]):
        assert read_dataset(table).groups.partitions == ()


def test_decimals_are_as_wide_as_spark_makes_them():
    assert infer(["1", "99999999999999999999"]).type == pa.decimal128(20, 0)
    assert infer(["3000000000", "9" * 38]).type == pa.decimal128(38, 0)
    assert infer(["1", NULL_DIRECTORY]).values.to_pylist() == [1, None]
