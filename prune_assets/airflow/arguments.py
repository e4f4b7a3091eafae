"""Check the arguments of operators.

The arguments are checked when Airflow parses the DAG, and again when a task has rendered its templates. Each check
calls the same function as the command line and Dagster, without slow imports.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow.sdk import BaseOperator

    # Raises WrongUse for a wrong value; receives the name of the argument and the value.
    ArgumentCheck = Callable[[str, Any], object]

_MARKS = ("{{", "{%")


def check_arguments(operator: BaseOperator, checks: Mapping[str, ArgumentCheck], *, rendered: bool) -> None:
    """Raise WrongUse for a wrong argument.

    Arguments with a template are only checked after rendering.
    """
    for name, check in checks.items():
        value = getattr(operator, name)
        if rendered or name not in operator.template_fields or not is_template(value):
            check(name, value)
        elif name == "layout" and isinstance(value, Mapping):
            _check_layout_keys(value)


def is_template(value: object) -> bool:
    """Return True if a value is known only when the task runs.

    Such a value is Jinja in a string, or the result of another task.

    >>> is_template("day = DATE '{{ ds }}'"), is_template({"sort_by": ["{{ params.key }}"]}), is_template("day = 1")
    (True, True, False)
    """
    if isinstance(value, str | os.PathLike):
        return any(mark in os.fspath(value) for mark in _MARKS)
    if isinstance(value, Mapping):
        return any(map(is_template, value.keys())) or any(map(is_template, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return any(map(is_template, value))
    return hasattr(value, "iter_references")  # an XCom reference of Airflow


def table(name: str, value: object) -> None:
    """Check a path, an address or a catalog name."""
    _refuse_unless(isinstance(value, str | os.PathLike) and bool(os.fspath(value)), name, value, "name a table")


def path(name: str, value: object) -> None:
    """Check a path of a file or a folder."""
    _refuse_unless(isinstance(value, str | os.PathLike) and bool(os.fspath(value)), name, value, "give a path")


def layout(_name: str, value: Any) -> None:
    """Check a layout.

    A layout file is not checked if it does not exist on this machine; the task reads it later.
    """
    from parquet_core.storage.stores import is_remote
    from prune_assets.writing.layout_file import load_layout

    is_path = isinstance(value, str | os.PathLike)
    if not is_path or is_remote(str(value)) or Path(value).exists():
        load_layout(value)


def _check_layout_keys(value: Mapping[Any, Any]) -> None:
    from prune_assets.writing.layout_file import refuse_unknown_keys

    refuse_unknown_keys(value)


def optional(check: ArgumentCheck) -> ArgumentCheck:
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


def one_of(*choices: str) -> ArgumentCheck:
    """Return a check that a value is one of `choices`."""
    listed = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
    return lambda name, value: _refuse_unless(value in choices, name, value, f"choose {listed}")


def when_empty(_name: str, value: object) -> None:
    """Check the behavior for tables without rows."""
    from prune_assets.checks.when_empty import check_when_empty

    check_when_empty(value)


def format_name(_name: str, value: object) -> None:
    """Check the name of a format."""
    from prune_assets.tables.writes.format_names import check_format

    check_format(value)


def mode(_name: str, value: object) -> None:
    """Check a mode of writing."""
    from prune_assets.tables.writes.write_result import check_mode

    check_mode(value)


def text(name: str, value: object) -> None:
    """Check a nonempty string, such as a condition or the id of a connection."""
    _refuse_unless(isinstance(value, str) and bool(value.strip()), name, value, "give a string, or leave it out")


def texts(name: str, value: object) -> None:
    """Check a list of strings."""
    items = list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [None]
    _refuse_unless(all(isinstance(item, str) for item in items), name, value, "give a list of strings")


def mapping(name: str, value: object) -> None:
    """Check a mapping."""
    _refuse_unless(isinstance(value, Mapping), name, value, "give values by name, e.g. {'compression': 'zstd'}")


def boolean(name: str, value: object) -> None:
    """Check a boolean; the string 'False' would count as true."""
    _refuse_unless(isinstance(value, bool), name, value, "give True or False")


def count(name: str, value: object) -> None:
    """Check a positive integer."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    _refuse_unless(is_count, name, value, "give a whole number of at least 1")


def share(name: str, value: object) -> float:
    """Return a share, given as 0.9 or 90%."""
    from parquet_core.quantities import named, share_of

    return named(name, share_of, value)


def size(name: str, value: object) -> int:
    """Return a number of bytes, given as a number or as 200GiB."""
    from parquet_core.quantities import named, size_of

    return named(name, size_of, value)


def time_zone(_name: str, value: str) -> None:
    """Check the name of a time zone."""
    from prune_assets.sql.types.zones import check_zone_name

    check_zone_name(value)


def predicates(_name: str, value: Any) -> None:
    """Check a mapping of names to predicates, or a list of them.

    The task parses their SQL.
    """
    for name, where in named_predicates(value).items():
        text(f"predicates[{name!r}]", where)


def named_predicates(value: Any) -> dict[str, str]:
    """Return predicates by name; predicates of a list are numbered from 1."""
    from parquet_core.errors import WrongUse

    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Mapping | Sequence):
        raise WrongUse(f"predicates = {value!r}: give SQL by name, e.g. {{'one_day': \"day = DATE '2024-03-01'\"}}")
    named = dict(value) if isinstance(value, Mapping) else {str(i): where for i, where in enumerate(value, start=1)}
    if not named:
        raise WrongUse(
            "predicates: no predicate is given; give at least one, e.g. {'one_day': \"day = DATE '2024-03-01'\"}"
        )
    return named


def _refuse_unless(is_right: bool, name: str, value: object, remedy: str) -> None:  # noqa: FBT001 - result of a check
    from parquet_core.errors import WrongUse
    from parquet_core.printable import shown

    if not is_right:
        raise WrongUse(f"{name} = {shown(value)}: {remedy}")
