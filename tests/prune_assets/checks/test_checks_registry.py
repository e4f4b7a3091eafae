"""The registry has exactly the codes that findings can have."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from parquet_core.layout.checks import CHECKS
from parquet_core.layout.entry import by_check
from parquet_core.layout.spec import Finding, Severity
from prune_assets.checks.registry import ADVICE, GROUPS, LAYOUT
from prune_assets.report.skip_report import Remedy

ROOT = Path(__file__).parents[3]
# Functions that make findings, and where among their arguments the code is.
MAKERS = {"Finding": 0, "absent_value": 0, "small_files": 0}
REGISTERED = {code for group in GROUPS if group is not ADVICE for code in group.codes}
REPORTED = [(check, code) for group in GROUPS for check in group.checks for code in check.codes]


def patterns():
    """Yield regular expressions for the codes in the sources, from strings and f-strings."""
    for package in ("parquet_core", "deltalog", "prune_assets"):
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text()
            if not any(f"{maker}(" in source for maker in MAKERS):  # parsing takes most of the time
                continue
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                    yield from (f"{path.name}: {part}" for part in _texts(node.args[MAKERS[node.func.id]]))


def _texts(node):
    match node:
        case ast.Constant(value=str(text)):
            yield re.escape(text)
        case ast.IfExp(body=one, orelse=other):
            yield from (*_texts(one), *_texts(other))
        case ast.JoinedStr(values=parts):
            texts = [re.escape(part.value) if isinstance(part, ast.Constant) else "[a-z_]+" for part in parts]
            yield "".join(texts).replace("[a-z_]+[a-z_]+", r"not_relied_on\.[a-z_]+")


FOUND = sorted(set(patterns()))


def of(place):
    return place.partition(": ")[2]


def test_the_sources_were_read():
    assert len(FOUND) > 25
    assert len(REGISTERED) > 25


def test_what_a_finding_can_be_is_registered():
    unregistered = [place for place in FOUND if not any(re.fullmatch(of(place), code) for code in REGISTERED)]
    assert unregistered == [], "add it to the codes of its check"


def test_what_is_registered_can_be_found():
    # Contradicting filters and dictionaries are reported under these names.
    made = [*map(of, FOUND), "bloom_filter", "dictionary"]
    unfound = {code for code in REGISTERED if not any(re.fullmatch(pattern, code) for pattern in made)}
    assert unfound == set(), "no source makes such a finding any more"


def test_every_kind_of_advice_is_registered():
    assert set(ADVICE.codes) == set(get_args(get_type_hints(Remedy)["kind"]))


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_a_code_says_what_it_means_and_an_error_what_to_do(group):
    for code, found in group.codes.items():
        assert found.means.endswith("."), code
        assert not found.remedy or found.remedy.endswith("."), code
        assert found.remedy or code.endswith((".present", ".effective", ".partitions")), code


def test_a_code_belongs_to_exactly_one_check():
    reports = Counter(code for _, code in REPORTED)
    assert {code: reports[code] for code in REGISTERED if reports[code] != 1} == {}


def test_a_finding_of_a_layout_reaches_exactly_one_check():
    for code in LAYOUT.codes:
        finding = Finding(code, Severity.ERROR, "t", "it is wrong")
        (owner,) = (check.name for check in CHECKS if code in check.codes)
        assert [name for name, found in by_check([finding], CHECKS).items() if found] == [owner], code


def test_a_code_that_the_registry_lacks_reaches_every_check():
    finding = Finding("of.tomorrow", Severity.ERROR, "t", "it is wrong")
    assert by_check([finding], CHECKS) == {check.name: [finding] for check in CHECKS}


def test_the_checks_in_dagster_are_those_of_the_registry():
    pytest.importorskip("dagster")
    from prune_assets.dagster import LayoutTable

    table = LayoutTable("t", "lake/t")
    names = [spec.name for spec in table.check_specs()]
    for check in (
        table.file_health_check(),
        table.delete_debt_check(),
        table.log_health_check(),
        table.statistics_truth_check(),
    ):
        names += [spec.name for spec in check.check_specs]
    assert names == [check.name for group in GROUPS for check in group.checks]
