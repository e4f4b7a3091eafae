"""The fuzzing machine detects contradictions, differences between builds, memory use, crashes and hangs."""

from __future__ import annotations

import json
import os
import random
import signal
from types import SimpleNamespace

import campaign
import pytest
import slow_thrift
import targets
from campaign import Runner, Tally, Violation
from corpus import make
from mutations import blindly, knowingly
from reference import Lie, check_footer

from parquet_core.format import compact


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make(tmp_path_factory.mktemp("corpus"))


def test_the_slow_reading_writes_what_it_read(corpus):
    for data in [*corpus.footers, *(index.column_index for index in corpus.indexes)]:
        fields, stop = slow_thrift.parse(data)
        assert slow_thrift.encode(fields) == data[:stop]


def test_sound_structures_are_claimed_in_full(corpus, tmp_path):
    runner, tally = Runner(tmp_path), Tally()
    for data in corpus.footers:
        runner.run("footers", data, tally)
    assert tally.answers > 0.9 * tally.cases
    claims = [targets.answer_footer(data, None) for data in corpus.footers[:10]]
    assert all(column.chunks for found in claims for column in found.columns)
    assert sum(bound is not None for found in claims for column in found.columns for bound in column.lower) > 10


def test_mutations_change_the_bytes_and_repeat_themselves(corpus):
    for mutate in (blindly, knowingly):
        data = corpus.footers[0]
        made = [mutate(random.Random(i), data, corpus.footers[1]) for i in range(200)]
        assert sum(mutated != data for mutated in made) > 180
        assert made == [mutate(random.Random(i), data, corpus.footers[1]) for i in range(200)]


def test_a_false_claim_is_found(corpus):
    data = corpus.footers[0]
    claims = targets.answer_footer(data, None)
    check_footer(data, claims)
    column = next(column for column in claims.columns if column.lower[0] is not None)
    column.lower[0] = b"zzz" if isinstance(column.lower[0], bytes) else column.lower[0] + 1
    with pytest.raises(Lie):
        check_footer(data, claims)


def test_a_difference_of_the_two_forms_is_found(corpus, tmp_path):
    runner = Runner(tmp_path)
    other = SimpleNamespace(**{name: getattr(compact, name) for name in targets.DECODERS})
    runner.python = other
    runner.run("filters", corpus.filters[0], Tally())

    def decode(data, spec, **options):
        slots, end = compact.decode(data, spec, **options)
        return slots, end + 1

    other.decode = decode
    with pytest.raises(Lie, match="decode: compiled"):
        runner.run("filters", corpus.filters[0], Tally())


@pytest.mark.parametrize("message", ["no place", f"{targets.PLACE}: two\nlines"])
def test_messages_name_the_place_in_one_line(message):
    with pytest.raises(Lie):
        targets.check_message(ValueError(message), targets.PLACE)


def with_answer(monkeypatch, answer):
    target = targets.TARGETS["filters"]._replace(answer=answer, judge=lambda *_: None)
    monkeypatch.setitem(targets.TARGETS, "filters", target)


def test_memory_and_time_are_measured(monkeypatch, tmp_path, corpus):
    runner, tally = Runner(tmp_path), Tally()
    with_answer(monkeypatch, lambda *_: len(bytearray(10 << 20)))
    with pytest.raises(Lie, match="bytes allocated"):
        runner.run("filters", corpus.filters[0], tally)
    runner.ground = runner.ground._replace(seconds=-1.0)
    with_answer(monkeypatch, lambda *_: 1)
    with pytest.raises(Lie, match=r"\d s"):
        runner.run("filters", corpus.filters[0], tally)


@pytest.mark.parametrize("hangs", [False, True])
def test_a_worker_that_dies_or_hangs_is_a_finding(monkeypatch, tmp_path, hangs):
    monkeypatch.setattr(campaign, "HANGING", 0.0 if hangs else 600.0)
    worker = campaign._Worker(tmp_path / "0", 1, range(10**9), 600.0)
    if not hangs:
        os.kill(worker.process.pid, signal.SIGSEGV)
        worker.process.wait()
    while worker.is_running():
        pass
    result = campaign.Result()
    worker.report(result)
    assert ("hangs" if hangs else f"code -{signal.SIGSEGV.value}") in result.violations[0].what


def test_findings_are_written_down(tmp_path):
    violation = Violation(3, 14, "footers", "odd", "00ff")
    path = violation.keep(tmp_path / "found")
    assert json.loads(path.read_text()) == {"seed": 3, "number": 14, "target": "footers", "what": "odd", "data": "00ff"}
