"""sqlglot's nodes and tokens without the rest of it: its parsers and generators take three quarters of its import.

The grammar here is our own, so a predicate needs no more. Whoever imports sqlglot in the same process gets it whole.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
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


_import_alone("expressions", "tokenizer_core")
if TYPE_CHECKING:
    from sqlglot import Token, TokenType, exp
else:
    # Not `import sqlglot.expressions`, which would import all of it.
    exp = import_module("sqlglot.expressions")
    Token, TokenType = (getattr(import_module("sqlglot.tokenizer_core"), name) for name in ("Token", "TokenType"))
