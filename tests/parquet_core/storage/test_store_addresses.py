"""URLs of access points and of Azure's other clouds, in various spellings: read, or refused with a correction.

The URLs come from public issues of delta-rs, object_store, duckdb-azure, adlfs and s3fs.
"""

from __future__ import annotations

import pytest
from azurite import ACCOUNT

from parquet_core.errors import TableNotFound, UnsupportedFeature, WrongUse
from parquet_core.storage import Traffic, address, list_data_files, objects, read_range
from parquet_core.storage.stores import root_of

DATA = b"x" * 1000
LISTING = (
    b'<?xml version="1.0"?><ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated><Contents>'
    b"<Key>t/a.parquet</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><Size>1000</Size></Contents>"
    b"</ListBucketResult>"
)
ARN = "arn:aws:s3:us-west-2:123456789012:accesspoint"
KEYS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}


@pytest.fixture
def environment(clean_environment):
    """A function that sets environment variables."""

    def say(**values):
        for name, value in values.items():
            clean_environment.setenv(name, value)

    return say


def config(uri):
    """The endpoint that a store is opened with, and how."""
    return objects.object_store(uri).options


@pytest.mark.parametrize(
    ("root", "endpoint", "region"),
    [
        (f"s3://{ARN}/lake/", "https://lake-123456789012.s3-accesspoint.us-west-2.amazonaws.com", "us-west-2"),
        (f"s3a://{ARN}:lake/", "https://lake-123456789012.s3-accesspoint.us-west-2.amazonaws.com", "us-west-2"),
        (
            "s3://arn:aws-cn:s3:cn-north-1:123456789012:accesspoint/lake/",
            "https://lake-123456789012.s3-accesspoint.cn-north-1.amazonaws.com.cn",
            "cn-north-1",
        ),
        (
            "s3://arn:aws-us-gov:s3:us-gov-east-1:123456789012:accesspoint/lake/",
            "https://lake-123456789012.s3-accesspoint.us-gov-east-1.amazonaws.com",
            "us-gov-east-1",
        ),
    ],
)
def test_an_access_point_is_asked_at_its_own_host(environment, root, endpoint, region):
    environment(AWS_REGION="eu-north-1", **KEYS)
    assert root_of(f"{root}a/b.parquet") == root
    options = config(f"{root}a/b.parquet")
    assert (options["endpoint"], options["region"]) == (endpoint, region)
    assert options["virtual_hosted_style_request"] == "true"


def test_a_table_below_an_access_point_is_read(web, environment):
    # The web server is the proxy through which the host of the access point is reached.
    environment(AWS_PROXY_URL=web.url, AWS_ALLOW_HTTP="true", AWS_ENDPOINT_URL="http://vpce.example", **KEYS)
    web.answers = {"http://lake-123456789012.vpce.example/": (200, LISTING)}
    web.files = {"http://lake-123456789012.vpce.example/t/a.parquet": DATA}
    (file,) = list_data_files(f"s3a://{ARN}/lake/t")
    assert file.path == f"s3://{ARN}/lake/t/a.parquet"
    assert read_range(file, 3, 5, purpose="index", traffic=Traffic()) == DATA[3:8]
    assert "/us-west-2/s3/" in web.asked[-1].authorization


def test_an_alias_of_an_access_point_is_a_bucket(web, environment):
    environment(AWS_ENDPOINT_URL=web.url, AWS_ALLOW_HTTP="true", **KEYS)
    web.answers = {"/lake-abcdefghijk-s3alias": (200, LISTING)}
    web.files = {"/lake-abcdefghijk-s3alias/t/a.parquet": DATA}
    assert [file.size for file in list_data_files("s3://lake-abcdefghijk-s3alias/t")] == [1000]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("s3://arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap/t", "multi-Region access point.*access point"),
        ("s3://arn:aws:s3-object-lambda:us-east-1:123456789012:accesspoint/x/t", "s3-object-lambda.*bucket"),
        ("s3://arn:aws:s3-outposts:us-east-1:123456789012:outpost/op-1/accesspoint/x/t", "s3-outposts.*bucket"),
        ("s3://arn:aws:iam::123456789012:role/x", "not an ARN of S3"),
    ],
)
def test_other_arns_are_named(clean_environment, table, message):
    with pytest.raises(UnsupportedFeature, match=rf"^s3://arn:[^ ]*/: .*{message}"):
        list_data_files(table)


