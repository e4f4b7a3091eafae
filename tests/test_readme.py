"""What the README shows, run as it stands."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import dagster as dg
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

from parquet_core.layout.spec import LayoutSpec
from prune_assets.cli import COMMANDS, main
from prune_assets.components import LakeComponent

README = (Path(__file__).parents[1] / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_the_definitions_for_tables_of_your_own_load():
    (source,) = [block for block in blocks("python") if "dg.Definitions" in block]
    names = {}
    exec(compile(source, "README.md", "exec"), names)
    keys = {key.to_user_string() for key in names["defs"].resolve_all_asset_keys()}
    assert keys == {"events", "first_users", "skip_reports/one_user"}
    dg.Definitions.validate_loadable(names["defs"])


def test_the_layout_is_one():
    (text,) = [block for block in blocks("yaml") if not block.startswith("type:")]
    assert msgspec.convert(yaml.safe_load(text), LayoutSpec).sort_by == ("l_shipdate",)


def test_the_component_is_one():
    (text,) = [block for block in blocks("yaml") if block.startswith("type:")]
    described = yaml.safe_load(text)
    assert described["type"] == "prune_assets.components.LakeComponent"
    LakeComponent.get_model_cls().model_validate(described["attributes"])


@pytest.mark.spark
def test_the_python_example_runs(spark, tmp_path, monkeypatch):
    (source,) = [block for block in blocks("python") if "pr.plan" in block]
    generated = tmp_path / ".demo/generated/sf0.1/lineitem.parquet"
    rows = spark.sql(
        "SELECT id AS l_orderkey, date_add(DATE '1993-12-01', cast(id % 60 AS int)) AS l_shipdate FROM range(600)"
    )
    rows.coalesce(1).write.parquet(str(generated))
    monkeypatch.chdir(tmp_path)
    names = {}
    # Java's current directory stays where it was started.
    exec(compile(source.replace('".demo/', f'"{tmp_path}/.demo/'), "README.md", "exec"), names)
    assert names["df"].count() == 30
    assert names["plan"].report.kept.rows <= names["plan"].report.total.rows


# Blocks of no language: what is typed into a shell.
SHELL = [block for block in README.split("```")[1::2] if block.startswith("\n")]


def test_every_command_is_listed():
    (listed,) = [block for block in SHELL if "prune doctor" in block]
    assert {line.split()[1] for line in listed.strip().splitlines()} == set(COMMANDS)


@pytest.mark.parametrize("line", [line for block in SHELL for line in block.splitlines() if "lake/" in line])
def test_the_inspections_run(line, tmp_path, monkeypatch):
    rows = pa.table({"l_orderkey": [1, 7], "l_shipdate": [dt.date(1994, 1, 1)] * 2})
    (tmp_path / "lake/lineitem").mkdir(parents=True)
    pq.write_table(
        rows,
        tmp_path / "lake/lineitem/part-00000.parquet",
        write_page_index=True,
        bloom_filter_options={"l_orderkey": {"ndv": 2, "fpp": 0.01}},
    )
    monkeypatch.chdir(tmp_path)
    command = line.partition("#")[0].split()
    assert command[:2] == ["prune", "inspect"]
    result = CliRunner().invoke(main, command[1:])
    assert (result.exit_code, result.stderr) == (0, "")
