from __future__ import annotations

import subprocess

import pyarrow.parquet as pq
import pytest

from examples.demo import tpch
from examples.demo.settings import DemoSettings
from parquet_core.errors import StorageFailure, WrongUse


@pytest.fixture
def settings(tmp_path):
    return DemoSettings(tmp_path, 0.001)


def test_generated_tables_are_those_of_the_scale(settings):
    path = tpch.generate(settings, "lineitem")
    assert path == settings.directory / "generated" / "sf0.001" / "lineitem.parquet"
    assert pq.read_metadata(path).num_rows == 6_005
    assert [entry.name for entry in settings.generated.iterdir()] == ["lineitem.parquet"]


def test_what_is_there_is_not_generated_again(settings, monkeypatch):
    path = tpch.generate(settings, "orders")
    before = path.stat().st_mtime_ns
    monkeypatch.setattr(tpch, "_program", lambda: pytest.fail("generated again"))
    assert tpch.generate(settings, "orders").stat().st_mtime_ns == before


def test_half_made_data_never_count(settings, monkeypatch):
    settings.generated.mkdir(parents=True)
    left_over = settings.generated / "_orders-of-a-killed-run"
    left_over.mkdir()
    (left_over / "orders.parquet").write_bytes(b"PAR1half")
    run = subprocess.run

    def stops_halfway(command, **options):
        done = run(command, **options)
        return subprocess.CompletedProcess(command, 137, done.stdout, "killed")

    monkeypatch.setattr(subprocess, "run", stops_halfway)
    with pytest.raises(StorageFailure, match="tpchgen-cli failed with 137: killed"):
        tpch.generate(settings, "orders")
    assert not (settings.generated / "orders.parquet").exists()
    monkeypatch.undo()
    assert pq.read_metadata(tpch.generate(settings, "orders")).num_rows == 1_500


def test_a_missing_generator_is_named(settings, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WrongUse, match="run pip install tpchgen-cli"):
        tpch.generate(settings, "orders")
