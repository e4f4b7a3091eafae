"""The object stores, each an entry: how it is called, what its credentials are, and how Spark reaches it."""

from __future__ import annotations

from typing import NamedTuple

# Environment variables of S3, in the order in which they count.
S3_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
S3_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
S3_VIRTUAL = "AWS_VIRTUAL_HOSTED_STYLE_REQUEST"


class Store(NamedTuple):
    """An object store that obstore reaches.

    `scheme`: the one that addresses are written with; `aliases`: other schemes of the same store. `variables`: how the
    environment variables begin that describe it. `credentials`: what to set where it denies access. `spark_scheme`,
    `driver`: what Spark calls it, and the module of Hadoop that knows it.
    """

    scheme: str
    aliases: tuple[str, ...]
    variables: tuple[str, ...]
    credentials: str
    spark_scheme: str
    driver: str


_AZURE = Store(
    "abfss",
    aliases=("abfs", "wasb", "wasbs"),
    # With where its emulator is, and where it hands out the identities of its machines.
    variables=("AZURE_", "AZURITE_", "IDENTITY_"),
    credentials="set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY",
    spark_scheme="abfss",
    driver="org.apache.hadoop:hadoop-azure",
)
STORES = (
    Store(
        "s3",
        aliases=("s3a", "s3n"),
        variables=("AWS_",),
        credentials="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket",
        spark_scheme="s3a",
        driver="org.apache.hadoop:hadoop-aws",
    ),
    Store(
        "gs",
        aliases=(),
        variables=("GOOGLE_",),
        credentials="set GOOGLE_SERVICE_ACCOUNT to a key file, or GOOGLE_SKIP_SIGNATURE=true for a public bucket",
        spark_scheme="gs",
        driver="com.google.cloud.bigdataoss:gcs-connector",
    ),
    _AZURE,
    # An address without the account, which the environment names.
    _AZURE._replace(scheme="az", aliases=()),
)
OF_SCHEME = {scheme: store for store in STORES for scheme in (store.scheme, *store.aliases)}
