"""Remedies worded for each tool: a shell, Dagster, Airflow."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from parquet_core.fix import OPTIMIZES, Fix, Step
from parquet_core.printable import redacted
from prune_assets.step_words import AIRFLOW, DAGSTER, SHELL
from prune_assets.tables.catalogs.names import may_be_of_session

if TYPE_CHECKING:
    from parquet_core.errors import PruneError
    from parquet_core.layout.spec import Finding
    from prune_assets.tables.table import Table

_WORDS = {"dagster": DAGSTER, "airflow": AIRFLOW}
_REWRITES = OPTIMIZES | {Step.WRITE_TABLE}


def with_catalog_name(finding: Finding, table: Table) -> Finding:
    """Return a finding whose remedy works with the writers of the table's format.

    If only a catalog commits to the table, a remedy that rewrites also says to use the table's name in that catalog,
    unless the table was given by this name.
    """
    if not finding.remedy:
        return finding
    fix = table.format.fixes.get(finding.code) or finding.fix or Fix(finding.remedy)
    fix = fix.with_setting(table.format.settings)
    if fix.step in _REWRITES and table.format.by_catalog_alone and not may_be_of_session(table.name):
        why = "only its catalog commits, so use the table's name in Spark: catalog.schema.table"
        fix = replace(fix, after=f"{fix.after}; {why}")
    return finding.with_fix(fix)


def remedy_in(tool: Literal["dagster", "airflow"], finding: Finding) -> str:
    """Return the remedy of a finding in the terms of an orchestrator.

    >>> from prune_assets import Finding, Severity
    >>> found = Finding("files.small", Severity.WARN, "t", "many", fix=Fix("merge them: ", Step.OPTIMIZE))
    >>> remedy_in("airflow", found)
    'merge them: a task of OptimizeTableOperator'
    """
    return finding.remedy if finding.fix is None else finding.fix.text(_WORDS[tool])


def error_in(tool: Literal["dagster", "airflow"], error: PruneError) -> PruneError:
    """Return an error whose remedy is in the terms of an orchestrator.

    >>> from prune_assets.errors import WrongUse
    >>> str(error_in("dagster", WrongUse("t: other rows", Fix(step=Step.STAY_IN_PARTITIONS))))
    't: other rows; return only rows of the partitions of the run'
    """
    words = _WORDS[tool]
    return type(error)(*(Fix(part.text(words)) if isinstance(part, Fix) else part for part in error.args))


def remedy_in_shell(finding: Finding, table: str, layout: str | None) -> str:
    """Return the remedy of a finding with shell commands for a table.

    >>> from prune_assets import Finding, Severity
    >>> found = Finding("files.small", Severity.WARN, "t", "many", fix=Fix("merge them: ", Step.OPTIMIZE))
    >>> remedy_in_shell(found, "lake/orders", None)
    'merge them: prune optimize lake/orders --layout layout.yaml'
    """
    if finding.fix is None:
        return finding.remedy
    typed = replace(finding.fix, place=shlex.quote(redacted(table)))
    return typed.text(SHELL, layout=shlex.quote(layout or "layout.yaml"))


def finding_json(finding: Finding) -> dict[str, object]:
    """Return a finding as commands print it in JSON.

    The remedy is included only as text.
    """
    keys = ("code", "severity", "location", "message", "remedy", "columns")
    return {key: getattr(finding, key) for key in keys}
