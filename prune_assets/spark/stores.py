"""Object stores in Spark: spelling of addresses, exchange of credentials, and plain errors.

For S3, the planner and Spark exchange the settings that one of them has: credentials, endpoint and region, each
separately. The planner uses the environment first, then the session's `fs.s3a.*`. Spark gets the settings that the
session lacks as options of one read or write; the session is not changed. Hadoop keeps one client per bucket as long
as Java runs, so the options of the first access to a bucket also apply to later ones.
"""

from __future__ import annotations

import os
import re
import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from parquet_core.errors import StorageFailure, TableNotFound, UnsupportedFeature, WrongUse
from parquet_core.storage import address, is_remote
from parquet_core.storage.stores import (
    AZURE_ENDPOINTS,
    OF_SCHEME,
    S3_ENDPOINTS,
    S3_REGIONS,
    S3_VIRTUAL,
    STORES,
    bucket_of,
    first_set,
    profile_keys,
    selected_profile,
)
from prune_assets.spark.drivers import missing_driver
from prune_assets.spark.spark_versions import java_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrameReader, SparkSession

    Table = str | os.PathLike[str] | Sequence[str]

_SKIP = "AWS_SKIP_SIGNATURE"
# ASCII characters that Java's URI does not encode in a path.
_LEGAL = "_-!.~'()*,;:$&+=/@"
_IDENTITIES = (
    "AWS_ACCESS_KEY_ID",
    _SKIP,
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_KEYS = {"access.key": "access_key_id", "secret.key": "secret_access_key", "session.token": "session_token"}
_PROVIDER = "aws.credentials.provider"
_ANONYMOUS = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
# The provider that uses the keys of options; Hadoop's default chain includes it.
_OF_KEYS = "SimpleAWSCredentialsProvider"
_AMAZON = re.compile(r"s3[.-](?:([a-z0-9-]+)\.)?amazonaws\.com")

_NO_DRIVER = re.compile(r"ClassNotFoundException: Class (\S+FileSystem\S*) not found|No FileSystem for scheme")
_NO_CLASS = re.compile(r"NoClassDefFoundError: (software/amazon\S*)")
_NO_BUCKET = re.compile(r"NoSuchBucket|UnknownStoreException|bucket does not exist|FilesystemNotFound", re.IGNORECASE)
_DENIED = re.compile(
    r"AccessDeniedException|Status Code: 40[13]|InvalidAccessKeyId|SignatureDoesNotMatch|NoAuthWithAWSException"
    r"|No AWS Credentials|AuthorizationFailure|403 Forbidden"
)
# Excludes the request number and other details that only help Amazon.
_ANSWER = re.compile(r"(?<=Exception: )[^\n:(]{1,200}\(Service: \w+, Status Code: \d+(?=,)")


def spark_uri(path: str) -> str:
    """Return the URI of a directory or file for Spark, which uses Hadoop's schemes.

    >>> spark_uri("s3://lake/orders"), spark_uri("wasbs://lake@a.blob.core.windows.net/t"), spark_uri("/lake/a b")
    ('s3a://lake/orders', 'abfss://lake@a.dfs.core.windows.net/t', 'file:/lake/a b')

    Raises WrongUse for an `az://` path without an account, and UnsupportedFeature for the ARN of an access point.
    """
    if not is_remote(path):
        return f"file:{absolute(path)}"
    scheme, rest = address(path).split("://", 1)
    if rest.startswith("arn:"):
        raise UnsupportedFeature(
            f"{path}: Spark reads no ARN; write the alias of the access point, s3://NAME-..-s3alias/.., or the bucket"
        )
    store = OF_SCHEME.get(scheme)
    spark_scheme = scheme if store is None else store.spark_scheme
    return _insert_account(path, rest) if spark_scheme == "abfss" else f"{spark_scheme}://{rest}"


def file_uri(path: str) -> str:
    """Return the value of Spark's `_metadata.file_path` for a file.

    >>> file_uri("/lake/a b%[1].parquet")
    'file:/lake/a%20b%25%5B1%5D.parquet'
    >>> file_uri("s3://lake/a b%20/é.parquet")
    's3a://lake/a%20b%2520/é.parquet'
    """
    return "".join(_encoded(letter) for letter in spark_uri(path))


def _encoded(letter: str) -> str:
    if not letter.isascii() and unicodedata.category(letter) not in {"Cc", "Zs", "Zl", "Zp"}:
        return letter
    return quote(letter, safe=_LEGAL)


def _insert_account(path: str, rest: str) -> str:
    container, slash, below = rest.partition("/")
    if "@" in container:
        return f"abfss://{rest}"
    account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
    if not account:
        raise WrongUse(
            f"{path}: Spark needs the name of the storage account; set AZURE_STORAGE_ACCOUNT_NAME, or write "
            f"abfss://{container}@ACCOUNT.dfs.core.windows.net{slash}{below}"
        )
    return f"abfss://{container}@{_host_of(account)}{slash}{below}"


def _host_of(account: str) -> str:
    """Return the host name of an Azure storage account.

    The host is in the cloud of the endpoint in the environment; without an endpoint, in the public cloud.
    """
    named = urlsplit(first_set(AZURE_ENDPOINTS, os.environ) or "").hostname or ""
    if named.startswith(f"{account}.blob."):
        return named.replace(".blob.", ".dfs.", 1)
    return f"{account}.dfs.core.windows.net"


def absolute(path: str) -> str:
    """Return an absolute path or URI, which does not depend on the working directory of Spark's Java."""
    return spark_uri(path) if is_remote(path) else os.path.abspath(path)  # noqa: PTH100 - it takes `..` away


def reach_as(session: SparkSession, table: Table, allow: Sequence[str] = ()) -> None:
    """Let reads outside of Spark use a session's store settings.

    The settings apply to the buckets of `table` and of `allow`, until another session is given. Settings in the
    environment take precedence.
    """
    from parquet_core.storage.objects import reach_as_session

    named = [table] if isinstance(table, str | os.PathLike) else table
    paths = {os.fspath(path) for path in (*named, *allow)}
    for bucket in {bucket for path in paths if (bucket := _bucket(path))}:
        reach_as_session(f"s3://{bucket}", _options_of_obstore(_setting(session, bucket), bucket))


def reader_of(session: SparkSession, table: Table) -> DataFrameReader:
    """Return a reader of the session, with the settings of the table's store that the session lacks."""
    named = [table] if isinstance(table, str | os.PathLike) else table
    first = os.fspath(next(iter(named), ""))
    return session.read.options(**options_for(session, first)) if _bucket(first) else session.read


def options_for(session: SparkSession, path: str) -> dict[str, str]:
    """Return store settings that the session lacks for the bucket of a path.

    They come from the environment or an AWS profile.
    """
    bucket = _bucket(path)
    if bucket is None:
        return {}
    has = _setting(session, bucket)
    options = dict[str, str]()
    if not _has_identity(has):
        options |= _own_identity(path)
    if not has("endpoint") and (endpoint := _first(S3_ENDPOINTS)):
        virtual = os.environ.get(S3_VIRTUAL, "").lower() in {"1", "true"}
        options["endpoint"] = endpoint.replace(f"://{bucket}.", "://", 1) if virtual else endpoint
        options["path.style.access"] = "false" if virtual else "true"
    if not has("endpoint.region") and (region := _first(S3_REGIONS)):
        options["endpoint.region"] = region
    return {f"fs.s3a.{name}": value for name, value in options.items()}


def _first(names: tuple[str, ...]) -> str | None:
    return first_set(names, os.environ)


def _bucket(path: str) -> str | None:
    """Return the bucket of an S3 address; None for any other place."""
    if not is_remote(path) or not (rest := address(path)).startswith("s3://"):
        return None
    return bucket_of(rest)


def _setting(session: SparkSession, bucket: str) -> Callable[[str], str | None]:
    """Return a function that reads an `fs.s3a` setting.

    A setting of the bucket takes precedence over the setting of all buckets.
    """
    java: Any = getattr(session, "_jsparkSession", None)
    if java is None:
        # A Spark Connect server reports its start options, but not the settings of its Hadoop files.
        def get(name: str) -> str | None:
            return session.conf.get(name, None) or session.conf.get(f"spark.hadoop.{name}", None)

    else:
        get = java.sessionState().newHadoopConf().get
    return lambda name: get(f"fs.s3a.bucket.{bucket}.{name}") or get(f"fs.s3a.{name}") or None


def _has_identity(has: Callable[[str], str | None]) -> bool:
    return bool(has("access.key")) or _OF_KEYS not in (has(_PROVIDER) or _OF_KEYS)


def _own_identity(root: str) -> dict[str, str]:
    if os.environ.get("AWS_ACCESS_KEY_ID"):
        return {name: value for name in _KEYS if (value := os.environ.get(f"AWS_{_KEYS[name].upper()}"))}
    if os.environ.get(_SKIP, "").lower() in {"1", "true"}:
        return {_PROVIDER: _ANONYMOUS}
    return {} if selected_profile() is None else dict(zip(_KEYS, profile_keys(root).values(), strict=False))


def _options_of_obstore(has: Callable[[str], str | None], bucket: str) -> dict[str, str]:
    options = dict[str, str]()
    if _first(_IDENTITIES) is None:
        if has("access.key"):
            options |= {ours: value for name, ours in _KEYS.items() if (value := has(name))}
        elif _ANONYMOUS in (has(_PROVIDER) or "") and _has_identity(has):
            options["skip_signature"] = "true"
    endpoint, region = has("endpoint") or "", has("endpoint.region")
    amazon = _AMAZON.search(endpoint)
    if endpoint and amazon is None and _first(S3_ENDPOINTS) is None:
        options |= _endpoint(endpoint, bucket, has)
    if (region := region or (amazon and amazon[1])) and _first(S3_REGIONS) is None:
        options["region"] = region
    return options


def _endpoint(endpoint: str, bucket: str, has: Callable[[str], str | None]) -> dict[str, str]:
    if "://" not in endpoint:
        endpoint = f"http{'' if has('connection.ssl.enabled') == 'false' else 's'}://{endpoint}"
    if has("path.style.access") == "true":
        return {"endpoint": endpoint, "virtual_hosted_style_request": "false"}
    return {"endpoint": endpoint.replace("://", f"://{bucket}.", 1), "virtual_hosted_style_request": "true"}


def check_reach(session: SparkSession, path: str) -> None:
    """Make Spark access a path in a store, so that a failure shows before anything is computed or written.

    Raises UnsupportedFeature if a driver is missing, TableNotFound without a bucket, and StorageFailure.
    """
    java: Any = getattr(session, "_jsparkSession", None)
    if java is None or not is_remote(path):
        return
    with explaining(session, path):
        conf = java.sessionState().newHadoopConf()
        for name, value in options_for(session, path).items():
            conf.set(name, value)
        rest = session._jvm.org.apache.hadoop.fs.Path(spark_uri(path))  # type: ignore[union-attr]  # noqa: SLF001
        rest.getFileSystem(conf).exists(rest)


@contextmanager
def explaining(session: SparkSession, path: str) -> Iterator[None]:
    """Convert Spark's errors about an unreachable store into one-line errors; other errors pass unchanged."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, java_error()) as error:
        explained = _explained(session, path, str(error)) if is_remote(path) else None
        if explained is None:
            raise
        raise explained from error


def _explained(session: SparkSession, path: str, message: str) -> Exception | None:
    if _NO_DRIVER.search(message) or _NO_CLASS.search(message):
        return UnsupportedFeature(f"{path}: {_remedy(session, path)}")
    bucket = bucket_of(path)
    if _NO_BUCKET.search(message):
        return TableNotFound(f"{path}: Spark finds no bucket {bucket!r}; check its name and the endpoint")
    if (denial := _DENIED.search(message)) is not None:
        answer = _ANSWER.search(message)
        shown = denial[0] if answer is None else f"{answer[0]})"
        return StorageFailure(
            f"{path}: Spark was denied access ({shown}); check the permissions, or give the "
            "session other credentials (spark.hadoop.fs.s3a.access.key and secret.key for S3)"
        )
    return None


def _remedy(session: SparkSession, path: str) -> str:
    scheme = spark_uri(path).partition("://")[0]
    store = next((store for store in STORES if store.spark_scheme == scheme), None)
    if store is None:
        return f"this Spark has no driver for {scheme}://; start it with the jar of one (spark.jars)"
    java: Any = getattr(session, "_jvm", None)
    version = None if java is None else java.org.apache.hadoop.util.VersionInfo.getVersion()
    return missing_driver(store, version)
