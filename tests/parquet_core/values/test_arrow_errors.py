"""Arrow's errors about a file are raised as one-line errors of prune-assets."""

from __future__ import annotations

import pyarrow as pa
import pytest

from parquet_core.errors import MalformedFile
from parquet_core.storage import DataFile
from parquet_core.values.arrow_footer import reading


def test_a_sentence_of_arrow_loses_its_full_stop():
    with pytest.raises(MalformedFile) as raised, reading(DataFile("f.parquet", 1, 0)):
        raise pa.ArrowInvalid("Corrupt snappy compressed data.")
    assert str(raised.value) == "f.parquet: Corrupt snappy compressed data; the file is damaged, write it again"
