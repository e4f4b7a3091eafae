"""Cases that failed once, saved as JSON: the whole table and the predicate as SQL, so that nothing is drawn again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from .forms import Leaf
from .kinds import KINDS
from .spellings import Pair
from .tables import Column, File, Table

DIRECTORY = Path(__file__).parents[1] / "fixtures"


def save(check, predicate, table, directory=DIRECTORY):
    """Write a case to a file and return its path. `predicate` is a tree, or a pair of spellings."""
    said = {"pair": predicate._asdict()} if isinstance(predicate, Pair) else {"where": predicate.sql}
    case = {"check": check, **said, "table": stored(table)}
    text = json.dumps(case, indent=1, ensure_ascii=True) + "\n"
    name = "-".join("".join(letter if letter.isalnum() else " " for letter in check.lower()).split())
    path = Path(directory) / f"{name}-{hashlib.sha1(text.encode()).hexdigest()[:8]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load(path):
    """Return the check that failed, the predicate or pair, and the table."""
    case = json.loads(Path(path).read_text())
    predicate = Pair(**case["pair"]) if "pair" in case else Leaf(case["where"], risky=True)
    return case["check"], predicate, restored(case["table"])


def stored(table):
    """Return a table as plain JSON values."""
    columns = [
        {"path": column.path, "kind": column.kind, "values": [_plain(column.of, value) for value in column.values]}
        for column in table.columns
    ]
    return {
        "columns": columns,
        "holes": table.holes,
        "files": [asdict(file) for file in table.files],
        "zone": table.zone,
    }


def restored(case):
    """Return the table that was stored."""
    columns = tuple(
        Column(tuple(each["path"]), each["kind"], tuple(_value(KINDS[each["kind"]], v) for v in each["values"]))
        for each in case["columns"]
    )
    files = tuple(File(**file | {"without": tuple(file["without"])}) for file in case["files"])
    return Table(columns, {name: tuple(rows) for name, rows in case["holes"].items()}, files, case["zone"])


def _plain(kind, value):
    if value is None:
        return None
    # JSON has no infinities, and other JSON readers would round.
    return {"float": repr, "binary": bytes.hex}.get(kind.family, lambda it: it)(value)


def _value(kind, value):
    if value is None:
        return None
    return {"float": float, "binary": bytes.fromhex}.get(kind.family, lambda it: it)(value)
