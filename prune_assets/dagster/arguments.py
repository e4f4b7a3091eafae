"""Examples of arguments for error messages; checks of formats and modes."""

from __future__ import annotations

from prune_assets.tables.writes.format_names import check_format
from prune_assets.tables.writes.write_result import check_mode

# Keyed by the noun that error messages use for a type; see `parquet_core.argument_types`.
EXAMPLES = {
    "AssetKey": "'sales/orders'",
    "AssetCheckSeverity": "dg.AssetCheckSeverity.ERROR or dg.AssetCheckSeverity.WARN",
    "LayoutSpec": "pr.load_layout('layout.yaml')",
    "LayoutTable": "LayoutTable('sales/orders', 'lake/orders', layout=..)",
    "PartitionsDefinition": "dg.DailyPartitionsDefinition('2024-01-01')",
    "SkipReport": "pr.plan(table, where=..).report",
    "TimeWindowPartitionsDefinition": "dg.DailyPartitionsDefinition('2024-01-01')",
    "Workload": "pr.Workload.read(event_logs)",
    "list of AssetChecksDefinition": "[orders.checks()]",
    "list of LayoutTable": "[LayoutTable('sales/orders', 'lake/orders', layout=..)]",
    # Mappings: keyed by function and argument.
    "LayoutTable.predicates": "{'one_day': \"day = DATE '2024-03-01'\"}",
}


def examples() -> dict[str, str]:
    """Return an example of each argument type, keyed by the noun that error messages use for the type."""
    return EXAMPLES


def check_written(table_format: object, mode: str = "overwrite") -> None:
    """Raise WrongUse for a format that cannot be written or an unknown mode."""
    from prune_assets.tables.target import writable_formats

    check_format(table_format, writable_formats())
    check_mode(mode)
