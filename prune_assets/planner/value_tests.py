"""Evaluate unsupported conditions on known column values.

A condition on a single column can be evaluated wherever the values of that column are known: in a directory name, in a
dictionary, or if both bounds are equal. A condition on several columns can be evaluated if directories give the values
of all of them: `make_date(year, month, 1) >= '2024-03-01'`. Spark evaluates the conditions if there is a session;
otherwise this project's own rules do.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import filled, from_numpy, numbers_from
from parquet_core.format.schema import Physical
from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import Cause, OnPartitions, OnValues, Unsupported, cause_of, columns_of_leaf, leaves
from prune_assets.sql.binding.scope import named_columns
from prune_assets.sql.evaluate_on_values import depends_on_clock_fields, divisor_of, evaluate_on_values, lower_on_rows
from prune_assets.sql.functions.times import offsets
from prune_assets.sql.refusal import Refusal
from prune_assets.sql.syntax.lexer import TokenKind
from prune_assets.sql.syntax.parsed import ParsedPredicate
from prune_assets.sql.types.spark_types import BINARY, TIMESTAMP_NTZ, type_of_column
from prune_assets.sql.types.zones import DAY, SECOND, Clocks, Zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.outcomes import OutcomeArray
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.lower import LoweredPredicate
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.syntax.nodes import SyntaxNode

    Ask = Callable[[Sequence[pa.Array]], Sequence[Outcomes]]
    Classes = Callable[[pa.Array], NDArray[np.int64]]

# Maximum number of tested values of a column, or rows of several columns. More would cost more time than they save.
MAX_ASKED = 10_000
MAX_SETTLED = 1_000
# Maximum number of conditions that are tested; each costs a query.
MAX_PARTS = 20
# Spark matches a pattern by backtracking: n characters and k wildcards take up to n**k / k! steps. Millions take 1 s.
_MAX_STEPS = 10_000_000
# A repeated group, as in (a+)+, may double the steps with every character.
_LONGEST_FOR_REPEATED_GROUPS = 20
_WILDCARD, _REPEATED_GROUP = re.compile(r"[%*+?{]"), re.compile(r"\)[*+{]")


class RememberedTest:
    """Test of a condition on values; each value is evaluated once.

    A row of values of several columns counts as one value.
    `most`: maximum number of values that are evaluated.
    `classes`: groups the values of the only column; the condition has one outcome per group.
    `longest`: number of characters of the longest string that Spark tests. None if unlimited.
    """

    def __init__(
        self,
        columns: Sequence[LeafColumn],
        ask: Ask,
        most: int,
        classes: Classes | None = None,
        longest: int | None = None,
    ) -> None:
        self.limits, self.is_full, self._is_refused = "", False, False
        self._longest = longest
        self._of_values = classes
        self._known: dict[tuple[object, ...], Outcomes] = {}
        self._columns = columns
        self._ask = ask
        self._most = most
        self._asking = Lock()
        self._results: list[tuple[Sequence[pa.Array], Sequence[Outcomes]]] = []

    def holds(self, ask: Ask) -> bool:
        """Return True if no tested value may have a new outcome in another session.

        `ask`: evaluates the condition in the other session.
        """
        try:
            return all(
                new & ~before == 0
                for values, results in self._results
                for new, before in zip(ask(values), results, strict=True)
            )
        except Refusal:
            return False

    def __call__(self, *values: pa.Array) -> OutcomeArray:
        """Return the outcome of the condition for each row of values.

        `values`: one array per column, in the type of its bounds.
        """
        # The same query also tests null, which the planner needs next.
        with_null = [pa.concat_arrays([column, pa.nulls(1, column.type)]) for column in values]
        classes = [self._classes(column) for column in with_null]
        first, codes = _distinct(classes)
        each = [column.take(from_numpy(first)) for column in with_null]
        keys = list(zip(*(_view_as_integers(of.take(from_numpy(first))).to_pylist() for of in classes), strict=True))
        with self._asking:
            self._learn(each, keys)
        answers: OutcomeArray = np.array([self._known.get(key, Outcomes.UNKNOWN) for key in keys], np.uint8)[codes[:-1]]
        return answers

    def _classes(self, values: pa.Array) -> pa.Array:
        if self._of_values is None:
            return values
        return pc.if_else(values.is_valid(), from_numpy(self._of_values(values)), None)

    def _learn(self, values: Sequence[pa.Array], keys: Sequence[tuple[object, ...]]) -> None:
        new = [i for i, key in enumerate(keys) if key not in self._known]
        if not new or self.is_full or self._is_refused:
            return
        if len(self._known) + len(new) - 1 > self._most:  # without null, which is always among them
            names = ", ".join(column.name for column in self._columns)
            has = "has" if len(self._columns) == 1 else "have"
            self.limits, self.is_full = f"{names} {has} more than {self._most:,} values to test", True
            return
        rows = [column.take(from_numpy(np.array(new))) for column in values]
        if self._longest is not None:
            is_short = _have_at_most(rows, self._longest)
            if not is_short.all():
                self.limits = (
                    f"a pattern with several wildcards is not matched with more than {self._longest:,} characters"
                )
            new, rows = [new[i] for i in np.flatnonzero(is_short)], [it.filter(from_numpy(is_short)) for it in rows]
            if not new:
                return
        new_values, readable = _select_readable(rows, self._columns)
        try:
            results = self._ask(new_values)
        except Refusal as refusal:
            self.limits, self._is_refused = refusal.reason, True
            return
        self._results.append((new_values, results))
        outcome_of_readable = iter(results)
        for i, fits in zip(new, readable, strict=True):
            self._known[keys[i]] = next(outcome_of_readable) if fits else Outcomes.UNKNOWN


def value_tests(
    lowered: LoweredPredicate,
    *,
    partitions: Sequence[LeafColumn],
    session: SparkSession | None,
    semantics: SparkSemantics,
) -> dict[Unsupported, OnValues | OnPartitions]:
    """Return a test for each condition tested on values while planning.

    `partitions`: columns whose values come from directories or a log. `semantics`: settings of the session.
    """
    tests: dict[Unsupported, OnValues | OnPartitions] = {}
    given = {column.path for column in partitions}
    for part, written in _open_parts(lowered):
        test = None if len(tests) == MAX_PARTS else _value_test(part, written, session, semantics)
        if isinstance(test, OnValues) or (test is not None and given.issuperset(test.columns)):
            tests[part] = test
    return tests


def row_tests(
    lowered: LoweredPredicate,
    *,
    session: SparkSession | None,
    semantics: SparkSemantics,
    most: int,
) -> dict[Unsupported, Predicate]:
    """Return a test for each condition of a predicate that is tested on rows.

    `most`: number of distinct values that are tested one by one, for conditions that are not evaluated on whole arrays.
    """
    tests: dict[Unsupported, Predicate] = {}
    for part, written in _open_parts(lowered):
        on_rows = lower_on_rows(written, semantics) or part
        open_part = next((it for it in leaves(on_rows) if isinstance(it, Unsupported) and it.is_whole), None)
        if open_part is None:
            tests[part] = on_rows
        elif cause_of(open_part) is Cause.TIME_ZONE:
            tests[part] = replace(part, reason=open_part.reason, remedy=open_part.remedy, cause=open_part.cause)
        elif (test := _value_test(part, written, session, semantics, most)) is not None:
            tests[part] = test
    return tests


def _open_parts(lowered: LoweredPredicate) -> Iterator[tuple[Unsupported, ParsedPredicate]]:
    """Yield each unsupported condition once, with its parsed source."""
    for part in dict.fromkeys(leaf for leaf in leaves(lowered.predicate) if isinstance(leaf, Unsupported)):
        is_tested = part.is_whole and part.cause is not Cause.CLOCKS_CHANGE
        if is_tested and isinstance(part.source, ParsedPredicate):
            yield part, part.source


def _value_test(
    part: Unsupported,
    written: ParsedPredicate,
    session: SparkSession | None,
    semantics: SparkSemantics,
    most: int | None = None,
) -> OnValues | OnPartitions | None:
    """Return a test of a condition on known values of its columns; None if these values cannot be passed to Spark."""
    named = named_columns(written.tree)
    if not named or not all(_has_plain_values(column, semantics) for column in named):
        return None
    classes = classes_of(written.tree, named[0], semantics) if len(named) == 1 else None
    ask = _ask(part, named, session, semantics)
    longest = longest_matched(written) if _can_run_tests(session) else None
    test = RememberedTest(named, ask, most or _most(session), classes, longest)
    paths = tuple(column.path for column in named)
    return OnValues(paths[0], part, test) if len(paths) == 1 else OnPartitions(paths, part, test)


def _most(session: SparkSession | None) -> int:
    return MAX_ASKED if _can_run_tests(session) else MAX_SETTLED


def tests_hold(
    tests: Mapping[Unsupported, OnValues | OnPartitions],
    columns: Sequence[LeafColumn],
    *,
    session: SparkSession,
    semantics: SparkSemantics,
) -> bool:
    """Return True if each tested value has the same outcomes in `session` as while planning.

    `semantics`: settings of the session.
    """
    by_path = {column.path: column for column in columns}
    return all(
        not isinstance(it.test, RememberedTest)
        or it.test.holds(_ask(part, [by_path[path] for path in columns_of_leaf(it)], session, semantics))
        for part, it in tests.items()
    )


def _has_plain_values(column: LeafColumn, semantics: SparkSemantics) -> bool:
    """Return True if every value of a column can be passed to Spark."""
    if column.unsupported or column.max_repetition_level or column.type is None:
        return False
    spark_type = type_of_column(column.type)
    if spark_type is None or (
        pa.types.is_timestamp(column.type) and column.physical is Physical.INT64 and column.type.unit == "ns"
    ):
        return False
    return not (spark_type == BINARY and semantics.binary_as_string) and (
        spark_type != TIMESTAMP_NTZ or semantics.infer_timestamp_ntz
    )


def _can_run_tests(session: SparkSession | None) -> bool:
    """Return True if the session can run queries for tests. Spark Connect cannot, as it shows no plans."""
    return hasattr(session, "_jsparkSession")


def _ask(
    part: Unsupported, columns: Sequence[LeafColumn], session: SparkSession | None, semantics: SparkSemantics
) -> Ask:
    if session is None or not _can_run_tests(session):
        assert isinstance(part.source, ParsedPredicate)
        return partial(evaluate_on_values, part.source, columns, semantics)
    from prune_assets.spark.queries.ask_values import ask_values

    return partial(ask_values, session, columns, part.sql)


def _distinct(columns: Sequence[pa.Array]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the distinct rows of several columns.

    Returns the first position of each distinct row, and for each row the index of its distinct row.
    """
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        encoded = _view_as_integers(column).dictionary_encode(null_encoding="encode")
        _, first, codes = np.unique(
            codes * len(encoded.dictionary) + numbers_from(encoded.indices), return_index=True, return_inverse=True
        )
    return first, codes


