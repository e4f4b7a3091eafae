"""Measure against peers: `make bench`. Each side runs in processes of its own, in turns, on the same files."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.many_files import FILES, many_files

PAIRS = 11
SIDES = Path(__file__).with_name("sides")

# What is compared: name, our side, the peer's side, and the ratio that is asked for.
COMPARISONS = [
    ("footers and page indexes of 2 columns, pyarrow splits by row group", "page_indexes", "pyarrow_split", 0.6),
    ("footers alone, pyarrow reads the same footers", "footers", "pyarrow_footers", None),
]


def seconds(side: str, directory: Path) -> float:
    """Run one side once and return the seconds that it measured, imports and warm-up left out."""
    command = [sys.executable, str(SIDES / f"{side}.py"), str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["seconds"])


def main() -> None:
    """Print medians and the median ratio of interleaved pairs, with its 95 % interval."""
    directory = many_files()
    table = Table(
        "comparison", "ours", "peer", "ratio", "95 % interval", "bar", title=f"{FILES:,} files, {PAIRS} pairs"
    )
    for name, ours, peer, bar in COMPARISONS:
        pairs = [(seconds(ours, directory), seconds(peer, directory)) for _ in range(PAIRS)]
        ratios = sorted(a / b for a, b in pairs)
        mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        # Of 11 pairs, the second smallest and second largest ratio enclose the median with 98.8 %.
        interval = f"{ratios[1]:.2f} to {ratios[-2]:.2f}"
        asked = "" if bar is None else f"{bar:.2f}"
        table.add_row(name, f"{mine:.3f} s", f"{theirs:.3f} s", f"{statistics.median(ratios):.2f}", interval, asked)
    Console().print(table)


if __name__ == "__main__":
    main()
