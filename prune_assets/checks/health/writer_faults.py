"""Findings for known faults of writers: untrusted statistics, their columns, and the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.fix import Fix, Step
from parquet_core.layout.spec import Finding, Severity
from parquet_core.quantities import counted
from parquet_core.trust.writer_fault import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_core.dataset.metadata_index import MetadataIndex
    from parquet_core.format.schema import LeafColumn
    from parquet_core.trust.writer_fault import KnownFault

_SHOWN_COLUMNS = 5
# Costs of a fault: the first entry counts whose facts are all wrong.
_COSTS = (
    (Fact.BOUNDS | Fact.PAGE_BOUNDS, "comparisons skip only by dictionaries and bloom filters"),
    (Fact.BOUNDS | Fact.NULL_COUNT, "only page indexes, dictionaries and bloom filters skip"),
    (Fact.BOUNDS, "comparisons skip only by page indexes, dictionaries and bloom filters"),
    (Fact.LOWER_BOUND, "`<` and `<=` skip only by page indexes and dictionaries"),
    (Fact.NULL_COUNT, "`IS NULL` skips less"),
    (Fact.BLOOM_FILTER, "bloom filters skip nothing"),
)
_NO_COST = "plans correct them"


def writer_faults(location: str, index: MetadataIndex, columns: Sequence[LeafColumn]) -> Iterator[Finding]:
    """Report each known fault that may affect the columns, once for all columns that it affects."""
    affected: dict[KnownFault, list[tuple[LeafColumn, int]]] = {}
    for column in columns:
        for fault, groups in index.footers.faulty(column).items():
            affected.setdefault(fault, []).append((column, int(groups.sum())))
    for fault, of_columns in affected.items():
        names = tuple(column.name for column, _ in of_columns)
        cost = next((text for facts, text in _COSTS if facts in fault.wrong), _NO_COST)
        labels = fault.columns.value if len(names) > 1 else fault.columns.value.replace("columns", "column", 1)
        message = (
            f"{' and '.join(fault.wrong.labels)} of {len(names):,} {labels} ({_listed(names)}) by {fault.application} "
            f"are not trusted in {counted(max(count for _, count in of_columns), 'row group')}: "
            f"{fault.what} ({fault.code}); {cost}; readers that trust them may lose rows"
        )
        fix = Fix("rewrite these files with another writer, or a newer version of it: ", Step.WRITE_TABLE)
        yield Finding("statistics.writer_fault", Severity.WARN, location, message, columns=names, fix=fix)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN_COLUMNS])
    return shown if len(names) <= _SHOWN_COLUMNS else f"{shown} and {len(names) - _SHOWN_COLUMNS:,} more"
