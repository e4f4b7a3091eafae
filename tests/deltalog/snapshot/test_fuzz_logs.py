"""Damaged logs end in an error that names the problem, or in a usable snapshot."""

from __future__ import annotations

import random
import time

import pytest
from log_answers import ask
from log_mutations import base_logs, mutated

from parquet_core.errors import PruneError

CASES, CHUNKS = 1_000, 10
SECONDS = 5.0


@pytest.mark.deep
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
