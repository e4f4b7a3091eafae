"""Checks on dagster-dbt assets, declared in `meta.prune` of dbt models and read from dbt's manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import dagster as dg

from parquet_core.errors import WrongUse
from parquet_core.layout.spec import refuse_unknown
from parquet_core.printable import listed, shown
from parquet_core.quantities import named, share_of
from parquet_core.storage import is_remote
from prune_assets.dagster.layout_table import LayoutTable
from prune_assets.extras import is_installed
from prune_assets.writing.layout_file import load_layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.layout.spec import LayoutSpec
    from prune_assets.checks.when_empty import WhenEmpty

Resource: TypeAlias = Mapping[str, Any]

KEYS = ("layout", "min_skipped", "predicates", "table")
# Resource types that dagster-dbt turns into assets, in addition to sources.
_ASSETS = {"model", "seed", "snapshot"}
# Kinds of models without files.
_WITHOUT_FILES = {"ephemeral": "an ephemeral model", "view": "a view", "materialized_view": "a materialized view"}
_CHECK_NAME = re.compile(r"[A-Za-z0-9_]+")


class AssetSpecs(Protocol):
    """The part of `DagsterDbtTranslator` that `build_dbt_checks` calls."""

    def get_asset_spec(self, manifest: Mapping[str, Any], unique_id: str, project: Any) -> dg.AssetSpec:
        """Return the asset of a dbt resource."""


def build_dbt_checks(
    manifest: str | Path | Mapping[str, Any],
    *,
    project_dir: str | Path | None = None,
    translator: AssetSpecs | None = None,
    blocking: bool = False,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    when_empty: WhenEmpty = "pass",
) -> list[dg.AssetChecksDefinition]:
    """Build the checks that dbt models declare in `meta.prune`, for the assets of `@dbt_assets`.

    >>> from prune_assets.dagster import build_dbt_checks
    >>> prune = {"layout": {"sort_by": ["user"]}, "predicates": {"one_user": "user = 7"}}
    >>> config = {"materialized": "external", "location": "/lake/events.parquet", "meta": {"prune": prune}}
    >>> events = {"resource_type": "model", "name": "events", "config": config}
    >>> layout, skipping = build_dbt_checks({"nodes": {"model.shop.events": events}, "sources": {}})
    >>> sorted(key.to_user_string() for key in skipping.check_keys)
    ['events:skips_one_user']

    `meta.prune` has these keys, in `config.meta` or in `meta`:
    `layout`: the keys of a layout, or the path of a `layout.yaml` in the project. It makes the five checks of
    `LayoutTable.checks`. Files that DuckDB writes have no page indexes, so they fail two of them:
    `column_index_present` and `sorted_order`.
    `predicates`: a mapping of names to Spark SQL, or a list, whose checks are named skips_query_1 and so on;
    `min_skipped`: see `LayoutTable.skipping_checks`.
    `table`: the path or address of the files. By default `location` of an external model of dbt-duckdb, or
    `location_root` and the name of a dbt-spark model. Paths are relative to the project.

    The arguments:

    `manifest`: the path of the project's `manifest.json`, or its parsed content.
    `project_dir`: the folder of `dbt_project.yml`; by default the nearest folder above the manifest that contains it.
    `translator`: the translator passed to `@dbt_assets`; by default the asset keys are dagster-dbt's own.
    `blocking`, `severity`, `when_empty`: as in `LayoutTable.checks`. A dbt run makes its assets in one step, so a
    check blocks only assets outside of that run.

    Raises WrongUse for an invalid `meta.prune`, in one line with the model, its file and the key. Also raises WrongUse
    for `meta.prune` of a view or an ephemeral model, which have no files: declare it on the models that they read.
    """
    parsed, root = _parsed(manifest), _project_dir(manifest, project_dir)
    options: dict[str, Any] = {"blocking": blocking, "severity": severity, "when_empty": when_empty}
    checks = []
    for unique_id, resource in {**parsed["nodes"], **parsed.get("sources", {})}.items():
        prune = _meta(resource).get("prune")
        if prune is None or resource["resource_type"] not in {*_ASSETS, "source"}:
            continue
        place = f"{resource['resource_type']} {resource['name']}{_file(resource)}: meta.prune"
        with _prefixed(f"{place}: "):
            declared = _checked(prune)
            _refuse_view(resource, parsed)
            key = _asset_key(resource) if translator is None else translator.get_asset_spec(parsed, unique_id, None).key
        table = _table(resource, declared, root, place)
        if declared.get("layout") is not None:
            layout = _layout(declared["layout"], root, place)
            with _prefixed(f"{place}: "):
                checks.append(LayoutTable(key, table, layout=layout).checks(**options))
        if declared.get("predicates"):
            predicates = _predicates(declared["predicates"], place)
            chosen = _min_skipped(declared, place)
            with _prefixed(f"{place}: "):
                checks.append(LayoutTable(key, table, predicates=predicates).skipping_checks(**chosen, **options))
    return checks


def _parsed(manifest: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(manifest, Mapping):
        path = manifest
        try:
            manifest = json.loads(Path(path).read_bytes())
        except OSError as error:
            raise WrongUse(f"{path}: cannot be read ({error.strerror}); run `dbt parse` to write it") from error
        except ValueError as error:
            raise WrongUse(f"{path}: not valid JSON ({error}); run `dbt parse` to write it again") from error
    if not isinstance(manifest, Mapping) or "nodes" not in manifest:
        raise WrongUse("manifest: has no key 'nodes', so it is not dbt's; name target/manifest.json")
    return manifest


def _project_dir(manifest: object, project_dir: str | Path | None) -> Path | None:
    if project_dir is not None:
        return Path(project_dir).absolute()
    if not isinstance(manifest, str | Path):
        return None
    above = Path(manifest).absolute().parents
    return next((folder for folder in above if (folder / "dbt_project.yml").is_file()), None)


@contextmanager
def _prefixed(prefix: str) -> Iterator[None]:
    """Prefix the message of a WrongUse that the block raises."""
    try:
        yield
    except WrongUse as error:
        raise type(error)(f"{prefix}{error}") from error


def _file(resource: Resource) -> str:
    """Return the properties file of a resource, or its defining file.

    The path is in parentheses; "" if unknown.
    """
    path = str(resource.get("patch_path") or "").partition("://")[2] or resource.get("original_file_path")
    return f" ({path})" if path else ""


def _meta(resource: Resource) -> Mapping[str, Any]:
    """Return the `meta` of a resource, with the precedence of dagster-dbt."""
    return (resource.get("config") or {}).get("meta") or resource.get("meta") or {}


def _checked(prune: object) -> Mapping[str, Any]:
    if not isinstance(prune, Mapping):
        raise WrongUse(f"{shown(prune)} is not a mapping; write its keys: {', '.join(KEYS)}")
    refuse_unknown(prune, KEYS, WrongUse)
    if prune.get("layout") is None and not prune.get("predicates"):
        raise WrongUse("has no check; give layout or predicates")
    return prune


def _refuse_view(resource: Resource, manifest: Mapping[str, Any]) -> None:
    """Raise WrongUse for a model without files.

    The message names the models that it reads.
    """
    materialized = (resource.get("config") or {}).get("materialized")
    if resource["resource_type"] != "model" or materialized not in _WITHOUT_FILES:
        return
    known = {**manifest["nodes"], **manifest.get("sources", {})}
    reads = (resource.get("depends_on") or {}).get("nodes") or ()
    names = [f"{known[one]['resource_type']} {known[one]['name']}" for one in reads if one in known]
    instead = f"the {listed(names)} that it reads" if names else "the model that it reads"
    raise WrongUse(
        f"is on {_WITHOUT_FILES[materialized]}, which has no files; put prune on {instead}, and prune: null here "
        "where a folder sets it"
    )


def _asset_key(resource: Resource) -> dg.AssetKey:
    """Return dagster-dbt's default key of a resource, computed here if dagster-dbt is not installed."""
    if is_installed("dagster_dbt"):
        key: dg.AssetKey = import_module("dagster_dbt").DagsterDbtTranslator().get_asset_key(resource)
        return key
    chosen = (_meta(resource).get("dagster") or {}).get("asset_key")
    if chosen:
        return dg.AssetKey(chosen)
    if resource["resource_type"] == "source":
        return dg.AssetKey([resource["source_name"], resource["name"]])
    if resource.get("version"):
        return dg.AssetKey([resource["alias"]])
    schema = (resource.get("config") or {}).get("schema")
    return dg.AssetKey([resource["name"]] if schema is None else [schema, resource["name"]])


