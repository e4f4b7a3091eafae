"""A plugin for `make matrix ARGS=lowest`: leaves out tests that ask more of a library than the package itself does.

pyarrow writes and shows the files of many tests in ways that came after the oldest version that the package runs with.
"""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest

NEWER = {
    "max_rows_per_page": "pyarrow 23 is the first to limit pages by rows",
    "bloom_filter_offset": "pyarrow shows no bloom filters yet",
    "bloom_filter_options": "pyarrow 24 is the first to write bloom filters",
}
OTHERWISE = {
    "test_limited_spark.py::test_the_headline_says_what_spark_skips_and_names_the_best_possible": "files are larger",
    "test_limited_spark.py::test_the_gate_judges_what_spark_skips": "as above",
    "test_lower.py::test_fixture[g = float('16777217')]": "numpy before 2.3 writes the same float as 16777218.0",
    "test_lower.py::test_a_float_column_meets_integers_as_float_without_ansi": "as above",
    "test_light_import.py::test_explain_imports_what_it_needs": "older libraries import more",
    "test_light_plan.py::test_a_plan_loads_no_pandas": "pyarrow before 24 loads it by itself",
    "test_write_checkpoint.py::test_writing_a_checkpoint_loads_no_pandas": "pyarrow before 24 loads it by itself",
}


def pytest_collection_modifyitems(items):
    for item in items:
        for name, why in OTHERWISE.items():
            if item.nodeid.endswith(f"/{name}"):
                item.add_marker(pytest.mark.skip(reason=why))


@contextmanager
def _only_what_is_there():
    try:
        yield
    except (AttributeError, TypeError) as error:
        found = re.search(r"(?:unexpected keyword argument|has no attribute) '(\w+)'", str(error))
        if found is None or found[1] not in NEWER:
            raise
        pytest.skip(NEWER[found[1]])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    with _only_what_is_there():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    with _only_what_is_there():
        return (yield)
