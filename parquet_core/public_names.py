"""Import the public names of a package on first use, and check the arguments of public functions.

The imports below `if TYPE_CHECKING` are the only list of the names. lazy_loader (Scientific Python's SPEC 1) uses a
stub file instead.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def on_first_use(
    package: str,
    *,
    makers: Callable[[], Mapping[str, str]] | None = None,
    failure: Callable[[Exception], Exception] | None = None,
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    The names are the imports below `if TYPE_CHECKING` in the package. With `makers`, functions check the types of their
    arguments; see `public_function` for `makers` and `failure`. If the module of a name cannot be imported, `failure`
    translates the ImportError too.

    >>> import deltalog
    >>> names, get, _ = on_first_use("deltalog")
    >>> names == deltalog.__all__, get("Snapshot") is deltalog.Snapshot
    (True, True)
    """
    homes = _homes(package)

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(homes[name]), name)
        except ImportError as error:
            if failure is None or (translated := failure(error)) is error:
                raise
            raise translated from error
        if makers is not None and isinstance(value, FunctionType):
            from parquet_core.argument_types import public_function

            value = public_function(value, package, makers=makers, failure=failure)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), get, lambda: sorted({*vars(sys.modules[package]), *homes})


def _homes(package: str) -> dict[str, str]:
    """Return the module of each public name."""
    spec: Any = sys.modules[package].__spec__
    return {
        alias.name: node.module or ""
        for block in ast.parse(spec.loader.get_source(package)).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