def _table(resource: Resource, prune: Mapping[str, Any], root: Path | None, place: str) -> str:
    config = resource.get("config") or {}
    given, origin = prune.get("table"), f"{place}.table"
    if given is None and config.get("materialized") == "external" and config.get("location"):
        given, origin = config["location"], f"{origin} is not set, and location"
    if given is None and config.get("location_root"):
        given, origin = config["location_root"], f"{place}.table is not set, and location_root"
        if _is_absolute(str(given)):
            given = f"{str(given).rstrip('/')}/{resource.get('alias') or resource['name']}"
        else:  # Spark resolves relative paths in its own warehouse folder
            raise WrongUse(f"{origin} = {shown(given)} is relative; set meta.prune.table to the path of the files")
    if given is None:
        problem = "not set, and dbt does not give the path of the files; set it to their path or address"
        raise WrongUse(f"{origin}: {problem}")
    if not isinstance(given, str) or not given.strip() or "{{" in given:
        raise WrongUse(f"{origin} = {shown(given)} is not a path; set meta.prune.table to the path of the files")
    return given if _is_absolute(given) else str(_in_project(given, root, origin))


def _is_absolute(path: str) -> bool:
    return is_remote(path) or path.startswith("file:") or Path(path).is_absolute()


def _in_project(path: str, root: Path | None, origin: str) -> Path:
    if root is None and not Path(path).is_absolute():
        raise WrongUse(f"{origin} = {shown(path)} is relative to the dbt project; pass project_dir=")
    return Path(path) if root is None else root / path


def _layout(layout: object, root: Path | None, place: str) -> LayoutSpec:
    if isinstance(layout, str):
        path = _in_project(layout, root, f"{place}.layout")
        with _prefixed(f"{place}.layout: "):
            return load_layout(path)
    with _prefixed(f"{place}."):
        return load_layout(layout)  # type: ignore[arg-type]  # it refuses other types


def _predicates(predicates: object, place: str) -> dict[str, str]:
    if isinstance(predicates, list):
        predicates = {f"query_{number}": where for number, where in enumerate(predicates, 1)}
    if not isinstance(predicates, Mapping):
        raise WrongUse(f"{place}.predicates = {shown(predicates)}: give SQL by name, e.g. {{one_order: id = 17}}")
    for name, where in predicates.items():
        if not isinstance(name, str) or not _CHECK_NAME.fullmatch(name):
            raise WrongUse(f"{place}.predicates: {shown(name)} names a check; use letters, digits and _ only")
        if not isinstance(where, str):
            raise WrongUse(f"{place}.predicates.{name} = {shown(where)}: give SQL as text, e.g. id = 17")
    return dict(predicates)


def _min_skipped(prune: Mapping[str, Any], place: str) -> dict[str, Any]:
    share = prune.get("min_skipped")
    return {} if share is None else {"min_skipped": named(f"{place}.min_skipped", share_of, share)}
