"""The scans of a plan: from its text their table, columns and filters, from its nodes the metrics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.workload.event_logs.plan_text import operators_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prune_assets.workload.event_logs.events import PlanNode
    from prune_assets.workload.event_logs.plan_text import Operator

_SCAN = re.compile(r"^(?:Scan|BatchScan)\b")
_ATTRIBUTE = re.compile(r"#(\d+)L?(?=[,\]. ]|$)")
# What may stand between a scan and its filter: it leaves the rows, and columns that it computes have new numbers.
_BETWEEN = re.compile(r"^(?:ColumnarToRow|InputAdapter|Project|WholeStageCodegen.*|.*QueryStage.*)$")
# What holds plans that may have run in an earlier query.
_HOLDERS = re.compile(r"^(?:InMemoryTableScan|Scan In-memory|CommandResult)")
# Lists in the names of nodes are shortened, to 25 by default; so many attributes tell scans apart.
_COMPARED = 10


class ScanMetrics(NamedTuple):
    """Accumulators of a scan and of the filter on it; `held`: the plan alone does not say that it ran."""

    files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    seconds: tuple[int, float] | None = None
    selected: int | None = None
    held: bool = False


class PlannedScan(NamedTuple):
    """A scan of a plan: what its section says, the conditions of the filters on it, and the keys it is joined on."""

    name: str
    fields: dict[str, str]
    output_count: int | None
    conditions: list[str]
    joined_on: frozenset[str]
    metrics: ScanMetrics
    # Behind a filter on what Python or a UDF computes, which is no filter on the scan.
    has_other_filter: bool


def scans_of(text: str, root: PlanNode) -> list[PlannedScan]:
    """Return the scans of a plan. Raises NotUnderstood where its text cannot be read."""
    operators = operators_of(text)
    parents = {child: one for one in operators.values() for child in one.children}
    keys = _join_keys(operators)
    metrics = _metrics_by_output(root)
    scans = []
    for one in operators.values():
        if _SCAN.match(one.name):
            found = metrics.get((one.name.strip(), _ids(one.fields.get("Output", ""))), [])
            conditions, has_other = _filters(one, parents)
            scans.append(
                PlannedScan(
                    one.name,
                    one.fields,
                    one.counts.get("Output"),
                    conditions,
                    frozenset(key for key in keys if key in one.fields.get("Output", "")),
                    found.pop(0) if found else ScanMetrics(),
                    has_other,
                )
            )
    return scans


def _filters(scan: Operator, parents: dict[int, Operator]) -> tuple[list[str], bool]:
    """Return the conditions directly on a scan, and whether one follows that is on what a function computes."""
    conditions, node = [], parents.get(scan.number)
    while node is not None and (_BETWEEN.match(node.name) or node.name == "Filter"):
        if node.name == "Filter":
            conditions.append(node.fields.get("Condition", ""))
        node = parents.get(node.number)
    computed = node is not None and node.name in {"BatchEvalPython", "ArrowEvalPython"}
    return conditions, computed


def _join_keys(operators: dict[int, Operator]) -> set[str]:
    """Return the attributes, such as `id#4L`, that joins compare."""
    lists = [one.fields.get(f"{side} keys", "") for one in operators.values() for side in ("Left", "Right")]
    return {key for keys in lists for key in keys.strip("[]").split(", ") if _ATTRIBUTE.search(key) and "(" not in key}


def _ids(output: str) -> tuple[str, ...]:
    return tuple(_ATTRIBUTE.findall(output)[:_COMPARED])


def _metrics_by_output(root: PlanNode) -> dict[tuple[str, tuple[str, ...]], list[ScanMetrics]]:
    found: dict[tuple[str, tuple[str, ...]], list[ScanMetrics]] = {}
    for scan, selected, held in _scan_nodes(root):
        ids = {metric.name: metric for metric in scan.metrics}
        time = ids.get("scan time")
        number = {name: metric.accumulatorId for name, metric in ids.items()}
        metrics = ScanMetrics(
            number.get("number of files read", number.get("number of result data files")),
            number.get("size of files read", number.get("total data file size (bytes)")),
            number.get("number of output rows"),
            None if time is None else (time.accumulatorId, 1e9 if time.metricType == "nsTiming" else 1e3),
            selected,
            held,
        )
        output = scan.simpleString[scan.simpleString.find("[") :].partition("]")[0] + "]"
        places = found.setdefault((scan.nodeName.strip(), _ids(output)), [])
        # An exchange that is used again shows the scans below it again.
        if all(one.rows != metrics.rows for one in places):
            places.append(metrics)
    return found


def _scan_nodes(root: PlanNode) -> Iterator[tuple[PlanNode, int | None, bool]]:
    """Return each scan with the accumulator of the rows that the topmost filter directly on it selects."""
    stack: list[tuple[PlanNode, int | None, bool]] = [(root, None, False)]
    while stack:
        node, selected, held = stack.pop()
        if _SCAN.match(node.nodeName) and not _HOLDERS.match(node.nodeName):
            yield node, selected, held
        held = held or _HOLDERS.match(node.nodeName) is not None
        if node.nodeName == "Filter":
            rows = [one.accumulatorId for one in node.metrics if one.name == "number of output rows"]
            selected = selected if selected is not None or not rows else rows[0]
        elif not _BETWEEN.match(node.nodeName):
            selected = None
        stack.extend((child, selected, held) for child in reversed(node.children))
