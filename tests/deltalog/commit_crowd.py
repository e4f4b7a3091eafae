"""Run writers of one table, some of which are killed all the time, and a reader that watches them. Run as a script.

The processes are forks of this one, so that each costs milliseconds. Every writer commits its own numbers in order,
each as a transaction of its own application, and records each acknowledged commit in a file. A killed writer starts
again after its last recorded number. `expected_files` returns the files that exist after a number.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from deltalog.log.actions import Add, Transaction
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.create import create_table
from deltalog.transaction.operations import append, rewrite

STATS = '{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}'
EVERY = 5


def expected_files(writer, number):
    """Return the names of the live files of a writer whose last transaction is `number`."""
    return {f"{writer}-{i}" for i in range(number + 1) if (i + 1) % EVERY or i + 1 > number}


def file(name):
    return Add(path=name, size=1, partition_values={}, modification_time=1, stats=STATS)


def acknowledged(place, writer):
    path = Path(place) / f"acknowledged-{writer}"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write(table, place, writer, count, seed):
    said = os.open(f"{place}/acknowledged-{writer}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    done = acknowledged(place, writer)
    chance = random.Random(f"{seed} {writer} {len(done)}")
    for number in range(done[-1][0] + 1 if done else 0, count):
        snapshot = open_snapshot(table)
        if chance.random() < 0.2:
            # An older snapshot has more commits to be checked for conflicts.
            time.sleep(chance.uniform(0, 0.05))
        removes = [f"{writer}-{number - 1}"] if number and number % EVERY == 0 else []
        adds, txn = [file(f"{writer}-{number}")], Transaction(f"writer-{writer}", number)
        there = snapshot.transactions.get(txn.app_id)
        if there is not None and there.version >= number:
            removes = []  # The commit existed when this writer was killed.
        one = rewrite(snapshot, removes=removes, adds=adds, txn=txn) if removes else append(snapshot, adds, txn=txn)
        os.write(said, f"{json.dumps([number, one.version, one.written])}\n".encode())


def read(table, place, writers):
    """Read the table until the end; every version must be complete."""
    seen = []
    while not Path(f"{place}/stop").exists():
        snapshot = open_snapshot(table)
        last = {writer: snapshot.transactions.get(f"writer-{writer}") for writer in range(writers)}
        wanted = [expected_files(writer, txn.version) for writer, txn in last.items() if txn is not None]
        assert sorted(snapshot.paths()) == sorted(set().union(*wanted)), snapshot.version
        assert not seen or snapshot.version >= seen[-1]
        assert snapshot.version == sum(txn.version + 1 for txn in last.values() if txn is not None)
        seen.append(snapshot.version)
        time.sleep(0.02)
    Path(f"{place}/seen").write_text(json.dumps(seen))


def fork(work, *arguments):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(*arguments)
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent must hear of it
        traceback.print_exc()
    finally:
        os._exit(code)


def ended():
    """Return the processes that have ended, and their exit status."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, status


def crowd(table, place, *, writers, count, kills, seed):
    chance = random.Random(seed)
    with suppress(ImportError):
        importlib.import_module("deltalog.maintenance.write_checkpoint")  # once, not in every process
    create_table(table, pa.schema([("id", pa.int64())]))
    reader = fork(read, table, place, writers)
    running = {fork(write, table, place, writer, count, seed): writer for writer in range(writers)}
    killed = 0
    try:
        while running:
            time.sleep(chance.uniform(0.005, 0.04))
            if killed < kills:
                os.kill(chance.choice(sorted(running)), signal.SIGKILL)
            for pid, status in ended():
                assert pid != reader, "the reader saw what it should not"
                writer = running.pop(pid)
                assert status in {0, signal.SIGKILL}, f"writer {writer} failed"
                if status:
                    killed += 1
                    running[fork(write, table, place, writer, count, seed)] = writer
    except BaseException:
        for pid in (reader, *running):
            os.kill(pid, signal.SIGKILL)
        raise
    Path(f"{place}/stop").touch()
    assert os.waitpid(reader, 0)[1] == 0, "the reader saw what it should not"
    json.dump({"killed": killed}, sys.stdout)


if __name__ == "__main__":
    table, place, writers, count, kills, seed = sys.argv[1:]
    crowd(table, place, writers=int(writers), count=int(count), kills=int(kills), seed=int(seed))
