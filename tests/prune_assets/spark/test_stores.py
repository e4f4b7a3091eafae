"""Tables in S3 read by a Spark with hadoop-aws, and errors for missing jars, buckets and permissions."""

from __future__ import annotations

import json
import os
import re
import time
from urllib.request import Request, urlopen
from uuid import uuid4

import boto3
import hadoop_aws
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from click.testing import CliRunner
from emulated_stores import s3_settings

import deltalog
from parquet_core.storage import list_data_files
from prune_assets.cli import main
from tests.peers.delta_matrix import GOLDEN
from tests.prune_assets.spark import on_s3

pytestmark = [pytest.mark.deep, pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def with_driver():
    """A Spark that can read S3, without settings for a store."""
    found = hadoop_aws.jars()
    if not found:
        pytest.skip(hadoop_aws.MISSING)
    with hadoop_aws.spark_process(found) as run:
        yield run


@pytest.fixture
def run(with_driver, moto_url):
    """Runs functions with environment variables that configure the store."""
    return lambda function, *arguments: with_driver(function, *arguments, environment=s3_settings(moto_url))


def test_every_mode_writes_delta_tables_by_every_spelling(run, s3):
    first, second = [*range(10)], [*range(20)]
    assert run(on_s3.write_in_all_modes, f"{s3}/a b/t") == [first, second, [5, 6, 7]]
    assert deltalog.open_snapshot(f"{s3}/a b/t").version == 2


def test_partitions_with_unusual_names_are_written_replaced_and_joined(run, s3):
    every = [*range(10)]
    without_3 = [*every[:3], *every[4:]]
    assert run(on_s3.write_partitions, f"{s3}/t") == [every, without_3, [n for n in without_3 if n != 4]]


def test_a_plan_of_one_spelling_is_read_by_another(run, s3):
    run(on_s3.write, f"{s3}/t", 0, 10)
    assert run(on_s3.plan_and_read, f"{s3}/t", f"{s3}/t".replace("s3:", "s3a:")) == (1, [0, 1, 2])


def put(path, root, where):
    """Copy a directory into a bucket and return its URL."""
    client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    for file in path.rglob("*"):
        if file.is_file():
            client.upload_file(str(file), root.removeprefix("s3://"), f"{where}/{file.relative_to(path)}")
    return f"{root}/{where}"


GOLDEN_TABLES = [
    "basic-dv-no-checkpoint",
    "dv-partitioned-with-checkpoint",
    "data-reader-escaped-chars",
    "log-replay-dv-key-cases",
    "table-with-dv-small",
    "table-with-columnmapping-mode-name",
]


@pytest.mark.parametrize("name", GOLDEN_TABLES)
def test_golden_tables_have_the_rows_that_they_have_locally(run, s3, name):
    if not (GOLDEN / name).is_dir():
        pytest.skip(f"{GOLDEN / name} is not there")
    table = put(GOLDEN / name, s3, f"a%20 b/ü+{name}")
    there, here = run(on_s3.rows, table.replace("s3:", "s3a:")), run(on_s3.rows, str(GOLDEN / name))
    assert sorted(map(str, there)) == sorted(map(str, here)) != []


def test_plain_tables_are_read(run, s3, tmp_path):
    data = pa.table({"id": range(100), "k": [i % 3 for i in range(100)]})
    ds.write_dataset(data, tmp_path / "t", format="parquet", partitioning=["k"], partitioning_flavor="hive")
    ds.write_dataset(data, tmp_path / "flat", format="parquet", max_rows_per_file=10, max_rows_per_group=10)
    table, flat = put(tmp_path / "t", s3, "a b"), put(tmp_path / "flat", s3, "flat")
    assert run(on_s3.ids, table, "k = 1 AND id < 10") == [1, 4, 7]
    assert run(on_s3.ids, flat, "id IN (1, 55)") == [1, 55]
    assert run(on_s3.ids, flat.replace("s3:", "s3a:"), "id < 0") == []
    assert run(on_s3.ids, f"{flat}/*.parquet", "id < 2") == [0, 1]
    assert run(on_s3.ids, [file.path for file in list_data_files(flat)], "id < 2") == [0, 1]


def test_the_session_is_not_changed_and_shows_no_secret(with_driver, moto_url, s3):
    environment = s3_settings(moto_url) | {"AWS_SECRET_ACCESS_KEY": "very-secret", "AWS_ACCESS_KEY_ID": "known-key"}
    before = with_driver(on_s3.settings)
    with_driver(on_s3.write, f"{s3}/t", 0, 10, environment=environment)
    shown = with_driver(on_s3.shown_by_spark, f"{s3}/t", environment=environment)
    assert "InsertIntoHadoopFs" in shown
    assert "very-secret" not in shown
    assert "known-key" not in shown
    assert with_driver(on_s3.settings) == before


def test_what_the_session_has_reaches_the_planner(moto_url, s3):
    if not (found := hadoop_aws.jars()):
        pytest.skip(hadoop_aws.MISSING)
    has = {"access.key": "k", "secret.key": "s", "endpoint": moto_url.removeprefix("http://")}
    has |= {"path.style.access": "true", "connection.ssl.enabled": "false", "endpoint.region": "eu-west-1"}
    with hadoop_aws.spark_process(found, **{f"spark.hadoop.fs.s3a.{name}": text for name, text in has.items()}) as run:
        assert run(on_s3.write, f"{s3}/t", 0, 10) == 0
        assert run(on_s3.ids, f"{s3}/t", "id < 2") == [0, 1]
        # Tasks use the store settings of the driver.
        (why,), found = run(on_s3.ask_executors, f"{s3}/t")
        assert ("1 file read in 1 task" in why, "left their files" in why, found) == (True, False, [0, 1])
        # The setting of one bucket overrides the setting of all buckets.
        run(on_s3.configure, {f"fs.s3a.bucket.{s3[5:]}.endpoint": "http://127.0.0.1:9"})
        kind, said = run(on_s3.said_of, on_s3.ids, f"{s3}/t")
        assert (kind, "cannot be reached" in said) == ("StorageFailure", True)


def test_a_missing_driver_is_named_before_anything_is_written(moto_url, s3):
    with hadoop_aws.spark_process([]) as run:
        for function, arguments in [(on_s3.write, (0, 10)), (on_s3.write, (0, 10, "overwrite"))]:
            kind, said = run(on_s3.said_of, function, f"{s3}/t", *arguments, environment=s3_settings(moto_url))
            assert kind == "UnsupportedFeature"
            assert said.startswith(f"{s3}/t: this Spark has no driver for s3a://; put ")
            assert "spark.jars.packages=org.apache.hadoop:hadoop-aws:3." in said
        assert list_objects(s3) == []


def list_objects(root):
    client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    return [found["Key"] for found in client.list_objects_v2(Bucket=root[5:]).get("Contents", [])]


@pytest.fixture
def user(moto_url, s3):
    """Function that creates a user with some permissions, denies everybody else, and returns the user's environment."""
    iam = boto3.client("iam", endpoint_url=moto_url, region_name="us-east-1")

    def make(*actions):
        name = f"user-{uuid4()}"
        iam.create_user(UserName=name)
        said = {"Effect": "Allow", "Action": [f"s3:{action}" for action in actions], "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [said]})
        iam.put_user_policy(UserName=name, PolicyName="some", PolicyDocument=policy)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        check_rights(moto_url, "0")
        keys = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
        return s3_settings(moto_url) | keys

    yield make
    check_rights(moto_url, "inf")


def check_rights(url, free_requests):
    """Let a server answer `free_requests` requests before it checks permissions."""
    text = {"Content-Type": "text/plain"}
    with urlopen(
        Request(f"{url}/moto-api/reset-auth", method="POST", data=free_requests.encode(), headers=text), timeout=30
    ):
        pass


def test_who_may_only_read_is_told_so(s3, user):
    if not (found := hadoop_aws.jars()):
        pytest.skip(hadoop_aws.MISSING)
    table = f"{s3}/t"
    deltalog.create_table(table, pa.schema({"id": pa.int64()}))
    # Hadoop caches the client of a bucket for the life of the JVM.
    with hadoop_aws.spark_process(found) as run:
        reader = user("List*", "Get*")
        kind, said = run(on_s3.said_of, on_s3.write, table, 0, 10, environment=reader)
        assert kind == "StorageFailure"
        assert re.fullmatch(
            rf"{table}/write-\w+: Spark was denied access \(Access Denied .*403\)\); check [^\n]*", said
        )
        assert run(on_s3.ids, table, environment=reader) == []


def test_what_a_failed_write_leaves_is_named_and_removed_by_vacuum(s3, user, moto_url, monkeypatch):
    if not (found := hadoop_aws.jars()):
        pytest.skip(hadoop_aws.MISSING)
    table = f"{s3}/t"
    deltalog.create_table(table, pa.schema({"id": pa.int64()}))
    with hadoop_aws.spark_process(found) as run:
        writer = user("List*", "Get*", "Put*")
        kind, said = run(on_s3.said_of, on_s3.write, table, 0, 10, environment=writer)
        assert kind == "StorageFailure"
        assert (
            f"and no version references them: `prune vacuum {table} --delete` deletes them after the retention period"
            in said
        )
        assert "\n" not in said
        assert run(on_s3.ids, table, environment=writer) == []
    check_rights(moto_url, "inf")
    assert any(name.endswith(".parquet") for name in list_objects(s3))
    assert not deltalog.vacuum(table).files
    in_60_days = time.time_ns() // 1_000_000 + 60 * 86_400_000
    assert not deltalog.vacuum(table, dry_run=False, now=in_60_days).failed
    # Directory markers are not files.
    left = [name for name in list_objects(s3) if not name.endswith("/")]
    assert left == ["t/_delta_log/00000000000000000000.json"]


def test_a_missing_bucket_is_named(run):
    for function in (on_s3.write, on_s3.ids):
        arguments = (0, 10) if function is on_s3.write else ()
        kind, said = run(on_s3.said_of, function, "s3://there-is-none/t", *arguments)
        assert kind == "TableNotFound"
        assert "the bucket 'there-is-none' does not exist" in said


@pytest.mark.parametrize("scheme", ["s3", "s3a", "gs", "abfss", "az", "wasbs"])
def test_plain_files_are_written_to_no_store(run, scheme):
    kind, said = run(on_s3.said_of, on_s3.write_plain, f"{scheme}://lake/t")
    assert kind == "UnsupportedFeature"
    assert "pass format='delta'" in said


def test_the_commands_work_on_tables_in_s3(run, s3, tmp_path):
    run(on_s3.write, f"{s3}/t", 0, 10)
    layout = tmp_path / "layout.yaml"
    layout.write_text("sort_by: [id]\nfiles: 1\n")
    table = f"{s3}/t".replace("s3:", "s3a:")
    for arguments in (["history", table], ["vacuum", table], ["check", table, "--layout", str(layout)]):
        done = CliRunner().invoke(main, arguments)
        assert (done.exit_code, arguments) == (0, arguments), done.output
    done = CliRunner().invoke(main, ["explain", table, "--where", "id < 3", "--json"])
    assert json.loads(done.stdout)["kept"]["files"] == 1
