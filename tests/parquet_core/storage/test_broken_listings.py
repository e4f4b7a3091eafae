"""A listing that breaks off is requested again, and its partial result is discarded."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import count

import lossy_proxy
import pytest

from parquet_core.errors import StorageFailure
from parquet_core.storage import list_data_files, list_directory, objects

BEHIND = {"s3": "moto_url", "azure": "azurite_url", "gcs": "gcs_server"}


@pytest.fixture(params=BEHIND)
def proxy(request, store_at, put, monkeypatch):
    """A proxy before a store that holds a table of three files."""
    root = request.getfixturevalue(request.param)
    behind = request.getfixturevalue(BEHIND[request.param])
    soon = timedelta(milliseconds=1)
    monkeypatch.setitem(objects.RETRIES, "max_retries", 2)
    monkeypatch.setitem(objects.RETRIES, "backoff", {"init_backoff": soon, "max_backoff": soon, "base": 2})
    objects._open.cache_clear()
    with lossy_proxy.running(getattr(behind, "url", behind)) as proxy:
        store_at(root.partition(":")[0], proxy.url)
        proxy.table = f"{root}/t"
        for i in range(3):
            put(f"{proxy.table}/{i}.parquet", b"1234")
        proxy.requests.clear()
        yield proxy
    objects._open.cache_clear()


def all_below(table):
    return list_data_files(table)


def directly_in(table):
    return list_directory(table, re.compile(".*"))


LISTINGS = (all_below, directly_in)


def is_listing(path):
    return "prefix=" in path


@pytest.mark.parametrize("listing", LISTINGS)
@pytest.mark.parametrize("times", [1, 2])
def test_a_listing_that_breaks_off_is_asked_for_again(proxy, listing, times):
    broken = count()
    proxy.breaks = lambda method, path: is_listing(path) and next(broken) < times
    assert [file.path[-9:] for file in listing(proxy.table)] == ["0.parquet", "1.parquet", "2.parquet"]
    assert next(broken) > times


def test_a_listing_that_always_breaks_off_is_an_error(proxy):
    proxy.breaks = lambda method, path: is_listing(path)
    for listing in LISTINGS:
        proxy.requests.clear()
        with pytest.raises(StorageFailure, match="list response"):
            listing(proxy.table)
    assert sum(is_listing(path) for _, path in proxy.requests) == 3


def test_a_listing_that_is_refused_is_not_asked_for_again(web, store_at):
    store_at("s3", web.url)
    web.answers["*"] = 403, b""
    objects._open.cache_clear()
    with pytest.raises(StorageFailure, match="access denied"):
        directly_in("s3://b/t")
    assert len(web.asked) == 1
