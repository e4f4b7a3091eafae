"""The JSON form of a skip report, schema `skip-report/1`.

`python -m prune_assets.report.json_form` prints the JSON Schema that is checked in beside this file.
Fields are written in the order of their declaration, with no white space between them.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from parquet_core.errors import WrongUse
from prune_assets.report.output import description_of, json_text
from prune_assets.report.skip_report import SCHEMA, SkipReport


class _Header(msgspec.Struct):
    schema: str


def to_json(report: SkipReport) -> str:
    """Render a report as one line of JSON."""
    return json_text(report)


def from_json(text: str) -> SkipReport:
    """Read back what `to_json` wrote; fields that a later writer added are passed over.

    Raises WrongUse when the text is not a report of schema `skip-report/1`.
    """
    try:
        value = json.loads(text)
        _refuse_other_schema(msgspec.convert(value, _Header).schema)
        return msgspec.convert(value, SkipReport)
    except (ValueError, msgspec.ValidationError) as error:
        raise WrongUse(f"not a skip report: {error}; write it with `prune explain --json`") from error


def _refuse_other_schema(schema: str) -> None:
    if schema != SCHEMA:
        raise WrongUse(f"skip report of schema {schema!r}, this version reads {SCHEMA!r}: plan again")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a report, made from the dataclasses."""
    _, definitions = msgspec.json.schema_components([SkipReport], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        definition["description"] = description_of(definition["description"])
        # Every field is always written, defaults too.
        definition["required"] = list(definition["properties"])
    report = definitions.pop(SkipReport.__name__)
    report["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **report, "$defs": definitions}


def schema_text() -> str:
    """Return the JSON Schema as it is checked in."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
