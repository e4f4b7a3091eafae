"""Odd values of the environment variables of stores: unset if blank, otherwise refused by name; never a panic."""

from __future__ import annotations

import os

import obstore
import pytest

from parquet_core.errors import PruneError, StorageFailure, UncertainWrite, WrongUse
from parquet_core.storage import list_data_files
from parquet_core.storage.connection import Connection
from parquet_core.storage.failures import explaining
from parquet_core.storage.object_writing import ObjectWriter
from parquet_core.storage.objects import Bucket
from parquet_core.storage.stores import STORES

DATA = b"x" * 1000
S3 = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
AZURE = {"AZURE_STORAGE_ACCOUNT_NAME": "acc", "AZURE_STORAGE_ACCOUNT_KEY": "YWJj", "AZURE_ALLOW_HTTP": "true"}
GOOGLE = {"GOOGLE_SKIP_SIGNATURE": "true", "GOOGLE_ALLOW_HTTP": "true"}
ENDPOINTS = {"s3": "AWS_ENDPOINT_URL", "az": "AZURE_STORAGE_ENDPOINT", "gs": "GOOGLE_BASE_URL"}
SETTINGS = {"s3": S3, "az": AZURE, "gs": GOOGLE}
KEYS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", *(name for store in STORES for name in store.keys)}
URLS = sorted({name for store in STORES for name in (*store.endpoints, *store.identity_urls)})
FILES = sorted({name for store in STORES for name in store.identity_files})
SCHEMES = {"AWS": "s3", "AZURE": "az", "AZURITE": "az", "GOOGLE": "gs"}


@pytest.fixture
def listed(web, clean_environment):
    """A function that lists a table of a scheme on a server of the loopback, with changes of the environment."""
    web.files = {"/b/t/a": DATA}
    web.headers = {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}

    def files(scheme, *, keys=True, **changes):
        for name, value in ({ENDPOINTS[scheme]: web.url} | SETTINGS[scheme] | changes).items():
            if keys or name not in KEYS:
                clean_environment.setenv(name, value)
        return [file.size for file in list_data_files([f"{scheme}://b/t/a"])]

    return files


# Variables that a container sets to an empty string, as with `AWS_ENDPOINT_URL=${AWS_ENDPOINT_URL:-}`.
BLANK = [
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
    "AWS_SKIP_SIGNATURE",
    "AWS_UNSIGNED_PAYLOAD",
    "AWS_CHECKSUM_ALGORITHM",
    "AWS_S3_EXPRESS",
    "AWS_METADATA_ENDPOINT",
    "AWS_PROFILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ENDPOINT_URL_STS",
    "AWS_COPY_IF_NOT_EXISTS",
    "AWS_CONDITIONAL_PUT",
    "AWS_DISABLE_TAGGING",
    "AWS_REQUEST_PAYER",
    "AWS_SERVER_SIDE_ENCRYPTION",
    "AWS_TIMEOUT",
    "AWS_CONNECT_TIMEOUT",
    "AWS_PROXY_URL",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_USE_EMULATOR",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_TOKEN",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "AZURE_AUTHORITY_HOST",
    "AZURE_MSI_ENDPOINT",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_SKIP_SIGNATURE",
    "AZURE_DISABLE_TAGGING",
    "AZURE_USE_AZURE_CLI",
    "AZURE_TIMEOUT",
    "AZURE_PROXY_URL",
    "AZURE_CREDENTIAL_TYPE",
    "AZURITE_BLOB_STORAGE_URL",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_BEARER_TOKEN",
    "GOOGLE_TIMEOUT",
]


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("name", BLANK)
def test_a_blank_variable_is_as_if_it_were_not_set(listed, name, blank):
    assert listed(SCHEMES[name.partition("_")[0]], **{name: blank}) == [1000]
    assert os.environ[name] == blank


def test_a_blank_endpoint_is_that_of_amazon(clean_environment, impatient_stores):
    for name, value in (S3 | {"AWS_ENDPOINT_URL": "", "AWS_PROXY_URL": "http://127.0.0.1:9"}).items():
        clean_environment.setenv(name, value)
    with pytest.raises(StorageFailure, match="cannot be reached"):
        list_data_files("s3://b/t")


@pytest.mark.parametrize(
    "value", ["localhost:9000", "minio", "//minio:9000", "http://", "http://a b", "http://h:99999"]
)
@pytest.mark.parametrize("name", URLS)
def test_a_url_without_its_parts_is_named(listed, capfd, name, value):
    scheme = SCHEMES[name.partition("_")[0]]
    with pytest.raises(WrongUse, match=rf"^{scheme}://b/: {name}=.* is not a URL; write "):
        listed(scheme, keys=False, **{name: value})
    assert "panicked" not in capfd.readouterr().err


