from __future__ import annotations

import pytest
from report_factory import in_runs, make_report


@pytest.fixture(scope="session")
def report():
    return make_report()


@pytest.fixture(scope="session")
def vast_report():
    """10,000 files of 4 row groups: more than a picture can show one by one."""
    return in_runs(make_report(files=10_000))
