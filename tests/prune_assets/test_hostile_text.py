"""For any text, public functions return a result or raise a one-line PruneError, within a short time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import prune_assets as pr
from deltalog.maintenance.vacuum import orphans
from deltalog.snapshot.opening import open_snapshot
from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import PruneError
from prune_assets.cli import main
from prune_assets.tables.changes import table_fingerprint
from prune_assets.writing.layout_file import load_layout

SECONDS = 5.0
MANY_DIGITS = "9" * 10_000
# Each text could cause another error, several lines, terminal commands, or an endless loop.
TEXTS = {
    "empty": "",
    "nul": "a\0b",
    "lone surrogate": "\ud800",
    "undecodable": "\udcff",
    "escape": "\x1b[2J\x9b2J\x7f",
    "lines": "a\nb\r\u2028c\x85",
    "direction": "\u202eabc",
    "long": "x" * 10_000,
    "digits": MANY_DIGITS,
    "digits of a long": f"a = {MANY_DIGITS}L",
    "leading zeros": f"a = {'0' * 10_000}1L",
    "digits of a decimal": f"cast(a as decimal({MANY_DIGITS}, {MANY_DIGITS})) = 1",
    "digits of a cast": f"a = cast('{MANY_DIGITS}' as int)",
    "exponent": "f = 1e999999999",
    "a sum": "+".join(["a"] * 900) + " > 3",
    "a longer sum": "+".join(["a"] * 4_000) + " > 3",
    "calls": "abs(" * 900 + "a" + ")" * 900 + " = 1",
    "brackets": "(" * 3_000,
    "negations": "not " * 3_000 + "a = 1",
    "stars": "*a" * 100 + "b",
    "braces": "{a,b}" * 40,
    "open braces": "{" * 3_000,
    "open brackets": "[" * 3_000,
    "slashes": "/a" * 3_000,
    "quotes": "'" * 3_001,
    "aliases": "a: &a [1]\nb: &b [*a, *a]\nc: &c [*b, *b]",
    "a date of no calendar": "2001-99-99",
    "yaml tags": "!!python/object:os.system x",
    "yaml date": "!!timestamp x",
    "scheme": "foo\x1b://x",
    "bucket": "s3://b\nc/\0",
    "host": "http://[::1",
    "port": f"http://a:{MANY_DIGITS}/x",
    "chain": "zip://x::file:///etc/passwd",
    "percent": "file:///%00%FF",
}
SEMANTICS = pr.SparkSemantics(time_zone="UTC")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    pq.write_table(pa.table({"a": [1, 2], "f": [1.0, 2.0], "s": ["x", "y"]}), folder / "a.parquet")
    return str(folder)


def plan(table, **arguments):
    report = pr.plan(table, **({"where": "a = 1", "semantics": SEMANTICS} | arguments)).report
    report.to_html().encode()
    return json.loads(report.to_json())


def as_layout(table, text, form="{}"):
    path = Path(table).parent / "layout.yaml"
    path.write_text(form.format(text), encoding="utf-8", errors="surrogatepass")
    return load_layout(path)


def check(table, layout):
    return pr.check(table, layout=layout)


DOORS = {
    "plan, table": lambda table, text: plan(text),
    "plan, a list": lambda table, text: plan([text, table]),
    "plan, below": lambda table, text: plan(f"{table}/{text}"),
    "plan, where": lambda table, text: plan(table, where=text),
    "plan, a text": lambda table, text: plan(table, where="s = '" + text.replace("'", "''") + "'"),
    "plan, a name": lambda table, text: plan(table, where=f"`{text}` = 1"),
    "plan, columns": lambda table, text: plan(table, columns=[text]),
    "plan, timestamp": lambda table, text: plan(table, timestamp=text),
    "plan, zone": lambda table, text: plan(table, semantics=pr.SparkSemantics(time_zone=text)),
    "check, table": lambda table, text: check(text, pr.LayoutSpec(sort_by=["a"])),
    "check, sort_by": lambda table, text: check(table, pr.LayoutSpec(sort_by=[text])),
    "check, bloom": lambda table, text: check(table, pr.LayoutSpec(bloom={text: 0.1})),
    "LayoutSpec": lambda table, text: pr.LayoutSpec(compression=text),
    "layout.yaml, path": lambda table, text: load_layout(Path(text)),
    "layout.yaml": as_layout,
    "layout.yaml, key": lambda table, text: as_layout(table, text, "{}: 1"),
    "layout.yaml, list": lambda table, text: as_layout(table, text, "sort_by: [{}]"),
    "layout.yaml, number": lambda table, text: as_layout(table, text, "files: {}"),
    "inspect": lambda table, text: read_dataset(text),
    "sensor": lambda table, text: table_fingerprint(text),
    "snapshot": lambda table, text: open_snapshot(text),
    "orphans": lambda table, text: orphans(text),
}


def message_of(call):
    """Return the message of a PruneError; "" for a result."""
    try:
        call()
    except PruneError as error:
        return str(error)
    return ""


def ask(door, table, text):
    """Call a public function; it may only raise a PruneError with one short line."""
    start = time.process_time()
    said = message_of(lambda: DOORS[door](table, text))
    assert said.isprintable()
    assert len(said) < 2_500
    assert time.process_time() - start < SECONDS


@pytest.mark.sampled(3)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_texts(table, door, text):
    ask(door, table, text)


@pytest.mark.parametrize("door", DOORS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.characters(categories=None, exclude_categories=()), max_size=40))
@example(text="\ud800\udc00")
def test_any_text(table, door, text):
    ask(door, table, text)


@pytest.mark.parametrize("number", [10**10_000, -(10**10_000)], ids=["large", "small"])
@pytest.mark.parametrize("name", ["page_rows", "files", "row_group_bytes", "compression", "sort_by", "bloom"])
def test_numbers_of_many_digits_in_a_layout(name, number):
    assert message_of(lambda: pr.LayoutSpec(**{name: number})).isprintable()


# Systems pass only such arguments to programs: no NUL, and invalid UTF-8 decoded as surrogates.
ARGUMENTS = {
    name: text for name, text in TEXTS.items() if "\0" not in text and not any("\ud800" <= c < "\udc80" for c in text)
}
COMMANDS = [
    ("inspect", "{}"),
    ("inspect", "TABLE", "--columns", "{}"),
    ("inspect", "FILE", "--columns", "a", "--bloom", "{}"),
    ("inspect", "TABLE", "--timestamp", "{}"),
    ("explain", "{}", "--where", "a = 1"),
    ("explain", "TABLE", "--where", "{}"),
    ("explain", "TABLE", "--where", "a = 1", "--columns", "{}"),
    ("explain", "TABLE", "--where", "a = 1", "--time-zone", "{}"),
    ("head", "{}"),
    ("head", "TABLE", "--order-by", "{}"),
    ("count", "TABLE", "--where", "{}"),
    ("check", "{}", "--layout", "LAYOUT"),
    ("check", "TABLE", "--layout", "{}"),
    ("optimize", "{}", "--layout", "LAYOUT", "--dry-run"),
    ("optimize", "TABLE", "--layout", "LAYOUT", "--dry-run", "--where", "{}"),
    ("optimize", "TABLE", "--layout", "LAYOUT", "--dry-run", "--predicate", "{}"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("text", ARGUMENTS.values(), ids=ARGUMENTS)
def test_commands_end_in_a_line_or_a_report(table, tmp_path, command, text):
    (tmp_path / "l.yaml").write_text("page_rows: 5\n")
    names = {"TABLE": table, "FILE": f"{table}/a.parquet", "LAYOUT": str(tmp_path / "l.yaml"), "{}": text}
    done = CliRunner().invoke(main, [names.get(part, part) for part in command])
    assert isinstance(done.exception, SystemExit | None)
    assert "PRUNE_DEBUG" not in done.stderr
    assert (done.stdout + done.stderr).replace("\n", "").isprintable()
    if done.exit_code > 1:
        assert done.stdout == ""
        assert done.stderr.startswith("Usage:") or done.stderr.count("\n") == 1


NAMES = [b"a\xff.parquet", b"a\nb.parquet", b"a\x1b[2J\x9b.parquet", b"\xed\xa0\x80.parquet", b"k=\xff/a.parquet"]
NAMES += [b"k=\x1b[2J/a.parquet", b"k=" + b"9" * 200 + b"/a.parquet", b"k=%00/a.parquet", b"k\xff=1/a.parquet"]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_files_of_any_name(tmp_path, name):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/t/" + name))
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        pq.write_table(pa.table({"a": [1]}), file)
    (tmp_path / "l.yaml").write_text("sort_by: [a]\n")
    table = str(tmp_path / "t")
    assert plan(table)["kept"]["files"] == 1
    assert len(check(table, pr.LayoutSpec(sort_by=["a"]))) > 1
    assert table_fingerprint(table)
    for command in (["inspect", table], ["check", table, "--layout", str(tmp_path / "l.yaml")]):
        for form in ([], ["--json"]):
            done = CliRunner().invoke(main, [*command, *form])
            assert done.exit_code in {0, 1}, done.stderr
            assert done.stdout.replace("\n", "").isprintable()
            assert not form or json.loads(done.stdout)
