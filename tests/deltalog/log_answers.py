"""Read everything from a log that may be damaged, and check that the answers are consistent."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from deltalog.inspection import inspect_snapshot
from deltalog.log.deletion_vectors import read_vector, vector_of
from deltalog.log.listing import last_version, list_log
from deltalog.snapshot.history import history
from deltalog.snapshot.opening import open_snapshot
from deltalog.snapshot.refresh import advance_to
from deltalog.stats.data_skipping import skip_files
from deltalog.stats.file_bounds import record_counts
from parquet_core.errors import PruneError
from parquet_core.pruning.predicate import And, Compare, IsNull, Not, Op, Or

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
    """Read everything from a log; return the files that it has."""
    snapshot = open_snapshot(path)
    answers = skip_files(snapshot, PREDICATE)
    assert len(answers.outcomes) == len(record_counts(snapshot)) == snapshot.file_count
    keys = list(zip(snapshot.paths(), vectors_of(snapshot), strict=True))
    assert len(set(keys)) == snapshot.file_count
    history(snapshot)
    inspect_snapshot(snapshot)
    _from_the_version_before(snapshot, keys)
    for block in snapshot.blocks:
        for i in range(len(block)):
            vector = vector_of(block, i)
            if vector is not None:
                try:
                    read_vector(vector, snapshot.table)
                except PruneError:
                    continue
    return keys


def refreshed(snapshot):
    """Return the latest version, from the commits since a snapshot if they are sufficient."""
    listing = list_log(snapshot.table)
    found = advance_to(snapshot, listing, last_version(listing), started=0.0)
    return open_snapshot(snapshot.table, allow=snapshot.allow) if found is None else found


def vectors_of(snapshot):
    return [vector_of(block, i) for block in snapshot.blocks for i in range(len(block))]


def _from_the_version_before(snapshot, keys):
    """Check that reading through the previous version gives the same files."""
    if snapshot.version == 0:
        return
    try:
        before = open_snapshot(snapshot.table, version=snapshot.version - 1)
    except PruneError:
        return  # that version is damaged, or gone
    later = refreshed(before)
    assert later.version == snapshot.version
    if later.segment == snapshot.segment:
        assert set(zip(later.paths(), vectors_of(later), strict=True)) == set(keys)