def test_the_url_to_write_is_shown(listed):
    with pytest.raises(
        WrongUse, match=r"AWS_ENDPOINT_URL=minio:9000 is not a URL; write http://minio:9000 or https://"
    ):
        listed("s3", AWS_ENDPOINT_URL="minio:9000")


@pytest.mark.parametrize("name", sorted({name for store in STORES for name in store.header_variables}))
def test_a_line_break_of_a_secret_is_named_and_not_shown(listed, capfd, name):
    with pytest.raises(
        WrongUse, match=rf"{name} has a line break or another control character; set it without this character"
    ) as caught:
        listed(SCHEMES[name.partition("_")[0]], **{name: "ab/secret\n"})
    assert "secret" not in str(caught.value).replace(name, "").lower()
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("value", ["/no/such/file", "."])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_none_is_named(listed, name, value):
    with pytest.raises(WrongUse, match=rf"{name}={value}: (no such file|is a directory)"):
        listed(SCHEMES[name.partition("_")[0]], keys=False, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_ALLOW_HTTP", "garbage"),
        ("AWS_SKIP_SIGNATURE", "no, thanks"),
        ("AWS_CHECKSUM_ALGORITHM", "md4"),
        ("AWS_CONDITIONAL_PUT", "sometimes"),
        ("AWS_TIMEOUT", "soon"),
        ("AWS_SERVER_SIDE_ENCRYPTION", "rot13"),
        ("AZURE_ALLOW_HTTP", "garbage"),
        ("AZURE_CREDENTIAL_TYPE", "charm"),
        ("GOOGLE_TIMEOUT", "later"),
    ],
)
def test_a_value_that_the_library_refuses_is_named(listed, name, value):
    with pytest.raises(WrongUse, match=rf"; check {name}$") as caught:
        listed(SCHEMES[name.partition("_")[0]], **{name: value})
    assert value in str(caught.value)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"AWS_ACCESS_KEY_ID": "any"}, "AWS_SECRET_ACCESS_KEY"),
        ({"AWS_SECRET_ACCESS_KEY": "any"}, "AWS_ACCESS_KEY_ID"),
        ({"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": ""}, "AWS_SECRET_ACCESS_KEY"),
        ({"AZURE_STORAGE_ACCOUNT_KEY": "YWJj"}, "AZURE_STORAGE_ACCOUNT_NAME"),
    ],
)
def test_half_of_a_pair_is_wrong_use(clean_environment, given, missing):
    scheme = "s3" if missing.startswith("AWS") else "az"
    for name, value in given.items():
        clean_environment.setenv(name, value)
    with pytest.raises(WrongUse, match=rf"^{scheme}://b/: .*set {missing}"):
        list_data_files(f"{scheme}://b/t")


# Google's library opens its files whatever else is set.
IDENTITIES = sorted({name for store in STORES if store.keys for name in (*store.identity_urls, *store.identity_files)})


@pytest.mark.parametrize("name", IDENTITIES)
def test_who_gives_credentials_does_not_matter_where_there_are_some(listed, name):
    assert listed(SCHEMES[name.partition("_")[0]], **{name: "nonsense"}) == [1000]


def test_no_panic_of_a_library_passes(clean_environment):
    for name, value in S3.items():
        clean_environment.setenv(name, value)
    store = obstore.store.S3Store("b", endpoint="localhost:9000")
    with pytest.raises(PruneError, match=r"^s3://b/t: .*; check the endpoint"), explaining("s3://b/t"):
        obstore.head(store, "t")


@pytest.mark.parametrize("write", [ObjectWriter.put, ObjectWriter.put_if_absent])
def test_no_panic_passes_a_write(clean_environment, write):
    for name, value in S3.items():
        clean_environment.setenv(name, value)
    store = obstore.store.S3Store("b", endpoint="localhost:9000")
    writer = ObjectWriter(Bucket("s3://b/", Connection("s3://b/", store, lambda: store), {}))
    with pytest.raises(UncertainWrite, match=r"^s3://b/t: the library of the store failed"):
        write(writer, "s3://b/t", b"1")


def test_an_interrupt_passes():
    with pytest.raises(KeyboardInterrupt), explaining("s3://b/t"):
        raise KeyboardInterrupt
