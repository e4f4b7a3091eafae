"""Measure against peers: `make bench`. Each side runs in processes of its own, in turns, on the same files."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.many_files import many_files
from benchmarks.wide_file import wide_file

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS = 11
SIDES = Path(__file__).with_name("sides")
CACHE = Path(".bench") / "cache"


@dataclass(frozen=True)
class Comparison:
    """Two sides on the same files. `bar`: the ratio asked for, ours to the peer's."""

    name: str
    ours: str
    peer: str
    bar: float | None
    files: Callable[[], Path] = many_files


COMPARISONS = [
    Comparison(
        "footers + page indexes of 2 columns | pyarrow splits by row group", "page_indexes", "pyarrow_split", 0.6
    ),
    Comparison("the same | DataFusion, first query", "page_indexes", "datafusion_query", 0.2),
    Comparison("the same from disk | pyarrow splits by row group", "from_disk", "pyarrow_split", 0.2),
    Comparison("footers + bounds of 2 columns | pyarrow", "footers", "pyarrow_footers", None),
    Comparison("2,000 columns x 50 row groups, two columns | pyarrow", "wide", "pyarrow_wide", 0.5, wide_file),
    Comparison("warm plan | DataFusion, warm query", "plan_warm", "datafusion_warm", 0.5),
    Comparison("cold plan to row groups | pyarrow splits by row group", "plan_cold", "pyarrow_split", 0.6),
    Comparison("1,000 footers walked, as Python | compiled", "walk_as_python", "walk", 60.0),
]

# What no peer does: sides that print several figures, each in seconds.
FIGURES = ["million_pages", "long_predicates"]
RUNS = 3


def measured(side: str, path: Path) -> dict[str, float]:
    """Run one side once and return what it measured, imports left out; the first run fills the cache on disk."""
    command = [sys.executable, str(SIDES / f"{side}.py"), str(path)]
    environment = {**os.environ, "PRUNE_CACHE_DIR": str(CACHE.absolute()), "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return {name: float(value) for name, value in json.loads(done.stdout).items()}


def main() -> None:
    """Print medians and the median ratio of interleaved pairs, with its 95 % interval."""
    table = Table("ours | peer", "ours", "peer", "ratio", "95 % interval", "bar", title=f"{PAIRS} pairs each")
    for comparison in COMPARISONS:
        path = comparison.files()
        measured(comparison.ours, path)
        pairs = [
            (measured(comparison.ours, path)["seconds"], measured(comparison.peer, path)["seconds"])
            for _ in range(PAIRS)
        ]
        ratios = sorted(a / b for a, b in pairs)
        mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        # Of 11 pairs, the second smallest and second largest ratio enclose the median with 98.8 %.
        interval = f"{ratios[1]:.3f} to {ratios[-2]:.3f}"
        asked = "" if comparison.bar is None else f"{comparison.bar:g}"
        ratio = f"{statistics.median(ratios):.3f}"
        table.add_row(comparison.name, f"{mine * 1e3:.1f} ms", f"{theirs * 1e3:.1f} ms", ratio, interval, asked)
    Console(width=130).print(table)
    Console(width=130).print(figures())


def figures() -> Table:
    """Return smallest and median of what is measured without a peer."""
    table = Table("ours", "smallest", "median", title=f"{RUNS} runs each")
    for side in FIGURES:
        runs = [measured(side, many_files()) for _ in range(RUNS)]
        for name in runs[0]:
            times = [run[name] * 1e3 for run in runs]
            table.add_row(name, f"{min(times):.1f} ms", f"{statistics.median(times):.1f} ms")
    return table


if __name__ == "__main__":
    main()
