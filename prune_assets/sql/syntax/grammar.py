"""Parse expressions by Spark's grammar, with operator precedence.

The precedence follows SqlBaseParser.g4: a value takes at most one predicate (IS, IN, BETWEEN, LIKE), and only AND and
OR follow a predicate. Nested expressions do not use the call stack.

A dialect derived from sqlglot's Spark dialect cannot replace this parser. Where sqlglot is compiled (`sqlglot[c]`, and
`sqlglot[rs]`, which dagster-dbt installs), a derived parser cannot be instantiated: "interpreted classes cannot inherit
from compiled". sqlglot's parser recurses: 2,000 nested brackets raise RecursionError. Its nodes do not keep their
source text, and lose the name of a function (`substr` becomes `substring`) that the registry looks up. Its trees differ
from the trees of Spark's own parser (sqlglot 30.30, `dialect="spark"`); in each line Spark's reading comes first:

- `a BETWEEN 1 AND 2 = true`: `a BETWEEN 1 AND (2 = true)`; `(a BETWEEN 1 AND 2) = true`
- `a BETWEEN b = c AND 3`: `a BETWEEN (b = c) AND 3`; refused
- `a LIKE 'x' = true`: `a LIKE ('x' = true)`; `(a LIKE 'x') = true`
- `a | 1 ^ 2 & 3 << 1`: `a | (1 ^ (2 & (3 << 1)))`; `(((a | 1) ^ 2) & 3) << 1`
- `a = NOT b`, `a IN (1) = true`, `a IS NULL = true`: refused; read
- `a !< 1`, `X"1"`, `DATE r'1994-01-01'`: read; refused
- `b IS UNKNOWN`: only for a boolean; `b IS NULL`
- `'it''s'`: the string `it's`; `CONCAT('it', 's')`, which is `its`
- `- 128Y`: a tinyint; minus of a cast of 128, which no tinyint holds
- `0x1F`, `interval - 1`: columns of these names; bytes, an interval
- `DATE '1994-02-29'`, `128Y`, `1e39BD`: refused; casts
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.syntax.cursor import Cursor
from prune_assets.sql.syntax.lexer import TokenKind
from prune_assets.sql.syntax.nodes import (
    BINARY,
    PATTERNS,
    PATTERNS_OF_NOT,
    TRUTHS,
    Between,
    Binding,
    BitwiseNot,
    Call,
    Case,
    Cast,
    ILike,
    InSubquery,
    LikeList,
    LikeTest,
    ListTest,
    Negation,
    Negative,
    NullSafe,
    NullTest,
    OpaqueNode,
    Row,
    TruthTest,
)
from prune_assets.sql.syntax.operands import QUERY_STARTS, read_numeral, read_operand, read_suffixes
from prune_assets.sql.syntax.string_literals import read_string
from prune_assets.sql.syntax.type_names import read_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.syntax.lexer import Token
    from prune_assets.sql.syntax.nodes import Build, SyntaxNode

# Calls whose arguments are not plain expressions; units are written like columns.
_OWN_SYNTAX = frozenset({"TIMESTAMPADD", "TIMESTAMPDIFF", "TIMEDIFF", "EXISTS"})
# Calls whose arguments are not plain expressions if there are three of them.
_WITH_UNIT = frozenset({"DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF"})
# Calls whose first argument is a unit if there are three arguments.
_ADDS = frozenset({"timestampadd", "dateadd", "date_add"})
_PREFIXES = {"-": Negative, "~": BitwiseNot, "NOT": Negation, "!": Negation}
_PREDICATES = frozenset({"IS", "IN", "BETWEEN"}) | PATTERNS.keys()
_CONNECTIVES = frozenset({"AND", "OR"})
_CLAUSES = frozenset({"GROUP", "HAVING", "LIMIT", "ORDER"})
_CASTS = frozenset({"CAST", "TRY_CAST"})
# Keywords that may follow each keyword inside CASE; "" means directly after CASE.
_CASE_PARTS = {
    "": frozenset({"WHEN"}),
    "WHEN": frozenset({"THEN"}),
    "THEN": frozenset({"WHEN", "ELSE", "END"}),
    "ELSE": frozenset({"END"}),
}
_ENDS = frozenset({"WHEN", "THEN", "ELSE", "END", "AS"})
_OPEN_CASE = "CASE without END; write a column of that name as `case`"


@dataclass(slots=True)
class _Pending:
    """An operator whose right operand is not complete yet, or an open bracket (binding 0)."""

    sign: str
    binding: int
    first: int
    node: Build | None = None
    negated: bool = False
    name: str = ""
    has_value: bool = False
    arguments: list[SyntaxNode] = field(default_factory=list)


def parse(sql: str, tokens: Sequence[Token]) -> SyntaxNode:
    """Return the tree of a whole predicate, with a span for each node. Raises PredicateSyntaxError."""
    return _Parser(Cursor(sql, tokens)).run()


# Words of literals that are often written without quotes, with an example of the value.
_QUOTED = dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"), "2024-01-31 12:00:00") | {"DATE": "2024-01-31"}


class _Parser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.pending: list[_Pending] = []
        self.done: list[SyntaxNode] = []
        self.wants_operand = True
        self.after_predicate = False

    def run(self) -> SyntaxNode:
        if not self.cursor.tokens:
            raise PredicateSyntaxError("the predicate is empty; write a condition")
        while self.wants_operand or not self.cursor.at_end:
            try:
                self._operand() if self.wants_operand else self._operator()
            except PredicateSyntaxError:
                if not self._make_call_opaque():
                    raise
        self._reduce(Binding.OR)
        self._refuse_open_between(Binding.OR)
        if self.pending and self.pending[-1].sign == "CASE":
            self.cursor.fail(_OPEN_CASE)
        if self.pending:
            self.cursor.fail(f"a closing bracket is missing for the one at character {self._opened_at()}")
        return self.done.pop()

    def _opened_at(self) -> int:
        return self.cursor.tokens[self.pending[-1].first].start + 1

    # -- operands

    def _operand(self) -> None:
        cursor, first = self.cursor, self.cursor.position
        sign = cursor.sign()
        if sign in {"NOT", "!"}:
            self._prefix_not()
        elif sign == "-" and cursor.kind(1) == TokenKind.NUMBER:
            cursor.take()
            self._finish(read_numeral(cursor, negative=True), first)
        elif sign in {"-", "+", "~"}:
            cursor.take()
            self.pending.append(_Pending(sign, Binding.UNARY, first))
        elif sign == "(":
            self._open_bracket()
        elif sign == "CASE":
            self._open_case()
        elif (names := self._call_ahead()) is not None:
            self._open_call(names)
        else:
            self._finish(read_operand(cursor), first)

    def _prefix_not(self) -> None:
        if self.pending and self.pending[-1].binding > Binding.NOT:
            self.cursor.fail("NOT cannot be an operand; put it in parentheses")
        self.pending.append(_Pending("NOT", Binding.NOT, self.cursor.position))
        self.cursor.take()

    def _open_bracket(self) -> None:
        first = self.cursor.position
        if self.cursor.sign(1) in QUERY_STARTS:
            self.cursor.skip_brackets()
            self._finish(OpaqueNode("a subquery is not run while planning"), first)
        else:
            self.cursor.take()
            self.pending.append(_Pending("(", 0, first))

    def _call_ahead(self) -> int | None:
        """Return the number of tokens in the name of a call; None if no call comes next."""
        if not self.cursor.is_name() or self.cursor.sign() in _CONNECTIVES | {"CASE"}:
            return None
        count = 1
        while self.cursor.sign(count) == "." and self.cursor.is_name(count + 1):
            count += 2
        return count if self.cursor.sign(count) == "(" else None

    def _open_call(self, names: int) -> None:
        cursor, first = self.cursor, self.cursor.position
        name = "".join(token.text for token in cursor.tokens[first : first + names]).lower()
        cursor.position += names
        if name.upper() in _CASTS:
            cursor.take()
            self.pending.append(_Pending("CAST", 0, first, name=name))
        elif name == "extract" and cursor.sign(2) == "FROM" and cursor.is_name(1):
            field = cursor.tokens[cursor.position + 1].text
            cursor.position += 3
            self.pending.append(_Pending("CALL", 0, first, name=f"extract {field.lower()}"))
        elif name in _ADDS and cursor.is_name(1) and cursor.sign(2) == "," and cursor.commas_ahead() == 2:
            unit = cursor.tokens[cursor.position + 1].text
            cursor.position += 3
            self.pending.append(_Pending("CALL", 0, first, name=f"timestampadd {unit.lower()}"))
        elif self._has_own_syntax(name.upper()) or cursor.sign(1) in QUERY_STARTS:
            cursor.skip_brackets()
            self._finish(_opaque_call(name), first, is_call=True)
        elif cursor.sign(1) == ")":
            cursor.position += 2
            self._finish(Call(name), first, is_call=True)
        else:
            cursor.take()
            self.pending.append(_Pending("CALL", 0, first, name=name))

    def _has_own_syntax(self, name: str) -> bool:
        """Return whether a call, whose brackets come next, has arguments that are not expressions."""
        return name in _OWN_SYNTAX or (name in _WITH_UNIT and self.cursor.commas_ahead() > 1)

    def _open_case(self) -> None:
        self.pending.append(_Pending("CASE", 0, self.cursor.position))
        self.cursor.take()
        if self.cursor.sign() == "WHEN":
            self.pending[-1].name = "WHEN"
            self.cursor.take()

    def _finish(self, node: SyntaxNode, first: int, *, is_call: bool = False) -> None:
        whole = read_suffixes(self.cursor, self.cursor.mark(node, first), is_call=is_call)
        self.done.append(self.cursor.mark(whole, first))
        self.wants_operand = False
        self.after_predicate = False

    def _make_call_opaque(self) -> bool:
        """Make the innermost open call opaque, because not all of its arguments are expressions."""
        calls = [index for index, pending in enumerate(self.pending) if pending.sign == "CALL"]
        # CASE and CAST contain only expressions, so an error inside them is a syntax error.
        if not calls or any(pending.sign in {"CASE", "CAST"} for pending in self.pending[calls[-1] :]):
            return False
        call = self.pending[calls[-1]]
        waiting = sum(_operands_held(pending) for pending in self.pending[: calls[-1]])
        del self.pending[calls[-1] :]
        del self.done[waiting:]
        self.cursor.position = call.first + 2 * call.name.partition(" ")[0].count(".") + 1
        self.cursor.skip_brackets()
        self._finish(_opaque_call(call.name), call.first, is_call=True)
        return True

    # -- operators

    def _operator(self) -> None:
        sign = self.cursor.sign()
        if sign in {")", ","}:
            self._close(sign)
        elif sign in _ENDS:
            self._end_part(sign)
        elif sign in _CLAUSES:
            self.cursor.fail(f"a condition has no {sign}; remove it and the rest")
        elif self.after_predicate and sign not in _CONNECTIVES | {"ESCAPE"}:
            self.cursor.fail("after a predicate only AND or OR can follow; use parentheses")
        elif sign == "ESCAPE":
            self._escape()
        elif sign in _PREDICATES or (sign == "NOT" and self.cursor.sign(1) in _PREDICATES - {"IS"}):
            self._predicate()
        elif sign in BINARY:
            self._binary(sign)
        else:
            word = self.cursor.sign(-1)
            unquoted = word in _QUOTED and self.cursor.kind() == TokenKind.NUMBER
            hint = f"; write the value in quotes: {word} '{_QUOTED[word]}'" if unquoted else ""
            self.cursor.fail(f"an operator is expected here{hint}")

    def _binary(self, sign: str) -> None:
        binding, node = BINARY[sign]
        if sign == "AND" and self._between_waits():
            self.pending[-1].binding = Binding.PREDICATE
        else:
            self._reduce(binding)
            self._refuse_open_between(binding)
            self.pending.append(_Pending(sign, binding, self.cursor.position, node=node))
        if sign == "AND" and self.pending[-1].sign == "LOW":
            self.pending[-1].sign = "BETWEEN"
        self.cursor.take()
        self.wants_operand, self.after_predicate = True, False

    def _refuse_open_between(self, binding: int) -> None:
        if binding < Binding.PREDICATE and self.pending and self.pending[-1].sign == "LOW":
            self.cursor.fail("BETWEEN without AND")

    def _between_waits(self) -> bool:
        # The lower end is a value, so it takes every operator that binds tighter than a predicate.
        self._reduce(Binding.COMPARISON)
        return bool(self.pending) and self.pending[-1].sign == "LOW"

    def _predicate(self) -> None:
        cursor, first = self.cursor, self.cursor.position
        self._reduce(Binding.COMPARISON)
        if self.pending and self.pending[-1].binding == Binding.PREDICATE:
            cursor.fail("after a predicate only AND or OR can follow; use parentheses")
        negated = cursor.sign() == "NOT"
        cursor.position += negated
        sign = cursor.sign()
        cursor.take()
        if sign == "IS":
            self._is(first)
        elif sign == "IN":
            self._begin_list(first, negated=negated)
        elif sign == "BETWEEN":
            self._wait(_Pending("LOW", Binding.PREDICATE, first, negated=negated))
        elif sign in {"LIKE", "ILIKE"} and cursor.sign() in {"ALL", "ANY", "SOME"} and cursor.sign(1) == "(":
            quantifier = cursor.sign()
            cursor.position += 2
            self._wait(_Pending(f"{sign} {quantifier}", 0, first, negated=negated))
        else:
            node = (PATTERNS_OF_NOT if negated else PATTERNS)[sign]
            self._wait(_Pending(sign, Binding.PREDICATE, first, node=node, negated=negated))

    def _wait(self, pending: _Pending) -> None:
        self.pending.append(pending)
        self.wants_operand, self.after_predicate = True, False

    def _is(self, first: int) -> None:
        cursor = self.cursor
        negated = cursor.sign() == "NOT"
        cursor.position += negated
        sign = cursor.sign()
        if sign == "DISTINCT" and cursor.sign(1) == "FROM":
            cursor.position += 2
            node = partial(NullSafe, is_same=False)
            self._wait(_Pending("DISTINCT", Binding.PREDICATE, first, node=node, negated=negated))
        elif sign == "NULL" or sign in TRUTHS:
            cursor.take()
            operand = self.done[-1]
            self._settle(TruthTest(operand, TRUTHS[sign]) if sign in TRUTHS else NullTest(operand), negated=negated)
        else:
            cursor.fail("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM is expected after IS")

    def _begin_list(self, first: int, *, negated: bool) -> None:
        if self.cursor.sign() != "(":
            self.cursor.fail("IN takes a list in parentheses")
        if self.cursor.sign(1) in QUERY_STARTS:
            self.cursor.skip_brackets()
            self._settle(InSubquery(self.done[-1]), negated=negated)
        elif self.cursor.kind(1) == TokenKind.LIST:
            self.cursor.take()
            literals = self.cursor.take().text
            self.cursor.expect(")")
            self._settle(ListTest(self.done[-1], source=literals), negated=negated)
        else:
            self.cursor.take()
            self._wait(_Pending("IN", 0, first, negated=negated))

    def _settle(self, node: SyntaxNode, *, negated: bool) -> None:
        """Replace the last operand with a parsed predicate that contains the operand."""
        first = _first(self.done.pop())
        self.cursor.mark(node, first)
        self.done.append(self.cursor.mark(Negation(node), first) if negated else node)
        self.wants_operand, self.after_predicate = False, True

    def _escape(self) -> None:
        of_list = self.after_predicate and isinstance(self.done[-1], LikeList)
        if not of_list:
            self._reduce(Binding.COMPARISON)
        of_one = bool(self.pending) and self.pending[-1].sign in {"LIKE", "ILIKE"}
        if not (of_list or of_one) or self.cursor.kind(1) != TokenKind.STRING:
            self.cursor.fail("ESCAPE belongs after LIKE and takes a string")
        escape = read_string(self.cursor.tokens[self.cursor.position + 1].text)
        if len(escape) != 1 or escape > "\uffff":
            self.cursor.fail("ESCAPE takes a string of a single character")
        self.cursor.position += 2
        if of_list:
            self._settle(OpaqueNode("ESCAPE for a list of patterns is not supported"), negated=False)
            return
        like = self.pending.pop()
        if like.sign == "LIKE":
            like.node = partial(LikeTest, escape=escape)
        self._apply(like)
        self.after_predicate = True

    # -- reduction

    def _end_part(self, sign: str) -> None:
        """Read a keyword that ends a part of CASE or CAST."""
        self._reduce(Binding.OR)
        self._refuse_open_between(Binding.OR)
        bracket = self.pending[-1] if self.pending else None
        if bracket is not None and bracket.sign == "CAST" and sign == "AS" and not bracket.arguments:
            self._end_cast(self.pending.pop())
        elif bracket is not None and bracket.sign == "CASE" and sign in _CASE_PARTS[bracket.name]:
            bracket.arguments.append(self.done.pop())
            self._continue_case(bracket, sign)
        else:
            self.cursor.fail("an operator is expected here")

    def _end_cast(self, bracket: _Pending) -> None:
        self.cursor.take()
        operand = self.done.pop()
        to = read_type(self.cursor)
        self.cursor.expect(")")
        self._finish(Cast(operand, to, is_try=bracket.name == "try_cast"), bracket.first)

    def _continue_case(self, bracket: _Pending, sign: str) -> None:
        self.cursor.take()
        if sign != "END":
            bracket.has_value |= not bracket.name
            bracket.name = sign
            self.wants_operand, self.after_predicate = True, False
            return
        self.pending.pop()
        parts = bracket.arguments
        value = parts.pop(0) if bracket.has_value else None
        default = parts.pop() if bracket.name == "ELSE" else None
        self._finish(Case(value, tuple(parts[::2]), tuple(parts[1::2]), default), bracket.first)

    def _close(self, sign: str) -> None:
        self._reduce(Binding.OR)
        cursor = self.cursor
        if not self.pending:
            cursor.fail("this bracket has no opening bracket" if sign == ")" else "a comma is not allowed here")
        self._refuse_open_between(Binding.OR)
        bracket = self.pending[-1]
        if bracket.sign == "CASE":
            cursor.fail(_OPEN_CASE)
        if bracket.sign == "CAST":
            bracket.sign = "CALL"  # without AS, a function with this name
        bracket.arguments.append(self.done.pop())
        cursor.take()
        if sign == ",":
            self.wants_operand, self.after_predicate = True, False
            return
        self.pending.pop()
        if bracket.sign == "IN":
            self._settle(ListTest(self.done[-1], tuple(bracket.arguments)), negated=bracket.negated)
        elif bracket.binding == 0 and "LIKE" in bracket.sign:
            self._like_list(bracket)
        elif bracket.sign == "CALL":
            self._finish(_call(bracket.name, bracket.arguments), bracket.first, is_call=True)
        else:
            single = len(bracket.arguments) == 1
            self._finish(bracket.arguments[0] if single else Row(tuple(bracket.arguments)), bracket.first)

    def _like_list(self, bracket: _Pending) -> None:
        operator, quantifier = bracket.sign.split()
        value, negated = self.done[-1], bracket.negated
        if operator == "ILIKE":
            self._settle(ILike(value, OpaqueNode("")), negated=negated)
        else:
            node = LikeList(value, tuple(bracket.arguments), is_all=quantifier == "ALL", negated=negated)
            self._settle(node, negated=False)

    def _reduce(self, binding: int) -> None:
        """Apply the pending operators that bind at least as tightly as `binding`."""
        while self.pending and self.pending[-1].binding >= binding and self.pending[-1].sign != "LOW":
            self._apply(self.pending.pop())

    def _apply(self, operator: _Pending) -> None:
        right = self.done.pop()
        if operator.binding in {Binding.UNARY, Binding.NOT}:
            self.done.append(self.cursor.mark(_unary(operator.sign, right), operator.first))
            return
        if operator.sign == "BETWEEN":
            low, value = self.done.pop(), self.done.pop()
            node: SyntaxNode = Between(value, low, right)
        else:
            value = self.done.pop()
            assert operator.node is not None
            node = operator.node(value, right)
        first = _first(value)
        self.cursor.mark(node, first)
        self.done.append(self.cursor.mark(Negation(node), first) if operator.negated else node)


def _first(node: SyntaxNode) -> int:
    assert node.span is not None
    return node.span[0]


def _unary(sign: str, operand: SyntaxNode) -> SyntaxNode:
    return Call("positive", (operand,)) if sign == "+" else _PREFIXES[sign](operand)


def _operands_held(pending: _Pending) -> int:
    """Return the number of finished operands that a pending operator or bracket will take."""
    if pending.sign == "BETWEEN":
        return 2
    return 0 if pending.sign in {"(", "CALL", "CASE", "CAST"} or pending.binding in {Binding.UNARY, Binding.NOT} else 1


def _call(name: str, arguments: list[SyntaxNode]) -> SyntaxNode:
    """Return a call; `between(a, 1, 2)` is BETWEEN, as Spark prints it since 4.0."""
    if name == "between" and len(arguments) == 3:
        value, low, high = arguments
        return Between(value, low, high, is_call=True)
    return Call(name, tuple(arguments))


def _opaque_call(name: str) -> OpaqueNode:
    return OpaqueNode(f"{name}() is not supported", "compare the column itself", name)
