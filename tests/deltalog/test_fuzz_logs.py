"""Damaged logs end in an error that names what is wrong, or in a snapshot that answers."""

from __future__ import annotations

import datetime as dt
import random
import time
from decimal import Decimal

import pyarrow as pa
import pytest
from log_mutations import base_logs, mutated

from deltalog.deletion_vectors import read_vector, vector_of
from deltalog.history import history
from deltalog.skipping import skip_files
from deltalog.snapshot import open_snapshot
from parquet_core.errors import PruneError
from parquet_core.predicate import And, Compare, IsNull, Not, Op, Or

CASES, CHUNKS = 1_000, 10
SECONDS = 5.0

PREDICATE = And(
    (
        Or((Compare(("x",), Op.GT, pa.scalar(2)), IsNull(("t",)))),
        Or((Compare(("s",), Op.LE, pa.scalar("b3")), Compare(("d",), Op.LT, pa.scalar(1.0)))),
        Or((Compare(("m",), Op.EQ, pa.scalar(Decimal("2.50"), pa.decimal128(12, 2))), Not(IsNull(("x",))))),
        Or(
            (
                Compare(("t",), Op.GE, pa.scalar(dt.datetime(2024, 1, 3, tzinfo=dt.UTC), pa.timestamp("us", "UTC"))),
                Compare(("p",), Op.EQ, pa.scalar(dt.date(2024, 3, 4))),
            )
        ),
    )
)


def ask(path):
    """Ask everything of a log."""
    snapshot = open_snapshot(path)
    answers = skip_files(snapshot, PREDICATE)
    assert len(answers.outcomes) == snapshot.file_count
    assert len(set(zip(snapshot.paths(), vectors_of(snapshot), strict=True))) == snapshot.file_count
    snapshot.tombstones()
    history(snapshot)
    for block in snapshot.blocks:
        for i in range(len(block)):
            vector = vector_of(block, i)
            if vector is not None:
                try:
                    read_vector(vector, snapshot.table)
                except PruneError:
                    continue


def vectors_of(snapshot):
    return [vector_of(block, i) for block in snapshot.blocks for i in range(len(block))]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_damage_ends_in_a_named_error_or_an_answer(tmp_path, chunk):
    logs = base_logs(tmp_path)
    for log in logs:
        ask(log.path)
    said = []
    for number in range(CASES // CHUNKS):
        source = random.Random(chunk * CASES + number)
        path = mutated(logs[number % len(logs)], tmp_path, source)
        started = time.perf_counter()
        try:
            ask(path)
        except PruneError as error:
            said.append(str(error))
        assert time.perf_counter() - started < SECONDS
    assert 10 < len(said) < CASES // CHUNKS
    assert not any("\n" in text for text in said)
