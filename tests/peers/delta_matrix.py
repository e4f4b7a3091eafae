"""The golden Delta tables by reader, before and after a checkpoint of ours: `python -m tests.peers.delta_matrix`."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlparse

from deltalog.errors import DeltaError
from deltalog.maintenance.write_checkpoint import write_checkpoint
from deltalog.snapshot.opening import open_snapshot
from tests.peers.delta_readers import READERS, ask, missing

GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "delta"


def copies(scratch):
    """Return each readable golden table: a copy, and a copy whose only metadata is a checkpoint by deltalog."""
    found = {}
    for expected in sorted((GOLDEN / "_expected").glob("[!_]*.json")):
        source = GOLDEN / expected.stem
        try:
            open_snapshot(source)
        except DeltaError:
            continue
        first, second = Path(scratch) / "before" / source.name, Path(scratch) / "after" / source.name
        for target in (first, second):
            shutil.copytree(source, target)
        for old in (second / "_delta_log").glob("*checkpoint*"):
            # Another checkpoint of this version would be read instead of the new one.
            version = old.name.split(".")[0]
            if version.isdigit() and int(version) == open_snapshot(second).version and _needless(second, old):
                old.unlink()
        written = write_checkpoint(str(second), clean=False)
        commits = sorted(file for file in (second / "_delta_log").glob("*.json") if "checkpoint" not in file.name)
        for commit in commits[:-1]:
            commit.unlink()
        for file in (second / "_delta_log").glob("*.checkpoint.*"):
            if str(file) not in written.files:
                file.unlink()
        found[source.name] = first, second
    return found


def _needless(table, checkpoint):
    """Tell whether the table can be read without a checkpoint."""
    content = checkpoint.read_bytes()
    checkpoint.unlink()
    try:
        open_snapshot(table)
    except DeltaError:
        return False
    finally:
        checkpoint.write_bytes(content)
    return True


def relative(files, table):
    """Paths of files below their table, as other readers spell them."""
    if files is None:
        return None
    base = f"{table}/"
    found = []
    for file in files:
        path = urlparse(file).path if file.startswith("file:") else file
        spelled = path if path.startswith(base) else unquote(path)
        found.append(spelled.removeprefix(base))
    return sorted(found)


def main(only):
    readers = [reader for reader in READERS if not missing(reader) and (not only or reader in only)]
    print("readers:", ", ".join(readers), "| not here:", "; ".join(filter(None, map(missing, READERS))) or "none")
    with tempfile.TemporaryDirectory() as scratch:
        found = copies(scratch)
        first = {reader: ask(reader, [{"table": str(pair[0])} for pair in found.values()]) for reader in readers}
        second = {reader: ask(reader, [{"table": str(pair[1])} for pair in found.values()]) for reader in readers}
        print("Each cell: files listed; rows read; from a checkpoint of ours alone.\n")
        print("| " + " | ".join(["table", "expected files", "ours", *readers]) + " |\n|" + "-|" * (len(readers) + 3))
        for number, (name, pair) in enumerate(found.items()):
            expected = expected_files(name)
            mine = sorted(open_snapshot(GOLDEN / name).paths())
            cells = [name, "-" if expected is None else str(len(expected)), _listed(mine, expected)]
            cells += [_cell(first[reader][number], second[reader][number], expected, pair) for reader in readers]
            print("| " + " | ".join(cells) + " |")


def expected_files(name):
    """Paths that the newest version should have; None where no reader told."""
    said = json.loads((GOLDEN / "_expected" / f"{name}.json").read_text())["versions"].get("latest", {})
    return sorted(path for path, _, _ in said["files"]) if "files" in said else None


def _listed(files, expected):
    if files is None:
        return "-"
    return f"{len(files)}" + ("" if expected is None else " =" if files == expected else " DIFFERENT")


def _cell(was, now, expected, pair):
    files = [relative(answer.get("files"), table) for answer, table in zip((was, now), pair, strict=True)]
    rows = f"{len(was['rows'])} rows" if "rows" in was else f"no rows ({was['error'][:45]})"
    if "rows" in was:
        same = (
            "same"
            if now.get("rows") == was["rows"] and files[0] == files[1]
            else f"DIFFERENT {now.get('error', '')[:60]}"
        )
    elif "rows" in now:
        same = f"{len(now['rows'])} rows"
    else:
        same = "-" if files[0] is None else "same files" if files[0] == files[1] else "DIFFERENT files"
    return f"{_listed(files[0], expected)}; {rows}; {same}"


if __name__ == "__main__":
    main(sys.argv[1:])
