"""Limits for words: at most these shares of docstrings, comments, messages and paragraphs have an idiom."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DOCSTRING, COMMENT, MESSAGE, PARAGRAPH = "docstring", "comment", "message", "paragraph"
# Shares of texts with an idiom; 1 to 2 % of the docstrings and comments of deltalake, pyiceberg and fsspec have one.
LIMITS = {DOCSTRING: 0.03, COMMENT: 0.02, MESSAGE: 0.005, PARAGRAPH: 0.03}
PACKAGES = ("parquet_core", "deltalog", "prune_assets")
OTHER_CODE = ("tests", "benchmarks", "examples", "docs")
SHOWN = 12
LONGEST_LINE = 120


class Idiom(NamedTuple):
    """A wording that a reader has to read twice. A space in `pattern` matches a line break too."""

    name: str
    pattern: str
    instead: str


START = r"(?:^|[.:;(] |\n\s*\n\s*)"
IDIOMS = (
    Idiom("of which", r"\bof (?:which|whom|whose)\b", '"whose X is Y", or a new sentence'),
    Idiom(
        "what as a noun",
        r"\bwhat (?:an?|the|is|are|was|were|has|have|it|they|others?|no|else|comes|does|may|can|of)\b(?![^.;]*\?)",
        'a noun: "the values", "the reason"',
    ),
    Idiom("clause as subject", rf"{START}(?:What|Whatever|Who|Whoever)\b(?![^.;]*\?)", "a noun or an imperative verb"),
    Idiom("those of", r"\b(?:those|that) of\b", "the noun again"),
    Idiom("the one that", r"\b(?:the ones?|those) (?:that|which|whose|who)\b", "the noun again"),
    Idiom("so many", r"\b(?:so|as) (?:many|much|often|long)\b(?! as\b)", "`count` rows, or the number itself"),
    Idiom("as X has it", r"\bas [^.;,]{1,40} (?:has|have|says?|tells?) (?:it|them|so)\b", '"like `name`"'),
    Idiom(
        "the same, likewise",
        r"\b(?:likewise|alike)\b|\bthe same (?:of|with|where)\b|\bdo(?:es)? the same\b",
        "the fact itself, once more",
    ),
    Idiom(
        "is none, is no",
        r"\b(?:is|are|be|was|were|has|have) (?:none|nothing|nobody)\b(?! to\b)|\bnone of (?:it|them|an?|the)\b"
        r"|\b(?:is|are) no \w+ (?:of|that)\b",
        '"missing", "unknown", "is not a .."',
    ),
    Idiom(
        "is told, tells of",
        r"\b(?:is|are|be|been|was|were) told\b|\b(?:tells?|told|says?|said|speaks?) of\b"
        r"|\btells? (?:that|whether|which|how|what|where)\b",
        '"True if ..", "states", "reports"',
    ),
    Idiom(
        "stand, lie, come to",
        r"\b(?:stands?|stood|lies?|lay|lain|(?:comes?|came) to)\b(?! down)",
        '"is", "is stored in", "totals"',
    ),
    Idiom(
        "programs that ask",
        r"\b(?:is|are|be|been|was|were) asked\b|\basks? (?:the|an?|for|it|them|about)\b"
        r"|\b(?:knows?|known) (?:of|nothing)\b|\bbelieve[sd]?\b",
        '"reads", "requires", "calls", "trusts"',
    ),
    Idiom("looked into", r"\blooked (?:into|at|up)\b|\blooks? into\b", '"does not prune: ..", "reads", "evaluates"'),
    Idiom(
        "genitive first",
        rf"{START}(?:Of|From|By|To|For) (?:an?|the|what|some|more|fewer|such|all|no|one|two|it|them|these|those)\b",
        "the subject first",
    ),
    Idiom("beside, behind", r"\b(?:beside|behind)\b", '"next to", "in addition to", "after"'),
    Idiom(
        "somebody, whoever",
        r"\b(?:somebody|someone|nobody|whoever|who asks|another one|other ones|one another)\b",
        '"the caller", "the user", or the noun',
    ),
    Idiom(
        "dated words",
        r"\b(?:anew|wholly|at hand|in vain|needless(?:ly)?|thus|thereof|thereby|therein|herein|hereby|heed|hitherto)\b"
        r"|\bas (?:it|they) stands?\b",
        '"again", "entirely", "cached", or nothing',
    ),
    Idiom("hold against", r"\bh(?:e|o)ld(?:s|ing)? [^.;]{0,40}\bagainst\b|\b(?:is|are) held to\b", '"compare with"'),
)
PATTERNS = [(idiom, re.compile(idiom.pattern.replace(" ", r"\s+"))) for idiom in IDIOMS]

# Adjacent strings or a block of comments, whichever begins first, because a `#` inside a string begins no comment.
# `ast` takes three times as long.
_STRING = r"""[a-zA-Z]{0,2}(?:\'\'\'.*?\'\'\'|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")"""
_STRINGS_OR_COMMENTS = re.compile(rf"{_STRING}(?:\s*\n\s*{_STRING})*|#[^\n]*(?:\n[ \t]*#[^\n]*)*", re.DOTALL)
_SEAM = re.compile(r"^[a-zA-Z]{0,2}[\"']+|[\"']+(\s*\n\s*)[a-zA-Z]{0,2}[\"']+|(\n|^)[ \t]*#|[\"']+$")
_NO_PROSE = re.compile(r"(?m)^[ \t]*(?:>>>|\.\.\.).*$|^[ \t]*(?:noqa|type:|!).*$")
_CODE = re.compile(r"```.*?```", re.DOTALL)
_PARAGRAPH = re.compile(r"(?m)^[^\n|].*(?:\n(?![-|]|[ \t]*$|[0-9]+\. ).+)*|^\|.*")


class Text(NamedTuple):
    """A docstring, a message, a block of comments or a paragraph, with its first line."""

    kind: str
    line: int
    words: str


class Hit(NamedTuple):
    """One idiom in one file."""

    path: Path
    line: int
    idiom: Idiom
    words: str


def _kind(source: str) -> str:
    return COMMENT if source.startswith("#") else DOCSTRING if source.startswith('"""') else MESSAGE


def texts_of(source: str) -> list[Text]:
    """Docstrings, messages of four words or more, and blocks of comments."""
    found = ((match.start(), match[0]) for match in _STRINGS_OR_COMMENTS.finditer(source) if match[0].count(" ") > 2)
    return [
        Text(_kind(text), source.count("\n", 0, start) + 1, _NO_PROSE.sub("", _SEAM.sub(r"\1\2", text)))
        for start, text in found
    ]


def paragraphs_of(page: str) -> list[Text]:
    """Paragraphs, list entries and rows of tables outside of blocks of code."""
    prose = _CODE.sub(lambda block: "\n" * block[0].count("\n"), page)
    return [Text(PARAGRAPH, prose.count("\n", 0, match.start()) + 1, match[0]) for match in _PARAGRAPH.finditer(prose)]


def hits_in(path: Path, texts: list[Text]) -> Iterator[Hit]:
    """Yield every idiom of some texts of a file."""
    for text in texts:
        for idiom, pattern in PATTERNS:
            for match in pattern.finditer(text.words):
                line = text.line + text.words.count("\n", 0, match.start())
                yield Hit(path, line, idiom, " ".join(match[0].split()))


def texts_in(path: Path) -> list[Text]:
    """Texts of a module or a page."""
    source = path.read_text(encoding="utf-8")
    return texts_of(source) if path.suffix == ".py" else paragraphs_of(source)


def pages() -> list[Path]:
    """Pages that are not generated."""
    return sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


@cache
def area(name: str) -> dict[Path, list[Text]]:
    """Texts of the modules of a folder, or of all pages, per file."""
    files = pages() if name == "pages" else sorted((ROOT / name).rglob("*.py"))
    return {path: texts_in(path) for path in files}


def over_the_limit(texts: dict[Path, list[Text]], kind: str) -> str:
    """Describe the idioms of one kind of text if too many texts have one; else empty."""
    chosen = [(path, text) for path, known in texts.items() for text in known if text.kind == kind]
    hits = [found for path, text in chosen if (found := list(hits_in(path, [text])))]
    if len(hits) <= LIMITS[kind] * len(chosen):
        return ""
    # The files edited last come first.
    hits.sort(key=lambda found: -found[0].path.stat().st_mtime)
    places = [
        f"  {hit.path.relative_to(ROOT)}:{hit.line}: {hit.words}; write {hit.idiom.instead}" for hit, *_ in hits[:SHOWN]
    ]
    head = f"{len(hits)} of {len(chosen)} {kind}s have an idiom, more than {LIMITS[kind]:.1%}:"
    return "\n".join([head, *places])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pages", PARAGRAPH),
        *((name, kind) for name in PACKAGES for kind in (DOCSTRING, COMMENT, MESSAGE)),
        # Strings of tests are data as well as messages.
        *((name, kind) for name in OTHER_CODE for kind in (DOCSTRING, COMMENT)),
    ],
)
def test_few_texts_have_an_idiom(name, kind):
    assert area(name), "the folder has no file"
    if problem := over_the_limit(area(name), kind):
        pytest.fail(problem, pytrace=False)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_lines_of_prose_are_short(page):
    prose = _CODE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
    lines = enumerate(prose.splitlines(), 1)
    assert [number for number, line in lines if len(line) > LONGEST_LINE and not line.startswith("|")] == []


