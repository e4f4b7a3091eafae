"""Compile the hot loop where Cython and a compiler are there; without them the same source runs as Python."""

from setuptools import Extension, setup

try:
    from Cython.Build import cythonize
except ImportError:
    extensions = []
else:
    hot_loop = Extension("parquet_core.format.compact", ["parquet_core/format/compact.py"])
    extensions = cythonize([hot_loop], language_level=3, compiler_directives={"annotation_typing": False})
    for extension in extensions:
        extension.optional = True  # cythonize does not hand it on

setup(ext_modules=extensions)
