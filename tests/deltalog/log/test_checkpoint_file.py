"""Errors in Parquet files of checkpoints name the file, the fault, and the step for a checkpoint."""

from __future__ import annotations

import pyarrow as pa
import pytest
from delta_tables import write_table
from newer_format import end_in

import deltalog
from deltalog.errors import MalformedLog
from parquet_core.values import ValueReader

STEP = "; restore the checkpoint or remove it"


@pytest.fixture
def table(tmp_path):
    """A table whose version exists only as a checkpoint; returns the paths of both."""
    place = tmp_path / "a; b"
    write_table(str(place), pa.table({"id": range(9)}))
    deltalog.write_checkpoint(str(place))
    (checkpoint,) = (place / "_delta_log").glob("*.checkpoint.parquet")
    for commit in (place / "_delta_log").glob("*.json"):
        commit.unlink()
    return str(place), checkpoint


def _message(place):
    with pytest.raises(MalformedLog) as raised:
        deltalog.open_snapshot(place).open_all()
    return str(raised.value)


def test_a_fault_without_a_step_of_its_own_is_named(table, monkeypatch):
    place, checkpoint = table
    monkeypatch.setattr(ValueReader, "_most_bytes", lambda _: 0)
    assert _message(place).startswith(f"{checkpoint}: row group 0 takes more than 0 bytes decoded{STEP}")


def test_the_step_for_a_data_file_is_left_out(table):
    place, checkpoint = table
    end_in(checkpoint, b"PARX")
    message = _message(place)
    assert message.startswith(f"{checkpoint}: its footer is of the form 'PARX'")
    assert message.endswith(f"not supported by this version{STEP}")


def test_a_diagnosis_stays(table):
    place, checkpoint = table
    data = checkpoint.read_bytes()
    checkpoint.write_bytes(data[:-8] + (1 << 30).to_bytes(4, "little") + b"PAR1")
    assert _message(place).endswith(f"; it is damaged{STEP}")
