"""Run fuzz cases: compare both builds of the hot loop, measure time and memory, and check each claim.

Workers are separate processes that record their current case, so that crashes and hangs are findings too. A seed and a
case number always give the same case.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from reference import must
from targets import PLACE, TARGETS, check_message, recorded

from parquet_core.errors import PruneError
from parquet_core.format import compact

SECONDS = 1.0  # CPU seconds allowed per case; a case that only waits is detected as a hang
RATIO, FREE_BYTES = 64, 1 << 18  # allocation limit of a case: RATIO bytes per byte of input, and FREE_BYTES more
SMALL = 4096  # smallest input in bytes whose ratio is recorded; below it, Python's and Arrow's own memory dominates
HANGING = 20.0  # seconds without a new case after which a worker is killed
# Counts allocations from Arrow. All cases share one pool, because a case may free its memory at any later time.
_ASKED = pa.proxy_memory_pool(pa.default_memory_pool())
ROOT = Path(__file__).parents[2]


class Ground(NamedTuple):
    """Targets and limits of a campaign; `place` is the path in errors of targets without an entry in `places`.

    `every`: memory is measured for one of `every` cases, because measuring is slow. `resident`: measure the growth of
    the process during a case and its requests to Arrow, which is cheap, and do not compare the builds of the hot loop.
    """

    targets: dict[str, Any]
    make: Any
    place: str
    seconds: float = SECONDS
    free: int = FREE_BYTES
    every: int = 1
    resident: bool = False


def ground_of(name):
    """Return the targets of one campaign; imports only what this campaign needs."""
    if name == "log":
        from log_targets import LOG_TARGETS, make_logs
        from log_targets import PLACE as LOG_PLACE

        # The first case of a process pays for the imports of log reading.
        return Ground(LOG_TARGETS, make_logs, LOG_PLACE, seconds=3.0, free=64 << 20, every=8)
    if name == "files":
        from file_targets import FILE_TARGETS, make_seeds
        from file_targets import PLACE as FILE_PLACE

        return Ground(FILE_TARGETS, make_seeds, FILE_PLACE, seconds=2.0, free=300 << 20, resident=True)
    from corpus import make

    return Ground(TARGETS, make, PLACE)


@dataclass
class Tally:
    """Outcomes of the cases of one target; `ratio` is bytes allocated per byte of input."""

    cases: int = 0
    errors: int = 0
    answers: int = 0
    slowest: float = 0.0
    ratio: float = 0.0

    def add(self, other):
        for name in ("cases", "errors", "answers"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest, self.ratio = max(self.slowest, other.slowest), max(self.ratio, other.ratio)


@dataclass
class Violation:
    """A case that failed: `what` is the problem, `data` the input bytes."""

    seed: int
    number: int
    target: str
    what: str
    data: str = ""

    def keep(self, directory):
        """Write the case to a JSON file and return its path."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"seed-{self.seed}-case-{self.number}.json"
        path.write_text(json.dumps(asdict(self), indent=1))
        return path


@dataclass
class Result:
    tallies: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in TARGETS})
    violations: list[Violation] = field(default_factory=list)
    seconds: float = 0.0

    def cases(self):
        return sum(tally.cases for tally in self.tallies.values())


def python_form():
    """Load the source of the hot loop as pure Python, even if a compiled build is installed."""
    spec = importlib.util.spec_from_file_location("compact_as_python", ROOT / "parquet_core/format/compact.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(corpus, seed, number, targets=TARGETS):
    """Return the target and the case for a case number."""
    chance = random.Random(f"{seed} {number}")
    name = chance.choices(list(targets), [target.share for target in targets.values()])[0]
    return name, targets[name].draw(chance, corpus)


class Runner:
    """Runs cases in its own directory, and repeats their calls of the hot loop with the pure-Python build."""

    def __init__(self, directory, ground=None):
        self.directory = directory
        self.ground = Ground(TARGETS, None, PLACE) if ground is None else ground
        self.python = python_form()
        self.pools = []
        self.place = {"files": str(directory / "f.parquet")}

    def run(self, name, case, tally):
        """Run a case; raises Lie if it breaks a rule."""
        target = self.ground.targets[name]
        size = len(target.data(case))
        measured = self._weighed_by_growth if self.ground.resident else self._measured
        weighed = tally.cases % self.ground.every == 0
        answer, seconds, allocated = measured(name, case, weighed=weighed)
        most = self.ground.free + (0 if self.ground.resident else RATIO * size)
        # Another process or a first import can cause a slow or large run, so the case is measured a second time.
        if seconds > self.ground.seconds or allocated > most:
            answer, seconds, allocated = measured(name, case, weighed=weighed)
        tally.cases += 1
        tally.slowest = max(tally.slowest, seconds)
        tally.ratio = max(tally.ratio, allocated / max(size, SMALL))
        must(seconds <= self.ground.seconds, f"{seconds:.1f} s")
        must(allocated <= most, f"{allocated:,} bytes allocated for {size:,} of input")
        tally.errors += isinstance(answer, str)
        tally.answers += not isinstance(answer, str)
        if not isinstance(answer, str):
            target.judge(case, answer)

    def _measured(self, name, case, *, weighed=True):
        """Return the answer or error message, CPU seconds and allocated bytes."""
        before = pool = pa.default_memory_pool()
        if weighed:
            pool = pa.proxy_memory_pool(pa.system_memory_pool())
            # Memory that an error or a reference cycle holds is freed later and to its own pool, so the pool is kept.
            self.pools.append(pool)
            pa.set_memory_pool(pool)
            tracemalloc.start()
        try:
            with recorded() as calls:
                start = time.process_time()
                try:
                    answer = self.ground.targets[name].answer(case, self.directory)
                except PruneError as error:
                    answer = check_message(error, self.place.get(name, self.ground.place))
                seconds = time.process_time() - start
            allocated = tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0) if weighed else 0
        finally:
            tracemalloc.stop()
            pa.set_memory_pool(before)
        return answer, max(seconds, self._compared(calls)), allocated

    def _weighed_by_growth(self, name, case, *, weighed):
        """Return the answer or error message, CPU seconds and growth of the process in bytes."""
        before = pa.default_memory_pool()
        most = _ASKED.max_memory() or 0
        pa.set_memory_pool(_ASKED)
        resident = peak_resident(anew=True)
        start = time.process_time()
        try:
            answer = self.ground.targets[name].answer(case, self.directory)
        finally:
            seconds = time.process_time() - start
            pa.set_memory_pool(before)
        asked = _ASKED.max_memory() or 0
        return answer, seconds, max(peak_resident() - resident, asked if asked > most else 0)

    def _compared(self, calls):
        """Run the calls with both builds and compare the answers; return the seconds of the pure-Python build."""
        start = time.process_time()
        slow = [call.of(self.python) for call in calls]
        seconds = time.process_time() - start
        for call, answer in zip(calls, slow, strict=True):
            fast = call.of(compact)
            must(fast == answer, f"{call.name}: compiled {_shown(fast)}, as Python {_shown(answer)}")
        return seconds


