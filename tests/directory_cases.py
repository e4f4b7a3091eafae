"""Directory shapes from `directory_cases.txt`: existing files, the named path, and the files that Spark reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq


class DirectoryCase(NamedTuple):
    files: tuple[str, ...]
    named: str | tuple[str, ...]
    outcome: str

    @property
    def read(self):
        """The files that are read, None where Spark refuses."""
        return None if self.outcome in {"error", "refused"} else sorted(self.outcome.split(", "))

    def make(self, root):
        """Write the files, the number of each in its column `v`, and return what to name."""
        root.mkdir()
        for number, name in enumerate(self.files):
            path = root / name.rstrip("!")
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if name.endswith("!"):
                path.touch()
            elif not name.endswith("/"):
                pq.write_table(pa.table({"v": [number]}), path)
        if isinstance(self.named, str):
            return _at(root, self.named)
        return [_at(root, name) for name in self.named]

    def __str__(self):
        return f"{', '.join(self.files)}; {self.named}"


def _at(root, name):
    return f"{root}" if name == "." else f"{root}/{name}"


def _case(line):
    files, named, outcome = (part.strip() for part in line.split(";"))
    is_list = named.startswith("[") and named.endswith("]") and named != "[ab]"
    return DirectoryCase(
        tuple(files.split(", ")) if files else (), tuple(named[1:-1].split(", ")) if is_list else named, outcome
    )


def _cases():
    lines = Path(__file__).with_suffix(".txt").read_text().splitlines()
    return [_case(line) for line in lines if line and not line.startswith("#")]


CASES = _cases()


def relative(paths, root):
    return sorted(os.path.relpath(path, root) for path in paths)
