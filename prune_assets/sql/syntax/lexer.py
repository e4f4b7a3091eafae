"""Split SQL into tokens exactly as Spark's lexer does.

The tokenizer of sqlglot reads strings, numbers and comments differently (`'it''s'` becomes `its`), so this module
follows the rules of Spark 4 (SqlBaseLexer.g4): the longest match wins, and a number wins over a word.
"""

from __future__ import annotations

import re
from enum import IntEnum, StrEnum, auto
from typing import NamedTuple, NoReturn

from prune_assets.errors import PredicateSyntaxError


class TokenKind(IntEnum):
    """Kind of a token; SIGN means operators and punctuation."""

    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    LIST = auto()
    SIGN = auto()


class TextKind(StrEnum):
    """Kind of a SQL text; only a statement may contain hints and semicolons."""

    PREDICATE = "predicate"
    STATEMENT = "statement"


class Token(NamedTuple):
    """A token of a SQL text.

    `text`: its source.
    `start`, `end`: its place in the SQL, as in a slice.
    """

    kind: TokenKind
    text: str
    start: int
    end: int


EXCERPT = 30
_CURLY = "this quote is a curly one, as word processors write it; write a straight quote"
_WRONG_CHARACTERS = {
    **dict.fromkeys("'\"`", "the quote is not closed"),
    **dict.fromkeys("\u2018\u2019\u201c\u201d", _CURLY),
    **dict.fromkeys("{}$", "this looks like a placeholder of a template; put in the value first"),
    ";": "a predicate is one condition without a semicolon; leave it out",
}
# Shorter lists are read value by value.
SHORTEST_LIST = 256
MAX_TOKENS = 1_000_000
_SPACE = " \t\n\f\r\v\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000"
_SKIPPED = re.compile(rf"[{_SPACE}]+|--(?:\\\n|[^\r\n])*")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[rR]'[^']*'|[rR]"[^"]*\"""", re.DOTALL)
_QUOTED = re.compile(r"`(?:[^`]|``)*`")
_SUFFIX = r"(?:[eE][+-]?[0-9]+)?(?:[bB][dD]|[fFdD])?"
_DECIMAL = re.compile(rf"(?:[0-9]+\.[0-9]*|\.[0-9]+){_SUFFIX}(?![A-Za-z0-9_])")
_INTEGER = re.compile(rf"[0-9]+(?:[lLsSyY]|{_SUFFIX})")
_WORD = re.compile(r"\w+")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_OPERATOR = re.compile(r"<=>|>>>|==|<>|!=|<=|>=|!>|!<|<<|>>|\|\||::|->|=>|[=<>+\-*/%~&|^:?(),.\[\]!]")
_OPERATOR_OR_END = re.compile(rf"{_OPERATOR.pattern}|;")
LONG_REMEDY = "write many equalities of a column as one IN (...), or join with a table of the values"
# The most frequent tokens, if no longer match is possible; `_token` reads the others.
_USUAL = re.compile(r"[ \n]+|([0-9]+)(?![\w.])|([A-Za-z_][A-Za-z0-9_]*)(?![\w'\"])|([(),]|[=>](?![=>])|<(?![<=>]))")
_USUAL_KINDS = {1: TokenKind.NUMBER, 2: TokenKind.WORD, 3: TokenKind.SIGN}
# A list of plain whole numbers or plain strings is one token, so that its values cost no time until they are used.
_GAP = r"[ \t\n\r]*+"
_LISTS = tuple(
    re.compile(rf"{_GAP}({value}(?:{_GAP},{_GAP}{value}){{{SHORTEST_LIST - 1},}}+){_GAP}(?=\))")
    for value in (r"-?[0-9]{1,18}+[lL]?+(?![\w.])", r"'[^'\\]*+'")
)
_WIDE_GAP = re.compile(r"[\t\n\r]| {2}")
_GAP_OR_STRING = re.compile(r"('[^']*')|[ \t\n\r]+")


