"""Listing of one directory, hidden names included: of logs and manifests, not of data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parquet_core.storage import local
from parquet_core.storage.ranges import read_each
from parquet_core.storage.remote import remote_of
from parquet_core.storage.schemes import is_remote, local_path

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from parquet_core.storage.files import DataFile, Traffic


def list_directory(path: str | os.PathLike[str], wanted: re.Pattern[str]) -> list[DataFile]:
    """List the files directly in a directory whose names match, sorted by path; none when there is no directory."""
    name = os.fspath(path)
    if is_remote(name):
        files = remote_of(name).children(name.rstrip("/") + "/", wanted)[1]
    else:
        files = local.children(local_path(name).rstrip("/") + "/", wanted)[1]
    return sorted(files, key=lambda file: file.path)


def find_file(path: str) -> DataFile | None:
    """Look a file up; None when there is none of exactly this name."""
    return remote_of(path).find(path) if is_remote(path) else local.find(local_path(path))


def read_whole(files: Sequence[DataFile], *, purpose: str, traffic: Traffic) -> Iterator[bytes]:
    """Read whole files, in order; of remote ones many at once. Raises what `read_each` does."""
    for answers in read_each([(file, [(0, file.size)]) for file in files], purpose=purpose, traffic=traffic):
        yield answers[0]
