"""Check the MERGEs in a Delta log: the bytes that they opened, and the bytes that they rewrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.snapshot.row_changes import FileTotals, amplification, by_condition
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.spec import Finding, Severity
from parquet_core.printable import printable
from parquet_core.quantities import bytes_text, counted
from prune_assets.tables.examination import LAST_MERGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltalog.snapshot.row_changes import Amplification
    from prune_assets.tables.delta.health import ExaminedLog

# A warning if MERGEs opened more than MOST_OPENED bytes per rewritten byte, and on average _MANY_FILES files each: a
# MERGE opens the whole of a small table in any layout.
MOST_OPENED = 10
_MANY_FILES = 10


def check_merges(examined: ExaminedLog) -> Iterator[Finding]:
    """Yield a finding for each set of join keys whose MERGEs opened many times the bytes that they rewrote."""
    last = counted(len(examined.merges), "MERGE")
    for (_, keys), group in by_condition(examined.merges).items():
        total = amplification(group)
        if _is_many(total):
            on = f" on {printable(', '.join(keys))}" if keys else ""
            times = "" if total.ratio is None else f": {total.ratio:,.0f} times more"
            message = (
                f"{total.statements:,} of the last {last}{on} opened {_amount(total.opened)} and rewrote "
                f"{_amount(total.rewritten)}{times}"
            )
            location = f"{examined.name}, versions {group[-1].version} to {group[0].version}"
            yield Finding("merges.opened", Severity.WARN, location, message, _remedy(keys), columns=keys)


def _is_many(total: Amplification) -> bool:
    files = total.opened.files
    if files is None or files < _MANY_FILES * total.statements or not total.statements:
        return False
    return total.ratio is None or total.ratio > MOST_OPENED


def _amount(totals: FileTotals) -> str:
    return counted(totals.files or 0, "file") if totals.bytes is None else bytes_text(totals.bytes)


def _remedy(keys: Sequence[str]) -> str:
    by = printable(", ".join(keys)) or "the columns of ON"
    return (
        f"add a condition on the table to ON that the source implies, which `prune merge FILE.sql` prints; if the "
        f"values of {by} are spread over all files, sort the table by {by}: prune advise TABLE"
    )


MERGES_OPEN_FEW_FILES = Check(
    "merges_open_few_files",
    "The last MERGEs opened little more than they rewrote.",
    {
        "merges.opened": Code(
            f"The last {LAST_MERGES} MERGEs with the same join keys opened more than {MOST_OPENED} bytes of the table "
            f"for each byte in files that they rewrote, and at least {_MANY_FILES} files each. Delta skips files of a "
            "MERGE only by conditions on the table alone: `ON t.k = s.k` opens all files. Commits do not record the "
            "opened files, so only MERGEs that could not skip any count, and MERGEs of delta-rs, which records them.",
            "Add a condition that the source implies, such as `t.k BETWEEN 10 AND 20`, to ON: `prune merge FILE.sql` "
            "prints it. If the keys are spread over all files, sort the table by them: `prune advise TABLE`. "
            "`prune history TABLE --rewrites` lists the MERGEs.",
        ),
    },
    check_merges,
    reads="log",
)
