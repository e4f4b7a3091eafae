"""Store URLs in the form that Spark needs."""

from __future__ import annotations

import pytest

from parquet_core.errors import UnsupportedFeature
from prune_assets.spark.stores import spark_uri


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("s3n://lake/t", "s3a://lake/t"),
        ("s3://lake-abcdefghijk-s3alias/t", "s3a://lake-abcdefghijk-s3alias/t"),
        ("gcs://lake/t", "gs://lake/t"),
        ("wasbs://lake@acc.blob.core.chinacloudapi.cn/t", "abfss://lake@acc.dfs.core.chinacloudapi.cn/t"),
        ("az://lake/t", "abfss://lake@acc.dfs.core.windows.net/t"),
        ("azure://lake/t", "abfss://lake@acc.dfs.core.windows.net/t"),
    ],
)
def test_each_spelling_has_one_of_hadoop(clean_environment, address, expected):
    clean_environment.setenv("AZURE_STORAGE_ACCOUNT_NAME", "acc")
    assert spark_uri(address) == expected


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [
        ("https://acc.blob.core.usgovcloudapi.net", "acc.dfs.core.usgovcloudapi.net"),
        ("https://acc.blob.core.chinacloudapi.cn/", "acc.dfs.core.chinacloudapi.cn"),
        ("http://127.0.0.1:10000/acc", "acc.dfs.core.windows.net"),
    ],
)
def test_a_container_without_a_host_is_in_the_cloud_of_the_endpoint(clean_environment, endpoint, host):
    clean_environment.setenv("AZURE_STORAGE_ACCOUNT_NAME", "acc")
    clean_environment.setenv("AZURE_STORAGE_ENDPOINT", endpoint)
    assert spark_uri("az://lake/t") == f"abfss://lake@{host}/t"


def test_the_arn_of_an_access_point_is_refused():
    with pytest.raises(UnsupportedFeature, match="Spark reads no ARN; write the alias"):
        spark_uri("s3://arn:aws:s3:us-west-2:123456789012:accesspoint/lake/t")
