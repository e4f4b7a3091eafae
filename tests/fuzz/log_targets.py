"""Fuzz targets for damaged Delta logs: the input is a whole log, the output a snapshot or an error."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

from targets import Target, judge_nothing

# The modules that write and damage logs are in the tests of deltalog.
sys.path.append(str(Path(__file__).parents[1] / "deltalog"))

from log_answers import ask
from log_mutations import base_logs, mutated

from deltalog.stats import parse_json

# The logs have few files; this makes their statistics be parsed like those of large logs.
parse_json._LEAST = 1

PLACE = "damaged"


class Logs(NamedTuple):
    """Intact logs by kind, and the directory for damaged copies."""

    folder: Path
    by_name: dict


class LogCase(NamedTuple):
    """A damaged copy of a log; `files`: all of its bytes."""

    path: Path
    files: bytes


def make_logs(directory):
    """Write one log of each kind."""
    folder = directory / "logs"
    folder.mkdir()
    logs = {log.path.name.removesuffix("-log"): log for log in base_logs(folder)}
    assert set(logs) == set(LOG_TARGETS)
    for log in logs.values():
        ask(log.path)
    return Logs(folder, logs)


def draw_log(name, chance, logs):
    path = mutated(logs.by_name[name], logs.folder, chance)
    files = {str(file.relative_to(path)): file.read_bytes().hex() for file in sorted(path.rglob("*")) if file.is_file()}
    return LogCase(path, json.dumps(files).encode())


def answer_log(case, _):
    return ask(case.path)


LOG_TARGETS = {
    name: Target(partial(draw_log, name), lambda case: case.files, answer_log, judge_nothing, 1)
    for name in ("commits", "classic", "parts", "sidecars", "compacted")
}
