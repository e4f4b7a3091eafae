"""sqlglot's classes of nodes without the rest of it: its parsers and generators take three quarters of its import.

The grammar here is our own, so of sqlglot a predicate needs nodes and tokens. Whoever else asks anything of sqlglot
in the same process gets it whole, at that moment.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSequence
    from types import ModuleType

_PACKAGE = "sqlglot"
_NEEDED = ("expressions", "tokenizer_core")


def import_expressions() -> None:
    """Import the submodules that are needed under a package whose own code runs once more of it is asked for."""
    spec = None if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    if spec is None:
        return
    package = module_from_spec(spec)
    vars(package)["__getattr__"] = _when_asked(package, package.__path__)
    sys.modules[_PACKAGE] = package
    for name in _NEEDED:
        import_module(f"{_PACKAGE}.{name}")
    vars(package).pop("__path__", None)


def _when_asked(package: ModuleType, path: MutableSequence[str]) -> Callable[[str], object]:
    """Return a `__getattr__` that runs the package; importing another submodule asks for `__path__`."""
    lock, started = RLock(), False

    def run(name: str) -> object:
        nonlocal started
        with lock:
            if not started:
                started = True
                package.__path__ = path
                assert package.__spec__ is not None
                assert package.__spec__.loader is not None
                package.__spec__.loader.exec_module(package)
                vars(package).pop("__getattr__", None)
        if name in vars(package):
            return vars(package)[name]
        raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")

    return run
