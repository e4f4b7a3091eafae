"""Imports during DAG parsing, and the metadata of the Airflow provider."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest

import prune_assets.airflow
from prune_assets.airflow.provider import get_provider_info

pytest.importorskip("airflow.sdk", reason="no Airflow; `make e2e` installs it, or: pip install 'prune-assets[airflow]'")
HEAVY = {"pyspark", "pyarrow", "numpy", "dagster", "sqlglot", "deltalog"}
BROUGHT = """
import sys
before = set(sys.modules)
{code}
print(*sorted(set(sys.modules) - before))
"""


def brought(code):
    program = BROUGHT.format(code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_the_door_leads_to_every_name_and_imports_no_airflow():
    assert "airflow" not in brought("import prune_assets.airflow")
    assert [getattr(prune_assets.airflow, name).__name__ for name in prune_assets.airflow.__all__] == [
        *prune_assets.airflow.__all__
    ]


def test_a_dag_with_every_operator_imports_nothing_heavy(tmp_path):
    (tmp_path / "layout.yaml").write_text("sort_by: [id]")
    (tmp_path / "dag.py").write_text(
        "from airflow.sdk import DAG\n"
        "from prune_assets.airflow import *\n"
        "with DAG('d', schedule=[table_asset('/lake/ids')]):\n"
        "    WriteTableOperator(task_id='w', table='t', source='SELECT 1', layout={'sort_by': ['id']},\n"
        "        format='delta', mode='overwrite', when_empty='skip')\n"
        "    CheckLayoutOperator(task_id='c', table='t', layout={'sort_by': ['id']})\n"
        f"    CheckLayoutOperator(task_id='f', table='t', layout={str(tmp_path / 'layout.yaml')!r}, where='id = 1')\n"
        "    SkipReportOperator(task_id='r', table='t', predicates=['id < 1'], min_skipped='90%', time_zone='UTC')\n"
        "    OptimizeTableOperator(task_id='o', table='t', layout={'sort_by': ['id']}, budget='1GiB')\n"
        "    MergeTableOperator(task_id='m', table='/t', source='SELECT 1 AS id', on='t.id = s.id')\n"
        "    TableChangeSensor(task_id='s', table='t')\n"
        "    TableChangeSensor(task_id='v', table='t', version=1)\n"
    )
    found = brought(f"import runpy; runpy.run_path({str(tmp_path / 'dag.py')!r})")
    assert {"airflow", "prune_assets"} <= found
    assert found.isdisjoint(HEAVY)


@pytest.mark.deep
def test_tasks_of_airflow_import_no_dagster(ids):
    code = (
        "from prune_assets.airflow import CheckLayoutOperator\n"
        f"CheckLayoutOperator(task_id='c', table={str(ids)!r}, layout={{'sort_by': ['id']}}, rows=True).execute(\n"
        "    {'ti': type('TI', (), {'xcom_push': lambda *_, **__: None})(), 'outlet_events': {}})"
    )
    found = brought(code)
    assert "pyarrow" in found
    assert "dagster" not in found


@pytest.mark.deep
def test_dagster_imports_no_airflow():
    code = "from prune_assets.dagster import *; from prune_assets.components import *"
    found = brought(code)
    assert "dagster" in found
    assert "airflow" not in found


def test_the_provider_is_registered():
    (found,) = [
        point
        for point in entry_points(group="apache_airflow_provider")
        if point.name == "provider_info" and point.value.startswith("prune_assets")
    ]
    assert found.load()() == get_provider_info()


def test_the_provider_info_is_of_airflows_schema_and_names_what_there_is():
    import airflow

    info = get_provider_info()
    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
    jsonschema.validate(info, schema)
    kinds = ("operators", "sensors", "triggers")
    modules = [module for kind in kinds for entry in info[kind] for module in entry["python-modules"]]
    assert all(find_spec(module) for module in modules)
    homes = {getattr(prune_assets.airflow, name).__module__ for name in prune_assets.airflow.__all__}
    assert homes - {"prune_assets.airflow.asset"} == set(modules)
