"""The golden Delta tables by reader, before and after a checkpoint of ours: `python -m tests.peers.delta_matrix`."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlparse

from deltalog.errors import DeltaError
from deltalog.snapshot import open_snapshot
from deltalog.write_checkpoint import write_checkpoint
from tests.peers.delta_readers import READERS, ask, missing

GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "delta"


def copies(scratch):
    """Each golden table that can be read here: a copy, and one that only a checkpoint of ours tells of."""
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
            # Another checkpoint of this version would be taken for ours.
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


def main():
    readers = [reader for reader in READERS if not missing(reader)]
    print("readers:", ", ".join(readers), "| not here:", "; ".join(filter(None, map(missing, READERS))) or "none")
    with tempfile.TemporaryDirectory() as scratch:
        found = copies(scratch)
        first = {reader: ask(reader, [{"table": str(pair[0])} for pair in found.values()]) for reader in readers}
        second = {reader: ask(reader, [{"table": str(pair[1])} for pair in found.values()]) for reader in readers}
    titles = ["table", "expected", "ours", *(f"{reader} files, rows, rows from our checkpoint" for reader in readers)]
    print("| " + " | ".join(titles) + " |\n|" + "-|" * len(titles))
    for number, name in enumerate(found):
        expected = json.loads((GOLDEN / "_expected" / f"{name}.json").read_text())["versions"].get("latest", {})
        cells = [name, str(expected.get("num_files", "-")), str(open_snapshot(GOLDEN / name).file_count)]
        cells += [_cell(first[reader][number], second[reader][number]) for reader in readers]
        print("| " + " | ".join(cells) + " |")
    return 0


def _cell(was, now):
    if "error" in was:
        return f"refuses ({was['error'][:40]})" + ("" if "error" in now else ", reads ours")
    files = "-" if was["files"] is None else str(len(was["files"]))
    same = "same" if now.get("rows") == was["rows"] else f"DIFFERENT {now.get('error', '')[:60]}"
    return f"{files}, {len(was['rows'])}, {same}"


if __name__ == "__main__":
    sys.exit(main())
