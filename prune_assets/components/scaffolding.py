"""The example that `dg scaffold defs prune_assets.components.<Component> NAME` writes."""

from typing import Any

import dagster as dg

_LAYOUT = {"sort_by": ["day", "id"], "bloom": {"id": 0.01}}
EXAMPLES: dict[str, dict[str, Any]] = {
    "LakeComponent": {
        "root": "/lake",
        "rules": [{"match": "sales/*", "layout": _LAYOUT, "skipping": {"one_day": "day = DATE '2024-01-01'"}}],
        "when": {"schedule": "0 3 * * *", "sensor": "report"},
    },
    "LayoutAdviceComponent": {
        "event_logs": ["/logs/spark"],
        "workloads": "lake/workloads",
        "tables": [{"asset": "sales/orders", "table": "lake/orders"}],
        "since": "2024-01-01",
        "schedule": "0 5 * * 1",
    },
    "LayoutChecksComponent": {
        "tables": [
            {
                "asset": "sales/orders",
                "table": "lake/orders",
                "layout": _LAYOUT,
                "skipping": {"one_day": "day = DATE '2024-01-01'"},
            }
        ],
        "when": {"schedule": "0 3 * * *", "sensor": "run"},
    },
    "PrunedTableComponent": {
        "asset": {"key": "sales/orders", "group_name": "sales"},
        "table": "lake/orders",
        "source": "SELECT * FROM parquet.`/landing/orders`",
        "layout": _LAYOUT,
        "format": "delta",
    },
    "SkipReportComponent": {
        "asset": "sales/orders",
        "table": "lake/orders",
        "predicates": {"one_day": "day = DATE '2024-01-01'"},
        "reports": "reports",
    },
    "SparkSessionComponent": {"master": "local[*]", "conf": {"spark.driver.memory": "4g"}},
}


class FromExample(dg.Scaffolder):
    """Writes the example of a component."""

    def scaffold(self, request: dg.ScaffoldRequest) -> None:
        """Write `defs.yaml`."""
        dg.scaffold_component(request, EXAMPLES[request.type_name.rpartition(".")[2]])
