"""What mends a fault in each place where people meet it: a command, an operator, a job."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from parquet_core.layout.spec import OPTIMIZE, OPTIMIZE_FULL, OPTIMIZE_ROWS, WRITE_ANEW
from parquet_core.printable import redacted
from prune_assets.tables.catalogs.names import may_be_of_session
from prune_assets.tables.writing import OUTSIDE_REMEDY

if TYPE_CHECKING:
    from parquet_core.layout.spec import Finding
    from prune_assets.tables.table import Table

# What does in Dagster and in Airflow what a command does in a shell; the longer command comes first.
_OPTIONS = {"--rows (rows=True)": "rows=True"}
_INSTEAD = {
    "dagster": {
        OPTIMIZE_ROWS: "the job of `build_optimize_job` with rows=True",
        OPTIMIZE_FULL: "materialize the asset with this layout",
        OPTIMIZE: "the job of `build_optimize_job`",
        WRITE_ANEW: "materialize the asset with this layout",
        # The author of an asset writes no condition: it is that of the partitions of the run.
        OUTSIDE_REMEDY: "return rows of the partitions of the run alone",
        **_OPTIONS,
    },
    "airflow": {
        OPTIMIZE_ROWS: "a task of OptimizeTableOperator with rows=True",
        OPTIMIZE_FULL: "a task of SortedWriteOperator",
        OPTIMIZE: "a task of OptimizeTableOperator",
        WRITE_ANEW: "a task of SortedWriteOperator",
        **_OPTIONS,
    },
}


def as_its_catalog_takes(finding: Finding, table: Table) -> Finding:
    """Return a finding whose remedy is one that writers of the format take.

    Where the catalog alone commits, a remedy that rewrites says so, unless the given name may be one of it.
    """
    remedy = table.format.reworded(finding.remedy)
    rewrites = OPTIMIZE in remedy or WRITE_ANEW in remedy
    if rewrites and table.format.by_catalog_alone and not may_be_of_session(table.name):
        remedy = f"{remedy}; its catalog alone commits, so name the table as Spark does: catalog.schema.table"
    return finding if remedy == finding.remedy else replace(finding, remedy=remedy)


def remedy_in(tool: Literal["dagster", "airflow"], finding: Finding) -> str:
    """Return the remedy of a finding in the words of an orchestrator.

    >>> from prune_assets import Finding, Severity
    >>> found = Finding("files.small", Severity.WARN, "t", "many", f"merge them: {OPTIMIZE}")
    >>> remedy_in("airflow", found)
    'merge them: a task of OptimizeTableOperator'
    """
    return in_words_of(tool, finding.remedy)


def in_words_of(tool: Literal["dagster", "airflow"], text: str) -> str:
    """Return a text that names commands of a shell in the words of an orchestrator.

    >>> in_words_of("dagster", f"merge them: {OPTIMIZE}")
    'merge them: the job of `build_optimize_job`'
    """
    for command, instead in _INSTEAD[tool].items():
        text = text.replace(command, instead)
    return text


def remedy_in_shell(finding: Finding, table: str, layout: str | None) -> str:
    """Return the remedy of a finding with commands as they are typed for a table.

    >>> from prune_assets import Finding, Severity
    >>> found = Finding("files.small", Severity.WARN, "t", "many", f"merge them: {OPTIMIZE}")
    >>> remedy_in_shell(found, "lake/orders", None)
    'merge them: prune optimize lake/orders --layout layout.yaml'
    """
    remedy = finding.remedy
    for command in (OPTIMIZE, WRITE_ANEW):
        typed = command.replace("layout.yaml", shlex.quote(layout or "layout.yaml"))
        remedy = remedy.replace(command, typed.replace(" TABLE ", f" {shlex.quote(redacted(table))} "))
    return remedy
