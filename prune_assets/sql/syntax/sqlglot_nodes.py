"""sqlglot's nodes and tokens without the rest of it: its parsers and generators take three quarters of its import.

The grammar here is our own, so a predicate needs no more. Whoever imports sqlglot in the same process gets it whole.
Where sqlglot is compiled (`sqlglot[c]`, or `[rs]`, which dagster-dbt requires) its nodes refuse subclasses. Its sources
are then imported as a second copy, which nobody else sees.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import (
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

__all__ = ["Token", "TokenType", "exp"]

_PACKAGE = "sqlglot"


class _Unfinished(MetaPathFinder, Loader):
    """Finds the package that was made for its submodules, and runs its own code when it is imported itself."""

    def __init__(self, package: ModuleType, spec: ModuleSpec) -> None:
        self.package = package
        self.spec = spec

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - importlib's signature
        target: ModuleType | None = None,  # noqa: ARG002 - importlib's signature
    ) -> ModuleSpec | None:
        """Return how to import the package, None for every other module."""
        if fullname != _PACKAGE:
            return None
        found = ModuleSpec(_PACKAGE, self, origin=self.spec.origin, is_package=True)
        found.submodule_search_locations = self.spec.submodule_search_locations
        return found

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - importlib's signature
        """Return the one that has the submodules."""
        return self.package

    def exec_module(self, module: ModuleType) -> None:
        """Run the package as if it had not been found here."""
        sys.meta_path.remove(self)
        module.__spec__ = self.spec
        assert self.spec.loader is not None
        self.spec.loader.exec_module(module)


def _import_alone(*names: str) -> None:
    """Import submodules of the package, which stays to be imported."""
    spec = None if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    if spec is None:
        return
    package = sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        for name in names:
            import_module(f"{_PACKAGE}.{name}")
    finally:
        del sys.modules[_PACKAGE]
    sys.meta_path.insert(0, _Unfinished(package, spec))


class _Sources(MetaPathFinder):
    """Finds the source of a submodule of the package, not what was compiled from it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 - importlib's signature
    ) -> ModuleSpec | None:
        """Return how to import the source, None for a module of another package."""
        if not fullname.startswith(f"{_PACKAGE}."):
            return None
        finders = (FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)) for folder in path or ())
        return next((found for finder in finders if (found := finder.find_spec(fullname))), None)


def _is_compiled() -> bool:
    package = sys.modules[_PACKAGE].__spec__ if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    folders = package.submodule_search_locations if package is not None else None
    found = PathFinder.find_spec("core", [f"{folder}/expressions" for folder in folders or ()])
    return found is not None and isinstance(found.loader, ExtensionFileLoader)


def _take_modules() -> dict[str, ModuleType]:
    """Take the package and its submodules out of the imported modules."""
    names = [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]
    return {name: sys.modules.pop(name) for name in names}


def _import_sources(*names: str) -> list[ModuleType]:
    """Import submodules from their sources, and leave the imported modules as they were."""
    before, finder = _take_modules(), _Sources()
    spec = find_spec(_PACKAGE)
    assert spec is not None
    sys.modules[_PACKAGE] = module_from_spec(spec)
    sys.meta_path.insert(0, finder)
    try:
        return [import_module(f"{_PACKAGE}.{name}") for name in names]
    finally:
        sys.meta_path.remove(finder)
        _take_modules()
        sys.modules.update(before)


if TYPE_CHECKING:
    from sqlglot import Token, TokenType, exp
else:
    _SUBMODULES = ("expressions", "tokenizer_core")
    if _is_compiled():
        exp, _tokens = _import_sources(*_SUBMODULES)
    else:
        _import_alone(*_SUBMODULES)
        # Not `import sqlglot.expressions`, which would import all of it.
        exp, _tokens = (import_module(f"{_PACKAGE}.{name}") for name in _SUBMODULES)
    Token, TokenType = _tokens.Token, _tokens.TokenType
