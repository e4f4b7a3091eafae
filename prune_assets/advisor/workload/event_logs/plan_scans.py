"""Extract the scans of a plan: tables, columns and filters from its text, metrics from its nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from prune_assets.advisor.workload.event_logs import node_names
from prune_assets.advisor.workload.event_logs.node_names import is_between, is_filter, is_holder, is_scan
from prune_assets.advisor.workload.event_logs.plan_nodes import operators_of_nodes, sections_of
from prune_assets.advisor.workload.event_logs.plan_text import Operator, operators_of
from prune_assets.advisor.workload.not_understood import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prune_assets.advisor.workload.event_logs.events import PlanNode

_ATTRIBUTE = re.compile(r"#(\d+)L?(?=[,\]. ]|$)")
# Lists of columns at the start of arguments, and options at their end.
_LISTS = re.compile(r"(?:\[[^\[\]]*\], )*")
_OPTIONS = re.compile(r"(?<=\))(?:, (?:true|false|None|\d+|\[\w+=\d+\]))+$")
_SHORTENED = re.compile(r"\.\.\. ?\d+ more fields")
# The first columns are enough to identify a scan.
_COMPARED = 10


class PlanMetrics(NamedTuple):
    """Accumulators of a scan and of its filter.

    `may_not_run`: True if the scan is below a node that holds the plan of another query, such as a cached table. The
    scan ran in that query or not at all.
    """

    files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    seconds: tuple[int, float] | None = None
    selected: int | None = None
    may_not_run: bool = False


class PlannedScan(NamedTuple):
    """A scan of a plan: its sections, the conditions of its filters, and its join keys.

    `direct_conditions`: conditions that only use columns of the scan.
    `applied_filters`: a list of conditions that the scan itself applies.
    """

    name: str
    fields: dict[str, str]
    conditions: list[str]
    direct_conditions: list[str]
    applied_filters: str | None
    joined_on: frozenset[str]
    metrics: PlanMetrics
    # True if a filter on results of Python or a UDF follows; it is not a filter on the scan.
    has_other_filter: bool


class _ScanNode(NamedTuple):
    name: str
    ids: tuple[str, ...]
    sections: dict[str, str]
    metrics: PlanMetrics


def scans_of(text: str, root: PlanNode) -> list[PlannedScan]:
    """Return the scans of a plan. Raises NotUnderstood if neither the text nor the nodes can be parsed."""
    operators = _operators(text, root)
    parents = {child: operator for operator in operators.values() for child in operator.children}
    keys = _join_keys(operators)
    nodes = [*_scan_nodes(root)]
    scans = [_planned(operator, parents, keys, nodes) for operator in operators.values() if is_scan(operator.name)]
    # The remaining nodes are scans without a section in the text.
    others = [Operator(-1, node.name, node.sections, {}, []) for node in nodes if not node.metrics.may_not_run]
    return [*scans, *(_planned(operator, {}, keys, nodes) for operator in others)]


def _operators(text: str, root: PlanNode) -> dict[int, Operator]:
    try:
        return operators_of(text)
    except NotUnderstood:
        operators = operators_of_nodes(root)
        if not any(is_scan(operator.name) for operator in operators.values()) and ("Scan" in text or not text.strip()):
            raise
        return operators


def _planned(scan: Operator, parents: dict[int, Operator], keys: set[str], nodes: list[_ScanNode]) -> PlannedScan:
    node = _node_of(scan, nodes)
    fields = scan.fields if node is None else _completed(scan.fields, node.sections)
    conditions, direct, has_other = _filters(scan, parents)
    applied = fields.get(node_names.APPLIED_FILTERS)
    if applied is None and not conditions:
        applied = fields.get(node_names.PLANNED_FILTERS)
    return PlannedScan(
        scan.name,
        fields,
        conditions,
        direct,
        applied,
        frozenset(key for key in keys if key in fields.get("Output", "")),
        PlanMetrics(may_not_run=True) if node is None else node.metrics,
        has_other,
    )


def _completed(fields: dict[str, str], of_node: dict[str, str]) -> dict[str, str]:
    """Return the sections of the text; sections that the text lacks or shortens are taken from the node."""
    lacking = {title for title in of_node if title not in fields}
    shortened = {title for title, section in fields.items() if _SHORTENED.search(section) and title in of_node}
    return {**fields, **{title: of_node[title] for title in lacking | shortened}}


def _filters(scan: Operator, parents: dict[int, Operator]) -> tuple[list[str], list[str], bool]:
    """Return all conditions of the filters on a scan, and the conditions that no projection separates from the scan.

    The third value is True if a filter on Python results follows.
    """
    conditions: list[str] = []
    direct: list[str] = []
    is_direct, node = True, parents.get(scan.number)
    while node is not None and (is_between(node.name) or is_filter(node.name)):
        if is_filter(node.name):
            conditions.append(_condition(node))
            direct += conditions[-1:] if is_direct else []
        is_direct = is_direct and not node_names.is_project(node.name)
        node = parents.get(node.number)
    computed = node is not None and node.name in {"BatchEvalPython", "ArrowEvalPython"}
    return conditions, direct, computed


def _condition(node: Operator) -> str:
    condition = node.fields.get("Condition")
    if condition is None:
        condition = _OPTIONS.sub("", _LISTS.sub("", node.fields.get("Arguments", ""), count=1))
    return node_names.spark_condition(condition) if node.name.startswith("Gpu") else condition


def _join_keys(operators: dict[int, Operator]) -> set[str]:
    """Return the attributes, such as `id#4L`, that joins compare."""
    lists: list[str] = []
    for operator in operators.values():
        if node_names.is_join(operator.name):
            lists += [operator.fields.get(f"{side} keys", "") for side in ("Left", "Right")]
            # The keys are the last two lists of the arguments; Comet prints the columns before them.
            match = _LISTS.match(operator.fields.get("Arguments", ""))
            lists += [] if match is None else match[0].removesuffix(", ").split("], [")[-2:]
    return {key for keys in lists for key in keys.strip("[]").split(", ") if _ATTRIBUTE.search(key) and "(" not in key}


def _ids(output: str) -> tuple[str, ...]:
    return tuple(_ATTRIBUTE.findall(output)[:_COMPARED])


def _node_of(scan: Operator, nodes: list[_ScanNode]) -> _ScanNode | None:
    """Return the first node that matches a scan, and remove it from `nodes`; None if no node matches.

    A node lists at most `spark.sql.debug.maxToStringFields` columns, so only these are compared.
    """
    ids = _ids(scan.fields.get("Output", ""))
    for index, node in enumerate(nodes):
        count = min(len(ids), len(node.ids)) if _is_shortened(scan.fields, node.sections) else _COMPARED
        if node.name == scan.name.strip() and node.ids[:count] == ids[:count]:
            return nodes.pop(index)
    return None


def _is_shortened(*sections: dict[str, str]) -> bool:
    return any(_SHORTENED.search(fields.get("Output", "")) for fields in sections)


def _metrics(node: PlanNode, selected: int | None, *, may_not_run: bool) -> PlanMetrics:
    metrics = {metric.name: metric for metric in node.metrics}
    files, size, rows, returned, time = (
        next((metrics[name] for name in names if name in metrics), None)
        for names in (
            node_names.FILES,
            node_names.BYTES,
            node_names.ROWS_READ,
            node_names.ROWS_RETURNED,
            node_names.TIME,
        )
    )
    # A scan that returns fewer rows than it reads has applied its filters.
    if selected is None and returned is not None and returned != rows:
        selected = returned.accumulatorId
    return PlanMetrics(
        None if files is None else files.accumulatorId,
        None if size is None else size.accumulatorId,
        None if rows is None else rows.accumulatorId,
        None if time is None else (time.accumulatorId, 1e9 if time.metricType == "nsTiming" else 1e3),
        selected,
        may_not_run,
    )


def _scan_nodes(root: PlanNode) -> Iterator[_ScanNode]:
    """Yield each scan, with the accumulator that counts the rows selected by its filter.

    The filter is the topmost of the filters directly above the scan.
    """
    seen: set[tuple[str, frozenset[int], tuple[str, ...]]] = set()
    stack: list[tuple[PlanNode, int | None, bool]] = [(root, None, False)]
    while stack:
        node, selected, may_not_run = stack.pop()
        if is_scan(node.nodeName):
            sections = sections_of(node)
            ids = _ids(sections.get("Output", ""))
            # A reused exchange repeats the scans below it.
            key = (node.nodeName, frozenset(metric.accumulatorId for metric in node.metrics), ids)
            if key not in seen:
                yield _ScanNode(node.nodeName.strip(), ids, sections, _metrics(node, selected, may_not_run=may_not_run))
            seen.add(key)
        may_not_run = may_not_run or is_holder(node.nodeName)
        if is_filter(node.nodeName):
            rows = [metric.accumulatorId for metric in node.metrics if metric.name in node_names.ROWS_RETURNED]
            selected = selected if selected is not None or not rows else rows[0]
        elif not is_between(node.nodeName):
            selected = None
        stack.extend((child, selected, may_not_run) for child in reversed(node.children))
