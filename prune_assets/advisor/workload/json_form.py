"""Convert a workload to JSON and back."""

from __future__ import annotations

from typing import Any

import msgspec

from parquet_core.errors import WrongUse
from prune_assets.advisor.workload.costs import costs_of, needless_bytes
from prune_assets.advisor.workload.query_shapes import QueryShape, Workload
from prune_assets.report.output import json_text

SCHEMA = "workload/1"


class _WorkloadDocument(msgspec.Struct):
    schema: str
    shapes: tuple[QueryShape, ...] = ()
    not_understood: dict[str, int] = {}
    since: str = ""
    until: str = ""
    problems: tuple[str, ...] = ()
    own_queries: int = 0
    other_applications: int = 0


def to_json(workload: Workload, *, price_per_tib: float | None = None) -> str:
    """Return a workload as JSON of schema `workload/1`.

    >>> from prune_assets.advisor.workload.json_form import from_json, to_json
    >>> from_json(to_json(Workload(()))) == Workload(())
    True
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "since": workload.since,
        "until": workload.until,
        "tables": [
            {
                "table": cost.table,
                "names": cost.names,
                "runs": cost.runs,
                "shapes": len(cost.shapes),
                "totals": cost.totals,
                "needless_bytes": cost.needless_bytes,
                "bytes_a_day": cost.bytes_a_day,
                "price_a_day": cost.price_a_day,
            }
            for cost in costs_of(workload, price_per_tib=price_per_tib)
        ],
        "shapes": [_shape(shape) for shape in workload.shapes],
        "not_understood": {str(reason): count for reason, count in workload.not_understood.items()},
        "problems": workload.problems,
        "own_queries": workload.own_queries,
        "other_applications": workload.other_applications,
    }
    return json_text(document)


def _shape(shape: QueryShape) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(shape)
    predicates = [predicate._asdict() for predicate in shape.predicates]
    return {**fields, "predicates": predicates, "needless_bytes": needless_bytes(shape.totals)}


def from_json(text: str | bytes, *, source: str = "workload") -> Workload:
    """Parse a workload from JSON.

    `source`: name of the document in messages. Raises WrongUse if the document is not a workload.
    """
    try:
        raw = msgspec.json.decode(text)
        for shape in raw["shapes"]:
            shape["predicates"] = [(it["where"], it["runs"], it.get("columns")) for it in shape["predicates"]]
        document = msgspec.convert(raw, _WorkloadDocument)
    except (msgspec.MsgspecError, KeyError, TypeError, RecursionError) as error:
        raise WrongUse(f"{source}: not a workload ({error}); write one with `prune workload .. --json`") from None
    if document.schema != SCHEMA:
        raise WrongUse(
            f"{source}: a document of schema {document.schema}, not {SCHEMA}; write it again with `prune workload`"
        )
    fields = {name: getattr(document, name) for name in _WorkloadDocument.__struct_fields__ if name != "schema"}
    return Workload(**fields)
