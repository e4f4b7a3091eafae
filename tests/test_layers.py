"""Check that imports point in one direction only."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from parquet_core.fix import Fix, Step
from prune_assets.cli import COMMANDS
from prune_assets.step_words import AIRFLOW, DAGSTER, SHELL
from prune_assets.tables.table import Table, TableDefaults

ROOT = Path(__file__).parents[1]
# Rooms of each package, and the other rooms that each may import. Every room may import the modules of parquet_core
# outside the rooms (arrays, errors, ...).
ROOMS = {
    "parquet_core": {
        "storage": (),
        "format": ("storage",),
        "bloom": ("format",),
        "spark_rules": ("format", "storage"),
        "trust": ("bloom", "format", "spark_rules"),
        "values": ("format", "storage"),
        "dataset": ("bloom", "format", "spark_rules", "storage", "trust"),
        "pruning": ("bloom", "dataset", "format", "spark_rules", "storage", "trust"),
        "layout": ("dataset", "format", "spark_rules", "storage", "trust", "values"),
        "inspection": ("bloom", "dataset", "format", "layout", "spark_rules", "trust"),
    },
    "deltalog": {
        "errors": (),
        "log": ("errors",),
        "table": ("errors", "log"),
        "snapshot": ("errors", "log", "table"),
        "stats": ("log", "table", "snapshot"),
        "maintenance": ("errors", "log", "table", "snapshot", "stats"),
        "transaction": ("errors", "log", "table", "snapshot", "stats", "maintenance"),
        "inspection": ("log", "table", "snapshot", "stats", "maintenance"),
    },
}
# Rooms and modules of prune_assets, lowest first, as listed in CONTRIBUTING.md. Each imports only from earlier ones,
# type annotations included, so there are no cycles.
_LIST = re.compile(r"^The rooms of `prune_assets`.*?```\n(.*?)```", re.DOTALL | re.MULTILINE)
ORDER = _LIST.findall((ROOT / "CONTRIBUTING.md").read_text())[0].split()
LOOKED_AT = (ast.Import, ast.ImportFrom, ast.Constant)
UPPER = {"airflow", "dagster", "prune_assets", "pyspark", "sqlglot"}


@cache
def nodes_of(path):
    """Return the imports and constants of a file."""
    waiting, found = [ast.parse(path.read_text())], []
    while waiting:  # twice as fast as ast.walk
        node = waiting.pop()
        if isinstance(node, LOOKED_AT):
            found.append(node)
        for value in vars(node).values():
            if isinstance(value, list):
                waiting += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:
                waiting.append(value)
    return found


@cache
def imports_of(path):
    return [*_imports_in(path)]


def _imports_in(path):
    """Yield every module that a file imports, including imports inside functions."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == "prune_assets" else (module,)


def packages_of(path):
    return {name.split(".")[0] for name in imports_of(path)}


def imports_among(paths, packages):
    """Return the files that import any of the packages, with the packages that each imports."""
    return {str(path): found for path in paths if (found := packages_of(path) & packages)}


def files_of(package):
    return sorted((ROOT / package).rglob("*.py"))


def test_parquet_core_knows_nothing_above_it():
    assert imports_among(files_of("parquet_core"), {*UPPER, "deltalog"}) == {}


def test_the_log_knows_nothing_above_it():
    assert imports_among(files_of("deltalog"), UPPER) == {}


@pytest.mark.parametrize("package", [*ROOMS, "prune_assets"])
def test_imports_are_absolute(package):
    relative = {str(path) for path in files_of(package) for name in imports_of(path) if name.startswith(".")}
    assert relative == set()


def texts_below(path):
    """Yield the strings of a file, without doctest lines, which import public names of `prune_assets`."""
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, re.sub(r"(?m)^\s*(?:>>>|\.\.\.).*$", "", node.value)


@pytest.mark.parametrize("package", ROOMS)
def test_no_text_names_a_command_or_function_above(package):
    """Remedies must be a `Fix` with a `Step`; `prune_assets/step_words.py` contains the command names."""
    above = re.compile(rf"\bprune ({'|'.join(COMMANDS)})\b|\bpr\.\w+|\bprune_assets\b|\b(?:[Dd]agster|[Aa]irflow)\b")
    named = [
        f"{path.relative_to(ROOT)}:{line}: {name[0]}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in texts_below(path)
        for name in above.finditer(text)
    ]
    assert named == []


