"""Compile the hot loops where Cython and a compiler are there; without them Python does the same.

With PRUNE_ASSETS_PURE=1 nothing is compiled, and the wheel fits every machine. A compiled wheel fits one Python: in
the stable ABI, which would fit all, decoding footers takes up to 1.8 times as long.
"""

import os

from setuptools import Extension, setup

try:
    from Cython.Build import cythonize
except ImportError:
    cythonize = None

extensions = []
if cythonize and os.environ.get("PRUNE_ASSETS_PURE", "0") in {"", "0"}:
    iceberg = "prune_assets.tables.iceberg.manifests"
    hot_loops = [
        Extension("parquet_core.format.compact", ["parquet_core/format/compact.py"]),
        Extension(f"{iceberg}.avro_walk", [f"{iceberg.replace('.', '/')}/avro_walk.py"]),
        Extension("parquet_core.storage.system_calls", ["parquet_core/storage/system_calls.pyx"]),
    ]
    extensions = cythonize(hot_loops, language_level=3, compiler_directives={"annotation_typing": False})
    for extension in extensions:
        extension.optional = True  # cythonize does not hand it on

setup(ext_modules=extensions)