def _view_as_integers(values: pa.Array) -> pa.Array:
    """View floats and times as the integers with the same bits.

    Some times have no Python value, and equal floats such as 0.0 and -0.0 must stay distinct.
    """
    arrow_type = values.type
    if pa.types.is_floating(arrow_type) or pa.types.is_temporal(arrow_type):
        return values.view(pa.int32() if arrow_type.bit_width == 32 else pa.int64())
    return values


def _select_readable(
    values: Sequence[pa.Array], columns: Sequence[LeafColumn]
) -> tuple[list[pa.Array], NDArray[np.bool_]]:
    """Return the rows that can be passed to Spark, in the types that Spark reads, and flags of these rows."""
    is_text = [pa.types.is_string(column.type) for column in columns]
    readable = np.ones(len(values[0]), np.bool_)
    for column, is_text_column in zip(values, is_text, strict=True):
        if is_text_column:
            readable &= [_is_text(value) for value in column.to_pylist()]
    readable_values = [column.filter(from_numpy(readable)) for column in values]
    return [
        it.cast(pa.string()) if is_text_column else it
        for it, is_text_column in zip(readable_values, is_text, strict=True)
    ], readable


def longest_matched(written: ParsedPredicate) -> int | None:
    """Return the longest string (characters) that Spark matches in reasonable time; None if unlimited."""
    literals = [token.text for token in written.tokens_of_tree() if token.kind == TokenKind.STRING]
    if any(map(_REPEATED_GROUP.search, literals)):
        return _LONGEST_FOR_REPEATED_GROUPS
    wildcards = max((len(_WILDCARD.findall(literal)) for literal in literals), default=0)
    return None if wildcards < 2 else int((_MAX_STEPS * math.factorial(wildcards)) ** (1 / wildcards))


