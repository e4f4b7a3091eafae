"""Object stores and their addresses: schemes, environment variables, AWS profiles."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from parquet_core.errors import StorageFailure, UnsupportedFeature, WrongUse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Environment variables of S3, in order of precedence.
S3_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
S3_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
S3_VIRTUAL = "AWS_VIRTUAL_HOSTED_STYLE_REQUEST"
AZURE_ENDPOINTS = ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
AZURE_AUTHORITY = "AZURE_AUTHORITY_HOST"
# Token authority of each Azure cloud, by the end of its host names; None if obstore knows the authority.
AZURE_CLOUDS = {
    "core.windows.net": None,
    "storage.azure.net": None,
    "core.chinacloudapi.cn": "https://login.chinacloudapi.cn",
    "core.usgovcloudapi.net": "https://login.microsoftonline.us",
}
# End of the host names of an AWS partition, by the first part of its region names.
AWS_DOMAINS = {"cn": "amazonaws.com.cn"}
AWS_DOMAIN = "amazonaws.com"


class Store(NamedTuple):
    """An object store that obstore supports.

    `scheme`: scheme of canonical addresses.
    `aliases`: other schemes of the same store.
    `variables`: prefixes of the environment variables that configure the store.
    `credentials`: next step if access is denied.
    `spark_scheme`, `driver`: the scheme in Spark, and the Hadoop module that implements it.

    The other fields are environment variables that are checked before the library reads them.
    `endpoints`: variables for the endpoint, in order of precedence.
    `header_variables`: variables whose values are sent in a header.
    `pair`: two variables that have no effect alone. Unless one of `keys` is set, the library requests credentials from
    the servers in `identity_urls`, and sends or reads the files in `identity_files`.
    """

    scheme: str
    aliases: tuple[str, ...]
    variables: tuple[str, ...]
    credentials: str
    spark_scheme: str
    driver: str
    endpoints: tuple[str, ...]
    header_variables: tuple[str, ...]
    pair: tuple[str, ...]
    keys: tuple[str, ...]
    identity_urls: tuple[str, ...]
    identity_files: tuple[str, ...]


_AZURE = Store(
    "abfss",
    aliases=("abfs", "wasb", "wasbs"),
    # AZURITE_ configures the emulator, IDENTITY_ the managed identities of machines.
    variables=("AZURE_", "AZURITE_", "IDENTITY_"),
    credentials="set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY",
    spark_scheme="abfss",
    driver="org.apache.hadoop:hadoop-azure",
    endpoints=AZURE_ENDPOINTS,
    header_variables=(
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
        header_variables=("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", *S3_REGIONS),
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
        header_variables=("GOOGLE_BEARER_TOKEN",),
        pair=(),
        # The library opens the files regardless of other variables.
        keys=(),
        identity_urls=(),
        identity_files=("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"),
    ),
    _AZURE,
    # The address has no account; the environment names it.
    _AZURE._replace(scheme="az", aliases=("azure",)),
)
OF_SCHEME = {scheme: store for store in STORES for scheme in (store.scheme, *store.aliases)}


def first_set(names: tuple[str, ...], environment: Mapping[str, str]) -> str | None:
    """Return the value of the first non-blank variable; None if all are blank."""
    return next((value for name in names if (value := environment.get(name, "").strip())), None)


PROFILE = "AWS_PROFILE"
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE")


def selected_profile() -> str | None:
    """Return the AWS profile to use; None if unset or if keys are set."""
    return None if any(os.environ.get(name) for name in _KEYS) else os.environ.get(PROFILE) or None


def reads_profiles() -> bool:
    """Return True if AWS profiles can be read, which requires boto3."""
    return find_spec("boto3") is not None


def is_wrong_setting(error: Exception) -> bool:
    """Return True if boto3 refused its settings before it sent a request."""
    from botocore import exceptions

    wrong = (
        exceptions.BaseEndpointResolverError,
        exceptions.ConfigNotFound,
        exceptions.ConfigParseError,
        exceptions.InvalidConfigError,
        exceptions.PartialCredentialsError,
        exceptions.ProfileNotFound,
        exceptions.ValidationError,
    )
    # boto3 raises a plain ValueError for an endpoint that is not a URL.
    return isinstance(error, wrong) or type(error) is ValueError


def profile_options(root: str) -> dict[str, Any]:
    """Return obstore options for the AWS profile; empty without a profile or boto3.

    Raises WrongUse or StorageFailure if the profile gives no credentials.
    """
    name = selected_profile()
    if name is None or not reads_profiles():
        return {}
    from botocore.exceptions import BotoCoreError
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        provider = Boto3CredentialProvider()
    except (BotoCoreError, ValueError) as error:
        raise (WrongUse if is_wrong_setting(error) else StorageFailure)(
            f"{root}: {PROFILE}={name} gives no credentials ({error}); check ~/.aws/config and ~/.aws/credentials"
        ) from None
    region = first_set(("AWS_REGION",), os.environ)
    return {"credential_provider": provider} | ({} if region is None else {"region": region})


def profile_keys(root: str) -> dict[str, str]:
    """Return the current keys of the AWS profile.

    They include the session token if there is one. Empty if `profile_options` has no credentials. The keys of a role
    expire after a while.
    """
    provider = profile_options(root).get("credential_provider")
    credentials = {} if provider is None else provider()
    return {
        name: credentials[name] for name in ("access_key_id", "secret_access_key", "token") if credentials.get(name)
    }


# Includes `::`, so that chained URIs of fsspec are recognized and refused.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]*)://")
_BLOBS = ".blob."
# ARN of an access point as the bucket of an address. The name follows a slash or a colon.
ACCESS_POINT = re.compile(
    r"arn:[^:/]+:s3:(?P<region>[^:/]+):(?P<account>\d+):accesspoint[:/](?P<name>[a-z0-9-]+)", re.ASCII
)
_ARN_WITH_SLASH = re.compile(r"(?:[^/]*:(?:accesspoint|outpost)/)?[^/]*")


def scheme_of(table: str) -> str | None:
    """Return the scheme of a remote URI; None for local paths and `file:` URIs.

    >>> [scheme_of(path) for path in ("s3://b/t", "lake/t", "file:///t", "/t/a://b")]
    ['s3', None, None, None]
    """
    # The substring search settles local paths quickly: a table has many files.
    if "://" not in table or (match := _SCHEME.match(table)) is None:
        return None
    scheme = match[1].lower()
    return None if scheme == "file" else scheme


def address(table: str) -> str:
    """Return the canonical spelling of a path or URI.

    A URI gets the main scheme of its store; a local path stays a path.

    >>> [address(table) for table in ("s3a://lake/t", "S3N://lake/t", "file:///t", "lake/t")]
    ['s3://lake/t', 's3://lake/t', '/t', 'lake/t']
    >>> address("wasbs://lake@account.blob.core.windows.net/t")
    'abfss://lake@account.dfs.core.windows.net/t'
    """
    scheme = scheme_of(table)
    if scheme is None:
        return local_path(table)
    rest = table.partition("://")[2]
    bucket = bucket_of(table)
    below = rest[len(bucket) :]
    if scheme in {"wasb", "wasbs"}:
        bucket = bucket.replace(_BLOBS, ".dfs.", 1)
    elif bucket.startswith("arn:"):
        bucket = bucket.replace(":accesspoint:", ":accesspoint/", 1)
    store = OF_SCHEME.get(scheme)
    return f"{scheme if store is None else store.scheme}://{bucket}{below}"


def bucket_of(uri: str) -> str:
    """Return the bucket of a URI.

    The result is the host for a web server, and the ARN for an access point.

    >>> bucket_of("s3://lake/t"), bucket_of("s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/lake/t")
    ('lake', 'arn:aws:s3:eu-west-1:123456789012:accesspoint/lake')
    """
    rest = uri.partition("://")[2]
    if not rest.startswith("arn:"):
        return rest.partition("/")[0]
    match = _ARN_WITH_SLASH.match(rest)
    assert match is not None
    return match[0]


def root_of(uri: str) -> str:
    """Return the URI of an object's bucket, with a slash at the end."""
    return f"{uri.partition('://')[0]}://{bucket_of(uri)}/"


def is_remote(table: str) -> bool:
    """Return True if a path is a URI of remote storage."""
    return "://" in table and scheme_of(table) is not None


def local_path(table: str) -> str:
    """Convert a path or `file:` URI to a local path.

    Raises UnsupportedFeature for any other scheme.
    """
    scheme = scheme_of(table)
    if scheme is not None:
        raise UnsupportedFeature(
            f"{table}: only metadata are read from {scheme}://, by plan and check; use a local path here"
        )
    return unquote(urlsplit(table).path) if table[:5].lower() == "file:" else table
