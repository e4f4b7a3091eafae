"""Partition values are equal if they have the same meaning, possibly equal if unknown, and no value is lost."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from committed_files import named
from hypothesis import given
from hypothesis import strategies as st

from deltalog.log.file_block import block_of_adds
from deltalog.stats.partition_match import place_files
from deltalog.table.schema import read_schema
from deltalog.table.types import schema_text

KINDS = {
    "int": pa.int32(),
    "decimal": pa.decimal128(6, 2),
    "date": pa.date32(),
    "flag": pa.bool_(),
    "text": pa.string(),
    "float": pa.float64(),
}
# Texts, and what each means.
MEANT = {
    "int": {"1": 1, "01": 1, "-1": -1, "10": 10, None: None},
    "decimal": {
        "1.1": Decimal("1.1"),
        "1.10": Decimal("1.1"),
        "01.1": Decimal("1.1"),
        "1.11": Decimal("1.11"),
        None: None,
    },
    "date": {"2024-01-05": dt.date(2024, 1, 5), "2024-1-5": dt.date(2024, 1, 5), "2024-01-06": dt.date(2024, 1, 6)},
    "flag": {"true": True, "TRUE": True, "false": False, None: None},
    "text": {"a": "a", "A": "A", "1": "1", "01": "01", None: None},
    "float": {"1.0": 1.0, "1": 1.0, "1e0": 1.0, "-0.0": 0.0, "0": 0.0, "2": 2.0, None: None},
}


def schema_of(*kinds):
    fields = [("id", pa.int64()), *((kind, KINDS[kind]) for kind in kinds)]
    return read_schema(schema_text(pa.schema(fields)), partition_columns=kinds, mapping="none", location="t")


def placed(kinds, wanted, held):
    block = block_of_adds([named(str(i), **values) for i, values in enumerate(held)])
    return place_files(schema_of(*kinds), wanted, block)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_one_when_they_mean_one(kind):
    texts = MEANT[kind]
    for wanted, meant in texts.items():
        found = placed([kind], [{kind: wanted}], [{kind: text} for text in texts])
        truth = [(other is None) == (meant is None) and other == meant for other in texts.values()]
        assert found.certain.tolist() == truth, wanted
        assert found.possible.tolist() == truth, wanted


@st.composite
def partitions(draw):
    return {kind: draw(st.sampled_from(list(MEANT[kind]))) for kind in ("int", "decimal", "text")}


@given(st.lists(partitions(), max_size=4), st.lists(partitions(), min_size=1, max_size=6))
def test_several_columns_are_one_partition(wanted, held):
    kinds = ("int", "decimal", "text")
    found = placed(kinds, wanted, held)

    def meant(values):
        return tuple(MEANT[kind][values[kind]] for kind in kinds)

    truth = [meant(values) in {meant(one) for one in wanted} for values in held]
    assert found.certain.tolist() == truth
    assert found.possible.tolist() == truth


@pytest.mark.parametrize(
    ("kind", "wanted", "held"),
    [
        ("text", "x", ""),
        ("text", None, ""),
        ("text", None, "__HIVE_DEFAULT_PARTITION__"),
        ("int", "7", "abc"),
        ("date", "2024-01-05", "soon"),
        ("float", "NaN", "nan"),
    ],
)
def test_what_cannot_be_told_may_be(kind, wanted, held):
    found = placed([kind], [{kind: wanted}], [{kind: held}])
    # Empty text and a text are two things; empty text and null may be one.
    assert found.possible.tolist() == [(kind, wanted) != ("text", "x")]
    assert found.certain.tolist() == [False]


def test_the_same_text_is_the_same_partition():
    for kind, text in (("int", "abc"), ("text", ""), ("float", "NaN")):
        found = placed([kind], [{kind: text}], [{kind: text}])
        assert (found.certain.tolist(), found.possible.tolist()) == ([True], [True])


def test_a_file_without_an_entry_may_lie_anywhere():
    block = block_of_adds([named("a"), named("b", int="1")])
    found = place_files(schema_of("int"), [{"int": "1"}], block)
    assert found.certain.tolist() == [False, True]
    assert found.possible.tolist() == [True, True]


def test_a_partition_that_names_no_value_takes_any():
    found = placed(
        ["int", "text"],
        [{"int": "1"}],
        [{"int": "1", "text": "a"}, {"int": "1", "text": None}, {"int": "2", "text": "a"}],
    )
    assert found.certain.tolist() == [True, True, False]
    assert found.possible.tolist() == [True, True, False]


def test_without_partitions_all_files_lie_in_the_one():
    found = place_files(schema_of(), [{}], block_of_adds([named("a"), named("b")]))
    assert found.certain.tolist() == [True, True]
