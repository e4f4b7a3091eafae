"""Tables by their names in Glue (of moto) and Unity Catalog (answers after its REST reference, not of a server)."""

from __future__ import annotations

import json
import sys
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.loaders import JSONFileLoader
from click.testing import CliRunner
from deltalake import write_deltalake
from moto import mock_aws

import prune_assets as pr
from parquet_core.errors import StorageFailure, TableNotFound, UnsupportedFeature, WrongUse
from prune_assets.cli import main
from prune_assets.tables.changes import poll

PARQUET = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"


@pytest.fixture(scope="module", autouse=True)
def read_descriptions_once():
    """Each session of boto3 would read the description of Glue, a large file, again."""
    with pytest.MonkeyPatch.context() as patched:
        read = cache(partial(JSONFileLoader.load_file, JSONFileLoader()))
        patched.setattr(JSONFileLoader, "load_file", lambda _, path: read(path))
        yield


@pytest.fixture
def no_settings(clean_environment, tmp_path):
    """An environment that says nothing of AWS, nor do files."""
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        clean_environment.setenv(name, str(tmp_path / "none"))
    return clean_environment


KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (KEYS, "region"),
        (
            {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "x"},
            "AWS_SECRET_ACCESS_KEY",
        ),
        ({"AWS_DEFAULT_REGION": "eu-west-1", "AWS_PROFILE": "yours"}, "yours"),
        (KEYS | {"AWS_DEFAULT_REGION": "not a region"}, "not a region"),
        (KEYS | {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "localhost:9000"}, "localhost:9000"),
    ],
)
def test_glue_without_configuration_is_wrong_use(no_settings, environment, said):
    for name, value in environment.items():
        no_settings.setenv(name, value)
    ended = CliRunner().invoke(main, ["count", "glue:lake.orders"])
    assert ended.exit_code == 2, ended.stderr
    assert ended.stderr.startswith("error: glue:lake.orders: ")
    assert said in ended.stderr