@pytest.mark.parametrize("region", ["cn-north-1", "cn-northwest-1"])
def test_buckets_of_china_are_at_hosts_of_china(environment, region):
    environment(AWS_REGION=region, **KEYS)
    assert config("s3://lake/t")["endpoint"] == f"https://s3.{region}.amazonaws.com.cn"


AZURE = {"AZURE_STORAGE_ACCOUNT_KEY": "YWJj"}


@pytest.mark.parametrize(
    ("table", "endpoint", "authority"),
    [
        (
            "abfss://lake@acc.dfs.core.chinacloudapi.cn/t",
            "https://acc.blob.core.chinacloudapi.cn",
            "https://login.chinacloudapi.cn",
        ),
        (
            "wasbs://lake@acc.blob.core.chinacloudapi.cn/t",
            "https://acc.blob.core.chinacloudapi.cn",
            "https://login.chinacloudapi.cn",
        ),
        (
            "abfs://lake@acc.dfs.core.usgovcloudapi.net/t",
            "https://acc.blob.core.usgovcloudapi.net",
            "https://login.microsoftonline.us",
        ),
        ("abfss://lake@acc.z22.dfs.storage.azure.net/t", "https://acc.z22.blob.storage.azure.net", None),
    ],
)
def test_other_clouds_of_azure(environment, table, endpoint, authority):
    environment(**AZURE)
    options = config(table)
    assert (options["endpoint"], options["account_name"]) == (endpoint, "acc")
    assert options.get("authority_host") == authority