def peak_resident(*, anew=False):
    """Return the peak resident memory of this process in bytes; `anew` resets the peak first."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) << 10


def _shown(answer):
    return answer if isinstance(answer, str) else f"{str(answer)[:300]} ..."


def work(seed, numbers, seconds, progress, ground="metadata"):
    """Run the cases of these numbers until the time is over; write the current number to the file `progress`."""
    ground = ground_of(ground)
    result, end = Result({name: Tally() for name in ground.targets}), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name, progress.open("r+b") as file, mmap.mmap(file.fileno(), 8) as now:
        directory = Path(name)
        corpus = ground.make(directory)
        runner = Runner(directory, ground)
        for number in numbers:
            if time.monotonic() > end or len(result.violations) >= 10:
                break
            now[:] = number.to_bytes(8, "little")
            target, case = draw(corpus, seed, number, ground.targets)
            try:
                runner.run(target, case, result.tallies[target])
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                what = f"{type(error).__name__}: {error}"
                result.violations.append(Violation(seed, number, target, what, ground.targets[target].data(case).hex()))
    return result


def run(*, seed, count, seconds, jobs=1, first=0, ground="metadata"):
    """Run cases in worker processes and watch them; `ground`: "metadata", "log" or "files"."""
    start = time.monotonic()
    result = Result({name: Tally() for name in ground_of(ground).targets})
    with tempfile.TemporaryDirectory() as name:
        numbers = [range(first + job, first + count, jobs) for job in range(jobs)]
        workers = [_Worker(Path(name) / str(job), seed, numbers[job], seconds, ground) for job in range(jobs)]
        while any(worker.is_running() for worker in workers):
            time.sleep(0.1)
        for worker in workers:
            worker.report(result)
    result.seconds = time.monotonic() - start
    return result


class _Worker:
    """A worker process; it reports its current case number in one file and its result in another."""

    def __init__(self, path, seed, numbers, seconds, ground="metadata"):
        self.seed = seed
        self.progress, self.output = path.with_suffix(".now"), path.with_suffix(".json")
        self.progress.write_bytes(b"\xff" * 8)
        self.number, self.since, self.hangs = self._now(), time.monotonic(), False
        arguments = [seed, numbers.start, numbers.stop, numbers.step, seconds, self.progress, self.output, ground]
        paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", str(Path(__file__)), *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )

    def _now(self):
        return int.from_bytes(self.progress.read_bytes(), "little")

    def is_running(self):
        if self.process.poll() is not None:
            return False
        if (number := self._now()) != self.number:
            self.number, self.since = number, time.monotonic()
        # The corpus is created before the first case, so the first case may take longer.
        self.hangs = time.monotonic() - self.since > HANGING * (5 if number == 2**64 - 1 else 1)
        if self.hangs:
            self.process.kill()
        return not self.hangs

    def report(self, into):
        code = self.process.wait()
        if code or self.hangs:
            what = f"hangs for more than {HANGING:.0f} s" if self.hangs else f"the process ended with code {code}"
            into.violations.append(Violation(self.seed, self._now(), "", what))
            return
        found = json.loads(self.output.read_text())
        for name, tally in found["tallies"].items():
            into.tallies[name].add(Tally(**tally))
        into.violations += [Violation(**violation) for violation in found["violations"]]


def main():
    seed, start, stop, step, seconds, progress, output, ground = sys.argv[1:]
    numbers = range(int(start), int(stop), int(step))
    result = work(int(seed), numbers, float(seconds), Path(progress), ground)
    Path(output).write_text(json.dumps(asdict(result)))
    # When the interpreter exits, Arrow objects could outlive the pools to which they free memory.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
