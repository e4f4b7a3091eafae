"""The size of a cache is known without a look at its files, and is never known too small."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from parquet_core.dataset import cache_size
from parquet_core.dataset.cache_size import UNIT, count_written, most_bytes_of, scan
from parquet_core.dataset.metadata_cache import MetadataCache


@pytest.fixture
def scans(monkeypatch):
    """Count the looks at all files of a cache."""
    found, entries = [], MetadataCache._entries

    def counted(cache):
        found.append(cache)
        return entries(cache)

    monkeypatch.setattr(MetadataCache, "_entries", counted)
    return found


def write(cache, name, rows=1000):
    """Keep some bytes, as a plan does, and make room."""
    cache.of_table(name).write("what", "g", {"numbers": np.arange(rows)})
    cache.make_room()


def size_of(cache):
    return sum(path.stat().st_size for path in cache.directory.rglob("*.arrow"))


def test_a_write_into_a_cache_of_many_files_looks_at_none_of_them(tmp_path, scans):
    cache = MetadataCache(tmp_path / "cache")
    for number in range(50):
        write(cache, f"table {number}")
    assert len(scans) == 1, "the first, for what was there before"
    assert size_of(cache) <= most_bytes_of(cache.directory) <= size_of(cache) + 50 * UNIT


def test_the_limit_holds_and_a_look_makes_room_for_several_writes(tmp_path, scans):
    cache = MetadataCache(tmp_path / "cache", most_bytes=400_000)
    for number in range(200):
        write(cache, f"table {number}")
        assert size_of(cache) <= cache.most_bytes
    assert 2 < len(scans) < 80
    assert size_of(cache) > cache.most_bytes // 2, "no more goes than has to"


def test_a_smaller_limit_counts_at_once(tmp_path):
    large = MetadataCache(tmp_path / "cache")
    for number in range(20):
        write(large, f"table {number}")
    small = MetadataCache(large.directory, most_bytes=50_000)
    write(small, "one more")
    assert size_of(small) <= small.most_bytes


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"-1", b"%20d%20d" % (-1, time.time()), b"%20d%20d" % (5, 0)])
def test_what_is_not_known_is_looked_for(tmp_path, scans, content):
    """Of a file of another kind, of a process that was killed while it looked, or of one that looked long ago."""
    cache = MetadataCache(tmp_path / "cache")
    write(cache, "table")
    (cache.directory / ".size").write_bytes(content)
    assert most_bytes_of(cache.directory) is None
    write(cache, "other")
    assert len(scans) == 2
    assert most_bytes_of(cache.directory) >= size_of(cache)


def test_what_is_written_during_a_look_is_counted(tmp_path):
    count_written(tmp_path, 5)
    with scan(tmp_path) as left:
        count_written(tmp_path, 3 * UNIT)
        left.append(100)
        assert most_bytes_of(tmp_path) is None
        with pytest.raises(BlockingIOError), scan(tmp_path):
            pass
    assert most_bytes_of(tmp_path) == 100 + 3 * UNIT


WRITER = """
import sys
from pathlib import Path
import numpy as np
from parquet_core.dataset.metadata_cache import MetadataCache

cache = MetadataCache(Path(sys.argv[1]), most_bytes=200_000)
for number in range(60):
    cache.of_table(f"{sys.argv[2]} {number}").write("what", "g", {"numbers": np.arange(1000)})
    cache.make_room()
"""


def test_many_processes_keep_the_limit(tmp_path):
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(i)]) for i in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    cache = MetadataCache(tmp_path, most_bytes=200_000)
    known = most_bytes_of(tmp_path)
    assert known is None or known >= size_of(cache)
    cache.make_room()
    assert size_of(cache) <= cache.most_bytes


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").touch()
    MetadataCache(tmp_path / "file" / "cache").make_room()
    count_written(tmp_path / "file", 5)
    assert not os.path.lexists(tmp_path / cache_size._NAME)
