"""Every rule about conflicting commits, each with a similar case without conflict."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from committed_files import by, named, partitioned
from delta_tables import alter

from deltalog.errors import (
    CommitConflict,
    CommitContention,
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentDeleteRead,
    ConcurrentDomain,
    ConcurrentTransaction,
    MetadataChanged,
    ProtocolChanged,
)
from deltalog.log.actions import DomainMetadata, Transaction
from deltalog.snapshot.opening import open_snapshot
from deltalog.transaction.change import Change, Reads
from deltalog.transaction.commit import commit
from deltalog.transaction.create import create_table
from deltalog.transaction.operations import append, compact, overwrite, replace_partitions, rewrite
from parquet_core.pruning.predicate import Compare, IsNull, Op

ONE, TWO = "2024-01-01", "2024-01-02"
LEVELS = ["Serializable", "WriteSerializable"]


def on(day):
    return Compare(("day",), Op.EQ, pa.scalar(day))


@pytest.fixture(params=LEVELS)
def level(request):
    return request.param


@pytest.fixture
def table(tmp_path, level):
    """A table with two files on each of two days."""
    snapshot = partitioned(tmp_path / "table", **{"delta.isolationLevel": level})
    append(snapshot, [named(f"{day}-{i}", day=day) for day in (ONE, TWO) for i in "ab"])
    return str(tmp_path / "table")


@pytest.fixture
def serializable(tmp_path):
    return tabled(tmp_path, "Serializable")


@pytest.fixture
def relaxed(tmp_path):
    return tabled(tmp_path, "WriteSerializable")


def tabled(tmp_path, level):
    snapshot = partitioned(tmp_path / "table", **{"delta.isolationLevel": level})
    append(snapshot, [named(f"{day}-{i}", day=day) for day in (ONE, TWO) for i in "ab"])
    return str(tmp_path / "table")


def paths(table):
    return sorted(open_snapshot(table).paths())


def refused(error, table, change, *said):
    """Check that the change raises an error that names the earlier commit, and that nothing was written."""
    before = open_snapshot(table).version
    with pytest.raises(error) as raised:
        change()
    assert isinstance(raised.value, CommitConflict)
    message = str(raised.value)
    assert f"/_delta_log/{before:020d}.json" in message
    assert all(part in message for part in said)
    assert "open the table again and repeat" in message or "under a name of its own" in message
    assert open_snapshot(table).version == before


# Blind appends


def test_blind_appends_all_go_through(table):
    seen = open_snapshot(table)
    done = [append(seen, [named(f"new-{i}", day=ONE)]) for i in range(5)]
    assert [one.version for one in done] == [2, 3, 4, 5, 6]
    assert [one.lost for one in done] == [0, 1, 1, 1, 1]
    assert len(paths(table)) == 9


def test_a_blind_append_follows_a_delete_and_an_overwrite(table):
    seen = open_snapshot(table)
    rewrite(seen, removes=[f"{ONE}-a"])
    overwrite(open_snapshot(table), [named("over", day=ONE)])
    assert append(seen, [named("new", day=ONE)]).version == 4
    assert paths(table) == ["new", "over"]


# ConcurrentAppend


def test_an_append_into_what_was_read_conflicts(serializable):
    seen = open_snapshot(serializable)
    append(seen, [named("late", day=ONE)])
    refused(
        ConcurrentAppend,
        serializable,
        lambda: append(seen, [named("sum", day=TWO)], reads=Reads(where=on(ONE))),
        "WRITE",
        "added late",
    )


def test_an_append_beside_what_was_read_does_not(serializable):
    seen = open_snapshot(serializable)
    append(seen, [named("late", day=TWO)])
    assert append(seen, [named("sum", day=TWO)], reads=Reads(where=on(ONE))).version == 3


def test_an_append_conflicts_with_who_read_the_whole_table(serializable):
    seen = open_snapshot(serializable)
    append(seen, [named("late", day=TWO)])
    refused(ConcurrentAppend, serializable, lambda: overwrite(seen, [named("all", day=ONE)]))


def test_under_write_serializable_a_blind_append_comes_after(relaxed):
    seen = open_snapshot(relaxed)
    append(seen, [named("late", day=ONE)])
    overwrite(seen, [named("all", day=ONE)])
    assert paths(relaxed) == ["all", "late"]


def test_under_write_serializable_an_append_that_read_something_conflicts(relaxed):
    seen = open_snapshot(relaxed)
    append(seen, [named("late", day=ONE)], reads=Reads(where=on(TWO)))
    refused(ConcurrentAppend, relaxed, lambda: overwrite(seen, [named("all", day=ONE)]))


def test_under_write_serializable_a_new_schema_must_know_of_blind_appends(relaxed):
    seen = open_snapshot(relaxed)
    append(seen, [named("late", day=ONE)])
    text = seen.schema.text.replace('"id"', '"number"')
    refused(ConcurrentAppend, relaxed, lambda: overwrite(seen, [], schema=text))


def test_an_append_into_a_partition_that_is_replaced_conflicts(serializable):
    seen = open_snapshot(serializable)
    append(seen, [named("late", day=ONE)])
    refused(ConcurrentAppend, serializable, lambda: replace_partitions(seen, [named("new", day=ONE)]))


def test_an_append_into_another_partition_does_not(serializable):
    seen = open_snapshot(serializable)
    append(seen, [named("late", day=TWO)])
    assert replace_partitions(seen, [named("new", day=ONE)]).version == 3
    assert paths(serializable) == [f"{TWO}-a", f"{TWO}-b", "late", "new"]


def test_an_append_into_the_null_partition_is_told_apart(serializable):
    seen = open_snapshot(serializable)
    append(seen, [named("late", day=None)])
    refused(ConcurrentAppend, serializable, lambda: replace_partitions(seen, [named("newer", day=None)]))
    refused(ConcurrentAppend, serializable, lambda: overwrite(seen, [], where=IsNull(("day",))))
    assert replace_partitions(seen, [named("new", day=ONE)]).version == 3


def test_an_append_does_not_matter_to_named_files(serializable):
    seen = open_snapshot(serializable)
    append(seen, [named("late", day=ONE)])
    assert rewrite(seen, removes=[f"{ONE}-a"], adds=[named("less", day=ONE)]).version == 3


def test_a_delete_that_looked_everywhere_conflicts_with_an_append(serializable):
    seen = open_snapshot(serializable)
    append(seen, [named("late", day=ONE)])
    refused(
        ConcurrentAppend,
        serializable,
        lambda: rewrite(seen, removes=[f"{ONE}-a"], reads=Reads(everything=True)),
    )


def test_compaction_does_not_mind_appends(table):
    seen = open_snapshot(table)
    append(seen, [named("late", day=ONE)])
    compact(seen, removes=[f"{ONE}-a", f"{ONE}-b"], adds=[named("both", rows=2, day=ONE)])
    assert paths(table) == [f"{TWO}-a", f"{TWO}-b", "both", "late"]


def test_nobody_minds_the_files_that_compaction_added(table):
    seen = open_snapshot(table)
    compact(seen, removes=[f"{ONE}-a", f"{ONE}-b"], adds=[named("both", rows=2, day=ONE)])
    reads = Reads(where=on(ONE), files=frozenset())
    # The removed file was read, so the removal conflicts.
    refused(ConcurrentDeleteRead, table, lambda: append(seen, [named("sum", day=TWO)], reads=reads))
    beside = Reads(files=frozenset([f"{TWO}-a"]))
    assert append(seen, [named("sum", day=TWO)], reads=beside).version == 3


def test_the_same_file_is_not_added_twice(table):
    seen = open_snapshot(table)
    append(seen, [named("same", day=ONE)])
    refused(ConcurrentAppend, table, lambda: append(seen, [named("same", day=ONE)]), "added same too")


def test_one_file_spelled_in_two_ways_is_the_same(table):
    seen = open_snapshot(table)
    append(seen, [named("a=b", day=ONE)])
    refused(ConcurrentAppend, table, lambda: append(seen, [named("a%3Db", day=ONE)]))


def test_compaction_that_looked_at_a_partition_does_not_mind_appends_either(table):
    seen = open_snapshot(table)
    append(seen, [named("late", day=ONE)])
    change = Change(
        operation="OPTIMIZE",
        removes=[f"{ONE}-a"],
        adds=[named("one", day=ONE)],
        reads=Reads(where=on(ONE)),
        data_change=False,
    )
    assert commit(seen, change).version == 3


def test_nobody_minds_a_file_that_is_added_again_without_new_rows(table):
    seen = open_snapshot(table)
    commit(seen, Change(operation="ANALYZE", adds=[named(f"{ONE}-a", rows=7, day=ONE)], data_change=False))
    assert append(seen, [named("sum", day=TWO)], reads=Reads(where=on(ONE))).version == 3


def test_a_partition_value_that_may_be_the_one_that_was_read_conflicts(tmp_path):
    place = str(tmp_path / "times")
    create_table(place, pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))]), partition_by=["at"])
    seen = open_snapshot(place)
    # Without a time zone it may be any time of that day and the next.
    append(seen, [named("near", at="2024-01-01 12:00:00")])
    reads = Reads(partitions=[{"at": "2024-01-01T10:00:00Z"}])
    refused(ConcurrentAppend, place, lambda: append(seen, [named("sum", at=None)], reads=reads), "added near")
    far = Reads(partitions=[{"at": "2024-01-09T10:00:00Z"}])
    assert append(seen, [named("sum", at=None)], reads=far).version == 2


def test_what_may_be_null_or_empty_conflicts_with_both(tmp_path):
    seen = partitioned(tmp_path / "table")
    action = {"path": "blank", "partitionValues": {"day": ""}, "size": 1, "modificationTime": 1, "dataChange": True}
    (tmp_path / "table" / "_delta_log" / f"{1:020d}.json").write_text(json.dumps({"add": action}))
    for where in (IsNull(("day",)), on("")):
        reads = Reads(where=where)
        refused(ConcurrentAppend, seen.table, lambda reads=reads: append(seen, [named("sum", day=ONE)], reads=reads))
    assert append(seen, [named("sum", day=ONE)], reads=Reads(where=on(TWO))).version == 2


# ConcurrentDeleteRead


def test_the_removal_of_a_file_that_was_read_conflicts(table):
    seen = open_snapshot(table)
    rewrite(seen, removes=[f"{ONE}-a"])
    for reads in (
        Reads(everything=True),
        Reads(where=on(ONE)),
        Reads(partitions=[{"day": ONE}]),
        Reads(files=frozenset([f"{ONE}-a"])),
    ):
        refused(
            ConcurrentDeleteRead,
            table,
            lambda reads=reads: append(seen, [named("sum", day=TWO)], reads=reads),
            "DELETE",
            f"removed {ONE}-a, which this commit has read",
        )


def test_the_removal_of_another_file_does_not(table):
    seen = open_snapshot(table)
    rewrite(seen, removes=[f"{ONE}-a"])
    for i, reads in enumerate(
        [
            Reads(),
            Reads(where=on(TWO)),
            Reads(partitions=[{"day": TWO}]),
            Reads(files=frozenset([f"{ONE}-b"])),
        ]
    ):
        assert append(seen, [named(f"sum-{i}", day="2024-01-03")], reads=reads).version == 3 + i


def test_compaction_of_what_was_read_conflicts(table):
    seen = open_snapshot(table)
    compact(seen, removes=[f"{ONE}-a", f"{ONE}-b"], adds=[named("both", rows=2, day=ONE)])
    refused(
        ConcurrentDeleteRead,
        table,
        lambda: append(seen, [named("sum", day=TWO)], reads=Reads(everything=True)),
        "OPTIMIZE",
    )


# ConcurrentDeleteDelete


@pytest.mark.parametrize("second", ["rewrite", "compact", "overwrite", "partition"])
def test_no_file_is_removed_twice(table, second):
    seen = open_snapshot(table)
    rewrite(seen, removes=[f"{ONE}-a"])
    both = [f"{ONE}-a", f"{ONE}-b"]
    changes = {
        "rewrite": lambda: rewrite(seen, removes=both),
        "compact": lambda: compact(seen, removes=both, adds=[named("both", rows=2, day=ONE)]),
        "overwrite": lambda: overwrite(seen, []),
        "partition": lambda: replace_partitions(seen, [named("new", day=ONE)]),
    }
    refused(ConcurrentDeleteDelete, table, changes[second], f"removed {ONE}-a, which this commit removes too")


def test_different_files_are_removed_by_different_commits(table):
    seen = open_snapshot(table)
    rewrite(seen, removes=[f"{ONE}-a"])
    rewrite(seen, removes=[f"{ONE}-b"], adds=[named("less", day=ONE)])
    compact(seen, removes=[f"{TWO}-a", f"{TWO}-b"], adds=[named("both", rows=2, day=TWO)])
    assert paths(table) == ["both", "less"]


# MetadataChanged, ProtocolChanged


def test_nothing_goes_with_a_change_of_properties(table):
    seen = open_snapshot(table)
    alter(seen, properties={"who": "me"})
    refused(MetadataChanged, table, lambda: append(seen, [named("new", day=ONE)]))
    refused(MetadataChanged, table, lambda: alter(seen, properties={"who": "you"}))


def test_nothing_goes_with_a_change_of_the_protocol(table):
    seen = open_snapshot(table)
    alter(seen, properties={"delta.feature.deletionVectors": "supported"})
    refused(ProtocolChanged, table, lambda: append(seen, [named("new", day=ONE)]))


def test_a_change_of_properties_goes_with_what_changes_files_alone(table):
    seen = open_snapshot(table)
    append(seen, [named("new", day=ONE)])
    rewrite(seen, removes=[f"{ONE}-a"])
    assert alter(seen, properties={"who": "me"}).version == 4
    assert open_snapshot(table).properties["who"] == "me"


# ConcurrentTransaction


def test_an_older_transaction_of_the_application_conflicts(table):
    seen = open_snapshot(table)
    append(seen, [named("one", day=ONE)], txn=by("app", 1))
    refused(
        ConcurrentTransaction, table, lambda: append(seen, [named("two", day=ONE)], txn=by("app", 2)), "'app'", "1", "2"
    )


@pytest.mark.parametrize("there", [2, 3])
def test_a_transaction_that_is_there_is_not_written_again(table, there):
    seen = open_snapshot(table)
    append(seen, [named("there", day=ONE)], txn=by("app", there))
    for snapshot in (seen, open_snapshot(table)):
        done = append(snapshot, [named("again", day=ONE)], txn=by("app", 2))
        assert not done.written
        assert done.version == 2
        (note,) = done.notes
        assert note == (
            f"the application 'app' has already committed its version 2; its last version is {there}; "
            "nothing was written"
        )
    assert open_snapshot(table).version == 2
    assert open_snapshot(table).transactions["app"].version == there


def test_other_applications_do_not_matter(table):
    seen = open_snapshot(table)
    append(seen, [named("one", day=ONE)], txn=by("app", 1))
    assert append(seen, [named("two", day=ONE)], txn=by("other", 1)).version == 3
    assert append(open_snapshot(table), [named("three", day=ONE)], txn=by("app", 2)).version == 4


# ConcurrentDomain


def test_one_domain_is_not_spoken_of_at_once(tmp_path):
    snapshot = partitioned(tmp_path / "table", **{"delta.feature.domainMetadata": "supported"})

    def says(name, text):
        return Change(operation="SAY", domains=[DomainMetadata(name, text)])

    assert commit(snapshot, says("mine", "1")).version == 1
    refused(ConcurrentDomain, str(tmp_path / "table"), lambda: commit(snapshot, says("mine", "2")), "'mine'")
    assert commit(snapshot, says("yours", "2")).version == 2
    assert open_snapshot(str(tmp_path / "table")).domains == {"mine": "1", "yours": "2"}


# Several commits came first


def test_a_conflict_with_any_of_many_commits_counts(table):
    seen = open_snapshot(table)
    append(seen, [named("one", day=TWO)])
    rewrite(seen, removes=[f"{ONE}-a"])
    append(seen, [named("two", day=TWO)])
    with pytest.raises(ConcurrentDeleteDelete, match=f"{3:020d}.json"):
        rewrite(seen, removes=[f"{ONE}-a"])


def test_a_file_that_came_and_went_meanwhile_was_not_read(relaxed):
    seen = open_snapshot(relaxed)
    append(seen, [named("brief", day=ONE)])
    rewrite(open_snapshot(relaxed), removes=["brief"])
    assert overwrite(seen, [named("all", day=ONE)]).version == 4
    assert paths(relaxed) == ["all"]


def test_it_gives_up_after_as_many_lost_races_as_it_may(table, monkeypatch):
    import deltalog.transaction.commit as module

    put = module.put_if_absent
    seen = open_snapshot(table)

    def overtaken(path, data):
        monkeypatch.setattr(module, "put_if_absent", put)
        append(open_snapshot(table), [named(f"fast-{open_snapshot(table).version}", day=ONE)])
        monkeypatch.setattr(module, "put_if_absent", overtaken)
        return put(path, data)

    monkeypatch.setattr(module, "put_if_absent", overtaken)
    with pytest.raises(CommitContention, match="came first 3 times in a row; commit less often, or allow more"):
        commit(seen, Change(operation="WRITE", adds=[named("slow", day=ONE)]), attempts=3)
    monkeypatch.setattr(module, "put_if_absent", put)
    assert "slow" not in paths(table)
    assert len(paths(table)) == 7


def test_transactions_are_compared_by_application(table):
    assert Transaction("app", 1) != Transaction("other", 1)
    seen = open_snapshot(table)
    append(seen, [], txn=by("app", 5))
    append(seen, [], txn=by("other", 5))
    assert {name: txn.version for name, txn in open_snapshot(table).transactions.items()} == {"app": 5, "other": 5}
