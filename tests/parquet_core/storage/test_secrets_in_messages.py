"""Secrets in URLs never appear in messages, remedies, logs, reports or job names."""

from __future__ import annotations

import pytest

import deltalog.errors
import prune_assets.errors
from parquet_core.errors import PruneError, StorageFailure
from parquet_core.printable import redacted
from parquet_core.storage import find_file
from parquet_core.storage.failures import explaining

SECRET = "hunter2"
ADDRESSES = [
    *(f"{scheme}://bob:{SECRET}@host/lake/t.parquet" for scheme in ("s3", "s3a", "s3n", "gs", "az", "ftp", "hdfs")),
    *(f"{scheme}://{SECRET}:x@host/lake/t.parquet" for scheme in ("s3", "http", "https", "ftp", "sftp")),
    f"s3://AKIA:ab/{SECRET}+c/d@bucket/t.parquet",
    f"abfss://lake:{SECRET}@account.dfs.core.windows.net/t.parquet",
    f"wasbs://lake@account.blob.core.windows.net/t.parquet?sv=2024&sig={SECRET}%3D",
    f"az://lake/t.parquet?sig={SECRET}",
    f"https://host/t.parquet?X-Amz-Credential=a&X-Amz-Signature={SECRET}",
    f"https://host/t.parquet?X-Goog-Signature={SECRET}",
    f"https://bob:{SECRET}@host:8443/t.parquet?sig={SECRET}",
    f"http://host/t.parquet?token={SECRET}",
    f"jdbc:postgresql://host/db?user=bob&password={SECRET}",
    f"jdbc:sqlserver://host:1433;database=t;password={SECRET}",
    f"sc://host:15002/;use_ssl=true;token={SECRET}",
    # As a Path spells an address.
    f"s3:/bob:{SECRET}@bucket/t.parquet",
    f"s3:/AKIA:ab/{SECRET}+c/d@bucket/t.parquet",
    f"abfss:/lake:{SECRET}@account.dfs.core.windows.net/t.parquet",
    f"https:/host/t.parquet?X-Amz-Credential=a&X-Amz-Signature={SECRET}",
]
# Exceptions of storage libraries, with the parts of a URL that they contain.
PROBLEMS = [
    FileNotFoundError("{}"),
    PermissionError("{}"),
    ImportError("{} needs a package"),
    ValueError("Protocol not known: {}"),
    OSError("{} answered"),
    OSError("error sending request for url ({})"),
    OSError("builder error: {}"),
    OSError("Account must be specified: {}"),
    OSError("redirect to {}"),
    OSError("status code: 403 Forbidden, {}"),
    OSError("NoSuchBucket {}"),
    OSError("Could not parse path {}"),
    OSError("<Code>Denied</Code><Message>{}</Message>"),
    OSError("GET {query}: timed out"),
    OSError(""),
]


def all_errors(kind=PruneError):
    yield kind
    for child in kind.__subclasses__():
        yield from all_errors(child)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_error_holds_a_secret(address):
    kinds = set(all_errors())
    assert {deltalog.errors.MalformedLog, prune_assets.errors.PredicateSyntaxError} < kinds
    for kind in kinds:
        for text in (f"{address}: denied; check {address}", f"cannot read '{address}'", f"({address})"):
            assert SECRET not in str(kind(text)), kind


@pytest.mark.parametrize("address", ADDRESSES)
def test_neither_what_a_library_says_nor_the_next_step_holds_a_secret(address):
    query = address.partition("?")[1] + address.partition("?")[2]
    for problem in PROBLEMS:
        with pytest.raises(PruneError) as error, explaining(address):
            raise type(problem)(str(problem).replace("{query}", query).replace("{}", address))
        assert SECRET not in str(error.value), problem
        named = [place for place in ("host", "lake", "bucket", "account") if place in str(error.value)]
        assert named, f"{problem!r}: else nobody knows where"


def test_the_remedy_names_the_host_alone():
    with (
        pytest.raises(StorageFailure, match=r"check that host exists and can be reached$"),
        explaining("ftp://bob:hunter2@host/t"),
    ):
        raise OSError("no answer")


@pytest.mark.parametrize(
    "text",
    [
        "abfss://lake@account.dfs.core.windows.net/t: token = 5 matches nothing",
        "predicate: token=5 AND password <> 'x'",
        "http://host:8080/lake/a@b.parquet: the object is gone",
        "s3://bucket/day=2024-01-01/key=5/t.parquet",
    ],
)
def test_what_is_no_secret_is_shown(text):
    assert redacted(text) == text


@pytest.mark.parametrize("scheme", ["ftp", "sftp"])
def test_a_failed_look_at_an_address_holds_no_secret(scheme):
    with pytest.raises(PruneError) as error:
        find_file(f"{scheme}://bob:{SECRET}@127.0.0.1:1/t.parquet")
    assert SECRET not in str(error.value)
