"""YAML fields that several components share."""
# No `from __future__ import annotations` in this package: Dagster and pydantic need classes in annotations, not
# strings.

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import dagster as dg
from pydantic import AfterValidator

from parquet_core.errors import LayoutError
from parquet_core.layout.spec import LayoutSpec
from parquet_core.quantities import share_of
from parquet_core.storage import is_remote
from prune_assets.checks.when_empty import WhenEmpty
from prune_assets.dagster.layout_table import LayoutTable
from prune_assets.tables.catalogs.names import is_name
from prune_assets.tables.writes.format_names import WRITTEN
from prune_assets.writing.layout_file import load_layout


def layout_of(context: dg.ResolutionContext, given: str | Mapping[str, Any]) -> LayoutSpec:
    """Return the layout that a YAML file gives as keys or as a path.

    Raises ValueError if it is invalid.
    """
    try:
        if isinstance(given, str):
            return load_layout(context.resolve_source_relative_path(given))
        return load_layout(context.resolve_value(given))
    except LayoutError as error:
        raise ValueError(str(error)) from None


Layout: TypeAlias = Annotated[
    LayoutSpec,
    dg.Resolver(
        layout_of,
        model_field_type=str | dict[str, Any],
        description="The layout: its keys as in layout.yaml, or the path of such a file, relative to this file.",
        examples=[{"sort_by": ["day", "id"], "bloom": {"id": 0.01}}, "layout.yaml"],
    ),
]
if TYPE_CHECKING:
    Format: TypeAlias = str
else:
    Format = Literal[WRITTEN]


class CheckOptions(dg.Model, dg.Resolvable):
    """Options of a table's checks."""

    skipping: Annotated[
        dict[str, str],
        dg.Resolver.default(description="Predicates in SQL, by name; each becomes a check of its skipped share."),
    ] = {}  # noqa: RUF012 - pydantic copies it
    min_skipped: Annotated[
        float | str,
        dg.Resolver.default(
            description="The minimum share of the bytes that each of these predicates skips, 0.9 or 90%."
        ),
        AfterValidator(share_of),
    ] = 0.9
    blocking: Annotated[
        bool, dg.Resolver.default(description="True if a failed check keeps downstream assets from running.")
    ] = False
    when_empty: Annotated[
        WhenEmpty,
        dg.Resolver.default(
            description="The result of the checks if the table has no rows: pass, skip (no result) or fail."
        ),
    ] = "pass"
    severity: Annotated[
        Literal["ERROR", "WARN"], dg.Resolver.default(description="The severity of a failed check in Dagster.")
    ] = "ERROR"


def checks_of(table: LayoutTable, options: CheckOptions) -> list[dg.AssetChecksDefinition]:
    """Return the check of a table's layout and, if the table has predicates, checks that they skip enough bytes."""
    judged: dict[str, Any] = {"blocking": options.blocking, "severity": dg.AssetCheckSeverity(options.severity)}
    judged["when_empty"] = options.when_empty
    checks = [table.checks(**judged)]
    if table.predicates:
        checks.append(table.skipping_checks(min_skipped=options.min_skipped, **judged))
    return checks


def place_of(table: str, context: dg.ComponentLoadContext) -> str:
    """Return a relative path below the project; addresses, catalog names and absolute paths unchanged."""
    return table if is_remote(table) or is_name(table) else str(Path(context.project_root) / table)