def test_every_step_has_words_in_every_tool():
    for words in (SHELL, DAGSTER, AIRFLOW):
        assert set(words) == set(Step)
    assert str(Fix(step=Step.OPTIMIZE)) == "prune optimize TABLE --layout layout.yaml", "of the shell by default"


def test_every_file_stands_in_a_room_of_the_list():
    entries = [path for path in (ROOT / "prune_assets").iterdir() if path.suffix == ".py" or any(path.glob("*.py"))]
    assert sorted(path.stem for path in entries if path.stem != "__init__") == sorted(ORDER)


FILES = files_of("prune_assets")


def rooms_up_to(room):
    """Return the modules that a file of a room may import."""
    below = {"prune_assets.__version__", *(f"prune_assets.{name}" for name in ORDER[: ORDER.index(room) + 1])}
    if ORDER.index(room) > ORDER.index("reading"):
        below.add("prune_assets")  # its public names come from rooms up to this one
    return below


def test_a_file_imports_from_rooms_below_its_own():
    above = {}
    for path in (path for path in FILES if path.parent.parent != ROOT or path.stem != "__init__"):
        room = path.relative_to(ROOT / "prune_assets").parts[0].removesuffix(".py")
        names = [name for name in imports_of(path) if name.split(".")[0] == "prune_assets"]
        above[str(path)] = {".".join(name.split(".")[:2]) for name in names} - rooms_up_to(room)
    assert {path: names for path, names in above.items() if names} == {}


def rooms_of(package, path):
    """Return the rooms of a package that a file imports, including imports for type checking."""
    names = (name.partition(".")[2] for name in imports_of(path) if name.split(".")[0] == package)
    return {room for name in names if (room := room_of(package, name))}


def room_of(package, name):
    """Return the innermost room of a module; None if the module is outside all rooms."""
    around = [room for room in ROOMS[package] if name == room or name.startswith(f"{room}.")]
    return max(around, key=len, default=None)


def modules_of(package, room):
    place = ROOT / package / room.replace(".", "/")
    found = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    named = {path: ".".join(path.relative_to(ROOT / package).with_suffix("").parts) for path in found}
    return [path for path, name in named.items() if room_of(package, name) == room]


@pytest.mark.parametrize(("package", "room"), [(package, room) for package in ROOMS for room in ROOMS[package]])
def test_a_room_imports_those_of_the_table_alone(package, room):
    found = {other for path in modules_of(package, room) for other in rooms_of(package, path)} - {room}
    assert found == set(ROOMS[package][room])


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_are_in_no_circle(package):
    before = set()
    for room, others in ROOMS[package].items():
        assert before.issuperset(others), f"{room} comes after what it imports"
        before.add(room)
    assert before >= {entry.parent.name for entry in (ROOT / package).glob("*/__init__.py")}


def test_what_lies_beside_the_rooms_imports_none():
    beside = [path for path in (ROOT / "parquet_core").glob("*.py") if path.stem not in ROOMS["parquet_core"]]
    assert {path.name: rooms_of("parquet_core", path) for path in beside} == {path.name: set() for path in beside}
    assert {path.stem for path in (ROOT / "deltalog").glob("*.py")} <= {"__init__", *ROOMS["deltalog"]}


# Rooms that evaluate predicates on facts of their own, such as values of a log, by the parts of the pruning room. The
# others use `parquet_core.pruning` alone: `prune` for files, `selected_rows` for rows.
EVALUATING = {
    "deltalog.stats",
    "deltalog.transaction",
    "prune_assets.advisor",
    "prune_assets.merging",
    "prune_assets.planner",
    "prune_assets.sql",
    "prune_assets.tables",
    "prune_assets.writing",
}


def test_pruning_has_one_door():
    parts = tuple(f"parquet_core.pruning.{part}" for part in ("evidence", "levels", "trees"))
    paths = [path for package in (*ROOMS, "prune_assets") for path in files_of(package)]
    outside = [path.relative_to(ROOT) for path in paths if not path.is_relative_to(ROOT / "parquet_core/pruning")]
    found = {path for path in outside for name in imports_of(ROOT / path) if f"{name}.".startswith(parts)}
    assert {".".join(path.with_suffix("").parts[:2]) for path in found} == EVALUATING


