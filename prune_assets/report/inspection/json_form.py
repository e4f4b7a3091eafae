"""JSON form of an inspection, schema `inspection/1`.

`python -m prune_assets.report.inspection.json_form` prints the JSON Schema that is stored next to this package.
Fields are written in the order of their declaration, without white space between them; no field is omitted.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from deltalog.inspection import DeltaInspection
from parquet_core.inspection.facts import SCHEMA, FileInspection, TableInspection
from prune_assets.report.inspection.iceberg import IcebergInspection
from prune_assets.report.output import description_of, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parquet_core.inspection.facts import RowGroupFacts

_FORMS = (FileInspection, TableInspection, DeltaInspection, IcebergInspection)
_NO_ROW_GROUPS = "[]}"


def file_json(inspection: FileInspection, row_groups: Iterable[RowGroupFacts]) -> Iterator[str]:
    """Render the inspection of a file as JSON on one line, in parts, so that a long file needs little memory."""
    head = json_text(inspection)
    # The row groups are the last field.
    assert head.endswith(f'"row_groups":{_NO_ROW_GROUPS}')
    yield head.removesuffix("]}")
    for i, row_group in enumerate(row_groups):
        yield f"{',' if i else ''}{json_text(row_group)}"
    yield "]}"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an inspection, generated from the dataclasses.

    An inspection describes a file, a table, a Delta table or an Iceberg table.
    """
    forms, definitions = msgspec.json.schema_components(_FORMS, ref_template="#/$defs/{name}")
    for definition in definitions.values():
        definition["description"] = description_of(definition["description"])
        # Every field is always written, including defaults.
        definition["required"] = list(definition["properties"])
    for form in _FORMS:
        properties = definitions[form.__name__]["properties"]
        properties["schema"] = {"const": SCHEMA}
        properties["kind"] = {"const": properties["kind"]["default"]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "oneOf": list(forms), "$defs": definitions}


def schema_text() -> str:
    """Return the JSON Schema as the text of the stored file."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
