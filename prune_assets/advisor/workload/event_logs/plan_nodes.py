"""Convert plan nodes to operators, for plans whose text is not in the formatted form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prune_assets.advisor.workload.event_logs.node_names import is_filter, is_join, is_scan
from prune_assets.advisor.workload.event_logs.plan_text import Operator

if TYPE_CHECKING:
    from prune_assets.advisor.workload.event_logs.events import PlanNode

_OUTPUT = re.compile(r"\[(?:[^\[\]]*#\d+L?[^\[\]]*)?\]")
# Spark 3.1 misspells PushedFilters.
_SECTION = re.compile(
    r"(?:^|,? )(Batched|Bucketed|DataFilters|DictionaryFilters|Format|Location|NativeFilters|OptionalDataFilters"
    r"|PartitionFilters|PushedAggregation|PushedFilers|PushedFilters|PushedGroupBy|ReadSchema|RequiredDataFilters"
    r"|RuntimeFilters|SelectedBucketsCount): "
)
_SHORTENED = re.compile(r"\.\.\. ?\d+ more fields|\.\.\.\Z")


def operators_of_nodes(root: PlanNode) -> dict[int, Operator]:
    """Return the nodes of a plan as operators, numbered in preorder."""
    operators: dict[int, Operator] = {}
    stack: list[tuple[PlanNode, Operator | None]] = [(root, None)]
    while stack:
        node, parent = stack.pop()
        operator = Operator(len(operators), node.nodeName.strip(), sections_of(node), {}, [])
        operators[operator.number] = operator
        if parent is not None:
            parent.children.append(operator.number)
        stack.extend((child, operator) for child in reversed(node.children))
    return operators


def sections_of(node: PlanNode) -> dict[str, str]:
    """Return the sections of a scan, filter or join by title, without shortened and empty sections.

    >>> from prune_assets.advisor.workload.event_logs.events import PlanNode
    >>> text = "FileScan parquet [id#0L,k#1] Batched: true, Format: Parquet, Location: InMemoryFileIndex[file:/t]"
    >>> sections_of(PlanNode("Scan parquet ", f"{text}, PushedFilters: [], ReadSchema: struct<id:big..."))
    {'Output': '[id#0L, k#1]', 'Batched': 'true', 'Format': 'Parquet', 'Location': 'InMemoryFileIndex[file:/t]'}
    """
    if is_scan(node.nodeName):
        return _sections_of_scan(node)
    if is_filter(node.nodeName) or is_join(node.nodeName):
        return {"Arguments": node.simpleString.removeprefix(node.nodeName).strip()}
    return {}


def _sections_of_scan(node: PlanNode) -> dict[str, str]:
    output = _OUTPUT.search(node.simpleString)
    parts = _SECTION.split(node.simpleString if output is None else node.simpleString[output.end() :])
    printed = dict(zip(parts[1::2], parts[2::2], strict=True))
    whole = {title: entry for title, entry in printed.items() if entry != "[]" and not _SHORTENED.search(entry)}
    whole |= {title: entry for title, entry in node.metadata.items() if isinstance(entry, str) and entry != "[]"}
    listed = {} if output is None else {"Output": re.sub(r",(?=\S)", ", ", output[0])}
    return {**listed, **whole}
