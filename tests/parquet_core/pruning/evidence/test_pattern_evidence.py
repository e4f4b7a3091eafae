"""Patterns compared with bounds, also truncated ones, and with single values: brute force over short byte strings."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_core.format.comparable_values import successor
from parquet_core.pruning.evidence.dictionary import outcomes_of_each_from_dictionaries
from parquet_core.pruning.evidence.many_leaves import outcomes_of_values
from parquet_core.pruning.evidence.min_max import outcomes_from_bounds
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Contains, EndsWith, Like, StartsWith, Wildcard
from parquet_core.trust.bounds import Bounds

PATH = ("s",)
TRUE, FALSE, NULL = Outcomes.TRUE, Outcomes.FALSE, Outcomes.NULL
ANY, ONE = Wildcard.ANY, Wildcard.ONE
BYTES = st.lists(st.sampled_from([b"\0", b"a", b"b", b"\xc3", b"\xa9", b"\xfe", b"\xff"]), max_size=5).map(b"".join)
LETTERS = ["a", "b", "\n", "é", "\u20ac", "\U0001f600", "\U0010ffff", "\\", ".", "*"]
TEXTS = st.text(LETTERS, max_size=5)
PARTS = st.lists(st.one_of(st.sampled_from([ANY, ONE]), st.text(LETTERS, min_size=1, max_size=2)), max_size=5)


def scalar(value):
    return pa.scalar(value, pa.string() if isinstance(value, str) else pa.binary())


KINDS = st.sampled_from([StartsWith, EndsWith, Contains])
AFFIXES = st.builds(lambda kind, value: kind(PATH, scalar(value)), KINDS, BYTES)
PATTERNS = st.one_of(
    st.builds(lambda parts: Like(PATH, tuple(parts)), PARTS.filter(bool)),
    st.builds(lambda kind, value: kind(PATH, scalar(value)), KINDS, TEXTS),
)


def matches(leaf, value):
    """Return whether bytes match; None for invalid UTF-8 in patterns that match characters."""
    match leaf:
        case StartsWith(_, text):
            return value.startswith(raw(text.as_py()))
        case EndsWith(_, text):
            return value.endswith(raw(text.as_py()))
        case Contains(_, text):
            return raw(text.as_py()) in value
    expressions = {ANY: ".*", ONE: "."}
    regex = "".join(re.escape(part) if isinstance(part, str) else expressions[part] for part in leaf.parts)
    try:
        return re.fullmatch(regex, value.decode(), re.DOTALL) is not None
    except UnicodeDecodeError:
        return None


def raw(value):
    return value.encode() if isinstance(value, str) else value


def cut(low, high, length):
    """Truncate bounds as writers do: the upper bound is incremented, or kept whole if that is impossible."""
    above = successor(high[:length])
    return low[:length], high if len(high) <= length or above is None else above


def bounds_of(containers, lengths, hidden):
    pairs = [cut(min(rows), max(rows), length) for rows, length in zip(containers, lengths, strict=True)]
    low = [None if mask & 1 else pair[0] for pair, mask in zip(pairs, hidden, strict=True)]
    high = [None if mask & 2 else pair[1] for pair, mask in zip(pairs, hidden, strict=True)]
    nulls = [None if mask & 4 else 0 for mask in hidden]
    counts = np.array([len(rows) for rows in containers])
    return Bounds.of(pa.array(low, pa.binary()), pa.array(high, pa.binary()), pa.array(nulls, pa.int64()), counts)


@st.composite
def cases(draw):
    text = draw(st.booleans())
    leaf = draw(PATTERNS if text else AFFIXES)
    values = st.tuples(st.sampled_from([b"", b"a", b"ab"]), TEXTS.map(str.encode) if text else BYTES).map(b"".join)
    containers = draw(st.lists(st.lists(values, min_size=1, max_size=4), min_size=1, max_size=5))
    lengths = draw(st.lists(st.sampled_from([1, 2, 3, 9]), min_size=len(containers), max_size=len(containers)))
    hidden = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 4]), min_size=len(containers), max_size=len(containers)))
    return leaf, containers, lengths, hidden


@pytest.mark.deep
@settings(max_examples=8 * settings().max_examples)
@given(cases())
def test_no_outcome_of_a_row_is_ruled_out(case):
    leaf, containers, lengths, hidden = case
    answers = outcomes_from_bounds(leaf, bounds_of(containers, lengths, hidden))
    for rows, mask, answer in zip(containers, hidden, answers.tolist(), strict=True):
        for row in rows:
            assert answer & {True: TRUE, False: FALSE, None: FALSE}[matches(leaf, row)], (leaf, row)
        assert bool(answer & NULL) == bool(mask & 4)


@settings(max_examples=5 * settings().max_examples)
@given(BYTES, st.lists(st.tuples(BYTES, BYTES).map(sorted), min_size=1, max_size=4))
def test_a_prefix_is_decided_as_sharply_as_bounds_allow(prefix, pairs):
    """The least value with the prefix that is not below the lower bound decides; between two that have it all do."""
    leaf = StartsWith(PATH, pa.scalar(prefix))
    lower, upper = (pa.array(side) for side in zip(*pairs, strict=True))
    bounds = Bounds.of(lower, upper, pa.array([0] * len(pairs)), np.ones(len(pairs), np.int64))
    expected = []
    for low, high in pairs:
        least = max(prefix, low)
        possible = least.startswith(prefix) and least <= high
        expected.append(TRUE * possible + FALSE * (not (low.startswith(prefix) and high.startswith(prefix))))
    assert outcomes_from_bounds(leaf, bounds).tolist() == expected


@settings(max_examples=5 * settings().max_examples)
@given(PATTERNS, st.lists(st.one_of(st.none(), TEXTS.map(str.encode), BYTES), min_size=1, max_size=6))
def test_known_values_are_decided_exactly(leaf, values):
    asked = [None if value is None else matches(leaf, value) for value in values]
    answers = outcomes_of_values(leaf, pa.array(values, pa.binary())).tolist()
    for value, expected, answer in zip(values, asked, answers, strict=True):
        if value is None:
            assert answer == NULL
        elif expected is None:
            assert answer & FALSE, "what is no UTF-8 is open, unless it begins otherwise"
        else:
            assert answer == (TRUE if expected else FALSE), (leaf, value)
    entries = pa.array([value for value in values if value is not None], pa.binary())
    (of_dictionary,) = outcomes_of_each_from_dictionaries([leaf], [entries])[0].tolist()
    of_values = [answer for answer in answers if answer != NULL]
    assert of_dictionary == (int(np.bitwise_or.reduce(of_values)) | NULL if of_values else Outcomes.UNKNOWN)


@pytest.mark.parametrize(
    ("leaf", "low", "high", "expected", "why"),
    [
        (StartsWith(PATH, scalar("b")), b"c", b"d", FALSE, "all are above"),
        (StartsWith(PATH, scalar("b")), b"a", b"az", FALSE, "all are below"),
        (StartsWith(PATH, scalar("b")), b"b", b"bz", TRUE, "both bounds begin with it"),
        (StartsWith(PATH, scalar("b")), b"b", b"c", TRUE | FALSE, "a cut upper bound was counted up from it, perhaps"),
        (StartsWith(PATH, scalar("bcd")), b"b", b"c", TRUE | FALSE, "longer than both bounds, which may be cut"),
        (StartsWith(PATH, scalar("bcd")), b"bce", b"c", FALSE, "longer than the upper bound, below the lower"),
        (StartsWith(PATH, scalar(b"\xff\xff")), b"\xff", b"\xff" * 9, TRUE | FALSE, "nothing is above 0xFF"),
        (StartsWith(PATH, scalar(b"\xff\xff")), b"\xff\xff", None, TRUE, "all above it begin with it"),
        (StartsWith(PATH, scalar(b"a\xff")), b"b", b"c", FALSE, "above the last that begins with it"),
        (StartsWith(PATH, scalar("")), None, None, TRUE, "everything begins with nothing"),
        (StartsWith(PATH, scalar("b")), None, b"a", FALSE, "one bound is enough"),
        (StartsWith(PATH, scalar("b")), b"c", None, FALSE, "one bound is enough"),
        (EndsWith(PATH, scalar("b")), b"ab", b"ab", TRUE, "a single value"),
        (EndsWith(PATH, scalar("b")), b"ab", b"abb", TRUE | FALSE, "two bounds that end so say nothing of others"),
        (Contains(PATH, scalar("bc")), b"abca", b"abcz", TRUE, "all between begin with what both begin with"),
        (Contains(PATH, scalar("bc")), b"abca", b"abdbc", TRUE | FALSE, "both contain it, but not at the beginning"),
        (Like(PATH, ("a", ANY, "z")), b"b", b"c", FALSE, "the text before the first wildcard is a prefix"),
        (Like(PATH, ("a", ONE, "c", ANY)), b"abcd", b"abcf", TRUE, "what all begin with matches whatever follows"),
        (Like(PATH, ("a", ONE, "c")), b"abcd", b"abcf", TRUE | FALSE, "the pattern has an end"),
        (Like(PATH, (ONE,)), "é".encode(), "é".encode(), TRUE, "a character of two bytes"),
        (Like(PATH, (ONE,)), b"\xc3", b"\xc3", TRUE | FALSE, "half a character"),
        (Like(PATH, (ONE, ANY)), b"\xc3\xa8", b"\xc3\xa9", TRUE | FALSE, "they have half a character in common"),
    ],
)
def test_cases(leaf, low, high, expected, why):
    bounds = Bounds.of(pa.array([low], pa.binary()), pa.array([high], pa.binary()), pa.array([0]), np.array([10]))
    assert outcomes_from_bounds(leaf, bounds).tolist() == [expected], why


def test_nulls_stay_open_and_containers_of_nulls_are_null():
    leaf = Contains(PATH, scalar("a"))
    nothing = pa.nulls(3, pa.binary())
    bounds = Bounds.of(nothing, nothing, pa.array([5, 2, None]), np.array([5, 5, 5]))
    assert outcomes_from_bounds(leaf, bounds).tolist() == [NULL, Outcomes.UNKNOWN, Outcomes.UNKNOWN]


def test_a_slice_of_bounds_is_read_where_it_lies():
    low = pa.array([b"zz", b"abca", b"x"])[1:]
    high = pa.array([b"zz", b"zz", b"abcz", b"y"])[2:]
    bounds = Bounds.of(low, high, pa.array([0, 0]), np.array([10, 10]))
    assert outcomes_from_bounds(Contains(PATH, scalar("bc")), bounds).tolist() == [TRUE, TRUE | FALSE]
