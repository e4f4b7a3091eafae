"""Damaged logs give errors that name the problem, or checkpoints with the content of the snapshot."""

from __future__ import annotations

import random
import shutil

import pytest
from log_mutations import base_logs, mutated

from deltalog.log.deletion_vectors import vector_of
from deltalog.maintenance.vacuum import orphans, vacuum
from deltalog.maintenance.write_checkpoint import write_checkpoint
from deltalog.snapshot.opening import open_snapshot
from parquet_core.errors import PruneError

CASES, CHUNKS = 250, 5


def files_of(path):
    """Version and files."""
    snapshot = open_snapshot(path)
    vectors = [str(vector_of(block, i)) for block in snapshot.blocks for i in range(len(block))]
    return snapshot.version, sorted(zip(snapshot.paths(), vectors, strict=True))


@pytest.mark.deep
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_damage_ends_in_a_named_error_or_in_a_true_checkpoint(tmp_path, chunk):
    logs = base_logs(tmp_path)
    written, said = 0, []
    for number in range(CASES // CHUNKS):
        path = mutated(logs[number % len(logs)], tmp_path, random.Random(chunk * CASES + number))
        try:
            before = files_of(path)
        except PruneError:
            before = None
        try:
            vacuum(str(path), dry_run=True)
            orphans(str(path))
            wrote = write_checkpoint(str(path), clean=False)
        except PruneError as error:
            said.append(str(error))
            continue
        if wrote.written and before is not None:
            assert wrote.version == before[0]
            assert files_of(path) == before
            written += 1
        shutil.rmtree(path, ignore_errors=True)
    assert written > 5
    assert said
    assert not any("\n" in text for text in said)
