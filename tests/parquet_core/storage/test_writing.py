"""Small files are written completely or not at all, and existing files are not replaced unless requested."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from emulated_stores import SETTINGS, STORES

from parquet_core.errors import PruneError, StorageFailure, UncertainWrite, UnsupportedFeature
from parquet_core.storage import (
    Traffic,
    find_file,
    needs_proof,
    objects,
    prove_create,
    prove_create_below,
    put,
    put_if_absent,
    read_whole,
)


def content(path):
    return next(read_whole([find_file(path)], purpose="log", traffic=Traffic()))


def names(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture(params=["local", *STORES])
def place(request, tmp_path):
    """A directory that does not exist yet, here and elsewhere."""
    root = tmp_path if request.param == "local" else request.getfixturevalue(request.param)
    return f"{root}/new/log"


@pytest.fixture
def impatient(monkeypatch):
    """A store that gives up after one more try."""
    soon = timedelta(milliseconds=1)
    monkeypatch.setitem(objects.RETRIES, "max_retries", 1)
    monkeypatch.setitem(objects.RETRIES, "backoff", {"init_backoff": soon, "max_backoff": soon, "base": 2})
    objects._open.cache_clear()
    yield
    objects._open.cache_clear()


@pytest.fixture(params=SETTINGS)
def server(request, web, impatient, store_at):
    """A store on a server that answers every request with one status; `uri` is of an object in it."""
    store_at(request.param, web.url)
    web.uri = f"{request.param}://b/t/1"
    return web


def test_the_first_writer_of_a_name_succeeds_and_the_second_does_not(place):
    assert put_if_absent(f"{place}/1.json", b"first")
    assert not put_if_absent(f"{place}/1.json", b"second")
    assert content(f"{place}/1.json") == b"first"


def test_of_many_writers_of_one_name_one_succeeds(place):
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda i: put_if_absent(f"{place}/1.json", b"%d" % i), range(16)))
    assert told.count(True) == 1
    assert content(f"{place}/1.json") == b"%d" % told.index(True)


def test_put_replaces_what_is_there(place):
    put(f"{place}/hint", b"first")
    put(f"{place}/hint", b"2")
    assert content(f"{place}/hint") == b"2"


def test_nothing_temporary_is_left(tmp_path):
    put_if_absent(str(tmp_path / "a"), b"1")
    put_if_absent(str(tmp_path / "a"), b"2")
    put(str(tmp_path / "b"), b"3")
    assert names(tmp_path) == ["a", "b"]


def test_a_file_uri_is_a_local_path(tmp_path):
    assert put_if_absent(f"file://{tmp_path}/a%20b", b"1")
    assert (tmp_path / "a b").read_bytes() == b"1"


def test_a_file_system_without_hard_links_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(UnsupportedFeature, match=r"a: this file system has no hard links, .* another file system"):
        put_if_absent(str(tmp_path / "a"), b"1")
    assert names(tmp_path) == []


def no_links(*arguments):
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("write", [put_if_absent, put])
def test_a_full_disk_leaves_nothing_and_is_certain(tmp_path, monkeypatch, write):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFailure, match=r"not written .No space left on device.; check the disk") as raised:
        write(str(tmp_path / "a"), b"1")
    assert not isinstance(raised.value, UncertainWrite)
    assert names(tmp_path) == []


def test_a_directory_that_cannot_be_flushed_leaves_doubt(tmp_path, monkeypatch):
    flush = os.fsync

    def broken(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(UncertainWrite, match="written, but its directory could not be flushed"):
        put_if_absent(str(tmp_path / "a"), b"1")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_a_file_system_that_flushes_no_directories_is_taken_as_it_is(tmp_path, monkeypatch):
    flush = os.fsync

    def partial(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", partial)
    assert put_if_absent(str(tmp_path / "a"), b"1")


@pytest.mark.parametrize("uri", ["http://127.0.0.1/t/a", "memory://t/a"])
def test_a_store_without_conditions_is_refused(uri):
    for write in (put_if_absent, put):
        with pytest.raises(UnsupportedFeature, match="cannot create a file only if"):
            write(uri, b"1")


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_server_that_fails_leaves_doubt(server, status):
    server.answers["*"] = status, b""
    for write in (put_if_absent, put):
        with pytest.raises(UncertainWrite, match=rf"{server.uri}: .*it is unknown whether the commit was written"):
            write(server.uri, b"1")


def test_a_server_that_does_not_implement_the_condition_is_named(server):
    server.answers["*"] = 501, b""
    for write in (lambda: put_if_absent(server.uri, b"1"), lambda: prove_create(server.uri, b"1")):
        with pytest.raises(UnsupportedFeature, match=r"://b/: the store does not implement the condition"):
            write()
    assert needs_proof(server.uri)


@pytest.mark.parametrize("status", [500, 403])
def test_a_proof_that_fails_leaves_no_doubt_about_a_commit(server, status):
    server.answers["*"] = status, b""
    with pytest.raises(StorageFailure, match=server.uri) as raised:
        prove_create(server.uri, b"1")
    assert not isinstance(raised.value, UncertainWrite)
    assert needs_proof(server.uri)


def test_a_local_file_needs_no_proof(tmp_path):
    assert not needs_proof(str(tmp_path))
    prove_create_below(str(tmp_path))
    assert names(tmp_path) == []


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_server_that_refuses_leaves_none(server, status):
    server.answers["*"] = status, b""
    for write in (put_if_absent, put):
        with pytest.raises(PruneError, match=server.uri) as raised:
            write(server.uri, b"1")
        assert not isinstance(raised.value, UncertainWrite)


class OneAfterTheOther:
    """Answers of a server that changes its mind."""

    def __init__(self, *statuses):
        self.statuses = iter(statuses)

    def get(self, path, otherwise=None):
        return (next(self.statuses), b"") if path == "*" else otherwise


def test_a_refusal_after_a_failure_leaves_doubt(server):
    server.answers = OneAfterTheOther(500, 403)
    with pytest.raises(UncertainWrite):
        put_if_absent(server.uri, b"1")


@pytest.mark.parametrize("status", [409, 412])
def test_a_conflict_is_no_error(server, status):
    server.answers["*"] = status, b""
    assert not put_if_absent(server.uri, b"1")


def test_a_server_that_is_not_there_was_not_asked(server, store_at, monkeypatch):
    store_at(server.uri.partition(":")[0], "http://127.0.0.1:1")
    monkeypatch.setitem(objects.RETRIES, "max_retries", 0)
    objects._open.cache_clear()
    with pytest.raises(StorageFailure, match="check the network and the endpoint") as raised:
        put_if_absent(server.uri, b"1")
    assert not isinstance(raised.value, UncertainWrite)


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from parquet_core.storage import put_if_absent
real = os.{call}
def deadly(*arguments, **more):
    if {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    real(*arguments, **more)
    os.kill(os.getpid(), signal.SIGKILL)
os.{call} = deadly
put_if_absent({path!r}, b"whole")
"""


@pytest.mark.parametrize(
    ("call", "before", "there"),
    [("fsync", True, False), ("fsync", False, False), ("link", True, False), ("link", False, True)],
)
def test_killed_on_the_way_it_is_there_whole_or_not_at_all(tmp_path, call, before, there):
    path = tmp_path / "00000000000000000001.json"
    script = KILLED.format(root=str(Path(__file__).parents[3]), call=call, before=before, path=str(path))
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -9
    assert path.exists() == there
    if there:
        assert path.read_bytes() == b"whole"
    left = [name for name in names(tmp_path) if name != path.name]
    assert len(left) == 1
    assert left[0].startswith(".")
    assert left[0].endswith(".tmp")
    assert put_if_absent(str(path), b"again") != there
