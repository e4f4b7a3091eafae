"""Compile the hot loops where Cython and a compiler are there; without them Python does the same."""

from setuptools import Extension, setup

try:
    from Cython.Build import cythonize
except ImportError:
    extensions = []
else:
    hot_loops = [
        Extension("parquet_core.format.compact", ["parquet_core/format/compact.py"]),
        Extension("parquet_core.storage.system_calls", ["parquet_core/storage/system_calls.pyx"]),
    ]
    extensions = cythonize(hot_loops, language_level=3, compiler_directives={"annotation_typing": False})
    for extension in extensions:
        extension.optional = True  # cythonize does not hand it on

setup(ext_modules=extensions)
