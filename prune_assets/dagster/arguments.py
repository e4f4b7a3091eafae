"""Arguments of definitions, checked when a definition is built: Dagster would show their errors in a run, or oddly."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeAlias, TypeVar, get_args

import dagster as dg

from parquet_core.errors import WrongUse
from parquet_core.printable import shown
from prune_assets.workload.query_shapes import Workload
from prune_assets.writing.write_result import Mode

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Returns None for a valid value, else what to give instead.
Argument: TypeAlias = Callable[[Any], str | None]


def check_arguments(
    function: Callable[..., Any], given: Mapping[str, Any], own: Mapping[str, Argument] | None = None
) -> None:
    """Raise WrongUse for an argument of the wrong type; a default is not checked.

    >>> def build_nothing(name, max_runs=None): ...
    >>> check_arguments(build_nothing, {"name": "daily", "max_runs": None})
    >>> check_arguments(build_nothing, {"name": "daily", "max_runs": "10"})
    Traceback (most recent call last):
        ...
    parquet_core.errors.WrongUse: build_nothing: max_runs='10': give a whole number

    `own`: arguments whose name means something else in ARGUMENTS.
    """
    parameters = inspect.signature(function).parameters
    arguments = {**ARGUMENTS, **(own or {})}
    for name in [name for name in given if name in arguments and name in parameters]:
        value = given[name]
        expected = None if value is parameters[name].default else arguments[name](value)
        if expected is not None:
            raise WrongUse(f"{function.__name__}: {name}={shown(value)}: give {expected}")


def checked(**own: Argument) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that checks the arguments of a function by `check_arguments`."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        names = tuple(inspect.signature(function).parameters)

        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            check_arguments(function, {**dict(zip(names, args, strict=False)), **kwargs}, own)
            return function(*args, **kwargs)

        return call

    return decorate


def instance_of(types: type | tuple[type, ...], expected: str) -> Argument:
    """Return an argument that is an instance of some types; True and False are no numbers."""
    accepted = types if isinstance(types, tuple) else (types,)

    def check(value: Any) -> str | None:
        is_valid = isinstance(value, accepted) and (bool in accepted or not isinstance(value, bool))
        return None if is_valid else expected

    return check


def one_of(words: Iterable[str]) -> Argument:
    """Return an argument that is one of some words."""
    allowed = tuple(words)
    return lambda value: None if value in allowed else f"one of {', '.join(map(repr, allowed))}"


def any_of(expected: str, *arguments: Argument) -> Argument:
    """Return an argument that is valid for one of several."""
    return lambda value: None if any(argument(value) is None for argument in arguments) else expected


def list_of(argument: Argument, expected: str) -> Argument:
    """Return an argument that is a list of other arguments; a string is not a list."""

    def check(value: Any) -> str | None:
        is_list = isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
        return None if is_list and all(argument(each) is None for each in value) else expected

    return check


def mapping_of(key: Argument, argument: Argument, expected: str) -> Argument:
    """Return an argument that is a mapping between two others."""

    def check(value: Any) -> str | None:
        if not isinstance(value, Mapping):
            return expected
        is_valid = all(key(name) is None and argument(each) is None for name, each in value.items())
        return None if is_valid else expected

    return check


def _format(value: Any) -> str | None:
    from prune_assets.tables.target import writable_formats

    return one_of(writable_formats())(value)


_TEXT = instance_of(str, "a string")
_TEXTS = list_of(_TEXT, "a list of strings")
_TRUTH = instance_of(bool, "True or False")
_NUMBER = instance_of(Real, "a number")
_WHOLE_NUMBER = instance_of(Integral, "a whole number")
_MAPPING = instance_of(Mapping, "a mapping")
_PATH = instance_of((str, os.PathLike), "a path or an address, e.g. 'lake/orders'")
_PATHS = any_of("a path, or a list of paths", _PATH, list_of(_PATH, ""))
_ASSET = any_of("the key of an asset, e.g. 'sales/orders'", instance_of((str, dg.AssetKey), ""), _TEXTS)
_ASSETS = list_of(_ASSET, "a list of the keys of assets, e.g. ['sales/orders']")
_CHECKS = list_of(instance_of(dg.AssetChecksDefinition, ""), "a list of checks, e.g. [build_layout_checks(..)]")
_TABLES = mapping_of(_ASSET, _PATH, "a mapping of assets to their tables, e.g. {'sales/orders': 'lake/orders'}")
_WORKLOAD = any_of(
    "the path of a workload, a Workload, or a list of predicates", _PATH, _TEXTS, instance_of(Workload, "")
)
_EXPRESSION = any_of("the partition column, or a mapping of dimensions to columns", _TEXT, mapping_of(_TEXT, _TEXT, ""))
PREDICATES_BY_NAME = mapping_of(_TEXT, _TEXT, "each predicate a name, e.g. {'one_day': \"day = DATE '2024-03-01'\"}")
TEXT_OR_FUNCTION = any_of("a string, or a function", _TEXT, lambda value: None if callable(value) else "")

# Keyed by parameter name: a name means the same in all functions.
ARGUMENTS: dict[str, Argument] = {
    **dict.fromkeys(("asset", "asset_key", "key", "table_asset"), _ASSET),
    **dict.fromkeys(("table", "reports", "baseline", "workloads", "pages", "project_dir"), _PATH),
    **dict.fromkeys(("name", "prefix", "cron_schedule", "execution_timezone", "time_zone"), _TEXT),
    **dict.fromkeys(("io_manager_key", "reports_url", "where"), _TEXT),
    **dict.fromkeys(("blocking", "observe", "rows", "check_layout", "automatic"), _TRUTH),
    **dict.fromkeys(("max_share", "min_files_share", "sample", "price_per_tib"), _NUMBER),
    "min_skipped": any_of("a share, e.g. 0.9 or '90%'", _NUMBER, _TEXT),
    **dict.fromkeys(("max_runs", "minimum_interval_seconds", "latest", "budget"), _WHOLE_NUMBER),
    **dict.fromkeys(("max_commits", "max_small_files"), _WHOLE_NUMBER),
    **dict.fromkeys(("columns", "allow"), _TEXTS),
    **dict.fromkeys(("options", "metadata"), _MAPPING),
    **dict.fromkeys(("app", "user"), any_of("a string, or a list of strings", _TEXT, _TEXTS)),
    "tables": _TABLES,
    "workload": _WORKLOAD,
    "checks": _CHECKS,
    "event_logs": _PATHS,
    "more_deps": _ASSETS,
    "key_prefix": any_of("a string, or a list of strings", _TEXT, _TEXTS),
    "predicates": list_of(_TEXT, "a list of predicates, e.g. [\"day = DATE '2024-03-01'\"]"),
    "partition_expr": _EXPRESSION,
    "partitions_def": instance_of(dg.PartitionsDefinition, "partitions, e.g. dg.DailyPartitionsDefinition(..)"),
    "severity": instance_of(dg.AssetCheckSeverity, "dg.AssetCheckSeverity.ERROR or dg.AssetCheckSeverity.WARN"),
    "job": lambda value: None if hasattr(value, "name") else "a job, e.g. of build_optimize_job",
    "source": any_of("a query, a path, or a function of the session", _PATH, TEXT_OR_FUNCTION),
    "format": _format,
    "mode": one_of(get_args(Mode)),
}
