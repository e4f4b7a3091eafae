"""Workloads that people write down: predicates with weights, or a file of SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parquet_core.errors import WrongUse
from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.syntax.lexer import tokenize
from prune_assets.sql.syntax.sqlglot_nodes import TokenType
from prune_assets.workload.gather import Gathered
from prune_assets.workload.query_shapes import ScanTotals, Workload
from prune_assets.workload.ran_scan import RanScan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prune_assets.sql.syntax.sqlglot_nodes import Token

_WEIGHT = re.compile(r"--\s*weight:\s*([0-9]+(?:\.[0-9]+)?)\s*$", re.IGNORECASE)
# What may follow a WHERE in a statement on one table.
_AFTER_WHERE = ("GROUP", "ORDER", "HAVING", "LIMIT", "SORT", "CLUSTER", "DISTRIBUTE")
_WORDS = frozenset(
    {"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "RLIKE", "ILIKE", "BETWEEN", "TRUE", "FALSE", "DATE", "TIMESTAMP"}
    | {
        "TIMESTAMP_NTZ",
        "INTERVAL",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "AS",
        "CAST",
        "ESCAPE",
        "DIV",
        "X",
        "DISTINCT",
    }
)


def workload_of_predicates(
    table: str, predicates: Sequence[str], *, weights: Sequence[float] | None = None
) -> Workload:
    """Return the workload of predicates on one table; `weights`: how often each runs, once where it is left out.

    >>> import prune_assets as pr
    >>> found = pr.workload_of_predicates("lake/orders", ["day = DATE '2024-01-01'", "id = 7"], weights=[10, 1])
    >>> [(shape.shape, shape.columns, shape.runs) for shape in found.shapes]
    [('day = ?', ('day',), 10.0), ('id = ?', ('id',), 1.0)]

    Raises WrongUse for other than one weight a predicate, PredicateSyntaxError for what is no SQL.
    """
    if weights is not None and len(weights) != len(predicates):
        raise WrongUse(f"{len(weights)} weights for {len(predicates)} predicates; give one for each")
    gathered = Gathered()
    for where, runs in zip(predicates, weights or [1.0] * len(predicates), strict=True):
        gathered.add(declared_scan(table, where, float(runs)))
    return gathered.workload()


def declared_scan(table: str, where: str, runs: float, columns: Sequence[str] = ()) -> RanScan:
    """Return a scan that a predicate stands for; `columns`: what it reads beside those of the predicate."""
    names = tuple(sorted({*columns, *_columns(tokenize(where))}))
    return RanScan(table, "", where.strip(), names, (), "", None, ScanTotals(), runs)


def scans_of_sql(text: str, table: str | None, *, source: str) -> Iterator[RanScan]:
    """Return a scan for each line: a condition, which is on `table`, or a SELECT from one table.

    A line may end with `-- weight: 10`. Raises WrongUse with the line's number.
    """
    for number, line in enumerate(text.splitlines(), 1):
        found = _WEIGHT.search(line)
        sql = line[: found.start()] if found else line
        try:
            tokens = tokenize(sql.strip().rstrip(";"))
            if tokens:
                yield _scan(sql.strip().rstrip(";"), tokens, table, float(found[1]) if found else 1.0)
        except (PredicateSyntaxError, WrongUse) as error:
            raise WrongUse(f"{source}, line {number}: {error}") from None


def _scan(sql: str, tokens: list[Token], table: str | None, runs: float) -> RanScan:
    if tokens[0].text.upper() != "SELECT":
        if table is None:
            raise WrongUse("a condition without its table; pass --table, or write SELECT .. FROM a table WHERE ..")
        return declared_scan(table, sql, runs)
    words = [token.text.upper() if depth == 0 else "" for token, depth in _with_depth(tokens)]
    start = words.index("FROM") if "FROM" in words else len(words)
    where = words.index("WHERE") if "WHERE" in words else len(words)
    ends = [index for index, word in enumerate(words) if word in _AFTER_WHERE and index > start]
    end = min(ends, default=len(words))
    source = tokens[start + 1 : min(where, end)]
    if not source or any(token.text in {",", "("} or token.text.upper() == "JOIN" for token in source):
        raise WrongUse("not a SELECT from one table; write the condition on each table as a line of its own")
    name = "".join(token.text for token in source[: _name_length(source)]).replace("`", "")
    condition = sql[tokens[where + 1].start : tokens[end - 1].end] if where + 1 < end else ""
    return declared_scan(name, condition, runs, [*_columns(tokens[1:start])])


def _name_length(source: list[Token]) -> int:
    """Return how many tokens make the name: words and the dots between them."""
    length = 1
    while length + 1 < len(source) and source[length].text == ".":
        length += 2
    return length


def _with_depth(tokens: list[Token]) -> Iterator[tuple[Token, int]]:
    depth = 0
    for token in tokens:
        depth -= token.text == ")"
        yield token, depth
        depth += token.text == "("


def _columns(tokens: list[Token]) -> Iterator[str]:
    """Return the names that are no words of SQL, no functions and no types of literals."""
    index = 0
    while index < len(tokens):
        path, start = [tokens[index].text], index
        while index + 2 < len(tokens) and tokens[index + 1].text == ".":
            path.append(tokens[index + 2].text)
            index += 2
        index += 1
        is_call = index < len(tokens) and tokens[index].text == "("
        is_name = tokens[start].token_type in {TokenType.VAR, TokenType.IDENTIFIER}
        is_alias = start > 0 and tokens[start - 1].text.upper() == "AS"
        if is_name and not is_call and not is_alias and path[0].upper() not in _WORDS:
            yield ".".join(path)
