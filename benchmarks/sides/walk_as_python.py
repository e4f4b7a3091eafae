"""prune-assets: the walk over 1,000 footers with the decoding loop as pure Python."""

import importlib.util
from pathlib import Path

from walk import measure

import parquet_core.format.compact

source = Path(parquet_core.format.compact.__file__).with_name("compact.py")
specification = importlib.util.spec_from_file_location("compact_as_python", source)
assert specification is not None
assert specification.loader is not None
module = importlib.util.module_from_spec(specification)
specification.loader.exec_module(module)
assert not module.is_compiled()
measure(module)
