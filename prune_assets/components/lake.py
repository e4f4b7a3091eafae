"""Turn the tables of a lake into assets with checks, without listing them by hand."""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import dagster as dg
from dagster.components import DefsStateConfig, DefsStateConfigArgs, ResolvedDefsStateConfig
from pydantic import Field, field_validator

from parquet_core.layout.spec import LayoutSpec
from prune_assets.components.fields import CheckOptions, Layout, checks_of
from prune_assets.components.layout_checks import WhenChecked, automation
from prune_assets.components.names import Named
from prune_assets.components.scaffolding import FromExample
from prune_assets.dagster.layout_table import LayoutTable
from prune_assets.tables.lake import tables_below
from prune_assets.tables.opening import FORMATS
from prune_assets.writing.layout_file import load_layout

# The layout of tables without a rule; it requires no sort order.
_ANY = LayoutSpec()


class TableRule(CheckOptions):
    """Requirements for the tables whose names match a pattern."""

    match: Annotated[
        str, dg.Resolver.default(description="A pattern for names such as sales/orders; * matches any text.")
    ]
    layout: Layout
    _of_python = field_validator("layout", mode="before")(load_layout)


@dg.scaffold_with(FromExample)
class LakeComponent(Named, dg.StateBackedComponent, dg.Model, dg.Resolvable):
    """The tables below a directory or an address, or in an Iceberg catalog, as observed assets with checks.

    The tables are listed when the state is refreshed (`dg utils refresh-defs-state`, and whenever `dg dev` loads the
    code); loading a code location does not read the storage.
    """

    root: Annotated[
        str,
        dg.Resolver.default(
            description="A directory by its absolute path, an address such as s3://lake, or a catalog that pyiceberg "
            "is configured for, iceberg:CATALOG, or a namespace of it, iceberg:CATALOG.NAMESPACE."
        ),
    ]
    key_prefix: Annotated[list[str], dg.Resolver.default(description="The prefix of the keys of all its assets.")] = []  # noqa: RUF012 - pydantic copies it
    group_name: Annotated[str, dg.Resolver.default(description="The group of the assets.")] = "lake"
    depth: Annotated[
        int, dg.Resolver.default(description="The number of levels of directories to search."), Field(ge=1)
    ] = 4
    rules: Annotated[
        list[TableRule], dg.Resolver.default(description="Layouts by name pattern; the first match applies.")
    ] = []  # noqa: RUF012 - pydantic copies it
    when: Annotated[WhenChecked | None, dg.Resolver.default(description="When the checks run automatically.")] = None
    defs_state: ResolvedDefsStateConfig = DefsStateConfigArgs.local_filesystem()

    def names(self) -> tuple[str | None, str]:
        """Return the name from the YAML (None if not set), and the default name, which version 0.2 always used."""
        return (None, "lake") if self.when is None else (self.when.name, "layouts")

    @property
    def defs_state_config(self) -> DefsStateConfig:
        """Configuration of the state that stores the list of tables."""
        return DefsStateConfig.from_args(self.defs_state, default_key=f"{type(self).__name__}[{self.root}]")

    def write_state_to_path(self, state_path: Path) -> None:
        """List the tables and store the list."""
        found = tables_below(self.root, depth=self.depth)
        state_path.write_text(json.dumps([[table.name, table.location, table.format] for table in found]))

    def build_defs_from_state(self, context: dg.ComponentLoadContext, state_path: Path | None) -> dg.Definitions:
        """Return an asset and the checks of each listed table."""
        if state_path is None:
            return dg.Definitions()
        tables, checks = [], []
        for name, path, kind in json.loads(state_path.read_text()):
            key = dg.AssetKey([*self.key_prefix, *(name or [Path(path).name])])
            rule = next((rule for rule in self.rules if fnmatchcase("/".join(name), rule.match)), None)
            layout, options = (_ANY, CheckOptions()) if rule is None else (rule.layout, rule)
            tables.append(LayoutTable(key, path, layout=layout, format=kind, predicates=options.skipping))
            checks += checks_of(tables[-1], options)
            if kind in {each.name for each in FORMATS if each.keeps_deletes}:
                severity = dg.AssetCheckSeverity(options.severity)
                checks.append(tables[-1].delete_debt_check(blocking=options.blocking, severity=severity))
        automated = automation(self.name_in(context), self.when or WhenChecked(), tables, checks)
        assets = [table.asset_spec(group_name=self.group_name) for table in tables]
        return dg.Definitions(assets=assets, asset_checks=checks, **automated)
