"""Environments of old releases: packages in a folder that git ignores, and an interpreter that can import them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from .releases import NODE

CACHE = Path(__file__).parents[3] / ".fuzz" / "writers"
LONGEST = 900.0


class NotMade(Exception):
    """An environment cannot be made; the message says why."""


def command_of(release, cache=CACHE):
    """Return the interpreter's command for a release and its environment variables; raises NotMade."""
    calm = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if release.runtime is None:
        return [sys.executable, "-W", "ignore"], calm
    if release.runtime == NODE:
        (requirement,) = release.requirements
        return ["node"], calm | {"WRITER_PACKAGES": str(_installed_by_npm(requirement, cache))}
    interpreter = interpreter_of(release.runtime)
    if interpreter is None:
        raise NotMade(f"no Python {release.runtime}")
    folders = [_installed_by_pip(requirement, release.runtime, cache) for requirement in release.requirements]
    return [interpreter, "-W", "ignore"], calm | {"PYTHONPATH": os.pathsep.join(map(str, folders))}


@cache
def interpreter_of(version):
    """Return the path of an interpreter of a version such as 3.7, None without one."""
    for command in ([f"python{version}"], *_by_managers(version)):
        if shutil.which(command[0]) is None:
            continue
        environment = os.environ | {"PYENV_VERSION": version, "UV_PYTHON_DOWNLOADS": "never"}
        script = ["-c", "import sys; print(sys.executable, sys.version_info[:2])"] if len(command) == 1 else []
        done = subprocess.run([*command, *script], capture_output=True, text=True, check=False, env=environment)
        path, _, found = done.stdout.strip().partition(" ")
        if done.returncode == 0 and (not script or found == str(tuple(map(int, version.split("."))))):
            return path
    return None


def _by_managers(version):
    """Return commands that print where a version is."""
    return (["uv", "python", "find", "--no-project", version], [sys.executable, "-m", "uv", "python", "find", version])


def _installed_by_pip(requirement, python, cache):
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--ignore-requires-python"]
    wheels = ["--only-binary", ":all:", "--python-version", python, "--implementation", "cp"]
    command = [sys.executable, "-m", "pip", "install", *options, *wheels, requirement, "--target"]
    return _installed(cache / f"py{python}" / requirement, command)


def _installed_by_npm(requirement, cache):
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise NotMade(f"no {program}")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", requirement, "--prefix"]
    return _installed(cache / NODE / requirement, command)


def _installed(folder, command):
    """Return the folder of a requirement; run the command with it as last argument if the folder is missing."""
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
    try:
        done = subprocess.run([*command, str(part)], capture_output=True, text=True, check=False, timeout=LONGEST)
        if done.returncode:
            reason = [line for line in done.stderr.splitlines() if line.strip()] or ["not installed"]
            raise NotMade(f"{folder.name}: {reason[-1]}")
        part.rename(folder)
    except subprocess.TimeoutExpired:
        raise NotMade(f"{folder.name}: not installed in {LONGEST:.0f} s") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder
