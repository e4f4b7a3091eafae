from __future__ import annotations

from prune_assets.session.live_sessions import live_sessions


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
