"""Compare with other engines: `make bench`, or `make bench ARGS=Delta` for the comparisons whose names contain Delta.

Each side runs in its own processes, alternating, on the same files; reads through Spark share one session.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.advisor import NAME as ADVISOR
from benchmarks.advisor import advisor, parity
from benchmarks.advisor_end_to_end import NAME as END_TO_END
from benchmarks.advisor_end_to_end import end_to_end
from benchmarks.advisor_holds import NAME as HOLDS
from benchmarks.advisor_holds import holds
from benchmarks.advisor_regret import NAME as REGRET
from benchmarks.advisor_regret import regret
from benchmarks.advisor_time import NAME as ADVICE_TIME
from benchmarks.advisor_time import advice_time
from benchmarks.delta_logs import large_commits, million_files, thousand_commits
from benchmarks.delta_reads import NAME as DELTA_READS
from benchmarks.delta_reads import delta_reads
from benchmarks.iceberg import iceberg_files
from benchmarks.many_files import hundred_thousand_files, many_files
from benchmarks.merges import NAME as MERGES
from benchmarks.merges import merges
from benchmarks.page_reader import NAME as PAGE_READER
from benchmarks.page_reader import page_reader
from benchmarks.reads import CASES, reads
from benchmarks.star_joins import NAME as STAR_JOINS
from benchmarks.star_joins import star_joins
from benchmarks.wide_file import wide_file
from benchmarks.writes import NAME as WRITES
from benchmarks.writes import writes

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS = 11
ICEBERG_READS = "read, Iceberg of 200 files"
SIDES = Path(__file__).with_name("sides")
CACHE = Path(".bench") / "cache"


@dataclass(frozen=True)
class Comparison:
    """Two programs measured on the same files.

    `bar`: largest allowed ratio of our time to the peer's; `memory_bar`: largest allowed ratio of peak memory. None if
    there is no limit.
    """

    name: str
    ours: str
    peer: str
    bar: float | None
    files: Callable[[], Path] = many_files
    memory_bar: float | None = None


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
    Comparison(
        "Delta, 1,000,000 files: snapshot + partition and statistics | delta-rs",
        *("delta_partition", "delta_rs", 0.6, million_files, 0.8),
    ),
    Comparison("the same, statistics of three columns", "delta_statistics", "delta_rs", 0.6, million_files, 0.8),
    Comparison("the same from disk", "delta_warm", "delta_rs", 0.1, million_files),
    Comparison(
        "Delta, 1,000 commits without a checkpoint | delta-rs", "delta_partition", "delta_rs", 1.0, thousand_commits
    ),
    Comparison(
        "Delta, three commits of 100,000 files each | delta-rs", "delta_partition", "delta_rs", 1.0, large_commits
    ),
    Comparison(
        "Delta, 1,000,000 files held, one new commit (50 ms) | delta-rs",
        "delta_refresh",
        "delta_rs_refresh",
        None,
        million_files,
    ),
    Comparison(
        "Iceberg, 100,000 files in 100 manifests: partition + 2 bounds | pyiceberg",
        *("iceberg_plan", "pyiceberg_plan", 0.5, iceberg_files, 0.5),
    ),
    Comparison("Iceberg, the same once more in the process", "iceberg_warm", "pyiceberg_warm", 0.1, iceberg_files),
    Comparison(
        "Iceberg, a partition that few manifests have", "iceberg_clustered", "pyiceberg_clustered", 0.5, iceberg_files
    ),
    Comparison(
        "100,000 files: cold plan (1.5 GB) | Spark lists and takes the schema",
        *("plan_cold", "spark_listing", 0.5, hundred_thousand_files),
    ),
    Comparison(
        "100,000 files: plan from disk | the same", "plan_from_disk", "spark_listing", 0.5, hundred_thousand_files
    ),
    Comparison("1,000 footers walked, as Python | compiled", "walk_as_python", "walk", 60.0),
]

# Measurements without a peer: scripts that print several times in seconds.
FIGURES = ["million_pages", "long_predicates", "airflow_parse"]
RUNS = 3


class Measured(NamedTuple):
    """Figures that one script printed, and its peak memory in MiB as the system counts it."""

    figures: dict[str, float]
    peak: float


def measured(side: str, path: Path) -> Measured:
    """Run one script once; its times exclude imports, and the first run fills the cache on disk."""
    command = [sys.executable, str(SIDES / f"{side}.py"), str(path)]
    environment = {**os.environ, "PRUNE_CACHE_DIR": str(CACHE.absolute()), "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Measured({name: float(value) for name, value in json.loads(said).items()}, usage.ru_maxrss / 1024)


def main() -> None:
    """Print the comparisons whose names contain the given word.

    Each row has the medians, and the median ratio of interleaved pairs with its 95 % interval.
    """
    word = " ".join(sys.argv[1:])
    chosen = [comparison for comparison in COMPARISONS if word in f"{comparison.name} {comparison.ours}"]
    titles = ("ours | peer", "ours", "peer", "ratio", "95 % interval", "bar", "peak MiB", "ratio", "bar")
    table = Table(*titles, title=f"{PAIRS} pairs each")
    for comparison in chosen:
        table.add_row(*row_of(comparison))
    if chosen:
        Console(width=160).print(table)
    if any(word in f"read {case.name}" for case in CASES):
        Console(width=160).print(reads())
    _print_named(word)
    if word in WRITES:
        Console(width=160).print(writes())
    if not word:
        Console(width=130).print(figures())


def _print_named(word: str) -> None:
    """Print the comparisons that run only if they are named: they start Spark, or take minutes."""
    named = {
        delta_reads: DELTA_READS,
        merges: MERGES,
        star_joins: STAR_JOINS,
        page_reader: PAGE_READER,
        advisor: ADVISOR,
        parity: ADVISOR,
        holds: HOLDS,
        regret: REGRET,
        advice_time: ADVICE_TIME,
        end_to_end: END_TO_END,
    }
    for compare, name in named.items():
        if word and word in name:
            Console(width=160).print(compare())
    if word and word in ICEBERG_READS:
        from benchmarks.iceberg_reads import iceberg_reads

        Console(width=160).print(iceberg_reads())


def row_of(comparison: Comparison) -> list[str]:
    """Measure both sides alternately and return one table row."""
    path = comparison.files()
    measured(comparison.ours, path)
    pairs = [(measured(comparison.ours, path), measured(comparison.peer, path)) for _ in range(PAIRS)]
    ratios = sorted(a.figures["seconds"] / b.figures["seconds"] for a, b in pairs)
    mine, theirs = (statistics.median(each.figures["seconds"] for each in side) for side in zip(*pairs, strict=True))
    peaks = [statistics.median(each.peak for each in side) for side in zip(*pairs, strict=True)]
    # For 11 pairs, the second smallest and the second largest ratio enclose the median with 98.8 % probability.
    interval = f"{ratios[1]:.3f} to {ratios[-2]:.3f}"
    times = [f"{mine * 1e3:.1f} ms", f"{theirs * 1e3:.1f} ms", f"{statistics.median(ratios):.3f}", interval]
    memory = [f"{peaks[0]:.0f} | {peaks[1]:.0f}", f"{peaks[0] / peaks[1]:.2f}", _bar(comparison.memory_bar)]
    return [comparison.name, *times, _bar(comparison.bar), *memory]


def _bar(asked: float | None) -> str:
    return "" if asked is None else f"{asked:g}"


def figures() -> Table:
    """Return the smallest and median times of the measurements without a peer."""
    table = Table("ours", "smallest", "median", title=f"{RUNS} runs each")
    for side in FIGURES:
        runs = [measured(side, many_files()).figures for _ in range(RUNS)]
        for name in runs[0]:
            times = [run[name] * 1e3 for run in runs]
            table.add_row(name, f"{min(times):.1f} ms", f"{statistics.median(times):.1f} ms")
    return table


if __name__ == "__main__":
    main()
