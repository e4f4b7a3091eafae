from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prune_assets.errors import PredicateSyntaxError
from prune_assets.sql.syntax.lexer import _skip, _token, tokenize

PIECES = [
    *"()[],.=<>!+-*/%:; \n\t`'\"é١_",
    *("1", "25", "1.5", ".5", "1e5", "1.5BD", "7L", "2x", "e3", "a", "Ab_1", "r'", 'R"', "x'61'", "'it''s'", "`a b`"),
    *("<=>", "<>", "=>", "==", ">=", ">>", "--", "-- why\n", "/*", "*/", "/* c */", "AND", "in"),
]


def one_by_one(sql):
    """Return the tokens without the fast path for common text."""
    tokens, position = [], 0
    while position < len(sql):
        after = _skip(sql, position)
        if after == position:
            tokens.append(_token(sql, position))
            after = tokens[-1].end
        position = after
    return tokens


def outcome(cut, sql):
    try:
        return [(token.kind, token.text, token.start, token.end) for token in cut(sql)]
    except PredicateSyntaxError as error:
        return str(error)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_the_usual_tokens_are_those_of_the_rules(sql):
    assert outcome(tokenize, sql) == outcome(one_by_one, sql)


@pytest.mark.parametrize("sql", ["5.a", "a'b'", "r'x'", "1e5", "5x", "a<=>b", "a=>b", "a>>>b", "7é", "aé"])
def test_no_longer_token_is_cut(sql):
    assert outcome(tokenize, sql) == outcome(one_by_one, sql)
