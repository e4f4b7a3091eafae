"""Parse a SELECT from one table as a scan of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from prune_assets.advisor.workload.not_understood import NotUnderstood
from prune_assets.advisor.workload.query_shapes import ALL_COLUMNS
from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.render import column_sql
from prune_assets.sql.syntax.lexer import TokenKind, tokenize
from prune_assets.sql.syntax.parsed import parse_predicate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prune_assets.sql.syntax.lexer import Token

    Path = tuple[str, ...]

_NAMES = {TokenKind.WORD, TokenKind.QUOTED}
# Clauses that may follow a WHERE, by sqlglot's names.
_AFTER_WHERE = ("group", "having", "windows", "qualify", "order", "sort", "cluster", "distribute", "limit", "offset")
_WORDS = {"windows": "WINDOW"}
_FORMATS = {"parquet", "delta", "iceberg"}
_ONE_TABLE = "write a SELECT from each table"


class Select(NamedTuple):
    """A SELECT from one table.

    `where`: the condition; "" for all rows.
    `left_out`: reasons why conjuncts are missing from the condition.
    """

    table: str
    where: str
    columns: tuple[str, ...]
    left_out: tuple[str, ...]


def parse_select(sql: str) -> Select:
    """Return the table, condition and columns of a SELECT, without qualifiers. Raises NotUnderstood.

    >>> parse_select("SELECT t.plate, t.address.city FROM tickets t WHERE t.zone = 3")
    Select(table='tickets', where='zone = 3', columns=('address.city', 'plate', 'zone'), left_out=())
    """
    try:
        tree = _select(parse_one(sql, read="spark"))
        table = _table(tree)
        qualifiers = _qualifiers(table)
        where, left_out = _where(sql, tree, qualifiers)
    except (SqlglotError, RecursionError):
        raise NotUnderstood("no readable SELECT; end a SELECT of several lines with ;") from None
    except PredicateSyntaxError as error:
        raise NotUnderstood("a condition that cannot be read", str(error)) from None
    return Select(_table_name(_names(table)), where, _columns(tree, qualifiers), left_out)


def _table_name(names: Path) -> str:
    """Return a table as event logs name it: for a format and a path in backquotes, the path.

    >>> _table_name(("parquet", "/lake/orders")), _table_name(("sales", "orders"))
    ('/lake/orders', 'sales.orders')
    """
    is_path = len(names) == 2 and names[0].lower() in _FORMATS and "/" in names[1]
    return names[1] if is_path else ".".join(names)


def _select(tree: exp.Expr) -> exp.Select:
    if isinstance(tree, exp.SetOperation):
        raise NotUnderstood(f"{tree.key.upper()}; write each SELECT as a statement of its own")
    if not isinstance(tree, exp.Select):
        raise NotUnderstood("no SELECT")
    return tree


def _table(tree: exp.Select) -> exp.Table:
    """Return the only table that a SELECT reads; raises NotUnderstood."""
    if any(isinstance(value, exp.With) for value in tree.args.values()):
        raise NotUnderstood(f"a WITH; {_ONE_TABLE}")
    source = next((value.this for value in tree.args.values() if isinstance(value, exp.From)), None)
    if source is None:
        raise NotUnderstood("a SELECT without FROM; end a SELECT of several lines with ;")
    if isinstance(source, exp.Subquery):
        raise NotUnderstood(f"a subquery in FROM; {_ONE_TABLE}")
    if tree.args.get("joins") or source.args.get("joins"):
        raise NotUnderstood(f"a JOIN; {_ONE_TABLE}")
    if tree.args.get("laterals") or source.args.get("pivots"):
        raise NotUnderstood(f"a LATERAL VIEW or PIVOT; {_ONE_TABLE}")
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        raise NotUnderstood(f"a function in FROM; {_ONE_TABLE}")
    return source


def _names(node: exp.Table | exp.Column) -> Path:
    return tuple(part.name for part in node.parts)


def _qualifiers(table: exp.Table) -> list[Path]:
    """Return the names that may precede a column of a table, longest first. An alias replaces the name of the table."""
    if table.alias:
        return [(table.alias.lower(),)]
    names = tuple(name.lower() for name in _names(table))
    return [names[index:] for index in range(len(names))]


def _qualifier_length(path: Sequence[str], qualifiers: Sequence[Path]) -> int:
    """Return how many leading names of a column's path form a qualifier.

    The table takes precedence over a struct of the same name, as in Spark.
    """
    small = tuple(name.lower() for name in path)
    return next((len(it) for it in qualifiers if len(small) > len(it) and small[: len(it)] == it), 0)


def _columns(tree: exp.Select, qualifiers: Sequence[Path]) -> tuple[str, ...]:
    """Return the columns of all clauses of a SELECT.

    Columns of subqueries, and aliases that the SELECT defines, are left out.
    """
    aliases = {expression.alias.lower() for expression in tree.expressions if isinstance(expression, exp.Alias)}
    paths: set[Path] = set()
    for node in tree.walk(prune=lambda node: node is not tree and isinstance(node, exp.Query)):
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column):
            return ALL_COLUMNS
        if not isinstance(node, exp.Column):
            continue
        path = _path(node)
        path = path[_qualifier_length(path, qualifiers) :]
        if isinstance(node.this, exp.Star):
            path = path[:-1]
            if not path:
                return ALL_COLUMNS
        if len(path) > 1 or path[0].lower() not in aliases or _clause(node, tree) in {"expressions", "where"}:
            paths.add(path)
    return tuple(sorted(map(column_sql, paths)))


def _path(column: exp.Column) -> Path:
    """Return all names of a column; sqlglot represents names after the fourth as dots."""
    path: Path = _names(column)
    node: exp.Expr = column
    while isinstance(node.parent, exp.Dot) and node.parent.this is node:
        node = node.parent
        if not isinstance(node.expression, exp.Identifier):
            break
        path += (node.expression.name,)
    return path


def _clause(node: exp.Expr, tree: exp.Select) -> str:
    while node.parent is not None and node.parent is not tree:
        node = node.parent
    return str(node.arg_key)


def _where(sql: str, tree: exp.Select, qualifiers: Sequence[Path]) -> tuple[str, tuple[str, ...]]:
    """Return the condition without qualifiers and subquery conjuncts, and the reasons for omissions."""
    if tree.args.get("where") is None:
        return "", ()
    tokens = tokenize(sql)
    words = _words_outside(tokens)
    start = words.index("WHERE") + 1
    after = [_WORDS.get(key, key.upper()) for key in _AFTER_WHERE if tree.args.get(key)]
    ends = [len(words) - 1 - words[::-1].index(word) for word in after if word in words]
    where = on_one_line(tokens[start : min(ends, default=len(tokens))], qualifiers)
    return without_subqueries(where)


def without_subqueries(where: str) -> tuple[str, tuple[str, ...]]:
    """Return a condition without conjuncts that contain a subquery, and why these are left out.

    >>> without_subqueries("id IN (SELECT id FROM gone) AND day = 7")
    ('day = 7', ('a subquery',))

    Raises PredicateSyntaxError.
    """
    conjuncts = parse_predicate(where).conjuncts()
    understood = [it for it in conjuncts if all(token.text.upper() != "SELECT" for token in it.tokens_of_tree())]
    if len(understood) == len(conjuncts):
        return where, ()
    return " AND ".join(it.text(it.tree) for it in understood), ("a subquery",)


def _words_outside(tokens: Sequence[Token]) -> list[str]:
    """Return the upper-case tokens outside of brackets, and "" for each token inside."""
    words, depth = [], 0
    for token in tokens:
        depth -= token.text == ")"
        words.append("" if depth else token.text.upper())
        depth += token.text == "("
    return words


def on_one_line(tokens: Sequence[Token], qualifiers: Sequence[Path] = ()) -> str:
    r"""Return a condition in its original spelling, but on one line and without qualifiers.

    >>> on_one_line(tokenize("t.zone  IN (\n  1, 2\n)"), [("t",)])
    'zone IN (1, 2)'
    """
    dropped = {index for start in range(len(tokens)) for index in _qualifier_at(tokens, start, qualifiers)}
    parts: list[str] = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else token
        if token.start > before.end and index - 1 not in dropped and before.text != "(" and token.text != ")":
            parts.append(" ")
        if index not in dropped:
            parts.append(token.text)
    return "".join(parts)


def _qualifier_at(tokens: Sequence[Token], start: int, qualifiers: Sequence[Path]) -> range:
    """Return the token indexes of a qualifier at `start`, including its dots; empty without a qualifier."""
    if start and tokens[start - 1].text == ".":
        return range(0)
    path: list[str] = []
    end = start
    while end < len(tokens) and tokens[end].kind in _NAMES:
        name = tokens[end].text
        path.append(name[1:-1].replace("``", "`") if tokens[end].kind == TokenKind.QUOTED else name)
        if end + 1 == len(tokens) or tokens[end + 1].text != ".":
            break
        end += 2
    is_call = end + 1 < len(tokens) and tokens[end + 1].text == "("
    return range(start, start + 2 * _qualifier_length(path[:-1] if is_call else path, qualifiers))