def test_glue_that_is_not_there_is_an_outage(no_settings):
    for name, value in KEYS.items() | {"AWS_DEFAULT_REGION": "x", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        no_settings.setenv(name, value)
    assert CliRunner().invoke(main, ["count", "glue:lake.orders"]).exit_code == 3


@pytest.fixture
def glue(monkeypatch):
    for name, value in {"REGION": "eu-west-1", "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x"}.items():
        monkeypatch.setenv("AWS_DEFAULT_REGION" if name == "REGION" else f"AWS_{name}", value)
    with mock_aws():
        client = boto3.client("glue")
        client.create_database(DatabaseInput={"Name": "lake"})
        yield client


def add_table(client, name, location, *, library=PARQUET, keys=(), parameters=None, kind="EXTERNAL_TABLE"):
    client.create_table(
        DatabaseName="lake",
        TableInput={
            "Name": name,
            "TableType": kind,
            "Parameters": parameters or {},
            "PartitionKeys": [{"Name": key, "Type": "string"} for key in keys],
            "StorageDescriptor": {"Location": str(location), "SerdeInfo": {"SerializationLibrary": library}},
        },
    )


def add_partition(client, name, value, location):
    client.create_partition(
        DatabaseName="lake",
        TableName=name,
        PartitionInput={"Values": [value], "StorageDescriptor": {"Location": str(location)}},
    )


def write(directory, first=0):
    directory.mkdir(parents=True)
    pq.write_table(pa.table({"id": range(first, first + 100)}), directory / "part-0.parquet", row_group_size=10)


def test_a_table_of_glue(glue, tmp_path):
    write(tmp_path / "t")
    add_table(glue, "orders", f"file://{tmp_path}/t/")
    made = pr.plan("glue:lake.orders", where="id < 15")
    assert made.report.kept.rows == 20
    assert pr.check("glue:lake.orders", layout=pr.LayoutSpec(sort_by=["id"]))
    done = CliRunner().invoke(main, ["explain", "glue:lake.orders", "--where", "id < 15", "--json"])
    assert json.loads(done.stdout)["kept"]["rows"] == 20


def test_a_name_of_glue_is_audited_inspected_and_watched(glue, tmp_path):
    write(tmp_path / "t")
    add_table(glue, "orders", tmp_path / "t")
    assert pr.audit("glue:lake.orders").rows == 100
    done = CliRunner().invoke(main, ["inspect", "glue:lake.orders", "--json"])
    assert [file["rows"] for file in json.loads(done.stdout)["files"]] == [100]
    seen = poll("glue:lake.orders", None)
    assert poll("glue:lake.orders", seen) == seen
    pq.write_table(pa.table({"id": [100]}), tmp_path / "t" / "part-1.parquet")
    assert poll("glue:lake.orders", seen).changes == 2


def test_a_log_where_glue_has_plain_files_is_refused(glue, tmp_path):
    """Its engines read every file there, removed ones too."""
    write_deltalake(tmp_path / "d", pa.table({"id": range(10)}))
    add_table(glue, "d", tmp_path / "d")
    with pytest.raises(UnsupportedFeature, match=r"the catalog lists it as Parquet, but .* has a Delta log"):
        pr.plan("glue:lake.d", where="id < 5")


def test_delta_of_glue_as_spark_registers_it(glue, tmp_path):
    write_deltalake(tmp_path / "d", pa.table({"id": range(10)}))
    add_table(glue, "d", tmp_path / "d", library="any", parameters={"spark.sql.sources.provider": "delta"})
    assert pr.plan("glue:lake.d", where="id < 5").table.snapshot.version == 0


def test_partitions_of_glue_have_its_types(glue, tmp_path):
    for value in ("01", "02"):
        write(tmp_path / "t" / f"k={value}")
    add_table(glue, "days", tmp_path / "t", keys=["k"])
    for value in ("01", "02"):
        add_partition(glue, "days", value, tmp_path / "t" / f"k={value}")
    assert pr.plan("glue:lake.days", where="k = '01'").report.kept.rows == 100
    assert pr.plan("glue:lake.days", where="k = '1'").report.kept.rows == 0


@pytest.mark.parametrize("registered", [["01"], ["01", "02", "/elsewhere"]], ids=["not registered", "elsewhere"])
def test_other_partitions_than_directories_are_refused(glue, tmp_path, registered):
    for value in ("01", "02"):
        write(tmp_path / "t" / f"k={value}")
    add_table(glue, "days", tmp_path / "t", keys=["k"])
    for value in registered:
        add_partition(glue, "days", value, value if "/" in value else tmp_path / "t" / f"k={value}")
    with pytest.raises(UnsupportedFeature, match="partitions"):
        pr.plan("glue:lake.days", where="id = 1")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": "VIRTUAL_VIEW"}, "as view"),
        ({"parameters": {"table_type": "ICEBERG"}}, "as iceberg"),
        ({"library": "org.openx.data.jsonserde.JsonSerDe"}, "as jsonserde"),
        ({"parameters": {"projection.enabled": "true"}}, "projected"),
        ({"parameters": {"delta.feature.catalogOwned-preview": "supported"}}, "managed by the catalog"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_glue_has_beside(glue, tmp_path, changed, said):
    add_table(glue, "t", tmp_path, **changed)
    with pytest.raises(UnsupportedFeature, match=said):
        pr.plan("glue:lake.t", where="id = 1")


def test_no_such_table_of_glue(glue):
    with pytest.raises(TableNotFound):
        pr.plan("glue:lake.nothing", where="id = 1")
    with pytest.raises(WrongUse, match="database"):
        pr.plan("glue:nothing", where="id = 1")


def test_without_boto3(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(WrongUse, match=r"access to Glue needs boto3; run pip install 'prune-assets\[glue\]'"):
        pr.plan("glue:lake.t", where="id = 1")


# The shape of `GET /tables/{full_name}` as the reference of Unity Catalog's REST interface has it.
ANSWER = {
    "name": "orders",
    "catalog_name": "main",
    "schema_name": "lake",
    "table_type": "EXTERNAL",
    "data_source_format": "PARQUET",
    "columns": [{"name": "id", "type_text": "bigint", "type_name": "LONG", "position": 0}],
    "properties": {},
}


@pytest.fixture
def unity(monkeypatch):
    answers, seen = {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers["Authorization"])
            answer = answers.get(self.path.rpartition("/")[2])
            self.send_response(200 if answer else 404)
            self.end_headers()
            self.wfile.write(json.dumps(answer or {"error_code": "NOT_FOUND"}).encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    monkeypatch.setenv("DATABRICKS_HOST", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("DATABRICKS_TOKEN", "secret")
    yield answers, seen
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_table_of_unity(unity, tmp_path):
    answers, seen = unity
    write(tmp_path / "t")
    answers["main.lake.orders"] = ANSWER | {"storage_location": f"file://{tmp_path}/t"}
    assert pr.plan("unity:main.lake.orders", where="id < 15").report.kept.rows == 20
    assert seen == ["Bearer secret"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"table_type": "VIEW"}, "as view"),
        ({"data_source_format": "ICEBERG"}, "as iceberg"),
        ({"properties": {"delta.feature.catalogManaged": "supported"}}, "managed by the catalog"),
        ({"storage_location": None}, "no location"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_unity_has_beside(unity, changed, said):
    unity[0]["main.lake.orders"] = ANSWER | {"storage_location": "/nowhere"} | changed
    with pytest.raises(UnsupportedFeature, match=said):
        pr.plan("unity:main.lake.orders", where="id = 1")


def test_an_error_of_unity_holds_no_connection(unity):
    with pytest.raises(TableNotFound) as caught:
        pr.plan("unity:main.lake.nothing", where="id = 1")
    assert caught.value.__context__.fp.closed


def test_where_unity_is(unity, monkeypatch):
    with pytest.raises(TableNotFound):
        pr.plan("unity:main.lake.nothing", where="id = 1")
    monkeypatch.setenv("DATABRICKS_HOST", "http://catalog.example")
    with pytest.raises(WrongUse, match="https"):
        pr.plan("unity:main.lake.orders", where="id = 1")
    monkeypatch.setenv("DATABRICKS_HOST", "http://127.0.0.1:9")
    with pytest.raises(StorageFailure, match="DATABRICKS_HOST"):
        pr.plan("unity:main.lake.orders", where="id = 1")
    monkeypatch.delenv("DATABRICKS_HOST")
    with pytest.raises(WrongUse, match="DATABRICKS_HOST"):
        pr.plan("unity:main.lake.orders", where="id = 1")
