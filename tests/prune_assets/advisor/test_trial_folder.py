"""The folder next to a table into which `advice.verify` writes is always removed, even if the process is killed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import prune_assets as pr
from prune_assets.advisor import trial_folder as module
from prune_assets.advisor.trial_folder import remove_abandoned, trial_folder
from prune_assets.cli import main
from prune_assets.tables.writes.write_lock import LOCK, write_lock

QUERY = "shop = 7"
# `prune advise --verify` that gets a signal when the first layout is half written.
PROGRAM = """
import os, sys
from prune_assets.advisor import trial_write, verify

write = trial_write._write

def signalled(part, file, *rest):
    write(part, file, *rest)
    os.kill(os.getpid(), int(sys.argv.pop()))

trial_write._write = signalled
from prune_assets.cli import main
main(sys.argv[1:-1])
"""


@pytest.fixture
def shops(tmp_path):
    return shops_in(tmp_path)


def shops_in(place):
    table = place / "lake" / "t"
    table.mkdir(parents=True)
    pq.write_table(pa.table({"id": range(20_000), "shop": [n % 500 for n in range(20_000)]}), table / "a.parquet")
    return table


def siblings(table):
    return sorted(path.name for path in table.parent.iterdir() if path != table)


def verify_until(signal_, table):
    arguments = ["advise", str(table), "--predicate", QUERY, "--verify", str(int(signal_))]
    return subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False)


ENDS = [(signal.SIGTERM, 143, "error: terminated\n"), (signal.SIGINT, 130, "error: interrupted\n")]


@pytest.mark.parametrize(("signal_", "code", "line"), ENDS)
def test_a_signal_removes_the_folder(shops, signal_, code, line):
    done = verify_until(signal_, shops)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", line)
    assert siblings(shops) == []


@pytest.fixture(scope="module")
def lake_of_killed(tmp_path_factory):
    """A lake in which a process was killed, which is only copied."""
    table = shops_in(tmp_path_factory.mktemp("killed"))
    assert verify_until(signal.SIGKILL, table).returncode == -signal.SIGKILL
    return table.parent


@pytest.fixture
def killed(lake_of_killed, tmp_path):
    """A table next to a folder that a killed process left."""
    return shutil.copytree(lake_of_killed, tmp_path / "lake") / "t"


@pytest.mark.parametrize("remedy", ["verify", "doctor"])
def test_a_folder_of_a_killed_process_is_removed(killed, remedy):
    shops = killed
    (left,) = siblings(shops)
    assert left.startswith(".t-verify-")
    if remedy == "verify":
        advice = pr.advise(str(shops), workload=[QUERY])
        assert advice.verify(workload=[QUERY]).verified
    else:
        done = CliRunner().invoke(main, ["doctor", str(shops)])
        line = f"{shops}: deleted copies of an interrupted verification: {left}\n"
        assert (done.exit_code, done.stdout) == (0, line)
        assert CliRunner().invoke(main, ["doctor", str(shops)]).stdout == f"{shops}: no interrupted write\n"
    assert siblings(shops) == []


def test_doctor_names_the_folder_in_json_too(killed):
    (left,) = siblings(killed)
    told = json.loads(CliRunner().invoke(main, ["doctor", str(killed), "--json"]).stdout)
    assert told["trials"] == [str(killed.parent / left)]


def test_a_folder_that_a_process_holds_stays(shops):
    with trial_folder(shops.parent, "t") as folder:
        (folder / "0").mkdir()
        assert remove_abandoned(shops.parent, "t") == ()
        assert CliRunner().invoke(main, ["doctor", str(shops)]).stdout == f"{shops}: no interrupted write\n"
        with trial_folder(shops.parent, "t") as other:
            assert folder.is_dir()
            assert other != folder
    assert siblings(shops) == []


def test_only_folders_of_verifications_of_the_table_are_removed(shops, tmp_path):
    """A table may be called like such a folder, and the folder of a table `t-verify-00000000` is not one of `t`."""
    kept = {
        ".t-verify-mydata": "0/part.parquet",
        ".t-verify-0123abcd": "day=1/part.parquet",
        ".u-verify-0123abcd": "0/part.parquet",
        "t-verify-0123abcd": "0/part.parquet",
    }
    for name, file in kept.items():
        (shops.parent / name / file).parent.mkdir(parents=True)
        (shops.parent / name / file).write_bytes(b"x")
    (tmp_path / "elsewhere" / "0").mkdir(parents=True)
    (shops.parent / ".t-verify-zzzzzzzz").symlink_to(tmp_path / "elsewhere")
    (shops.parent / ".t-verify-yyyyyyyy").touch()
    assert remove_abandoned(shops.parent, "t") == ()
    assert siblings(shops) == sorted([*kept, ".t-verify-zzzzzzzz", ".t-verify-yyyyyyyy"])
    assert (tmp_path / "elsewhere" / "0").is_dir()


def test_a_folder_of_an_earlier_version_without_a_lock_is_removed(shops):
    for name in (".t-verify-ab_d0123", ".t-verify-00000000"):
        (shops.parent / name / "1").mkdir(parents=True)
    assert remove_abandoned(shops.parent, "t") == tuple(
        str(shops.parent / name) for name in (".t-verify-00000000", ".t-verify-ab_d0123")
    )
    assert siblings(shops) == []


def test_where_the_file_system_has_no_locks_it_is_verified_and_nothing_of_others_removed(shops, monkeypatch):
    import fcntl

    def refuse(*_):
        raise OSError(95, "Operation not supported")

    left = shops.parent / ".t-verify-00000000"
    (left / "1").mkdir(parents=True)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with trial_folder(shops.parent, "t") as folder:
        assert folder.is_dir()
    assert siblings(shops) == [left.name]


def test_a_folder_that_another_process_removes_before_it_is_locked_is_made_again(shops, monkeypatch):
    """Another process may take the folder for abandoned between its creation and its lock."""

    def late(folder, **options):
        monkeypatch.setattr(module, "write_lock", write_lock)
        assert remove_abandoned(shops.parent, "t") == (str(folder),)
        return write_lock(folder, **options)

    monkeypatch.setattr(module, "write_lock", late)
    with trial_folder(shops.parent, "t") as folder:
        assert (folder / LOCK).exists()
        assert remove_abandoned(shops.parent, "t") == ()
    assert siblings(shops) == []
