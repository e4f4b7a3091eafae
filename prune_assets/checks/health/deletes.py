"""Deleted rows that readers still read, as findings.

Findings name the share of deleted rows, and the delete files to open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_core.fix import Fix, Step
from parquet_core.layout.entry import Check, Code
from parquet_core.layout.spec import Finding, Severity
from parquet_core.printable import redacted
from parquet_core.quantities import counted
from prune_assets.tables.delete_debt import DELETED_SHARE, MANY_DELETE_FILES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from prune_assets.tables.delete_debt import DeleteDebt

# Iceberg's rewrite_data_files rewrites files with a larger share of deleted rows by default.
MOST_DELETED = 0.3
MOST_DELETE_FILES = 100
_SHOWN = 3
_FIX = Fix("rewrite the files without the deleted rows: ", Step.OPTIMIZE)


def check_debt(location: str, debt: DeleteDebt | None) -> Iterator[Finding]:
    """Report deleted rows that are still in files; `debt`: their counts, None for a format without deletes."""
    if debt is None or not debt.all_delete_files.any():
        return
    yield from _deleted_rows(location, debt)
    yield from _delete_files(location, debt)
    yield from _equality(location, debt)


def _deleted_rows(location: str, debt: DeleteDebt) -> Iterator[Finding]:
    if not debt.deleted_rows:
        return
    shares = debt.shares()
    many = int(np.count_nonzero(shares > DELETED_SHARE))
    with_deletes = int(np.count_nonzero(debt.delete_files))
    severity = _severity(debt.share, DELETED_SHARE, MOST_DELETED)
    most = "" if debt.is_exact else "at most "
    # Manifests do not record which files contain the rows of a shared delete file.
    by_file = "" if debt.shared else f", {many:,} of them with more than {DELETED_SHARE:.0%}{_worst(debt, shares)}"
    of_all = f" of {counted(debt.all_rows, 'row')} ({debt.share:.1%})" if debt.all_rows else " rows"
    message = (
        f"{most}{debt.deleted_rows:,}{of_all} are deleted, in "
        f"{with_deletes:,} of {counted(len(shares), 'file')}{by_file}; readers still read these rows"
    )
    fix = _FIX if many or severity is not Severity.INFO else None
    yield Finding("deletes.rows", severity, location, message, fix=fix)


def _delete_files(location: str, debt: DeleteDebt) -> Iterator[Finding]:
    most = int(debt.all_delete_files.max(initial=0))
    if most < MANY_DELETE_FILES:
        return
    many = int(np.count_nonzero(debt.all_delete_files >= MANY_DELETE_FILES))
    message = (
        f"readers open up to {most:,} delete files for one data file, and {MANY_DELETE_FILES} or more for "
        f"{many:,} of {counted(len(debt.rows), 'file')}"
    )
    severity = Severity.ERROR if most >= MOST_DELETE_FILES else Severity.WARN
    yield Finding("deletes.files", severity, location, message, fix=_FIX)


def _equality(location: str, debt: DeleteDebt) -> Iterator[Finding]:
    concerned = int(np.count_nonzero(debt.equality_files))
    if not concerned:
        return
    message = (
        f"{concerned:,} of {counted(len(debt.rows), 'file')} have equality deletes, up to "
        f"{int(debt.equality_files.max()):,} a file: readers compare each row with them, and pyiceberg and "
        "`prune_assets.read_arrow` refuse such files"
    )
    yield Finding("deletes.equality", Severity.WARN, location, message, fix=_FIX)


def _severity(value: float, warn: float, error: float) -> Severity:
    if value > error:
        return Severity.ERROR
    return Severity.WARN if value > warn else Severity.INFO


def _worst(debt: DeleteDebt, shares: NDArray[np.float64]) -> str:
    worst = [int(i) for i in np.argsort(-shares, kind="stable")[:_SHOWN] if shares[i] > DELETED_SHARE]
    named = [f"{redacted(debt.path(i)).rpartition('/')[2]} {shares[i]:.0%}" for i in worst]
    return f" (most: {', '.join(named)})" if named else ""


DELETES_ARE_APPLIED = Check(
    "deletes_are_applied",
    "Few rows are deleted without a rewrite of their files, by few delete files.",
    {
        "deletes.rows": Code(
            "Rows are deleted by deletion vectors (Delta, Iceberg 3) or position deletes (Iceberg), and their files "
            "still hold them: every reader reads them and drops them. It is a note up to 5% of the rows of the table, "
            "a warning above, where delta-spark's OPTIMIZE rewrites a file, and an error above 30%, where Iceberg's "
            "`rewrite_data_files` does. The log and the manifests count the rows; for position deletes the count is "
            "an upper limit, because two delete files may name the same row. For equality deletes the number of rows "
            "is unknown.",
            "Rewrite the files: `prune optimize TABLE --layout layout.yaml` rewrites each file with more than 5% of "
            "deleted rows.",
        ),
        "deletes.files": Code(
            "Readers open many delete files for one data file of an Iceberg table. It is a warning from 10 on, an "
            "error from 100 on. iceberg-go took 41 ms for a file without and 5,087 ms for one with 50 delete files.",
            "Rewrite the files: `prune optimize CATALOG.SCHEMA.TABLE --layout layout.yaml` rewrites each data file "
            "with 10 delete files or more, and merges the position deletes that are left.",
        ),
        "deletes.equality": Code(
            "Files of an Iceberg table have equality deletes, as streaming writers such as Flink make them: readers "
            "compare each row of these files with the deleted keys. Readers that do not apply them (pyiceberg, and "
            "`read_arrow` and `count` here) refuse the files. How many rows they delete is unknown without "
            "the data.",
            "Rewrite the files: `prune optimize CATALOG.SCHEMA.TABLE --layout layout.yaml` rewrites each file that "
            "has equality deletes.",
        ),
    },
    check_debt,
    reads="log",
)
