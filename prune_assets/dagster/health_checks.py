"""Asset checks of how a table stands: the log of Delta, and what files give predicates to skip by."""
# No `from __future__ import annotations` here: Dagster compares the annotation of `context` itself, not its text.

from typing import TYPE_CHECKING

import dagster as dg

from parquet_core.errors import PruneError
from prune_assets.checks.finding_codes import FILES_ARE_HEALTHY, LOG_IS_HEALTHY
from prune_assets.checks.health.file_health import check_files
from prune_assets.checks.health.log_health import MAX_COMMITS, check_log
from prune_assets.dagster.asset_keys import AssetName, asset_key_of
from prune_assets.dagster.checks import check_result, unreadable_result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def build_log_health_check(
    asset_key: AssetName,
    table: "str | Path",
    *,
    max_commits: int = MAX_COMMITS,
    max_small_files: int | None = None,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    allow: "Sequence[str]" = (),
) -> dg.AssetChecksDefinition:
    """Build a check of how the log of a Delta table stands: checkpoint, small files, files without statistics.

    >>> from prune_assets.dagster import build_log_health_check
    >>> check = build_log_health_check("orders", "lake/orders", max_commits=50)
    >>> [key.name for key in check.check_keys]
    ['log_is_healthy']

    It reads the log alone, and starts no Spark. A table that is no Delta table, or that cannot be read, fails it.

    `max_commits`: how many commits a reader may have to replay on top of a checkpoint. `max_small_files`: how many
    files may be smaller than 32 MiB; by default more than 1,000 fail it, and 50 that could be merged warn. `blocking`,
    `severity`, `allow`: as for the checks of layouts.
    """
    asset_key = asset_key_of(asset_key)
    name = LOG_IS_HEALTHY.name

    @dg.asset_check(
        asset=asset_key,
        name=name,
        blocking=blocking,
        description=f"At most {max_commits:,} commits to replay, few small files, statistics in all.",
    )
    def log_health_check() -> dg.AssetCheckResult:
        try:
            findings = check_log(str(table), max_commits=max_commits, max_small_files=max_small_files, allow=allow)
        except PruneError as error:
            return unreadable_result(name, asset_key, severity, error)
        return check_result(name, asset_key, severity, findings)

    return log_health_check


def build_file_health_check(
    asset_key: AssetName,
    table: "str | Path",
    *,
    columns: "Sequence[str]" = (),
    max_small_files: int | None = None,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    allow: "Sequence[str]" = (),
) -> dg.AssetChecksDefinition:
    """Build a check of what files give predicates to skip by, whatever their layout: small files, INT96, statistics.

    >>> from prune_assets.dagster import build_file_health_check
    >>> check = build_file_health_check("orders", "lake/orders", columns=["day", "id"])
    >>> [key.name for key in check.check_keys]
    ['files_are_healthy']

    It reads the footers and a few bloom filters, and starts no Spark. It finds statistics that are missing or
    cannot be trusted, timestamps as INT96, bloom filters with many false positives, and too many small files.

    `columns`: those that matter; all by default. `max_small_files`: how many files may be smaller than 32 MiB; by
    default more than 1,000 fail it, and 50 that could be merged warn.
    `blocking`, `severity`, `allow`: as for the checks of layouts.
    """
    asset_key = asset_key_of(asset_key)
    name = FILES_ARE_HEALTHY.name

    @dg.asset_check(
        asset=asset_key,
        name=name,
        blocking=blocking,
        description=FILES_ARE_HEALTHY.proves,
    )
    def file_health_check() -> dg.AssetCheckResult:
        try:
            findings = check_files(str(table), columns=columns, max_small_files=max_small_files, allow=allow)
        except PruneError as error:
            return unreadable_result(name, asset_key, severity, error)
        return check_result(name, asset_key, severity, findings)

    return file_health_check
