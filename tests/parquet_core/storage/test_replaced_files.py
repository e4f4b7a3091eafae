"""Bytes of a local file come from the file that was listed, or the reader raises StaleListing."""

from __future__ import annotations

import os

import numpy as np
import pytest

from parquet_core.errors import StaleListing
from parquet_core.storage import (
    Ranges,
    Traffic,
    find_file,
    gather,
    list_data_files,
    local,
    read_many,
    read_range,
    read_whole,
)

LISTED, OTHER = b"a" * 1000, b"b" * 1000


def by_rename(path):
    """Replace the file by another one with the same size and modification time."""
    status = path.stat()
    other = path.with_name(".other")
    other.write_bytes(OTHER)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


def in_place(path):
    """Overwrite the bytes and restore the modification time, as `rsync --inplace --times` does."""
    status = path.stat()
    with path.open("r+b") as file:
        file.write(OTHER)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def by_longer(path):
    other = path.with_name(".other")
    other.write_bytes(OTHER + OTHER)
    other.replace(path)


def deleted(path):
    path.unlink()


def one_range(files):
    return read_range(files[0], 5, 5, purpose="x", traffic=Traffic())


def distant_ranges(files):
    return read_many([(file, [(0, 5), (900, 5)]) for file in files], purpose="x", traffic=Traffic())


def whole_files(files):
    return list(read_whole(files, purpose="x", traffic=Traffic()))


def gathered(files):
    count = len(files)
    ranges = Ranges(np.arange(count), np.zeros(count, np.int64), np.full(count, 5))
    return gather(files, ranges, counts=[count], purpose="x", traffic=Traffic())


READS = (one_range, distant_ranges, whole_files, gathered)


@pytest.fixture(params=["compiled", "python"])
def form(request, monkeypatch):
    if request.param == "compiled" and local.system_calls is None:
        pytest.skip("there was no compiler, or no POSIX")
    if request.param == "python":
        monkeypatch.setattr(local, "system_calls", None)


@pytest.fixture
def files(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.parquet").write_bytes(LISTED)
    return list_data_files(tmp_path)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("change", [by_rename, in_place, by_longer, deleted])
def test_a_file_that_was_replaced_since_the_listing_is_not_read(tmp_path, form, files, change, read):
    change(tmp_path / "0.parquet")
    with pytest.raises(StaleListing, match=r"0\.parquet: (the file changed|No such file).*; list the table again"):
        read(files)


@pytest.mark.parametrize("read", READS)
def test_a_file_that_is_as_listed_is_read(form, files, read):
    read(files)


def test_a_file_beside_remote_ones_is_compared_too(tmp_path, files, memory, put):
    put(f"{memory}/x", LISTED)
    by_rename(tmp_path / "0.parquet")
    wanted = [(find_file(f"{memory}/x"), [(0, 5)]), (files[0], [(0, 5)])]
    with pytest.raises(StaleListing, match=r"0\.parquet: the file changed"):
        read_many(wanted, purpose="x", traffic=Traffic())


def test_bytes_that_arrive_early_are_of_listed_files(tmp_path, form, files):
    """`gather` returns no bytes of a replaced file, not even before it raises."""
    by_rename(tmp_path / "1.parquet")
    ranges, told = Ranges(np.arange(3), np.zeros(3, np.int64), np.full(3, 5)), []
    with pytest.raises(StaleListing):
        gather(files, ranges, counts=[3], purpose="x", traffic=Traffic(), arrived=lambda _, count: told.append(count))
    assert max(told, default=0) <= 1
