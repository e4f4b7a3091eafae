"""Kill writers of tables at random moments: a reader must see the table as before or as after the write.

Writers run one after another on the same table, so each finds what the killed one left. `python kills.py TABLE FORMAT
SEED NUMBER` is such a writer: it writes from NUMBER on until it is killed, and prints `begin N` and `done N` around
each write. An `optimize` is one of the writes; it changes no row.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from subprocess import DEVNULL
from typing import TYPE_CHECKING
from unittest.mock import patch
from urllib.error import URLError
from urllib.request import Request, urlopen

import hadoop_aws
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem, S3FileSystem

import prune_assets as pr
from parquet_core.errors import TableNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyarrow.fs import FileSystem

DAYS = 3
ROWS = 3_000
LAYOUT = pr.LayoutSpec(partition_by=["day"], sort_by=["id"], bloom={"id": 0.01}, files=2)
# Local plain files, local Delta, and Delta in an object store.
FORMATS = ("parquet", "delta", "delta in S3")
# Processes to kill; surviving processes of the writer have to notice it.
VICTIMS = ("all", "python", "java")
MODES = ("append", "append", "overwrite", "replace_partitions", "optimize")
# A write in a warm session takes about a second; kills come after the first write.
LONGEST_WAIT = 3.0
START_SECONDS, END_SECONDS = 180, 60

# Row count by (write number, day).
State = Counter[tuple[int, int]]


@dataclass
class Result:
    """Counts of kills: how often a reader saw the state before the write, after it, or in between, and the findings."""

    kills: int = 0
    old: int = 0
    new: int = 0
    between: int = 0
    findings: list[str] = field(default_factory=list)


def mode_of(seed: int, number: int) -> str:
    """Return the write mode for a write number."""
    return "append" if number == 0 else random.Random(seed * 1_000_003 + number).choice(MODES)


def days_of(seed: int, number: int) -> tuple[int, ...]:
    """Return the days for which a write has rows."""
    return (number % DAYS,) if mode_of(seed, number) == "replace_partitions" else tuple(range(DAYS))


def after(state: State, seed: int, number: int) -> State:
    """Return the content of a table after a write."""
    mode, days = mode_of(seed, number), days_of(seed, number)
    if mode == "optimize":
        return state
    gone = {"append": (), "overwrite": range(DAYS), "replace_partitions": days}[mode]
    kept = {key: rows for key, rows in state.items() if key[1] not in gone}
    return Counter(kept | {(number, day): ROWS for day in days})


def seen(table: str) -> State:
    """Return the content of a table as prune-assets reads it."""
    try:
        plan = pr.plan(table, where="id >= 0")
    except TableNotFound:
        return Counter()
    found: State = Counter()
    for file in plan.surviving_files:
        source, path = _system(file.path)
        rows = pq.ParquetFile(path, filesystem=source).read(["number", "its_day"])
        found.update(zip(rows["number"].to_pylist(), rows["its_day"].to_pylist(), strict=True))
    return found


def _system(path: str) -> tuple[FileSystem, str]:
    if not path.startswith("s3://"):
        return LocalFileSystem(), path
    endpoint = os.environ["AWS_ENDPOINT_URL"].partition("://")[2]
    return S3FileSystem(endpoint_override=endpoint, scheme="http", access_key="any", secret_key="any"), path[5:]


def seen_by_others(table: str, layout: str) -> State:
    """Return the content of a table as an independent reader of the format sees it."""
    if layout == "parquet":
        if not any(Path(table).rglob("*.parquet")):
            return Counter()
        rows = pq.read_table(table, columns=["number", "its_day"])
    else:
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(table):
            return Counter()
        rows = DeltaTable(table).to_pyarrow_table(columns=["number", "its_day"])
    return Counter(zip(rows["number"].to_pylist(), rows["its_day"].to_pylist(), strict=True))


@contextmanager
def place_of(layout: str) -> Iterator[str | None]:
    """Yield the location of a new table; None if its object store is unavailable."""
    if layout != "delta in S3":
        with tempfile.TemporaryDirectory(prefix="kills-") as scratch:
            yield f"{scratch}/table"
        return
    if not hadoop_aws.jars():
        yield None
        return
    from emulated_stores import s3_settings

    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # The server runs in its own process, because readers that wait for it hold the GIL of this process.
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port], stderr=DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(lambda: _is_made(Request(f"{url}/kills", method="PUT")), START_SECONDS)
        with patch.dict(os.environ, s3_settings(url)):
            yield "s3://kills/table"
    finally:
        server.kill()
        server.wait()


def _is_made(bucket: Request) -> bool:
    with suppress(URLError), urlopen(bucket, timeout=30):
        return True
    return False


def run(
    table: str, layout: str, *, kills: int, seed: int, progress: Callable[[Result], None] = lambda _: None
) -> Result:
    """Kill writers of one table `kills` times."""
    draw, result = random.Random(seed), Result()
    state: State = Counter()
    number = 0
    while result.kills < kills and not result.findings:
        begun, done = _kill_one(table, layout, seed, number, draw)
        for finished in range(number, done + 1):
            state = after(state, seed, finished)
        number = max(number, done + 1)
        allowed = [state] if begun <= done else [state, after(state, seed, begun)]
        found = seen(table)
        result.kills += 1
        result.between += begun <= done
        if found not in allowed:
            result.findings.append(f"write {begun} ({mode_of(seed, begun)}): {_difference(found, allowed)}")
            break
        if begun > done:
            # An optimize changes no row, so it counts as done.
            result.new += found == allowed[1]
            result.old += found != allowed[1]
            number = begun + 1 if found == allowed[1] else number
            state = found
        if layout == "parquet" and Path(table).exists():
            from prune_assets.tables.writes.commit import recover

            recover(Path(table))
        if seen_by_others(table, layout) != state or seen(table) != state:
            result.findings.append(f"write {begun}: after the recovery other rows are there")
        progress(result)
    return result


def _difference(found: State, allowed: list[State]) -> str:
    return " and ".join(f"{dict(found - wanted)} too many, {dict(wanted - found)} missing" for wanted in allowed)


def _kill_one(table: str, layout: str, seed: int, number: int, draw: random.Random) -> tuple[int, int]:
    """Start a writer and kill it; return the last write that it began and the last that it finished."""
    command = [sys.executable, __file__, table, layout, str(seed), str(number)]
    lines: list[str] = []
    with tempfile.TemporaryFile("w+") as errors:
        # The writer imports from the same paths as this process.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        writer = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True, env=environment
        )
        assert writer.stdout is not None
        os.set_blocking(writer.stdout.fileno(), False)
        try:
            _wait(lambda: writer.poll() is not None or "done" in "".join(_lines(writer, lines)), START_SECONDS)
            time.sleep(draw.uniform(0, LONGEST_WAIT))
            if writer.poll() is not None:
                errors.seek(0)
                raise RuntimeError(f"a writer failed by itself: {errors.read()}")
            _kill(writer, draw.choice(VICTIMS))
            _wait(lambda: not _alive(writer, lines), END_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(writer.pid, signal.SIGKILL)
            writer.wait()
            writer.stdout.close()
    numbers = {word: [int(line.split()[1]) for line in lines if line.startswith(word)] for word in ("begin", "done")}
    return numbers["begin"][-1], max(numbers["done"], default=number - 1)


def _lines(writer: subprocess.Popen[str], lines: list[str]) -> list[str]:
    assert writer.stdout is not None
    with suppress(BlockingIOError, TypeError):
        lines.extend(writer.stdout.readlines())
    return lines


def _wait(until: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise TimeoutError(f"a writer did not come so far within {seconds} s")
        time.sleep(0.02)


def _kill(writer: subprocess.Popen[str], victim: str) -> None:
    if victim == "all":
        os.killpg(writer.pid, signal.SIGKILL)
        return
    for pid in _members(writer.pid):
        is_java = "java" in Path(f"/proc/{pid}/exe").resolve().name
        if is_java == (victim == "java"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _members(group: int) -> Iterator[int]:
    """Yield the process ids of a group that are still running."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            state, _, process_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(process_group) == group and state != "Z":
                yield int(entry.name)


def _alive(writer: subprocess.Popen[str], lines: list[str]) -> bool:
    _lines(writer, lines)  # a writer that waits for a full pipe never ends
    return next(_members(writer.pid), None) is not None


def _write_forever(table: str, layout: str, seed: int, number: int) -> None:
    from pyspark.sql import functions as fn

    from prune_assets.spark.spark_session import spark_session

    conf = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    if layout == "delta in S3":
        conf["spark.jars"] = ",".join(hadoop_aws.jars())
    spark = spark_session(master="local[2]", conf=conf)
    while True:
        days = fn.array(*(fn.lit(day) for day in days_of(seed, number)))
        rows = spark.range(ROWS).select("id", fn.lit(number).alias("number"), fn.explode(days).alias("day"))
        rows = rows.withColumn("its_day", fn.col("day"))
        mode = mode_of(seed, number)
        sys.stdout.write(f"begin {number}\n")
        sys.stdout.flush()
        if mode == "optimize":
            pr.optimize(table, layout=LAYOUT, session=spark)
        else:
            pr.write(rows, table, layout=LAYOUT, format=layout.partition(" ")[0], mode=mode)
        sys.stdout.write(f"done {number}\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    _write_forever(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
