"""Registry of all checks, and of the codes of their findings and of advice.

The module of each check defines its entry. A tuple registers and runs it: `CHECKS` of `parquet_core.layout.checks`,
`OF_FILES` of `health/health.py`, and `log_checks` of a table format. Dagster, Pipes, the commands and the page of codes
read these tuples.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_core.layout.checks import CHECKS
from parquet_core.layout.entry import Check, Code
from prune_assets.checks.audit.entry import METADATA_CONSISTENCY
from prune_assets.checks.health.health import OF_DELETES, OF_FILES, OF_LOG

if TYPE_CHECKING:
    from collections.abc import Mapping

_SORT = (
    "Write the table with `prune write` (or `prune_assets.write`), or let `prune optimize` rewrite the files that "
    "overlap. A job of your own sorts within partitions by the key just before it writes."
)
CODE_REMEDIES = {
    "bloom_filter.absent": (
        "Request the filter as the finding says for the writer of the file; `prune write` requests it. If the "
        "dictionary answers the same question, remove the column from `bloom`."
    ),
    "overlap.files": _SORT,
    "overlap.row_groups": _SORT,
    "partitions.columns": "Write the table again with `prune write`, or change `partition_by` of the layout.",
    "order.row_groups": _SORT,
    "order.pages": f"{_SORT} If the column index is missing, fix `column_index.absent` first.",
    "order.rows": (
        "Let `prune optimize TABLE --layout layout.yaml --rows` read the key and rewrite the files whose rows are "
        "not in order, or write the table with `prune write` (or `prune_assets.write`). A job of your own sorts "
        "within partitions by the key just before it writes."
    ),
    "clustering.ineffective": (
        "Sort the rows along the curve with `prune optimize --full` or `prune write`. If they are sorted already, "
        "the columns have too few values or the table has too few row groups: choose columns with more values, or "
        "`sort_by`."
    ),
    "size.row_groups": "Write with `parquet.block.row.count.limit` (Spark 4.1 or newer), or through `prune write`.",
    "size.pages": "Write with `parquet.page.row.count.limit`, or through `prune write`.",
}


class CodeGroup(NamedTuple):
    """A section of the codes reference: codes of findings that the same commands and checks report.

    `sentence`: sentence that names these commands and checks.
    `checks`: checks that define the codes.
    `advice`: codes of advice, which no check defines.
    """

    title: str
    sentence: str
    checks: tuple[Check[Any], ...] = ()
    advice: Mapping[str, Code] = MappingProxyType({})

    @property
    def codes(self) -> dict[str, Code]:
        """All codes of the group."""
        parts = (*(check.codes for check in self.checks), self.advice)
        return {
            code: about._replace(remedy=CODE_REMEDIES.get(code, about.remedy))
            for part in parts
            for code, about in part.items()
        }


LAYOUT = CodeGroup(
    "Layout",
    "`prune check`, `prune_assets.check` and the checks of `LayoutTable.checks` report these.",
    CHECKS,
)

FILES = CodeGroup(
    "Files",
    "`LayoutTable.file_health_check` reports these, for any layout.",
    OF_FILES,
)

DELETES = CodeGroup(
    "Deleted rows",
    "`prune check` without a layout and `LayoutTable.delete_debt_check` report these, from the log of a Delta table or "
    "the manifests of an Iceberg table alone.",
    OF_DELETES,
)

LOG = CodeGroup(
    "Delta log",
    "`LayoutTable.log_health_check` reports these, from the log of a Delta table alone.",
    OF_LOG,
)

AUDIT = CodeGroup(
    "Audit",
    "`prune audit`, `prune_assets.audit` and `LayoutTable.statistics_truth_check` report these: a claim of the "
    "metadata that values disprove. Severity `error`: rows are lost or counted wrongly.",
    (METADATA_CONSISTENCY,),
)

ADVICE = CodeGroup(
    "Advice of a skip report",
    "If a plan skips less than half of the bytes, or a column skips little of the data that the other conditions "
    "keep, the report explains why and what would help: `advice.remedies[].kind` in its JSON.",
    advice={
        "sort_by": Code(
            "Values of the column are spread over the whole table; sorted by it, few row groups would hold matches.",
            "Put the column first in `sort_by`, or after the columns that skip already; write the table with "
            "`prune write`.",
        ),
        "partition_by": Code(
            "The column has few values, and most row groups hold all of them. After a sort by it alone, the rows of a "
            "value have no order; a directory for each value skips the other values.",
            "Name the column in `partition_by`, and write the table with `prune write`.",
        ),
        "bloom_filter": Code(
            "The predicate compares with single values, and the bounds of most row groups include them.",
            "Name the column in `bloom`, with 0.01 for 1% of false positives.",
        ),
        "write_predicate": Code(
            "A part of the predicate is written so that no metadata can answer it, and another wording would skip.",
            "Write the condition that the report names.",
        ),
        "statistics": Code(
            "Most row groups to read have no bounds of the column.",
            "Write these files again, with statistics.",
        ),
        "row_groups": Code(
            "The table has one row group, so row-group statistics and bloom filters cannot skip anything.",
            "Write more row groups, and pages with a column index: `row_group_rows` and `page_rows`.",
        ),
    },
)

GROUPS = (LAYOUT, FILES, DELETES, LOG, AUDIT, ADVICE)
