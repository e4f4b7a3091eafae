"""JSON Schema of a skip report, `skip-report/1`.

`python -m prune_assets.report.json_form` prints the schema that is stored next to this file.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from parquet_core.pruning.known_levels import KnownLevel
from prune_assets.report.output import description_of
from prune_assets.report.skip_report import SCHEMA, Level, SkipReport


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a report, generated from the dataclasses."""
    _, definitions = msgspec.json.schema_components([SkipReport], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        definition["description"] = description_of(definition["description"])
        if "properties" not in definition:
            continue
        # Every field is always written, including defaults; reports of versions up to 0.2 lack these two engine fields.
        definition["required"] = [name for name in definition["properties"] if name not in {"reading", "caveat"}]
    definitions[Level.__name__]["properties"]["level"] = {"enum": sorted(level.key for level in KnownLevel)}
    report = definitions.pop(SkipReport.__name__)
    report["properties"]["schema"] = {"const": SCHEMA}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **report, "$defs": definitions}


def schema_text() -> str:
    """Return the JSON Schema as the text of the stored file."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
