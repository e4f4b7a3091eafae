"""Run the README's examples exactly as written, and load the Dagster definitions of the guides."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import dagster as dg
import pytest
import yaml
from guide_blocks import blocks_of, needs_spark, run_blocks

from prune_assets.cli import COMMANDS
from prune_assets.components import LakeComponent

ROOT = Path(__file__).parents[1]
TEXTS = {
    name: (ROOT / name).read_text()
    for name in ("README.md", "docs/dagster.md", "docs/iceberg.md", "docs/command_line.md")
}
MOST_LINES = 150  # a first screen; the rest is in docs/


def test_the_readme_is_a_first_screen():
    assert len(TEXTS["README.md"].splitlines()) <= MOST_LINES


def test_its_command_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "90")
    blocks = list(takewhile(lambda block: not needs_spark(block), blocks_of(TEXTS["README.md"])))
    assert [block.language for block in blocks] == ["python", "console"]
    run_blocks(blocks, "README.md")


def test_below_its_report_stands_which_of_the_two_figures_is_which():
    section = TEXTS["README.md"].split("## One command")[1].split("\n## ")[0]
    below = " ".join(section.split("```")[-1].split())
    assert "`Skipped` is the most that any reader could leave unread" in below
    assert "`with this plan` is what Spark should really read" in below


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!http)([^)#]+)", TEXTS["README.md"]))))
def test_what_it_links_is_there(target):
    assert (ROOT / target).is_file()


@pytest.mark.parametrize("name", ["README.md", "docs/in_python.md"])
def test_the_one_difference_from_spark_is_said_beside_the_promise(name):
    promises = re.split(
        r"the rows and the schema of\s+`spark.read.parquet\(table\).where\(...\)`", (ROOT / name).read_text()
    )
    assert len(promises) == 2
    assert "NaN" in promises[1][:200]


DEFINED = {
    "README.md": {"events"},
    "docs/dagster.md": {"events", "first_users", "skip_reports/one_user"},
    "docs/iceberg.md": {"web/events"},
}


@pytest.mark.parametrize("name", DEFINED)
def test_the_definitions_for_tables_of_your_own_load(name):
    (source,) = [text for language, text in blocks_of(TEXTS[name]) if language == "python" and "dg.Definitions" in text]
    names = {}
    # Dagster compares annotations themselves, and this module has them as texts.
    exec(compile(source, name, "exec", dont_inherit=True), names)
    assert {key.to_user_string() for key in names["defs"].resolve_all_asset_keys()} == DEFINED[name]
    dg.Definitions.validate_loadable(names["defs"])


def test_the_component_is_one():
    (text,) = [text for language, text in blocks_of(TEXTS["docs/dagster.md"]) if language == "yaml"]
    described = yaml.safe_load(text)
    assert described["type"] == "prune_assets.components.LakeComponent"
    LakeComponent.get_model_cls().model_validate(described["attributes"])


def test_every_command_is_listed():
    (listed,) = re.findall(r"^```\n(prune inspect .*?)^```$", TEXTS["docs/command_line.md"], re.DOTALL | re.MULTILINE)
    assert {line.split()[1] for line in listed.splitlines()} == set(COMMANDS)
