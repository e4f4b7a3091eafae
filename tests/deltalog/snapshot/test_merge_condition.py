"""Join keys of conditions as delta-spark, Databricks and delta-rs write them."""

from __future__ import annotations

import pytest

from deltalog.snapshot.merge_condition import condition_text, merge_condition

COLUMNS = ("k", "day", "word", "id", "token", "hid_address", "address", "Order Id")
# The first texts are from logs of Delta 0.6 to 4.4, Databricks 14.3 and 16.0, and delta-rs 1.6.
CASES = [
    ("(oldData.`id` = newData.`id`)", ("id",), ()),
    ("((1 = 1) AND (current.`hid_address` = new.`hid_address`))", ("hid_address",), ()),
    ("(s.id = t.id)", ("id",), ()),
    ("(id#5058 = id#5062)", ("id",), ()),
    ("((id#191844 = user_id) AND (new_token#192017 = token#191847))", ("id", "token"), ()),
    ("((k#4187L = k#4186L) AND (word#4189 <=> word#391))", ("k", "word"), ()),
    ("target.id = source.id AND target.id > 2", ("id",), ("target.id > 2",)),
    ("t.id = s.id", ("id",), ()),
    # `address.city` is a field, `t.id` a column of the table `t`.
    ("(address#1.city = city#9)", ("address.city",), ()),
    ("t.address.city = s.city", ("address.city",), ()),
    ("((`Order Id`#1 = oid#2) AND (day#3 = cast(at#4 as date)))", ("Order Id",), ("(day#3 = cast(at#4 as date))",)),
    ('target."id" = source."id"', ("id",), ()),
    # Which side is the table's is unknown.
    ("(k#1L = id#2L)", (), ()),
    ("(a#1 = b#2)", (), ()),
    ("((k#1L = k#2L) OR (id#3 = id#4))", (), ("((k#1L = k#2L) OR (id#3 = id#4))",)),
    (
        "(((k#1 = k#2) AND (day#3 >= 19700)) AND NOT (word#4 = a AND b))",
        ("k",),
        ("(day#3 >= 19700)", "NOT (word#4 = a AND b)"),
    ),
    ("t.k = s.k and t.word = 'x AND y'", ("k",), ("t.word = 'x AND y'",)),
    ("t.K = s.`a``b`", ("k",), ()),
    ("true", (), ()),
    ("", (), ()),
]


@pytest.mark.parametrize(("condition", "keys", "other"), CASES)
def test_join_keys(condition, keys, other):
    found = merge_condition(condition, COLUMNS)
    assert (found.join_keys, found.other) == (keys, other)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"predicate": '["(k#9L = k#3L)"]'}, "(k#9L = k#3L)"),
        ({"predicate": ["(k#9L = k#3L)"]}, "(k#9L = k#3L)"),
        ({"predicate": "(t.`k` = s.`k`)"}, "(t.`k` = s.`k`)"),
        ({"mergePredicate": "t.id = s.id AND t.id > 2", "predicate": "id > 2"}, "t.id = s.id AND t.id > 2"),
        ({"predicate": "[damage"}, "[damage"),
        ({"predicate": "[]"}, None),
        ({"predicate": 7}, None),
        ({}, None),
    ],
)
def test_condition_of_a_commit(parameters, text):
    assert condition_text(parameters) == text
