"""Let releases write random tables, and judge the files; a seed and a number determine the table, for all releases."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow as pa

from .environments import NotMade, command_of
from .judging import File, Finding, Tally, judge
from .recipes import random_recipe
from .truth import Truth

SCRIPTS = Path(__file__).parent / "scripts"
CONDITIONS = 12  # of a file
AT_ONCE = 10  # tables that a process writes
LONGEST = 600.0
MOST_EXAMPLES = 3


@dataclass
class Result:
    """`findings`: examples with the number of the table, by (release, about, call); `wrong`: counts by this key.

    `untried`: releases without an environment, with the reason. `unwritten`: reasons of tables that were not written.
    """

    tally: Tally = field(default_factory=Tally)
    findings: dict[tuple[str, str, str], list[tuple[int, Finding]]] = field(default_factory=dict)
    wrong: Counter = field(default_factory=Counter)
    untried: dict[str, str] = field(default_factory=dict)
    unwritten: Counter = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, number, finding):
        key = (finding.writer, finding.about, finding.call)
        self.wrong[key] += 1
        if self.wrong[key] <= MOST_EXAMPLES:
            self.findings.setdefault(key, []).append((number, finding))


def run(releases, *, seed, count, seconds=float("inf"), first=0, keep=None, spark=None, progress=None):
    """Judge tables from number `first` on, up to `count` of each release; with `keep` wrong files are left there."""
    result, start = Result(), time.monotonic()
    with patch.dict(os.environ, {"PRUNE_CACHE_BYTES": "0"}):
        for begin in range(first, first + count, AT_ONCE):
            numbers = range(begin, min(begin + AT_ONCE, first + count))
            for release in releases:
                if release.name in result.untried or time.monotonic() - start > seconds:
                    continue
                with tempfile.TemporaryDirectory(prefix="writers-") as scratch:
                    _judge_release(release, seed, numbers, Path(scratch), result, keep, spark)
                result.seconds = time.monotonic() - start
                if progress is not None:
                    progress(result, release)
    return result


def drawn(seed, number):
    """Return the table of a number."""
    return random_recipe(random.Random(f"{seed} {number}"))


def _judge_release(release, seed, numbers, scratch, result, keep, spark):  # noqa: PLR0917 - of a loop
    recipes = {number: drawn(seed, number) for number in numbers}
    for number, recipe in recipes.items():
        (scratch / f"{number}.json").write_text(json.dumps(recipe), encoding="utf-8")
    try:
        written_by(release, scratch)
    except NotMade as why:
        result.untried[release.name] = str(why)
        return
    for number, recipe in recipes.items():
        path = scratch / f"{number}.parquet"
        if not path.exists():
            reason = (scratch / f"{number}.txt").read_text(encoding="utf-8").strip().splitlines()
            result.unwritten[f"{release.name}: {reason[0][:160] if reason else 'no reason'}"] += 1
            continue
        _judge_file(release, path, recipe, (seed, number), result, keep, spark)


def written_by(release, folder):
    """Let a release write the recipes of a folder. A process that a table ends is started again. Raises NotMade."""
    command, environment = command_of(release)
    command = [*command, str(SCRIPTS / release.script), str(folder)]
    for _ in range(len(list(folder.glob("*.json"))) + 1):
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0:
            return
        if not any(folder.glob("*.txt")) and not any(folder.glob("*.parquet")):
            raise NotMade((done.stderr.strip().splitlines() or ["the script failed"])[-1][:300])


def _judge_file(release, path, recipe, case, result, keep, spark):  # noqa: PLR0917 - of a loop
    seed, number = case
    try:
        truth = Truth(path)
        conditions = truth.conditions(random.Random(f"{seed} {number} conditions"), CONDITIONS)
    except (pa.ArrowException, OSError, UnicodeDecodeError, duckdb.Error) as error:
        result.unwritten[f"{release.name}: cannot be read: {str(error)[:120]}"] += 1
        return
    file = File(str(path), release.name, truth, recipe["options"]["statistics"])
    findings = judge(file, conditions, result.tally, spark)
    for finding in findings:
        result.add(number, finding)
    if findings and keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, keep / f"{release.name.replace(' ', '-')}-seed-{seed}-table-{number}.parquet")
