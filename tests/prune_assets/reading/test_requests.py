"""Requests of `read_arrow` to an object store: the files read, and the number of sequential requests."""

from __future__ import annotations

import datetime as dt
import io
import time
from typing import NamedTuple
from uuid import uuid4

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prune_assets as pr
from parquet_core.storage import ranges
from parquet_core.storage.filesystems import FileSystem
from prune_assets.cache_directory import _decoded

FILES, ROWS = 8, 2000
DAYS = FILES * ROWS // 1000
SECONDS = 0.5  # that a look into a directory takes


class Request(NamedTuple):
    """`batch`: the number of the requests that were in flight with a read."""

    begun: float
    ended: float
    what: str
    name: str
    batch: int


def day_of(number):
    return dt.date(2024, 1, 1) + dt.timedelta(days=number)


@pytest.fixture
def lake(monkeypatch, tmp_path):
    """A table in memory, of ids that are in no order, with filters of them."""
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    _decoded.cache_clear()
    root, fs = f"memory://{uuid4()}", fsspec.filesystem("memory")
    for i in range(FILES):
        rows = range(ROWS)
        columns = {
            "id": [i + FILES * j for j in rows],
            "day": [day_of((i * ROWS + j) // 1000) for j in rows],
            "x": [j / 2 for j in rows],
            "name": [f"n{j}" for j in rows],
        }
        written = io.BytesIO()
        pq.write_table(
            pa.table(columns),
            written,
            write_page_index=True,
            max_rows_per_page=200,
            row_group_size=1000,
            bloom_filter_options={"id": {"ndv": 1000, "fpp": 1e-6}},
            use_dictionary=["day"],
        )
        path = f"{root}/part-{i}.parquet"
        fs.pipe_file(path, written.getvalue())
        fs.store[fs._strip_protocol(path)].created = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    yield root
    fs.rm(root, recursive=True)


@pytest.fixture
def asked(monkeypatch):
    """The requests of a store."""
    log, batches, fetch = [], [0], ranges._fetch

    def fetch_batch(*arguments):
        batches[0] += 1
        yield from fetch(*arguments)

    monkeypatch.setattr(ranges, "_fetch", fetch_batch)
    real = {what: getattr(FileSystem, what) for what in ("find", "walk", "children", "read")}
    for what, answer in real.items():

        def ask(store, *arguments, what=what, answer=answer):
            begun = time.monotonic()
            time.sleep(0 if what == "read" else SECONDS)
            found = answer(store, *arguments)
            name = arguments[0].path if what == "read" else arguments[0]
            log.append(Request(begun, time.monotonic(), what, name.rpartition("/")[2], batches[0]))
            return found

        monkeypatch.setattr(FileSystem, what, ask)
    return log


def rounds(requests):
    """Return the number of sequential rounds of requests: directory listings and batches of reads."""
    count, end = 0, 0.0
    for request in sorted(requests, key=lambda it: it.ended):
        if request.what != "read" and request.begun >= end:
            count, end = count + 1, request.ended
    return count + len({request.batch for request in requests if request.what == "read"})


def new_process():
    _decoded.cache_clear()


def test_a_warm_lookup_opens_the_file_that_has_the_key_alone(lake, asked):
    wanted = [{"id": 4321, "x": 270.0, "name": "n540"}]
    lookup = {"where": "id = 4321", "columns": ["id", "x", "name"]}
    assert pr.read_arrow(lake, **lookup).to_pylist() == wanted
    assert len({request.name for request in asked if request.what == "read"}) == FILES
    asked.clear()
    new_process()
    # Another key shows that metadata is cached, not the answer.
    assert pr.read_arrow(lake, where="id = 4330", columns=["id", "x", "name"]).num_rows == 1
    assert {request.name for request in asked if request.what == "read"} == {"part-2.parquet"}
    asked.clear()
    new_process()
    assert pr.read_arrow(lake, where="id = 16001", columns=["id"]).num_rows == 0
    assert [request for request in asked if request.what == "read"] == []


# The log of a Delta table is looked for before anything else: who has one should not wait for a listing of its files.
BEFORE_THE_LISTING = 1


def test_a_cold_lookup_waits_for_listing_footers_indexes_and_pages(lake, asked):
    found = pr.read_arrow(lake, where="id = 4321", columns=["id", "x", "name"])
    assert found.to_pylist() == [{"id": 4321, "x": 270.0, "name": "n540"}]
    assert rounds(asked) - BEFORE_THE_LISTING == 4
    assert [request.name for request in asked[-1:]] == ["part-1.parquet"]


def test_a_cold_read_of_a_day_waits_for_listing_footers_and_pages(lake, asked):
    found = pr.read_arrow(lake, where=f"day = DATE '{day_of(5)}'", columns=["id", "day", "name"])
    assert found.num_rows == 1000
    assert rounds(asked) - BEFORE_THE_LISTING == 3
    part = pr.read_arrow(lake, where=f"day = DATE '{day_of(5)}' AND id < 10000", columns=["id", "day", "name"])
    assert part.num_rows == 250
    asked.clear()
    new_process()
    assert pr.read_arrow(lake, where=f"day = DATE '{day_of(5)}'", columns=["id", "day", "name"]).equals(found)
    assert rounds(asked) - BEFORE_THE_LISTING == 2


def test_of_more_files_than_are_asked_at_once_filters_come_first(lake, asked, monkeypatch):
    monkeypatch.setattr("parquet_core.pruning.evaluation.IN_FLIGHT", FILES - 1)
    assert pr.read_arrow(lake, where="id = 4321", columns=["id", "x", "name"]).num_rows == 1
    assert rounds(asked) - BEFORE_THE_LISTING == 6


def test_the_first_rows_are_found_again_without_footers_and_indexes(lake, asked):
    order = {"columns": ["name"], "order_by": "x DESC", "limit": 3}
    found = pr.read_arrow(lake, **order)
    before = len(asked)
    asked.clear()
    new_process()
    assert pr.read_arrow(lake, **order).equals(found)
    # The rows are in the three files whose footers and offset indexes are not read again.
    assert before - len(asked) == FILES + 3