def tokenize(sql: str, text_kind: TextKind = TextKind.PREDICATE) -> list[Token]:
    """Return the tokens without white space and comments. Raises PredicateSyntaxError.

    A name in backquotes is QUOTED. A long list of plain values after IN is one LIST token, whose text has no gaps wider
    than a space.

    >>> [token.text for token in tokenize("x>= 1.5BD -- why")]
    ['x', '>=', '1.5BD']
    """
    tokens: list[Token] = []
    position = 0
    while position < len(sql):
        if len(tokens) > MAX_TOKENS:
            problem = f"the {text_kind} has more than {MAX_TOKENS:,} tokens; {LONG_REMEDY}"
            refuse(sql, position, problem, text_kind)
        usual = _USUAL.match(sql, position)
        if usual is not None:
            position = usual.end()
            if usual.lastindex is not None:
                word, start = usual.group(usual.lastindex), usual.start(usual.lastindex)
                tokens.append(Token(_USUAL_KINDS[usual.lastindex], word, start, position))
                if word == "(" and len(tokens) > 1 and tokens[-2].text.upper() == "IN":
                    position = _read_list(sql, position, tokens)
            continue
        after = _skip(sql, position, text_kind)
        if after == position:
            token = _token(sql, position, text_kind)
            tokens.append(token)
            after = token.end
        position = after
    return tokens


def _read_list(sql: str, position: int, tokens: list[Token]) -> int:
    """Add a long list of plain values as one token; return the position after it."""
    values = next((match for pattern in _LISTS if (match := pattern.match(sql, position))), None)
    if values is None or not _is_encodable(values.group(1)):
        return position
    list_sql = values.group(1)
    if _WIDE_GAP.search(list_sql):
        list_sql = _GAP_OR_STRING.sub(lambda part: part.group(1) or " ", list_sql)
    tokens.append(Token(TokenKind.LIST, list_sql, values.start(1), values.end(1)))
    return values.end(1)


def _is_encodable(list_sql: str) -> bool:
    try:
        list_sql.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse(sql: str, position: int, problem: str, text_kind: TextKind = TextKind.PREDICATE) -> NoReturn:
    """Raise PredicateSyntaxError with the position (from 1) and a one-line excerpt."""
    if position >= len(sql):
        raise PredicateSyntaxError(f"{text_kind}, at its end: {problem}")
    excerpt = " ".join(sql[position : position + EXCERPT].split())
    line = sql.count("\n", 0, position) + 1
    place = f"character {position + 1}" if text_kind is TextKind.PREDICATE else f"line {line}"
    raise PredicateSyntaxError(f"{text_kind}, {place} ({excerpt!r}): {problem}")


def _skip(sql: str, position: int, text_kind: TextKind = TextKind.PREDICATE) -> int:
    skipped = _SKIPPED.match(sql, position)
    if skipped:
        return skipped.end()
    if not sql.startswith("/*", position):
        return position
    if sql.startswith("/*+", position) and text_kind is TextKind.PREDICATE:
        refuse(sql, position, "a hint is not allowed in a predicate; remove it")
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, position):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    refuse(sql, position, "the comment is not closed; write */", text_kind)


def _token(sql: str, position: int, text_kind: TextKind = TextKind.PREDICATE) -> Token:
    for kind, pattern in ((TokenKind.STRING, _STRING), (TokenKind.QUOTED, _QUOTED)):
        quoted = pattern.match(sql, position)
        if quoted:
            return _make(kind, quoted)
    number, word = _longest_number(sql, position), _WORD.match(sql, position)
    if number and (word is None or number.end() >= word.end()):
        return _make(TokenKind.NUMBER, number)
    if word:
        if not word.group().isascii():
            refuse(sql, position, "a name with letters beyond ASCII must be written in `backticks`", text_kind)
        return _make(TokenKind.WORD, word)
    operator = (_OPERATOR if text_kind is TextKind.PREDICATE else _OPERATOR_OR_END).match(sql, position)
    if operator:
        return _make(TokenKind.SIGN, operator)
    problem = _WRONG_CHARACTERS.get(sql[position], "Spark SQL does not allow this character here")
    refuse(sql, position, problem, text_kind)


def _longest_number(sql: str, position: int) -> re.Match[str] | None:
    matches = [match for pattern in (_DECIMAL, _INTEGER) if (match := pattern.match(sql, position))]
    return max(matches, key=lambda match: match.end(), default=None)


def _make(kind: TokenKind, match: re.Match[str]) -> Token:
    return Token(kind, match.group(), match.start(), match.end())
