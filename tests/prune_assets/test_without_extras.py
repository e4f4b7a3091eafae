"""An installation without extras: functions that need no extra work, the others name the missing extra.

The packages are hidden from a separate Python; `tests/test_bare_install.py` installs the package without them.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import write_table

import prune_assets as pr
from parquet_core.errors import WrongUse
from prune_assets import cli, extras
from prune_assets.errors import MissingPackage

HIDDEN = ("airflow", "boto3", "dagster", "dagster_pipes", "dagster_shared", "py4j", "pydantic", "pyiceberg", "pyspark")
BARE = f"""
import sys
from importlib.machinery import PathFinder

class WithoutExtras(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {HIDDEN!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutExtras
"""
WHERE = "day = DATE '1970-01-02' AND name = 'b'"
MERGE = "on='t.id = s.id', when=['MATCHED UPDATE']"
# Each public function that neither Spark nor Dagster runs, as a user calls it.
CALLS = {
    "advise": "advice = pr.advise(TABLE, workload=pr.Workload.of(TABLE, ['id < 10']))",
    "advise and verify": "pr.Workload.read(QUERIES); advice.verify(workload=['id < 10'])",
    "audit": "pr.audit(TABLE)",
    "check": "pr.check(TABLE, layout=SORTED)",
    "count": "pr.count(TABLE, where='id < 10')",
    "load_layout": "pr.load_layout(SORTED)",
    "min_max": "pr.min_max(TABLE, 'id')",
    "optimize": "pr.optimize(TABLE, layout=SORTED, dry_run=True)",
    "plan": f'pr.plan(TABLE, where="{WHERE}").report.to_json()',
    "plan of a Delta table": "pr.plan(DELTA, where='id < 10', depth='row_groups').report.to_html()",
    "plan of a join": "pr.plan(TABLE, keys=pr.read_arrow(TABLE, where='id < 10'), on=['id', 'day']).report.to_json()",
    "plan_merge": f"str(pr.plan_merge(DELTA, TABLE, {MERGE}))",
    "read_arrow": "pr.read_arrow(TABLE, where='id < 10', order_by=['id DESC'], limit=3)",
    "read_arrow of a Delta table": "pr.read_arrow(DELTA, where='id < 10', stats=pr.ReadStats())",
    "read_batches": "pr.read_batches(TABLE, where='id < 10').read_all()",
}
WITH_SPARK = {
    "merge": f"pr.merge(DELTA, TABLE, {MERGE})",
    "optimize": "pr.optimize(TABLE, layout={'sort_by': ['name']})",
    "read": "pr.read(TABLE, where='id < 10')",
    "write": "pr.write(None, TABLE, layout=SORTED)",
}
COMMANDS = {
    "advise": ["TABLE", "--predicate", "id < 10"],
    "audit": ["TABLE"],
    "check": ["TABLE", "--layout", "LAYOUT"],
    "checkpoint": ["DELTA"],
    "count": ["TABLE", "--where", "id < 10"],
    "doctor": [],
    "explain": ["TABLE", "--where", WHERE],
    "head": ["TABLE", "--where", "id < 10"],
    "history": ["DELTA"],
    "inspect": ["TABLE"],
    "merge": ["MERGE"],
    "vacuum": ["DELTA"],
    "workload": ["QUERIES"],
}
PLACES = ("TABLE", "DELTA", "QUERIES", "LAYOUT", "ICEBERG", "MERGE")
WITHOUT = f"{BARE}\nimport prune_assets as pr\n{', '.join(PLACES)} = sys.argv[1:]\nSORTED = {{'sort_by': ['id']}}\n"
EACH = """
import json, os
errors = []
for statement in json.loads(os.environ["STATEMENTS"]):
    try:
        exec(statement)
        errors.append("no error")
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}")
print(json.dumps(errors))
"""
SPARK_EXTRA = "pip install 'prune-assets[spark]'"
EXTRA_OF = {
    "from prune_assets.spark.spark_session import spark_session as f; f()": "spark",
    "from prune_assets.dagster import LayoutTable": "dagster",
    "import prune_assets.dagster as d; d.SparkSessionResource": "dagster",
    "from prune_assets.dagster import *": "dagster",
    "from prune_assets.components import LayoutChecksComponent": "dagster",
    "from prune_assets.airflow import WriteTableOperator": "airflow",
    "pr.count('glue:lake.orders')": "glue",
    "pr.count('iceberg:lake.db.orders')": "iceberg",
    "pr.count(ICEBERG)": "iceberg",
    "from prune_assets.tables.changes import poll; poll(ICEBERG, None)": "iceberg",
    "from prune_assets.tables.opening import recognize; recognize(ICEBERG)[0].history(ICEBERG, 3)": "iceberg",
}
WITHOUT_AN_EXTRA = {
    "import prune_assets.dagster as d; d.build_nothing": "AttributeError: ",
    "try: from prune_assets.dagster import Choice\nexcept ImportError: pass": "no error",
    "from prune_assets.pipes import report_layout, report_skip, report_write": "no error",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A Parquet table, a Delta table, queries, a layout and metadata of an Iceberg table, as `PLACES` names them."""
    root = tmp_path_factory.mktemp("tables")
    ids = pa.array(range(1_000), pa.int32())
    rows = pa.table({"id": ids, "day": ids.cast(pa.date32()), "name": ids.cast(pa.string())})
    (root / "plain").mkdir()
    pq.write_table(rows, root / "plain/a.parquet", row_group_size=100, write_page_index=True)
    nested = pa.array([{"a": i, "b": [{"c": "x"}]} for i in range(1_000)])
    write_table(str(root / "delta"), rows.append_column("nested", nested))
    (root / "queries.sql").write_text("SELECT id FROM lake.orders WHERE day = DATE '2024-01-01'")
    (root / "layout.yaml").write_text("sort_by: [id]")
    tables = f"INTO delta.`{root / 'delta'}` t USING parquet.`{root / 'plain'}` s"
    (root / "merge.sql").write_text(f"MERGE {tables} ON t.id = s.id WHEN MATCHED THEN DELETE")
    (root / "iceberg/metadata").mkdir(parents=True)
    (root / "iceberg/metadata/v1.metadata.json").write_text("{}")
    return {
        name: str(root / file)
        for name, file in zip(
            PLACES, ("plain", "delta", "queries.sql", "layout.yaml", "iceberg", "merge.sql"), strict=True
        )
    }


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Run a program that finds no package of an extra."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PRUNE_DEBUG": ""}
    environment["PRUNE_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    for name in ("SPARK_HOME", "SPARK_REMOTE"):
        environment.pop(name, None)

    def run(program, *arguments, **variables):
        command = [sys.executable, "-W", "error", "-c", program, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment | variables)

    return run


@pytest.fixture(scope="module")
def errors(bare, places):
    """Errors by statement, of one process that finds no package of an extra."""
    statements = [*WITH_SPARK.values(), *EXTRA_OF, *WITHOUT_AN_EXTRA]
    done = bare(f"{WITHOUT}{EACH}", *places.values(), STATEMENTS=json.dumps(statements))
    assert (done.returncode, done.stderr) == (0, "")
    return dict(zip(statements, json.loads(done.stdout), strict=True))


def test_every_public_function_is_tried():
    functions = {name for name in pr.__all__ if not inspect.isclass(getattr(pr, name))}
    assert {name.partition(" ")[0] for name in CALLS} | set(WITH_SPARK) == functions
    assert {*COMMANDS, "write", "optimize"} == set(cli.COMMANDS)


def test_public_functions_work_without_extras(bare, places):
    calls = "\n".join(CALLS.values())
    done = bare(f"{WITHOUT}{calls}\nassert not {set(HIDDEN)!r} & set(sys.modules)", *places.values())
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", WITH_SPARK)
def test_public_functions_that_need_spark_name_its_extra(errors, name):
    error = errors[WITH_SPARK[name]]
    assert error.startswith("WrongUse: ")
    assert SPARK_EXTRA in error


def test_commands_work_without_extras(bare, places):
    commands = {name: [places.get(each, each) for each in arguments] for name, arguments in COMMANDS.items()}
    program = f"""{BARE}
import json
from prune_assets.cli import main
for name, arguments in json.loads(sys.argv[1]).items():
    main([name, *arguments], standalone_mode=False)
main(["--version"], standalone_mode=False)
assert not {set(HIDDEN)!r} & set(sys.modules)
"""
    done = bare(program, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    assert "without Spark" in done.stdout
    assert f"not installed, optional: {SPARK_EXTRA}" in done.stdout
    assert "none; not needed without pyspark" in done.stdout or "not needed" not in done.stdout


def test_a_command_that_starts_spark_ends_in_one_line(bare, places, tmp_path):
    program = f"{BARE}\nfrom prune_assets.cli import main\nmain(sys.argv[1:])"
    done = bare(program, "write", places["TABLE"], str(tmp_path / "new"), "--layout", places["LAYOUT"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: pyspark is not installed; run {SPARK_EXTRA}\n"


@pytest.mark.parametrize("statement", EXTRA_OF)
def test_what_needs_a_missing_package_names_its_extra_in_one_line(errors, statement):
    assert errors[statement].startswith("MissingPackage: ")
    assert f"; run pip install 'prune-assets[{EXTRA_OF[statement]}]'" in errors[statement]
    assert "\n" not in errors[statement]


@pytest.mark.parametrize("statement", WITHOUT_AN_EXTRA)
def test_only_a_missing_package_is_reported_as_one(errors, statement):
    assert errors[statement].startswith(WITHOUT_AN_EXTRA[statement])


def test_spark_home_is_offered_before_a_second_spark_is_installed(bare, tmp_path):
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars/spark-core_2.13-4.1.4.jar").touch()
    program = f"{BARE}\nfrom prune_assets.spark.spark_session import spark_session\nspark_session()"
    error = bare(program, SPARK_HOME=str(tmp_path)).stderr.splitlines()[-1]
    assert error.endswith(f"; add python and python/lib/py4j-*.zip of SPARK_HOME to PYTHONPATH, or run {SPARK_EXTRA}")


def test_a_directory_of_that_name_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "some_package_of_ours").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not extras.is_installed("some_package_of_ours")
    assert extras.is_installed("pyarrow")


def test_another_missing_module_keeps_its_error():
    error = ModuleNotFoundError("No module named 'pandas'", name="pandas")
    assert extras.explained_import(error) is error
    with pytest.raises(ModuleNotFoundError), extras.needing("t"):
        raise error
    assert issubclass(MissingPackage, WrongUse)
