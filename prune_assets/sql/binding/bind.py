"""Bind operands: convert their trees to constants and chains of functions, with Spark's types and casts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from parquet_core.pruning.outcomes import Outcomes
from parquet_core.pruning.predicate import IsNaN, IsNull, IsTruth, Not, Unsupported
from prune_assets.sql.binding.fold_constants import fold_constants
from prune_assets.sql.functions.arithmetic import arithmetic
from prune_assets.sql.functions.cast import cast
from prune_assets.sql.functions.coercion import apply, cast_to, check_casts, common_type, to_type
from prune_assets.sql.functions.entry import CHOICES, TESTS, Role
from prune_assets.sql.functions.registry import call, find, refused
from prune_assets.sql.functions.signs import minus
from prune_assets.sql.functions.terms import (
    MAX_BRANCHES,
    Branch,
    Chain,
    Fixed,
    Term,
    always,
    both,
    check_size,
    each,
    fixed,
    fixed_scalar,
    negation,
    pairs,
    without_literals,
)
from prune_assets.sql.functions.texts import as_text
from prune_assets.sql.functions.time_calls import is_time_sum, time_sum
from prune_assets.sql.refusal import Refusal, zone_needed
from prune_assets.sql.syntax import nodes
from prune_assets.sql.syntax.nodes import Sign
from prune_assets.sql.types.spark_types import (
    BOOLEAN,
    ON_UNKNOWN_CLOCKS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    SparkType,
    type_of_column,
    type_of_value,
)
from prune_assets.sql.types.spark_values import ValueKind
from prune_assets.sql.types.zones import NO_TIMESTAMP, NO_TIMESTAMP_NTZ

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_core.format.schema import LeafColumn
    from parquet_core.pruning.predicate import Predicate
    from prune_assets.sql.functions.terms import Value
    from prune_assets.sql.semantics import SparkSemantics
    from prune_assets.sql.types.zones import Clocks

MAX_DEPTH = 40
_CONDITIONS = (
    *(
        nodes.Conjunction,
        nodes.Disjunction,
        nodes.Negation,
        nodes.Comparison,
        nodes.NullSafe,
        nodes.Between,
        nodes.ListTest,
        nodes.InSubquery,
    ),
    *(nodes.NullTest, nodes.TruthTest, nodes.LikeTest, nodes.ILike, nodes.RLike),
)


class BindingContext(NamedTuple):
    """The settings of the session, and the functions that lower conditions inside operands."""

    semantics: SparkSemantics
    clocks: Clocks
    condition: Callable[[nodes.SyntaxNode], Predicate]
    equal: Callable[[Term, Term], Predicate]
    is_null: Callable[[Term], Predicate]


def column_of(node: nodes.SyntaxNode) -> LeafColumn:
    """Return the column that a name refers to. Raises Refusal if predicates do not prune on the column."""
    if not isinstance(node, nodes.Column):
        raise why_not(node)
    if node.bound.column is None:
        raise Refusal(node.bound.reason, node.bound.remedy)
    return node.bound.column


def is_condition(node: nodes.SyntaxNode) -> bool:
    """Return whether a node has the form of a condition, such as a comparison."""
    return isinstance(node, _CONDITIONS) or test_of(node) is not None


def test_of(node: nodes.SyntaxNode) -> Role | None:
    """Return the role of a call that tests for NULL or NaN; None for other nodes."""
    function = find(node.name) if isinstance(node, nodes.Call) and len(node.arguments) == 1 else None
    return function.role if function is not None and function.role in TESTS else None


def _is_deep(node: nodes.SyntaxNode) -> bool:
    level: list[nodes.SyntaxNode] = [node]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in parent.children()]
        if not level:
            return False
    return True


class Binder:
    """Binds operands in one context."""

    def __init__(self, context: BindingContext) -> None:
        self.context = context
        zone = context.clocks.zone
        self.timestamp = ON_UNKNOWN_CLOCKS if zone is None else SparkType(ValueKind.TIMESTAMP, zone=zone)

    def operand(self, node: nodes.SyntaxNode) -> Term:
        """Bind an operand to a term. Raises Refusal, PredicateTypeError and UnknownColumn."""
        node = fold_constants(node)
        if isinstance(node, nodes.Literal):
            return always(self._literal(node))
        if not isinstance(node, nodes.Column) and _is_deep(node):
            raise Refusal(f"operands nested deeper than {MAX_DEPTH} levels are not supported")
        return self.bind(node)

    def bind(self, node: nodes.SyntaxNode) -> Term:  # noqa: PLR0911  (one return for each kind of node)
        """Bind one node of an operand. Raises as `operand`."""
        node = fold_constants(node)
        match node:
            case nodes.Literal():
                return always(self._literal(node))
            case nodes.Column():
                column = column_of(node)
                type_ = self._type(column)
                return always(Fixed(VOID, None) if type_ == VOID else Chain(column, type_))
            case nodes.KnownColumn(name, value):
                type_ = self._type(column_of(name))
                return always(fixed_scalar(value, type_) if value.is_valid else Fixed(type_, None))
            case nodes.Negative(operand):
                return each(self.bind(operand), minus)
            case nodes.Cast():
                return self._cast(node)
            case nodes.Case():
                return self._case(node)
            case nodes.Call():
                return self._call(node)
            case nodes.Arithmetic():
                return self._arithmetic(node)
            case _ if is_condition(node):
                return self._truth(node)
            case _:
                raise why_not(node)

    def _literal(self, node: nodes.Literal) -> Fixed:
        value = node.value
        if value.kind is not ValueKind.TIMESTAMP:
            literal = fixed(value, type_of_value(value))
            return literal if self.context.semantics.minimum_precision else replace(literal, digits=0)
        if self.context.clocks.timestamp_ntz:
            raise Refusal(*NO_TIMESTAMP)
        return fixed(value, self.timestamp)

    def _type(self, column: LeafColumn) -> SparkType:
        type_ = None if column.type is None else type_of_column(column.type)
        if type_ is None:
            raise Refusal(f"columns of type {column.type} are not supported")
        if type_ == TIMESTAMP_NTZ and not self.context.clocks.infer_timestamp_ntz:
            raise Refusal(*NO_TIMESTAMP_NTZ)
        return type_ if type_ != TIMESTAMP or self.context.clocks.zone is None else self.timestamp

    def _arithmetic(self, node: nodes.Arithmetic) -> Term:
        met = pairs(self.bind(node.left), self.bind(node.right))
        return self._cast_branches(
            [Branch(guard, self._computed(node.sign, left, right)) for guard, left, right in met]
        )

    def _computed(self, sign: Sign, left: Value, right: Value) -> Value:
        self._check([left, right])
        if sign in {Sign.PLUS, Sign.MINUS} and is_time_sum(left, right):
            return time_sum(left, right, 1 if sign is Sign.PLUS else -1, self.timestamp)
        if any(isinstance(value, Fixed) and value.doubt for value in (left, right)):
            raise zone_needed()
        return arithmetic(sign, left, right)

    def _check(self, values: Sequence[Value]) -> None:
        check_casts(values, self.context.semantics)

    def _called(self, name: str, arguments: Sequence[Value]) -> Value:
        function = find(name)
        if function is not None and function.makes_timestamp and self.context.clocks.timestamp_ntz:
            raise Refusal(*NO_TIMESTAMP)
        if function is not None and function.casts_arguments:
            self._check(arguments)
        return call(name, arguments, self.timestamp)

    def _cast(self, node: nodes.Cast) -> Term:
        to = node.to
        if to is None or to.kind in {ValueKind.BINARY, ValueKind.NULL}:
            raise Refusal("a cast to this type is not supported", "compare the column itself")
        if to == TIMESTAMP:
            if self.context.clocks.timestamp_ntz:
                raise Refusal(*NO_TIMESTAMP)
            to = self.timestamp
        term = self.bind(node.operand)
        if to == STRING:
            return each(term, as_text)
        return each(term, lambda value: _try_cast(value, to) if node.is_try else cast_to(value, to))

    def _call(self, node: nodes.Call) -> Term:
        name, arguments, function = node.name, node.arguments, find(node.name)
        if function is not None and function.role in CHOICES and function.takes(len(arguments)):
            return _CHOICES[function.role](self, *arguments)
        if is_condition(node):
            return self._truth(node)
        terms = [self.bind(argument) for argument in arguments]
        branches = [Branch(None, self._called(name, []))] if not terms else []
        if len(terms) == 1:
            return each(terms[0], lambda value: self._called(name, [value]))
        if len(terms) == 2:
            branches = [Branch(guard, self._called(name, [left, right])) for guard, left, right in pairs(*terms)]
        if not branches:
            raise refused(name)
        return self._cast_branches(branches)

    def _truth(self, node: nodes.SyntaxNode) -> Term:
        """Bind a condition used as a value to a term whose branches are TRUE, FALSE and NULL."""
        condition = self.context.condition(node)
        if isinstance(condition, Unsupported):
            raise Refusal(condition.reason, condition.remedy, cause=condition.cause)
        outcomes = {Outcomes.TRUE: 1, Outcomes.FALSE: 0, Outcomes.NULL: None}
        return Term(
            tuple(Branch(IsTruth(condition, truth), Fixed(BOOLEAN, value)) for truth, value in outcomes.items())
        )

    # -- choices

    def _case(self, node: nodes.Case) -> Term:
        if node.operand is None:
            tests = [self.context.condition(test) for test in node.tests]
        else:
            value = self.bind(node.operand)
            tests = [self.context.equal(value, self.bind(test)) for test in node.tests]
        results = [self.bind(result) for result in node.results]
        results.append(always(Fixed(VOID, None)) if node.default is None else self.bind(node.default))
        return self._choice(tests, results)

    def _if(self, test: nodes.SyntaxNode, yes: nodes.SyntaxNode, no: nodes.SyntaxNode) -> Term:
        return self._choice([self.context.condition(test)], [self.bind(yes), self.bind(no)])

    def _first_not_null(self, *arguments: nodes.SyntaxNode) -> Term:
        terms = [self.bind(argument) for argument in arguments]
        tests = [negation(self.context.is_null(term)) for term in terms[:-1]]
        return self._choice(tests, [*map(_drop_null_branches, terms[:-1]), terms[-1]])

    def _nvl2(self, value: nodes.SyntaxNode, yes: nodes.SyntaxNode, no: nodes.SyntaxNode) -> Term:
        return self._choice([negation(self.context.is_null(self.bind(value)))], [self.bind(yes), self.bind(no)])

    def _nullif(self, value: nodes.SyntaxNode, other: nodes.SyntaxNode) -> Term:
        term = self.bind(value)
        return self._choice([self.context.equal(term, self.bind(other))], [always(Fixed(VOID, None)), term])

    def _choice(self, tests: Sequence[Predicate], results: Sequence[Term]) -> Term:
        """Return a term whose value is the result of the first TRUE test, or the last result if no test is TRUE."""
        branches: list[Branch] = []
        earlier: Predicate | None = None
        for test, result in zip((*tests, None), results, strict=True):
            guard = None if test is None else _is_true(test)
            missed = None if guard is None else negation(guard)
            here = both(earlier, guard)
            branches += [Branch(both(here, branch.guard), branch.value) for branch in result.branches]
            earlier = both(earlier, missed)
        if len(branches) > MAX_BRANCHES:
            raise Refusal(f"more than {MAX_BRANCHES} cases are not supported", "write the cases with AND and OR")
        check_size(branch.guard for branch in branches if branch.guard is not None)
        return self._cast_branches(branches)

    def _cast_branches(self, branches: Sequence[Branch]) -> Term:
        """Cast the branches to one type; their values no longer count as literals."""
        values = without_literals([branch.value for branch in branches])
        kinds = {value.type.kind for value in values} - {ValueKind.NULL}
        if ValueKind.STRING in kinds and len(kinds) > 1:
            raise Refusal("Spark casts between these and strings here", "write values of one type")
        self._check(values)
        common = common_type(values)
        return Term(
            tuple(Branch(branch.guard, to_type(value, common)) for branch, value in zip(branches, values, strict=True))
        )


_CHOICES: dict[Role, Callable[..., Term]] = {
    Role.IF: Binder._if,  # noqa: SLF001  (its own methods)
    Role.FIRST_NOT_NULL: Binder._first_not_null,  # noqa: SLF001
    Role.NVL2: Binder._nvl2,  # noqa: SLF001
    Role.NULL_IF: Binder._nullif,  # noqa: SLF001
}


def _drop_null_branches(term: Term) -> Term:
    """Drop the NULL branches of a coalesce() operand, which is the result only if it is not NULL."""
    left = tuple(it for it in term.branches if not (isinstance(it.value, Fixed) and it.value.is_null))
    return Term(left) if left else term


def _is_true(test: Predicate) -> Predicate:
    never_null = test.child if isinstance(test, Not) else test
    return test if isinstance(never_null, (IsTruth, IsNull, IsNaN)) else IsTruth(test, Outcomes.TRUE)


def _try_cast(value: Value, to: SparkType) -> Value:
    if isinstance(value, Fixed):
        raise Refusal("TRY_CAST of a constant is not supported", "write the constant")
    if value.type == to:
        return value
    function = cast(value.type, to, is_try=True)
    if function is None:
        raise Refusal(f"a cast from {value.type} to {to} is not supported")
    return apply(function, value)


_NOT_LOWERED: dict[type[nodes.SyntaxNode], tuple[str, str]] = {
    nodes.LikeTest: (
        "LIKE inside an operand is not supported",
        "write the prefix as a range, e.g. s >= 'ab' AND s < 'ac'",
    ),
    nodes.ILike: ("ILIKE ignores case, and bounds do not", ""),
    nodes.RLike: ("a regular expression inside an operand is not supported", ""),
    **dict.fromkeys((nodes.Bitwise, nodes.BitwiseNot), ("bitwise operators are not supported", "")),
    nodes.Row: ("comparisons of rows are not supported", "compare their columns one by one"),
    nodes.Concat: (
        "|| concatenates strings, which is not supported",
        "compare the column itself; between conditions write OR",
    ),
}


def why_not(node: nodes.SyntaxNode) -> Refusal:
    """Return the reason why a node is not supported."""
    if type(node) in _NOT_LOWERED:
        return Refusal(*_NOT_LOWERED[type(node)])
    if isinstance(node, nodes.OpaqueNode):
        return Refusal(node.reason, node.remedy)
    if isinstance(node, nodes.UserCall):
        return Refusal(f"{node.name.partition(' ')[0]}() is not a built-in function in this session")
    if isinstance(node, nodes.Call):
        return refused(node.name)
    return Refusal("this is not a plain column", "compare a plain column with a literal")
