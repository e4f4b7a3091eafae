"""The options of Dagster's `asset` and `AssetSpec` that functions of this package pass on, with their types."""
# No `from __future__ import annotations`: see `layout_table.py`.

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias, TypedDict

import dagster as dg

from prune_assets.dagster.asset_keys import AssetName, asset_key_of

Dependency: TypeAlias = AssetName | dg.AssetDep | dg.AssetSpec | dg.AssetsDefinition


class SpecOptions(TypedDict, total=False):
    """Options of `dagster.AssetSpec`. The table declares the key and the partitions."""

    automation_condition: dg.AutomationCondition[Any] | None
    code_version: str | None
    deps: Iterable[Dependency] | None
    description: str | None
    freshness_policy: dg.FreshnessPolicy | None
    group_name: str | None
    kinds: AbstractSet[str] | None
    metadata: Mapping[str, Any] | None
    owners: Sequence[str] | None
    tags: Mapping[str, str] | None


class AssetOptions(SpecOptions, total=False):
    """Options of `dagster.asset`."""

    backfill_policy: dg.BackfillPolicy | None
    check_specs: Sequence[dg.AssetCheckSpec] | None
    config_schema: Any
    dagster_type: dg.DagsterType | None
    hooks: AbstractSet[dg.HookDefinition] | None
    ins: Mapping[str, dg.AssetIn] | None
    io_manager_key: str | None
    op_tags: Mapping[str, Any] | None
    pool: str | None
    required_resource_keys: AbstractSet[str] | None
    resource_defs: Mapping[str, object] | None
    retry_policy: dg.RetryPolicy | None


def asset_with(
    options: Mapping[str, Any], defaults: Mapping[str, Any], **fixed: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return Dagster's `asset` decorator.

    `options`: the user's options, which override `defaults`; metadata, dependencies, required resources and check specs
    are added to the defaults. `fixed`: options that the user cannot override.
    """

    def both(name: str) -> list[Any]:
        return [*(defaults.get(name) or ()), *(options.get(name) or ())]

    added = {
        "check_specs": both("check_specs"),
        "deps": [dependency(each) for each in both("deps")],
        "metadata": {**(defaults.get("metadata") or {}), **(options.get("metadata") or {})},
        "required_resource_keys": {*both("required_resource_keys")},
    }
    return dg.asset(**{**defaults, **options, **added, **fixed})  # type: ignore[no-any-return]  # its overloads do not declare all options


def dependency(asset: Dependency) -> dg.AssetDep:
    """Return a dependency on an asset, whose name is converted as by `asset_key_of`."""
    is_name = isinstance(asset, str) or type(asset) in {list, tuple}  # an AssetDep is a tuple too
    return dg.AssetDep.from_coercible(asset_key_of(asset) if is_name else asset)  # type: ignore[arg-type]  # narrowed by `is_name`
