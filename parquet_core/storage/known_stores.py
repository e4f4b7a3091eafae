"""The object stores, each an entry: its names, its environment variables, and how Spark reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# Environment variables of S3, in the order in which they count.
S3_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
S3_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
S3_VIRTUAL = "AWS_VIRTUAL_HOSTED_STYLE_REQUEST"
AZURE_ENDPOINTS = ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
AZURE_AUTHORITY = "AZURE_AUTHORITY_HOST"
# Clouds of Azure by the end of their host names, and where they issue tokens; None where the library knows that.
AZURE_CLOUDS = {
    "core.windows.net": None,
    "storage.azure.net": None,
    "core.chinacloudapi.cn": "https://login.chinacloudapi.cn",
    "core.usgovcloudapi.net": "https://login.microsoftonline.us",
}
# Partitions of AWS by the first part of a region, and the end of their host names.
AWS_DOMAINS = {"cn": "amazonaws.com.cn"}
AWS_DOMAIN = "amazonaws.com"


class Store(NamedTuple):
    """An object store that obstore reaches.

    `scheme`: the one that addresses are written with; `aliases`: other schemes of the same store. `variables`: how the
    environment variables begin that describe it. `credentials`: what to set where it denies access. `spark_scheme`,
    `driver`: what Spark calls it, and the module of Hadoop that knows it.

    Environment variables that are checked before the library reads them: `endpoints`, in the order in which they count;
    `texts`: sent in a header; `pair`: two without effect alone. Where none of `keys` is set, the library asks somebody
    for credentials: `identity_urls` say whom, and `identity_files` are files that it sends or reads.
    """

    scheme: str
    aliases: tuple[str, ...]
    variables: tuple[str, ...]
    credentials: str
    spark_scheme: str
    driver: str
    endpoints: tuple[str, ...]
    texts: tuple[str, ...]
    pair: tuple[str, ...]
    keys: tuple[str, ...]
    identity_urls: tuple[str, ...]
    identity_files: tuple[str, ...]


_AZURE = Store(
    "abfss",
    aliases=("abfs", "wasb", "wasbs"),
    # With where its emulator is, and where it hands out the identities of its machines.
    variables=("AZURE_", "AZURITE_", "IDENTITY_"),
    credentials="set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY",
    spark_scheme="abfss",
    driver="org.apache.hadoop:hadoop-azure",
    endpoints=AZURE_ENDPOINTS,
    texts=(
        "AZURE_STORAGE_ACCOUNT_NAME",
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_TOKEN",
        "AZURE_CLIENT_ID",
        "AZURE_CLIENT_SECRET",
        "AZURE_TENANT_ID",
    ),
    pair=(),
    keys=(
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
        "AZURE_SKIP_SIGNATURE",
        "AZURE_STORAGE_USE_EMULATOR",
    ),
    identity_urls=(AZURE_AUTHORITY, "AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT"),
    identity_files=("AZURE_FEDERATED_TOKEN_FILE",),
)
STORES = (
    Store(
        "s3",
        aliases=("s3a", "s3n"),
        variables=("AWS_",),
        credentials="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket",
        spark_scheme="s3a",
        driver="org.apache.hadoop:hadoop-aws",
        endpoints=S3_ENDPOINTS,
        texts=("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", *S3_REGIONS),
        pair=("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
        keys=("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE"),
        identity_urls=("AWS_ENDPOINT_URL_STS", "AWS_METADATA_ENDPOINT", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        identity_files=("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    ),
    Store(
        "gs",
        aliases=("gcs",),
        variables=("GOOGLE_",),
        credentials=(
            "set GOOGLE_APPLICATION_CREDENTIALS to a key file, or GOOGLE_SKIP_SIGNATURE=true for a public bucket"
        ),
        spark_scheme="gs",
        driver="com.google.cloud.bigdataoss:gcs-connector",
        endpoints=("GOOGLE_BASE_URL",),
        texts=("GOOGLE_BEARER_TOKEN",),
        pair=(),
        # The library opens the files whatever else is set.
        keys=(),
        identity_urls=(),
        identity_files=("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"),
    ),
    _AZURE,
    # An address without the account, which the environment names.
    _AZURE._replace(scheme="az", aliases=("azure",)),
)
OF_SCHEME = {scheme: store for store in STORES for scheme in (store.scheme, *store.aliases)}


def first_set(names: tuple[str, ...], environment: Mapping[str, str]) -> str | None:
    """Return the value of the first variable that is not blank; None if all are."""
    return next((value for name in names if (value := environment.get(name, "").strip())), None)
