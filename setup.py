"""Compile the hot loop where Cython and a compiler are there; without them the same source runs as Python."""

from __future__ import annotations

import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from Cython.Build import cythonize
except ImportError:
    extensions = []
else:
    hot_loop = Extension("parquet_core.compact", ["parquet_core/compact.py"])
    extensions = cythonize([hot_loop], language_level=3, compiler_directives={"annotation_typing": False})
    for extension in extensions:
        extension.optional = True  # cythonize does not hand it on


class BuildWherePossible(build_ext):
    """Go on without machine code when the compiler is missing or fails, whatever it raises."""

    def build_extension(self, ext: Extension) -> None:
        """Compile one extension, or say that it stays Python."""
        try:
            super().build_extension(ext)
        except Exception as error:  # noqa: BLE001 - `optional` alone lets a missing compiler's OSError through
            print(f"{ext.name} stays Python: {error}", file=sys.stderr)  # noqa: T201 - a build has no other voice


setup(ext_modules=extensions, cmdclass={"build_ext": BuildWherePossible})