def _have_at_most(columns: Sequence[pa.Array], characters: int) -> NDArray[np.bool_]:
    """Return flags of the rows in which no string is longer than `characters`."""
    short = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            lengths = pc.binary_length(column)
            short &= numbers_from(filled(lengths, 0)) <= characters
    return short


def _is_text(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False


def classes_of(tree: SyntaxNode, column: LeafColumn, semantics: SparkSemantics) -> Classes | None:
    """Return a function that groups the values of the only column of a condition, by equal outcome.

    None if each value is its own group.
    """
    arrow_type = column.type
    if arrow_type is not None and pa.types.is_signed_integer(arrow_type):
        divisor = divisor_of(tree)
        return None if divisor is None or divisor >= 1 << 63 else partial(_remainders, divisor)
    if isinstance(arrow_type, pa.TimestampType) and arrow_type.tz is not None and arrow_type.unit in {"ms", "us"}:
        zone = Clocks.of(semantics).zone
        return partial(_minutes, zone) if zone is not None and depends_on_clock_fields(tree) else None
    return None


def _remainders(divisor: int, values: pa.Array) -> NDArray[np.int64]:
    rests: NDArray[np.int64] = np.fmod(numbers_from(filled(values.cast(pa.int64()), 0)), divisor)
    return rests


def _minutes(zone: Zone, values: pa.Array) -> NDArray[np.int64]:
    """Group instants by their local minute of the day; return the number of the group of each instant.

    An instant for which the zone's rules are uncertain is a group of its own.
    """
    instants = numbers_from(filled(values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64()), 0))
    last = zone.last if zone.is_fixed else min(zone.last, zone.scanned_until)
    # Subtract 2**62, so that the group number of a minute never equals an instant, the group number outside the rules.
    shown = (instants % DAY + offsets(zone, instants)) % DAY // (60 * SECOND) - (1 << 62)
    class_ids: NDArray[np.int64] = np.where((zone.first <= instants) & (instants <= last), shown, instants)
    return class_ids
