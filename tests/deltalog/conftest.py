from __future__ import annotations

import pytest
from log_writer import Log


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "table")