def test_iceberg_knows_nothing_of_delta():
    """Code shared by both formats belongs in `parquet_core` or `prune_assets/tables`."""
    of_delta = {"deltalog", "prune_assets.tables.delta"}
    paths = [path for path in FILES if path.is_relative_to(ROOT / "prune_assets/tables/iceberg")]
    assert paths
    known = {name for path in paths for name in imports_of(path)}
    assert {name for name in known if any(f"{name}.".startswith(f"{other}.") for other in of_delta)} == set()


def test_one_file_knows_sqlglot():
    others = [path for path in FILES if path.name not in {"doctor.py", "select.py"}]
    assert imports_among(others, {"sqlglot"}) == {}


def test_dagster_has_a_room_of_its_own():
    rooms = {"components", "dagster"}
    others = [path for path in FILES if not rooms & set(path.relative_to(ROOT / "prune_assets").parts)]
    assert imports_among(others, {"dagster"}) == {}


def test_airflow_has_a_room_of_its_own():
    room = [path for path in FILES if path.parent.name == "airflow"]
    assert imports_among(room, {"dagster"}) == {}
    assert imports_among([path for path in FILES if path not in room], {"airflow"}) == {}


def test_planning_needs_neither_spark_nor_dagster():
    script = (
        "import sys, prune_assets as pr; pr.plan; pr.check; print(*sorted({'pyspark', 'dagster'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_table_has_few_members():
    """Members for a single format belong on its `Format`, `Examination` or `Writing`."""
    members = {name for kind in (Table, TableDefaults) for name in vars(kind) if not name.startswith("_")}
    assert len(members) <= 20, sorted(members)


# Rooms of prune_assets/sql: each imports only from itself and earlier ones, type annotations included.
SQL = ROOT / "prune_assets" / "sql"
SQL_ROOMS = ("semantics", "refusal", "types", "render", "syntax", "functions", "binding", "simplify", "lowering")
SQL_DOORS = ("lower", "evaluate_on_values", "merge_condition", "merge_statement", "merge_syntax")


def sql_imports(tree, path):
    """Yield every module of prune_assets.sql that a tree imports, as a path below the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("prune_assets.sql"):
            for alias in node.names:
                parts = f"{node.module}.{alias.name}".split(".")[2:]
                while parts and not (SQL.joinpath(*parts).with_suffix(".py").exists() or SQL.joinpath(*parts).is_dir()):
                    parts.pop()
                assert parts, f"{path}: imports the package itself"
                yield tuple(parts)


@cache
def sql_tree(path):
    return ast.parse(path.read_text())


SQL_FILES = sorted(path for path in SQL.rglob("*.py") if path != SQL / "__init__.py")


def test_every_file_of_sql_stands_in_a_room():
    tops = {path.relative_to(SQL).parts[0].removesuffix(".py") for path in SQL_FILES}
    assert tops == {*SQL_ROOMS, *SQL_DOORS}
    for room in SQL.iterdir():
        assert len([*room.glob("*.py")]) <= 21, "20 files and what says what the room is"


def test_the_rooms_of_sql_are_layers():
    for path in SQL_FILES:
        room = path.relative_to(SQL).parts[0].removesuffix(".py")
        below = SQL_ROOMS[: SQL_ROOMS.index(room) + 1] if room in SQL_ROOMS else (*SQL_ROOMS, *SQL_DOORS)
        for module in sql_imports(sql_tree(path), path):
            assert module[0] in below, path


def run_time_imports(path):
    """Return the modules that a file imports at run time, including imports inside functions."""
    tree = ast.parse(path.read_text())  # a copy to change
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    return {SQL.joinpath(*module).with_suffix(".py") for module in sql_imports(tree, path)}


def test_the_modules_of_sql_import_in_no_circle():
    waiting = {path: run_time_imports(path) & set(SQL_FILES) for path in SQL_FILES}
    while free := [path for path, needs in waiting.items() if not needs]:
        waiting = {path: needs.difference(free) for path, needs in waiting.items() if path not in free}
    assert not waiting


def test_no_import_of_sql_is_hidden():
    """Imports are at module level and by statement, and no function is assigned to another module or object."""
    assert imports_among(SQL_FILES, {"importlib"}) == {}
    for path in SQL_FILES:
        tree = sql_tree(path)
        inside = [part for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for part in ast.walk(node)]
        assert not [node for node in inside if isinstance(node, (ast.Import, ast.ImportFrom))], path
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                assert not [target for target in node.targets if isinstance(target, ast.Attribute)], path