def test_what_the_environment_says_of_azure_comes_first(environment, web):
    web.headers = {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    environment(AZURE_STORAGE_ENDPOINT=web.url, AZURE_AUTHORITY_HOST=web.url, AZURE_ALLOW_HTTP="true", **AZURE)
    web.files = {"/lake/t/a.parquet": DATA}
    for host in ("acc.dfs.core.chinacloudapi.cn", "acc.dfs.core.our.cloud", "acc.dfs.core.windows.net"):
        assert [file.size for file in list_data_files([f"abfss://lake@{host}/t/a.parquet"])] == [1000]
    assert "authority_host" not in config("abfss://lake@acc.dfs.core.chinacloudapi.cn/t")


def test_clouds_of_azure_in_the_emulator(azure, put, clean_environment):
    put(f"{azure}/t/a.parquet", DATA)
    container = azure.removeprefix("az://")
    root = f"abfss://{container}@{ACCOUNT}.dfs.core.chinacloudapi.cn"
    assert [file.path for file in list_data_files(f"{root}/t")] == [f"{root}/t/a.parquet"]


def test_an_unknown_host_of_azure_is_sent_no_credentials(environment):
    environment(**AZURE)
    message = r"acc\.dfs\.core\.our\.cloud.*set AZURE_STORAGE_ENDPOINT=https://acc\.blob\.core\.our\.cloud"
    with pytest.raises(WrongUse, match=message):
        list_data_files("abfss://lake@acc.dfs.core.our.cloud/t")


@pytest.mark.parametrize(
    ("table", "meant"),
    [
        ("s3://arn:aws:s3:::lake/a/b", "s3://lake/a/b"),
        ("arn:aws:s3:::lake/a/b", "s3://lake/a/b"),
        (f"{ARN}/lake/a", f"s3://{ARN}/lake/a"),
        ("s3://lake.s3.eu-north-1.amazonaws.com/a/b", "s3://lake/a/b"),
        ("s3://my.lake.s3.amazonaws.com/a", "s3://my.lake/a"),
        ("s3://s3.eu-north-1.amazonaws.com/lake/a", "s3://lake/a"),
        ("s3a://s3-us-west-2.amazonaws.com/lake/a", "s3://lake/a"),
        ("s3://minio:9000/lake/a", "s3://lake/a with AWS_ENDPOINT_URL=http://minio:9000"),
        ("r2://lake/a", "s3://lake/a with AWS_ENDPOINT_URL=https://ACCOUNT.r2.cloudflarestorage.com"),
        ("minio://lake/a", "s3://lake/a with AWS_ENDPOINT_URL"),
        ("cosn://lake/a", "s3://lake/a with AWS_ENDPOINT_URL"),
        ("abfss://acc.dfs.core.windows.net/lake/a", "abfss://lake@acc.dfs.core.windows.net/a"),
        ("az://acc.blob.core.windows.net/lake/a", "abfss://lake@acc.dfs.core.windows.net/a"),
        ("abfss://lake@acc/a", "abfss://lake@acc.dfs.core.windows.net/a"),
        ("adl://acc.azuredatalakestore.net/a", "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"),
        ("dbfs:/mnt/lake/a", "the storage location that DESCRIBE DETAIL shows"),
        ("dbfs:/Volumes/main/raw/v/a", "the storage location that DESCRIBE VOLUME shows"),
        ("dbfs://mnt/lake/a", "the storage location that DESCRIBE DETAIL shows"),
        ("/Volumes/main/raw/v/a", "the storage location that DESCRIBE VOLUME shows"),
        ("s3:/lake/a", "s3://lake/a"),
        ("abfss:/lake@acc.dfs.core.windows.net/a", "abfss://lake@acc.dfs.core.windows.net/a"),
        ("gs:lake/a", "gs://lake/a"),
    ],
)
def test_other_spellings_are_refused_with_what_to_write(environment, table, meant):
    environment(**AZURE, **KEYS)
    with pytest.raises((WrongUse, UnsupportedFeature)) as caught:
        list_data_files(table)
    assert f"write {meant}" in str(caught.value)
    assert str(caught.value).startswith(f"{address(table)}: ")


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("https://lake.s3.eu-north-1.amazonaws.com/a", "s3://lake/a"),
        ("https://lake.s3.amazonaws.com/a", "s3://lake/a"),
        ("https://s3.eu-north-1.amazonaws.com/lake/a", "s3://lake/a"),
        ("https://lake.s3.cn-north-1.amazonaws.com.cn/a", "s3://lake/a"),
        ("https://123abc.r2.cloudflarestorage.com/lake/a", "s3://lake/a with AWS_ENDPOINT_URL=https://123abc.r2."),
        ("https://acc.dfs.core.windows.net/lake/a", "abfss://lake@acc.dfs.core.windows.net/a"),
        ("https://acc.blob.core.usgovcloudapi.net/lake/a", "abfss://lake@acc.dfs.core.usgovcloudapi.net/a"),
        ("https://onelake.dfs.fabric.microsoft.com/ws/a", "abfss://ws@onelake.dfs.fabric.microsoft.com/a"),
        ("https://storage.googleapis.com/lake/a", "gs://lake/a"),
        ("https://storage.cloud.google.com/lake/a", "gs://lake/a"),
        ("https://lake.storage.googleapis.com/a", "gs://lake/a"),
    ],
)
def test_a_directory_by_the_url_of_a_store(url, meant):
    with pytest.raises(UnsupportedFeature, match="HTTP has no listing") as caught:
        list_data_files(f"{url}/")
    assert f"write {meant}" in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        "s3://b c/t",
        "s3://b:9000",
        "s3://b:x/t",
        "s3://b%20c/t",
        "s3://\u00e9/t",
        "gs://b:1/t",
        "az://b c/t",
        "s3://b?x=1",
    ],
)
def test_what_cannot_be_a_bucket_is_named(environment, table):
    environment(AZURE_STORAGE_ACCOUNT_NAME="acc", **AZURE, **KEYS)
    with pytest.raises(WrongUse, match="is not the name of a bucket or container"):
        list_data_files(table)


@pytest.mark.parametrize("bucket", ["under_score.and.dot", "b_", "my.bucket.example.com", "1234", "UPPER"])
@pytest.mark.parametrize("scheme", ["gs", "gcs", "s3", "s3n"])
def test_buckets_with_unusual_names(environment, web, scheme, bucket):
    environment(
        AWS_ENDPOINT_URL=web.url,
        AWS_ALLOW_HTTP="true",
        GOOGLE_BASE_URL=web.url,
        GOOGLE_ALLOW_HTTP="true",
        GOOGLE_SKIP_SIGNATURE="true",
        **KEYS,
    )
    web.files = {f"/{bucket}/t/a": DATA}
    web.headers = {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    (file,) = list_data_files([f"{scheme}://{bucket}/t/a"])
    assert (file.size, file.path) == (1000, f"{address(f'{scheme}://{bucket}')}/t/a")


def test_onelake_is_left_to_the_library(environment):
    environment(AZURE_STORAGE_TOKEN="any")
    store = objects.object_store("abfss://ws@onelake.dfs.fabric.microsoft.com/lake.Lakehouse/Tables/t").store
    assert store.config["use_fabric_endpoint"] == "true"


def test_an_empty_directory_of_this_machine_is_not_misspelled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableNotFound, match="no such file or directory; check the path"):
        list_data_files("s3/lake")
