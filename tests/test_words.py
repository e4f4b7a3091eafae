"""A ratchet for words: the number of idioms in docstrings, comments, messages and documentation may only fall.

`word_counts.json` has the counts per folder. `python tests/test_words.py` writes it again after a count fell or a file
moved to another folder; it refuses where the whole tree has more of an idiom than before.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
COUNTS = Path(__file__).with_name("word_counts.json")
PACKAGES = ("parquet_core", "deltalog", "prune_assets")
COMMAND = "python tests/test_words.py"
ALL = "all"
SHOWN = 12


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
PATTERNS = {idiom.name: re.compile(idiom.pattern.replace(" ", r"\s+")) for idiom in IDIOMS}

# Adjacent strings or a block of comments, whichever begins first, because a `#` inside a string begins no comment.
# `ast` takes three times as long.
_STRING = r"""[a-zA-Z]{0,2}(?:\'\'\'.*?\'\'\'|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")"""
_STRINGS_OR_COMMENTS = re.compile(rf"{_STRING}(?:\s*\n\s*{_STRING})*|#[^\n]*(?:\n[ \t]*#[^\n]*)*", re.DOTALL)
_SEAM = re.compile(r"^[a-zA-Z]{0,2}[\"']+|[\"']+(\s*\n\s*)[a-zA-Z]{0,2}[\"']+|(\n|^)[ \t]*#|[\"']+$")
_NO_PROSE = re.compile(r"(?m)^[ \t]*(?:>>>|\.\.\.).*$|^[ \t]*(?:noqa|type:|!).*$")
_CODE = re.compile(r"```.*?```", re.DOTALL)


class Hit(NamedTuple):
    """One idiom in one file."""

    path: Path
    line: int
    idiom: str
    words: str


def texts_of(source: str) -> list[tuple[int, str]]:
    """Docstrings, messages of four words or more, and blocks of comments, each with its first line."""
    found = ((match.start(), match[0]) for match in _STRINGS_OR_COMMENTS.finditer(source) if match[0].count(" ") > 2)
    return [(source.count("\n", 0, start) + 1, _NO_PROSE.sub("", _SEAM.sub(r"\1\2", text))) for start, text in found]


def hits_in(path: Path, source: str) -> list[Hit]:
    """Every idiom of a Python file, or of a page outside of its blocks of code."""
    blank = _CODE.sub(lambda block: "\n" * block[0].count("\n"), source)
    texts = texts_of(source) if path.suffix == ".py" else [(1, blank)]
    return [
        Hit(path, line + text.count("\n", 0, match.start()), name, " ".join(match[0].split()))
        for line, text in texts
        for name, pattern in PATTERNS.items()
        for match in pattern.finditer(text)
    ]


def folder_of(path: Path) -> str:
    """The package, or its direct folder that has the file; for documentation "docs"."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:-1][:2]) if parts[0] in PACKAGES else "docs"


def files() -> list[Path]:
    """Modules of the packages, and pages that are not made from them."""
    modules = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted([*modules, *(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


@cache
def hits() -> list[Hit]:
    """Every idiom of the tree."""
    return [hit for path in files() for hit in hits_in(path, path.read_text(encoding="utf-8"))]


def counts() -> dict[str, Counter[str]]:
    """Idioms per folder, and of the whole tree, where an idiom that is gone counts 0."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    found[ALL].update(dict.fromkeys(PATTERNS, 0))
    for hit in hits():
        found[ALL][hit.idiom] += 1
        found[folder_of(hit.path)][hit.idiom] += 1
    return found


def allowed() -> dict[str, Counter[str]]:
    """The checked-in counts."""
    return defaultdict(Counter, {folder: Counter(row) for folder, row in json.loads(COUNTS.read_text()).items()})


def described(folder: str, idiom: str, before: int) -> str:
    """Say where a folder has an idiom, the files edited last first, and what to write instead."""
    found = [hit for hit in hits() if hit.idiom == idiom and folder in (ALL, folder_of(hit.path))]
    latest = sorted(found, key=lambda hit: -hit.path.stat().st_mtime)
    places = [f"  {hit.path.relative_to(ROOT)}:{hit.line}: {hit.words}" for hit in latest[:SHOWN]]
    instead = next(known.instead for known in IDIOMS if known.name == idiom)
    head = f'{folder}: {len(found)} of "{idiom}", {before} before; write {instead}. The files edited last come first:'
    return "\n".join([head, *places, *(["  ..."] if len(found) > SHOWN else [])])


def more_than(old: dict[str, Counter[str]], folders: list[str]) -> list[str]:
    """Describe each idiom that some of the folders have more of."""
    new = counts()
    return [
        described(folder, idiom, old[folder][idiom])
        for folder in folders
        for idiom, count in new[folder].items()
        if count > old[folder][idiom] and idiom in old[ALL]
    ]


def test_no_folder_has_more_idioms_than_before():
    if more := more_than(allowed(), sorted({*counts()} - {ALL})):
        pytest.fail("\n".join([*more, f"If a file moved to another folder: `{COMMAND}`"]), pytrace=False)


def test_the_checked_in_counts_are_those_of_the_tree():
    """With outdated counts, an idiom could be added unnoticed after another one was removed."""
    old, new = allowed(), counts()
    fewer = sorted(folder for folder in {*old, *new} if (+old[folder] - new[folder]) or {*old[ALL]} ^ {*PATTERNS})
    if fewer:
        pytest.fail(f"fewer idioms than before: run `{COMMAND}` and commit {COUNTS.name}", pytrace=False)


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
    assert {(hit.line, hit.idiom) for hit in hits_in(ROOT / "x.py", source)} == expected


def test_code_in_a_page_has_no_words():
    page = "Read it.\n```\nthose of\n```\nIt lies\nthere."
    assert [(hit.line, hit.idiom) for hit in hits_in(ROOT / "x.md", page)] == [(5, "stand, lie, come to")]


def main() -> None:
    """Write the counts of the tree; refuse where an idiom has more of them than before."""
    if COUNTS.exists() and (more := more_than(allowed(), [ALL])):
        sys.exit("\n".join(more))
    rows = [f" {json.dumps(folder)}: {json.dumps(row, sort_keys=True)}" for folder, row in sorted(counts().items())]
    COUNTS.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
