from __future__ import annotations

import os

from prune_assets.dagster.resources import live_sessions


def test_processes_of_spark_are_counted_and_others_are_not(tmp_path):
    commands = {
        "10": b"java\0-cp\0x\0org.apache.spark.deploy.SparkSubmit\0pyspark-shell\0",
        "11": b"/jdk/bin/java\0org.apache.spark.deploy.SparkSubmit\0job.py\0",
        "12": b"grep\0-f\0about org.apache.spark.deploy.SparkSubmit\0",
        "13": b"",
        "self": b"java\0org.apache.spark.deploy.SparkSubmit\0",
    }
    for number, command in commands.items():
        (tmp_path / number).mkdir()
        (tmp_path / number / "cmdline").write_bytes(command)
    (tmp_path / "14").mkdir()
    assert live_sessions(tmp_path) == 2
    assert live_sessions(tmp_path / "gone") == 0


def test_processes_of_other_users_are_not_counted(tmp_path, monkeypatch):
    """Backfills of this user do not start them, and no remedy can limit them."""
    for number in ("10", "11"):
        (tmp_path / number).mkdir()
        (tmp_path / number / "cmdline").write_bytes(b"java\0org.apache.spark.deploy.SparkSubmit\0")
    assert live_sessions(tmp_path) == 2
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert live_sessions(tmp_path) == 0