def test_more_idioms_than_the_limit_are_shown_with_better_words(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "x.py").write_text("x = 1  # those of a file\n" + "# a comment of four words\n\n" * 98)
    texts = {tmp_path / "x.py": texts_in(tmp_path / "x.py")}
    assert over_the_limit(texts, COMMENT) == ""
    (tmp_path / "x.py").write_text("# those of a file\n\n# a comment of four words\n")
    texts = {tmp_path / "x.py": texts_in(tmp_path / "x.py")}
    assert over_the_limit(texts, COMMENT) == (
        "1 of 2 comments have an idiom, more than 2.0%:\n  x.py:1: those of; write the noun again"
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('x = f(\n    "a file "\n    f"of {x} of "\n    "which nothing is read"\n)', {(3, "of which")}),
        ('"""Return those of a file."""', {(1, "those of")}),
        ('def f():\n    """Return it.\n\n    What stands\n    beside it.\n    """', {
            (2, "clause as subject"), (4, "stand, lie, come to"), (5, "beside, behind"),
        }),
        ("x = 1  # noqa: F401\ny = '# those of'  # the value\n# is read and\n# told of", {(4, "is told, tells of")}),
        ('raise E(f"{x}: a file of which\\n nothing is known")', {(1, "of which")}),
        ('"""Return the bounds of row groups; None if unknown.\n\n>>> what_is("those of it all")\n"""', set()),
    ],
)  # fmt: skip
def test_idioms_are_found_where_people_read_them(source, expected):
    assert {(hit.line, hit.idiom.name) for hit in hits_in(ROOT / "x.py", texts_of(source))} == expected


def test_code_in_a_page_has_no_words():
    page = "Read it.\n```\nthose of\n```\nIt lies\nthere."
    hits = hits_in(ROOT / "x.md", paragraphs_of(page))
    assert [(hit.line, hit.idiom.name) for hit in hits] == [(5, "stand, lie, come to")]
