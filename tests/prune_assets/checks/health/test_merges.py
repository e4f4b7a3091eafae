"""MERGEs that open many times the bytes that they rewrite are a finding, from the log alone."""

from __future__ import annotations

from prune_assets.checks.health.health import check_log
from tests.deltalog.merge_logs import MERGE, add, log_of, remove


def found(place):
    return [finding for finding in check_log(place, max_commits=1000) if finding.code == "merges.opened"]


def merges(count, **more):
    return [[MERGE | more, remove(i), add(20 + i)] for i in range(count)]


def on(keys):
    return {"operationParameters": {"predicate": " AND ".join(f"t.{key} = s.{key}" for key in keys)}}


def test_the_finding_has_the_figure_and_the_join_keys(tmp_path):
    (finding,) = found(log_of(tmp_path, *merges(40)))
    assert (finding.severity.value, finding.columns) == ("warn", ("k",))
    assert finding.location.endswith(", versions 11 to 40")
    assert finding.message == "30 of the last 30 MERGEs on k opened 58.6 KiB and rewrote 2.9 KiB: 20 times more"
    assert "prune merge FILE.sql" in finding.remedy
    assert "sort the table by k: prune advise TABLE" in finding.remedy


def test_merges_that_rewrite_nothing(tmp_path):
    (finding,) = found(log_of(tmp_path, [MERGE, add(20)]))
    assert finding.message == "1 of the last 1 MERGE on k opened 2.0 KiB and rewrote 0 B"


def test_each_set_of_join_keys_is_judged_alone(tmp_path):
    whole = [MERGE | on(["k"]), *map(remove, range(20)), *map(add, range(20, 40))]
    few = [MERGE | on(["j"]), remove(20), add(40)]
    (finding,) = found(log_of(tmp_path, whole, few))
    assert finding.message.startswith("1 of the last 2 MERGEs opened 2.0 KiB and rewrote 100 B")


def test_what_is_no_finding(tmp_path):
    files = range(20)
    half = [MERGE, *map(remove, range(2)), add(20), add(21)]
    small = [{"operation": "OPTIMIZE"}, *map(remove, files), *(add(i) for i in range(20, 29))]
    databricks = {"engineInfo": "Databricks-Runtime/16.0.x-photon-scala2.12"}
    narrow = {"operationParameters": {"predicate": "t.k = s.k AND t.k > 7"}}
    cases = {
        "no MERGE": [[{"operation": "UPDATE"}, remove(3), add(20)]],
        "ten times as much": [half],
        "a table of nine files": [small, [MERGE, remove(20), add(29)]],
        "it may have skipped files": merges(3, **narrow),
        "it skips files by the source": merges(3, **databricks),
    }
    for i, (why, commits) in enumerate(cases.items()):
        assert found(log_of(tmp_path / str(i), *commits)) == [], why
