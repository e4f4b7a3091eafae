"""Writers of a plain directory wait for each other, up to a limit."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_core.errors import StorageFailure, UnfinishedWrite, WrongUse
from prune_assets.tables.parquet.writing import write_files
from prune_assets.tables.writes.write_lock import LOCK, lock_seconds, write_lock

WRITERS, ROUNDS = 8, 20


@pytest.fixture
def waiting():
    """An event that is set when a writer begins to wait for a lock."""

    class Heard(logging.Handler):
        def emit(self, record):
            messages.append(record.getMessage())
            event.set()

    event, messages = Event(), []
    logger, handler = logging.getLogger("prune_assets.tables.writes.write_lock"), Heard()
    logger.addHandler(handler)
    yield event, messages
    logger.removeHandler(handler)


def test_a_second_writer_waits_for_the_first_and_says_so(tmp_path, waiting):
    event, messages = waiting

    def second():
        with write_lock(tmp_path, timeout=60):
            return True

    with ThreadPoolExecutor(1) as pool:
        with write_lock(tmp_path):
            done = pool.submit(second)
            assert event.wait(60)
            assert not done.done()
        assert done.result(60)
    assert len(messages) == 1
    assert messages[0].startswith(f"{tmp_path}: another write is running (process ")
    assert messages[0].endswith("waiting for its end, up to 60 s (lock_timeout=, PRUNE_LOCK_TIMEOUT)")


def test_the_limit_is_in_the_error(tmp_path):
    with (
        write_lock(tmp_path),
        pytest.raises(UnfinishedWrite, match=r"waited 0.05 s for it; try again when it has ended, or wait longer"),
        write_lock(tmp_path, timeout=0.05),
    ):
        pass


@pytest.mark.parametrize(
    ("given", "variable", "seconds"), [(None, None, 3600), (None, "7.5", 7.5), (3, "7.5", 3), (0, "7.5", 0)]
)
def test_the_argument_goes_before_the_variable(monkeypatch, given, variable, seconds):
    monkeypatch.delenv("PRUNE_LOCK_TIMEOUT", raising=False)
    if variable is not None:
        monkeypatch.setenv("PRUNE_LOCK_TIMEOUT", variable)
    assert lock_seconds(given) == seconds


@pytest.mark.parametrize(("given", "variable"), [(None, "soon"), (-1, None), (float("nan"), None), (None, "-3")])
def test_what_is_no_time_is_refused(monkeypatch, given, variable):
    if variable is not None:
        monkeypatch.setenv("PRUNE_LOCK_TIMEOUT", variable)
    with pytest.raises(WrongUse, match=r"^(lock_timeout|PRUNE_LOCK_TIMEOUT)=.*: give a number of seconds"):
        lock_seconds(given)


def test_a_directory_that_its_last_writer_removed_is_made_again(tmp_path):
    with write_lock(tmp_path / "t", timeout=0):
        assert [path.name for path in (tmp_path / "t").iterdir()] == [LOCK]


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "t").symlink_to(tmp_path / "gone")
    with pytest.raises(StorageFailure, match="check the path"), write_lock(tmp_path / "t", timeout=0):
        pass


@pytest.mark.parametrize("mode", ["replace_partitions", pytest.param("append", marks=pytest.mark.deep)])
def test_all_of_those_that_begin_together_write_their_rows(tmp_path, mode):
    def write_one(writer):
        def fill(stage, old):
            day = stage / f"day={writer % WRITERS}"
            day.mkdir(parents=True)
            pq.write_table(pa.table({"id": [writer] * 3}), day / f"part-{writer}.parquet")
            return 3

        return write_files(tmp_path / "lake" / str(writer // WRITERS), fill, mode=mode)

    with ThreadPoolExecutor(WRITERS) as pool:
        done = list(pool.map(write_one, range(WRITERS * ROUNDS)))
    assert [result.rows for result in done] == [3] * WRITERS * ROUNDS
    for round_number in range(ROUNDS):
        paths = sorted((tmp_path / "lake" / str(round_number)).rglob("*"))
        assert [path.name for path in paths if path.is_file()] == [
            f"part-{WRITERS * round_number + writer}.parquet" for writer in range(WRITERS)
        ]
